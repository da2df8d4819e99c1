# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm export`: writes data files as a table, with a row per run or a row per sample."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import counted
from flent_aqm.results.jobs_option import add_jobs

if TYPE_CHECKING:
    from flent_aqm.results.data_file import DataFile

Result = TypeVar("Result")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm export`."""
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS",
                        help="data files, or folders of them")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", required=True,
                        help="file to write: .parquet, .csv or .json")
    parser.add_argument("--samples", action="store_true",
                        help="write a row per raw sample instead of a row per run")
    add_jobs(parser)


def main(args: argparse.Namespace) -> int:
    """Write the table, over an existing file, and print the number of its rows and files. Files
    that can't be read or are damaged are skipped with a message. If all are, the table has no rows.
    Return 1 if any was skipped, else 0. Raises ConfigError if a path doesn't exist, a folder has
    no data files, the suffix of --output is unknown, or the table can't be written,
    ModuleNotFoundError without pyarrow."""
    # Imported late, because --help needs none of these modules.
    from flent_aqm.results.export import runs, samples
    from flent_aqm.results.export.arrow import batches, write_table
    from flent_aqm.results.many_files import each_file, find_files

    files = find_files(args.results)
    damaged = 0

    def readable(work: Callable[[DataFile], Result]) -> Iterator[Result]:
        """Yield the result of `work` for each file that can be used. Print the reason for others,
        and count them in `damaged`."""
        nonlocal damaged
        for _, result in each_file(files, work, args.jobs):
            if isinstance(result, BadResult):
                damaged += 1
                print(f"flent-aqm: skipped: {result}", file=sys.stderr)
            else:
                yield result

    if args.samples:
        count = write_table(args.output, samples.SCHEMA, readable(samples.sample_batch))
    else:
        count = write_table(args.output, runs.SCHEMA, batches(runs.SCHEMA, readable(runs.run_row)))
    print(f"{counted(count, 'sample' if args.samples else 'run')} of "
          f"{counted(len(files) - damaged, 'file')} in {args.output}"
          + (f"; left out: {damaged}" if damaged else ""))
    return 1 if damaged else 0
