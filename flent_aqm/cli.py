# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `flent-aqm`: a table of subcommands, and what becomes of their errors.

Exit status: 0 well, 1 an expected failure (one line on standard error), 2 wrong usage,
3 a defect of ours (details in a log file), 130 interrupted; `lab` passes on its command's;
`replay` has its own.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from flent_aqm.base.errors import AqmError
from flent_aqm.base.words import plain


@dataclass(frozen=True)
class Command:
    """A subcommand. Its module has add_arguments(parser) and main(args) -> exit status."""

    module: str
    summary: str
    example: str


# Modules are imported only when their command runs: start-up counts inside the guest.
COMMANDS = {
    "assert": Command(
        "flent_aqm.commands.assert_", "check a condition on the numbers of data files",
        "flent-aqm assert 'p99(latency_loaded) < 20ms' results/"),
    "browse": Command(
        "flent_aqm.commands.browse", "the report as a local page that follows a sweep",
        "flent-aqm browse results/quick-2026-01-31T120000"),
    "calibrate": Command(
        "flent_aqm.commands.calibrate", "fit a router model to measurements of a real router",
        "flent-aqm calibrate 800=676 1000=572"),
    "demo-picture": Command(
        "flent_aqm.show.demo_picture", "draw latency and throughput of a batch, queue by queue",
        "flent-aqm demo-picture results/quick-2026-01-31T120000 -o demo.png"),
    "doctor": Command(
        "flent_aqm.commands.doctor", "list every part: found or missing, version, how to get it",
        "flent-aqm doctor"),
    "export": Command(
        "flent_aqm.commands.export", "data files as a table: Parquet, CSV or JSON",
        "flent-aqm export results/ -o runs.parquet"),
    "figures": Command(
        "flent_aqm.commands.figures", "draw the study's figures, with the numbers behind them",
        "flent-aqm figures results/paper-2026-01-31T120000 -o figures"),
    "lab": Command(
        "flent_aqm.commands.lab", "run a command on the client of a lab in virtual time",
        "flent-aqm lab --aqm fq_codel --rate 100 -- flent rrul -H server -l 30"),
    "ndt7-server": Command(
        "flent_aqm.commands.ndt7_server", "serve NDT7 speed tests",
        "flent-aqm ndt7-server"),
    "replay": Command(
        "flent_aqm.commands.replay", "make the run of a data file again and compare",
        "flent-aqm replay results/quick-2026-01-31T120000/FILE.flent.gz"),
    "report": Command(
        "flent_aqm.commands.report", "data files as one page to look at, print and send",
        "flent-aqm report results/ -o report.html"),
    "restore": Command(
        "flent_aqm.commands.restore", "undo what a sweep that is gone has left on a router",
        "flent-aqm restore --testbed ssh://root@192.168.1.1"),
    "score": Command(
        "flent_aqm.commands.score", "every metric and score of data files",
        "flent-aqm score results/"),
    "setup": Command(
        "flent_aqm.commands.setup", "build the lab kernel and fetch the tools it needs",
        "flent-aqm setup"),
    "share": Command(
        "flent_aqm.commands.share", "copy a data file with host names, addresses and users removed",
        "flent-aqm share FILE.flent.gz -o shared/"),
    "speedtest": Command(
        "flent_aqm.commands.speedtest", "measure a line as speedtest-netperf.sh does",
        "flent-aqm speedtest -H netperf.example.net -t 30 --concurrent"),
    "worker": Command(
        "flent_aqm.commands.worker", "make runs for sweeps with scheduler=ADDRESS",
        "flent-aqm worker tcp://192.0.2.1:8786"),
    "sqm-home": Command(
        "flent_aqm.commands.sqm_home",
        "speed test with SQM off, at shares of the measured rate, and off again",
        "flent-aqm sqm-home"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; argv without the program's name. Returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files may be no text, and a terminal may not know all text.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
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
    except Exception as error:
        from flent_aqm.base.crash_log import write_crash_log

        where = write_crash_log(words, error)
        print(f"flent-aqm: a defect of flent-aqm: {type(error).__name__}: {plain(error)}; "
              f"please report it with {where}", file=sys.stderr)
        return 3


def _run(words: list[str]) -> int:
    top = argparse.ArgumentParser(
        prog="flent-aqm", description="AQM experiments for Flent, on a lab in virtual time.",
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_listing())
    top.add_argument("--version", action="store_true", help="print the version and end")
    top.add_argument("command", nargs="?", metavar="COMMAND", choices=[*COMMANDS],
                     help="one of those below; COMMAND --help shows an example")
    # A subcommand's own words are not for this parser.
    args = top.parse_args(words[:1])
    if args.version:
        from flent_aqm import __version__

        print(f"flent-aqm {__version__}")
        return 0
    if args.command is None:
        top.print_help(sys.stderr)
        return 2
    command = COMMANDS[args.command]
    module = importlib.import_module(command.module)
    parser = argparse.ArgumentParser(
        prog=f"flent-aqm {args.command}", description=f"{command.summary.capitalize()}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"example:\n  {command.example}")
    module.add_arguments(parser)
    status = module.main(parser.parse_args(words[1:]))
    # Errors of writing belong here, not in the interpreter's exit.
    sys.stdout.flush()
    return int(status)


def _listing() -> str:
    width = max(map(len, COMMANDS))
    return "commands:\n" + "\n".join(
        f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items())


if __name__ == "__main__":
    sys.exit(main())
