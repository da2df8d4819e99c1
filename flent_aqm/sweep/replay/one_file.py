# SPDX-License-Identifier: GPL-3.0-or-later
"""The data file whose run a command repeats. Imports little, for --help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.words import plain

# Names that are shown if there are more files.
MOST_NAMED = 3


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument FILE.flent.gz to a parser. It sets `file`. More than one file, as
    of a pattern that fits several, end the program with a line on standard error and status 2."""
    parser.add_argument("file", metavar="FILE.flent.gz", type=Path)
    parser.add_argument("others", nargs="*", default=(), type=Path, action=_Refuse,
                        help=argparse.SUPPRESS)


class _Refuse(argparse.Action):
    """Refuses more files than one."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: object, option_string: str | None = None) -> None:
        """End the program, see add_file(), if there are values: files beside namespace.file."""
        if isinstance(values, Sequence) and values:
            names = [plain(one) for one in (namespace.file, *values)]
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            parser.exit(2, f"{parser.prog}: takes one file, {len(names)} were given "
                           f"({', '.join(names[:MOST_NAMED])}{more}); name one\n")
