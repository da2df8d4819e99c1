# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm share`: a copy of a data file that can be given to anybody."""

from __future__ import annotations

import argparse
from pathlib import Path

from flent_aqm.base.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.flent.gz")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", required=True,
                        help="folder for the copies, under the same names; made if needed")


def main(args: argparse.Namespace) -> int:
    from flent_aqm.results.data_file import SUFFIX, read_data_file
    from flent_aqm.results.grouping import harmless
    from flent_aqm.results.many_files import find_files
    from flent_aqm.results.share.strip import strip
    from flent_aqm.sweep.finish import write_whole

    for file in find_files(args.files):
        target = args.output / (file.name.split(".flent")[0] + SUFFIX)
        if target.exists():
            raise ConfigError(f"{target} is there already; name another folder")
        whole, removed = strip(read_data_file(file))
        try:
            args.output.mkdir(parents=True, exist_ok=True)
            write_whole(target, whole)
        except OSError as error:
            raise ConfigError(f"{target}: can't be written: {error.strerror or error}") from None
        print(f"{target}")
        for line in removed or ["nothing in it tells of a machine or a person"]:
            print(f"  {''.join(one if one.isprintable() else '?' for one in line)}")
        title = whole["metadata"].get("TITLE")
        if title:
            print(f"  kept: TITLE {harmless(str(title))!r}, as it was typed")
    return 0
