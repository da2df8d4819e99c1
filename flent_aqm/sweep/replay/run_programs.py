# SPDX-License-Identifier: GPL-3.0-or-later
"""The option that allows the commands which a data file names. Imports little, for --help."""

from __future__ import annotations

import argparse

# Option of `flent-aqm replay` and `why` that allows the commands which a data file names.
RUN_PROGRAMS = "--run-programs"


def add_run_programs(parser: argparse.ArgumentParser) -> None:
    """Add the switch --run-programs (RUN_PROGRAMS) to a parser. It sets run_programs to True in the
    parsed arguments, which is False without it."""
    parser.add_argument(
        RUN_PROGRAMS, action="store_true",
        help="run the client's, server's and router's commands that the file names (keys "
             "client_program, server_program, router_program), from the current folder and with "
             "your rights; only for files that you trust")
