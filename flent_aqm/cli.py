# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `flent-aqm`: a table of subcommands, and what becomes of their errors.

Exit status: 0 well, 1 an expected failure (one line on standard error), 2 wrong usage,
3 a defect of ours (details in a log file), 130 interrupted; `lab` passes on its command's;
`replay` has its own.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.base.words import plain
from flent_aqm.commands.table import COMMANDS, fill, module_of

# Of what the package wants, as pip installs it; a distribution may lack it.
MAY_BE_MISSING = ("pyarrow",)
# Of address space: reading a file takes 400 MB, and programs in Go start with 800.
LEAST_BYTES = 1_000_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; argv without the program's name. Returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files may be no text, and a terminal may not know all text.
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
    except ModuleNotFoundError as error:
        if error.name not in MAY_BE_MISSING:
            return _defect(words, error)
        print(f"flent-aqm: {words[0]} needs the Python package {error.name}, which is not "
              "installed and which Debian does not package; install flent-aqm with pip in a "
              "virtual "
              "environment, which installs it, too", file=sys.stderr)
        return 1
    except MemoryError:
        print("flent-aqm: out of memory; set a higher limit, or give fewer files at "
              "once", file=sys.stderr)
        return 1
    except Exception as error:
        return _defect(words, error)


def _refuse_little_memory() -> None:
    """Raise AqmError below what the libraries take: OpenBLAS would try for ever to get it."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_BYTES:
        raise AqmError(f"the limit on memory, ulimit -v, is {limit / 1e6:.0f} MB; expected "
                       f"{LEAST_BYTES / 1e6:.0f} MB or more, and 4 GB for the lab; raise the limit")


def _defect(words: Sequence[str], error: Exception) -> int:
    from flent_aqm.base.crash_log import write_crash_log

    where = write_crash_log(words, error)
    print(f"flent-aqm: a bug in flent-aqm: {type(error).__name__}: {plain(error)}; please report "
          f"it with {where}", file=sys.stderr)
    return 3


def _run(words: list[str]) -> int:
    top = argparse.ArgumentParser(
        prog="flent-aqm", description="AQM experiments for Flent, in a lab with virtual time.",
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_listing())
    top.add_argument("--version", action="store_true", help="print the version and end")
    top.add_argument("command", nargs="?", metavar="COMMAND", choices=[*COMMANDS],
                     help="one of the commands below; COMMAND --help shows an example")
    # A subcommand's own words are not for this parser.
    args = top.parse_args(words[:1])
    if args.version:
        from flent_aqm import __version__

        print(f"flent-aqm {__version__}")
        return 0
    if args.command is None:
        from flent_aqm.commands.next_step import next_step

        print(f"{next_step(Path.cwd())}\n\n{_listing()}\n\nflent-aqm COMMAND --help shows more.")
        return 0
    parser = fill(argparse.ArgumentParser(prog=f"flent-aqm {args.command}"), args.command)
    status = module_of(args.command).main(parser.parse_args(words[1:]))
    # Errors of writing belong here, not in the interpreter's exit.
    sys.stdout.flush()
    return int(status)


def _listing() -> str:
    width = max(map(len, COMMANDS))
    return "commands:\n" + "\n".join(
        f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items())


if __name__ == "__main__":
    sys.exit(main())
