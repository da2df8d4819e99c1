# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm completion`: prints a script with which a shell completes command lines."""

from __future__ import annotations

import argparse

from flent_aqm.commands.table import COMMANDS, fill

# An argument whose metavar ends with such a word is the name of a file, or of a folder.
FILES = ("FILE", "RESULTS", "PATH", "NAME.C", "FRAGMENT", "SOURCE")
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
    with a word in FILES or FOLDERS are marked as files or folders."""
    top = argparse.ArgumentParser(prog="flent-aqm")
    top.add_argument("--version", action="store_true", help="print the version and end")
    commands = top.add_subparsers()
    for name, command in COMMANDS.items():
        _mark_files(fill(commands.add_parser(name, help=command.summary), name))
    return top


def _mark_files(parser: argparse.ArgumentParser) -> None:
    """Make shtab complete files or folders for arguments of a parser, and of its subcommands, in
    place: those whose metavar (without one, whose dest) ends with a word in FILES or FOLDERS, in
    singular or plural and in any case."""
    import shtab

    for action in parser._actions:
        what = str(action.metavar or action.dest).upper().rstrip("S")
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _mark_files(below)
        elif what.endswith(tuple(word.rstrip("S") for word in FILES)):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif what.endswith(FOLDERS):
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
