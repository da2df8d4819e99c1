# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm completion`: prints a script with which a shell completes command lines."""

from __future__ import annotations

import argparse

from flent_aqm.commands.table import COMMANDS, fill

# An argument whose metavar ends with such a word is the name of a file, or of a folder.
FILES = ("FILE", "RESULTS", "PATH")
FOLDERS = ("DIR", "FOLDER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the only argument of `flent-aqm completion`: the name of the shell."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="print the script of this "
                                                                       "shell")


def main(args: argparse.Namespace) -> int:
    """Print the script of the shell that the user named. Return 0."""
    # Imported here, because no other command needs it.
    import shtab

    print(shtab.complete(whole_parser(), shell=args.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """Return a parser with --version and all subcommands, for shtab only. Arguments whose names end
    with a word in FILES or FOLDERS are marked as files or folders, except those of a subcommand's
    own subcommands."""
    import shtab

    top = argparse.ArgumentParser(prog="flent-aqm")
    top.add_argument("--version", action="store_true", help="print the version and end")
    commands = top.add_subparsers()
    for name, command in COMMANDS.items():
        parser = fill(commands.add_parser(name, help=command.summary), name)
        for action in parser._actions:
            what = str(action.metavar or action.dest).upper().rstrip("S")
            if what.endswith(tuple(word.rstrip("S") for word in FILES)):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif what.endswith(FOLDERS):
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return top
