# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm archive`: a folder to publish, with data and what makes them again."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import counted, plain
from flent_aqm.results.many_files import find_files
from flent_aqm.sweep.archive import check, folder, texts

# The testbed whose runs repeat.
LAB = "virtual"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Make a folder to publish, for example on Zenodo: data files, their batch, versions, the "
        "kernel's options and patches, checksums, README and licence; and check that runs can be "
        "repeated from it. If files contain names of machines, run them through flent-aqm share "
        "first.")
    parser.add_argument("files", nargs="+", type=Path, metavar="RESULTS",
                        help="data file, or folder of data files")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER",
                        default=Path("archive"), help="new folder (default: archive)")
    parser.add_argument("--batch", type=Path, metavar="FILE",
                        help="batch file of these runs (default: this package's file, if the runs "
                             "name one of its batches)")
    parser.add_argument("--title", default="Measurements of queues at a bottleneck",
                        help="title for README and citation")
    parser.add_argument("--author", action="append", default=[], metavar="'FAMILY, GIVEN'",
                        help="for CITATION.cff; may be repeated")
    parser.add_argument("--licence", choices=[*texts.LICENCES], default="CC-BY-4.0",
                        help="licence of the data (default: CC-BY-4.0)")
    parser.add_argument("--trace", metavar="FOLDER", type=Path, action="append", default=[],
                        help="where traces of links are that runs played, to repeat these; none "
                             "is copied; may be repeated")
    parser.add_argument("--replay", type=_whole, default=3, metavar="N",
                        help="repeat N runs and compare (default: 3; 0: none)")


def main(args: argparse.Namespace) -> int:
    """Make the folder. Exit status 1 if a run of the lab could not be made again; those on
    real routers never can, and are told of."""
    if os.path.lexists(args.output):
        raise ConfigError(f"{args.output}: exists already; name a new folder with -o")
    files = find_files(args.files)
    try:
        parent = args.output.absolute().parent
        parent.mkdir(parents=True, exist_ok=True)
        # It has its name when all of it was checked.
        with tempfile.TemporaryDirectory(prefix=".archive-", dir=parent) as made:
            target = Path(made, "archive")
            target.mkdir()
            packed = folder.pack_data(files, target)
            batch = folder.pack_batch(packed, args.batch, target)
            folder.pack_kernel(packed, target)
            folder.write_versions(packed, target)
            checked = check.check(target, packed, args.replay, args.trace)
            texts.write_texts(target, packed, checked, title=plain(args.title),
                              authors=[plain(one) for one in args.author],
                              licence=args.licence, batch=batch)
            folder.write_checksums(target)
            target.rename(args.output)
    except OSError as error:
        raise ConfigError(f"{args.output}: can't be written: {error.strerror or error}") from None
    print(f"{plain(args.output)}: {counted(len(packed), 'data file')}; repeated and identical: "
          f"{len(checked.identical)}")
    if not batch:
        print("flent-aqm: the archive has no batch file, as the files don't name one of this "
              "package's; --batch FILE adds yours", file=sys.stderr)
    for name, why in checked.not_again.items():
        print(f"flent-aqm: {name}: not repeated: {plain(why)}", file=sys.stderr)
    return int(any(one.testbed == LAB and one.name in checked.not_again for one in packed))


def _whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs, such as 3")
    return int(text)
