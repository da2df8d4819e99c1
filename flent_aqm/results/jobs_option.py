# SPDX-License-Identifier: GPL-3.0-or-later
"""Declare the option --jobs of commands that read many data files."""

from __future__ import annotations

import argparse
import re

from flent_aqm.base.errors import ConfigError


def add_jobs(parser: argparse.ArgumentParser, when: str = "") -> None:
    """Add the option --jobs to a parser. args.jobs is then a number above 0, or None without the
    option, for one process per core. Parsing raises ConfigError for any other value.

    Args:
        parser: the command's parser.
        when: text for the help on when the option applies, beginning with a blank. "" if always.
    """
    parser.add_argument("--jobs", type=_parse_jobs, metavar="N",
                        help=f"number of files to read in parallel{when} (default: one per core)")


def _parse_jobs(word: str) -> int:
    """Return the number of the option's value. Raises ConfigError if it is not a whole number from
    1 to 999999."""
    if not re.fullmatch("[0-9]{1,6}", word) or int(word) < 1:
        raise ConfigError(f"--jobs {word[:40]!r}: expected a whole number from 1 to 999999")
    return int(word)
