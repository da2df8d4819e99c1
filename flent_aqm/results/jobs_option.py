# SPDX-License-Identifier: GPL-3.0-or-later
"""The option --jobs of the commands that read many data files."""

from __future__ import annotations

import argparse

from flent_aqm.base.errors import ConfigError


def add_jobs(parser: argparse.ArgumentParser, when: str = "") -> None:
    """Add it; args.jobs is then a number above 0, or None for one per core."""
    parser.add_argument("--jobs", type=_jobs, metavar="N",
                        help=f"number of files to read in parallel{when} (default: one per core)")


def _jobs(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise ConfigError(f"--jobs {word}: expected 1 or more")
    return int(word)
