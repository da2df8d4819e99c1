# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the command `flent-aqm`: starts the subcommand, and reports its errors.

Exit status: 0 for success, 1 for an expected failure (one line on standard error), 2 for wrong
usage, 3 for a defect of this package (details in a log file), 130 if interrupted, 141 if the reader
of the output has gone. `lab` passes on its command's status. `replay` has its own.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import NO_TEMPORARY_FOLDER, AqmError, cause_of
from flent_aqm.base.words import plain
from flent_aqm.commands.table import COMMANDS, fill, module_of

# Python packages that pip installs with this package, but that a distribution may lack.
MAY_BE_MISSING = ("pyarrow",)
# Least limit on the address space: reading a file takes 400 MB, and programs in Go start with 800.
LEAST_BYTES = 1_000_000 << 10
# What the machine can lack for any command: the system's error -> what the user can do about it.
_OF_MACHINE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room on the disk, or write to another one"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit: ulimit -n"),
    **dict.fromkeys((errno.ENOMEM, errno.EAGAIN),
                    "end other programs, or raise the limits on memory and processes: ulimit -a"),
    errno.EIO: "check this disk or terminal",
    errno.EROFS: "write to another folder",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand (or print the version, or without words an overview) and return the exit
    status: that of the subcommand (0 for success), or after an error, which is printed to standard
    error, 1 for an expected one (AqmError, out of memory or room on the disk, a Python package that
    a distribution may lack), 3 for any other (with a crash log, if it can be written), 130 if
    interrupted. 141, without a message, after a BrokenPipeError, as when the reader of the output
    has gone; standard output is then discarded. Raises SystemExit for wrong usage (status 2), and
    after the text of --help (status 0).

    From then on, standard output writes characters that it can't encode as backslash escapes.

    argv: words of the command line without the program's name (default: this process's).
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files may not be text, and a terminal may not be able to show all text.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _refuse_little_memory()
        return _run(words)
    except AqmError as error:
        print(f"flent-aqm: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("flent-aqm: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone. Python's own flush at exit must not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        return _report_os_error(words, error)
    except ModuleNotFoundError as error:
        if environment.WITHOUT_PLOTS in os.environ and environment.WITHOUT_PLOTS in str(error):
            print(f"flent-aqm: {error}", file=sys.stderr)
            return 1
        if error.name not in MAY_BE_MISSING:
            return _report_defect(words, error)
        print(f"flent-aqm: {words[0]} needs the Python package {error.name}, which is not "
              "installed and which Debian does not package; install flent-aqm with pip in a "
              "virtual "
              "environment, which installs it, too", file=sys.stderr)
        return 1
    except MemoryError:
        print("flent-aqm: out of memory; end other programs, raise the limit (ulimit -v), or "
              "give fewer files at once", file=sys.stderr)
        return 1
    except Exception as error:
        return _report_defect(words, error)


def _refuse_little_memory() -> None:
    """Raise AqmError if this process's limit on memory (ulimit -v) is below LEAST_BYTES. With too
    little, commands fail, or OpenBLAS tries for ever to get more."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_BYTES:
        raise AqmError(f"ulimit -v is {limit >> 10} KiB; expected an address space of "
                       f"{LEAST_BYTES >> 10} KiB or more, and for the lab of "
                       f"{defaults.GUEST_ADDRESSES_MIB << 10} KiB; raise the limit: "
                       "ulimit -v unlimited, if need be as root, who may raise hard limits")


def _report_os_error(words: Sequence[str], error: OSError) -> int:
    """Report an OSError that no command has expected. If it tells what the machine lacks, such as
    room on the disk, print a line on standard error and return the exit status 1. Otherwise it is a
    defect, see _report_defect().

    Args:
        words: words of the command line without the program's name.
        error: the error.
    """
    if NO_TEMPORARY_FOLDER in str(error):
        print(f"flent-aqm: {cause_of(error)}; make room in one of these, or set TMPDIR to another "
              "folder", file=sys.stderr)
        return 1
    if error.errno not in _OF_MACHINE:
        return _report_defect(words, error)
    where = "" if error.filename is None else f"{plain(error.filename)}: "
    print(f"flent-aqm: {where}{cause_of(error)}; {_OF_MACHINE[error.errno]}", file=sys.stderr)
    return 1


def _report_defect(words: Sequence[str], error: Exception) -> int:
    """Write a crash log, and print a message about an unexpected error, with the log's path, to
    standard error. Return the exit status, 3.

    Args:
        words: words of the command line without the program's name.
        error: the error.
    """
    from flent_aqm.base.crash_log import write_crash_log

    where = write_crash_log(["flent-aqm", *words], error)
    print(f"flent-aqm: a bug in flent-aqm: {type(error).__name__}: {plain(error)}; please report "
          f"it with {where}", file=sys.stderr)
    return 3


def _run(words: list[str]) -> int:
    """Parse the command line and run the subcommand. Return the exit status. With --version as the
    first word, print the version; without a subcommand, the next step and the list of commands;
    return 0. Raises SystemExit for wrong usage (status 2), and after the text of --help (status 0).
    Errors of the subcommand are raised.

    words: words of the command line without the program's name.
    """
    top = argparse.ArgumentParser(
        prog="flent-aqm", description="AQM experiments for Flent, in a lab with virtual time.",
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_list_commands())
    top.add_argument("--version", action="store_true", help="print the version and end")
    top.add_argument("command", nargs="?", metavar="COMMAND", choices=[*COMMANDS],
                     help="one of the commands below; COMMAND --help shows an example")
    # A subcommand's own words are not for this parser.
    args = top.parse_args(words[:1])
    if args.version:
        from flent_aqm import __version__

        print(f"flent-aqm {__version__}", flush=True)
        return 0
    if args.command is None:
        from flent_aqm.commands.next_step import next_step

        print(f"{next_step(Path.cwd())}\n\n{_list_commands()}\n\n"
              "flent-aqm COMMAND --help shows more.", flush=True)
        return 0
    parser = fill(argparse.ArgumentParser(prog=f"flent-aqm {args.command}"), args.command)
    status = module_of(args.command).main(parser.parse_args(words[1:]))
    # Errors of writing belong here, not in the interpreter's exit.
    sys.stdout.flush()
    return int(status)


def _list_commands() -> str:
    """Return the list of subcommands for the help text: the line "commands:", and a line with name
    and summary for each."""
    width = max(map(len, COMMANDS))
    return "commands:\n" + "\n".join(
        f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items())


if __name__ == "__main__":
    sys.exit(main())
