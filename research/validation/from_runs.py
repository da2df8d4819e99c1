# SPDX-License-Identifier: GPL-3.0-or-later
"""Common parts of the programs that make a table in docs/ from a batch's existing results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError, cause_of
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.many_files import find_files
from flent_aqm.results.metrics.run import Run, as_run
from research.validation import marked
from research.validation.stamp import made_of

Lines = Callable[[Sequence[Run]], Iterable[str]]


def add_arguments(parser: argparse.ArgumentParser, page: str) -> None:
    """Add the arguments `results` (list of paths) and -o, --output (`output`, the page's folder
    docs, None if it isn't given). page: path of the page in docs/, for the help text."""
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, metavar="DOCS", help=f"the folder of {page}")


def make(args: argparse.Namespace, page: str, part: str, lines: Lines) -> int:
    """Read the runs of the results, print the table and, with -o, write it into its part of the
    page. Return the exit status, 1, with a line on standard error, if the runs can't be read or
    `lines` refuses them (AqmError, ValueError), misses a value in one (LookupError) or can't write
    a file (OSError), or the page can't be written or lacks the part's marks or its stamp.

    Args:
        args: the command line's arguments of add_arguments().
        page: path of the page in docs/.
        part: name of the part.
        lines: function that takes the runs and yields the table's lines.
    """
    try:
        runs = [as_run(read_data_file(path)) for path in find_files(args.results)]
        text = "\n".join(lines(runs))
        print(text)
        if args.output:
            marked.replace(args.output / page, part, text, made_of(runs))
    except (AqmError, OSError, ValueError) as error:  # made_of() raises ValueError
        print(f"{part}: {error}", file=sys.stderr)
        return 1
    except LookupError as error:
        print(f"{part}: a run lacks a value: {cause_of(error)}; expected the runs of the table's "
              "batch", file=sys.stderr)
        return 1
    return 0


def main(text: str | None, page: str, part: str, lines: Lines) -> int:
    """Run a program whose arguments are the results and -o: parse the command line, print the table
    of the runs and, with -o, write it into its part of the page. Return the exit status, 1 if the
    runs can't be read or don't suit, or the page can't be written. Raises SystemExit for wrong
    usage.

    Args:
        text: module docstring, whose first line is the program's description.
        page: path of the page in docs/.
        part: name of the part.
        lines: function that takes the runs and yields the table's lines.
    """
    parser = argparse.ArgumentParser(description=(text or "").partition("\n")[0])
    add_arguments(parser, page)
    return make(parser.parse_args(), page, part, lines)
