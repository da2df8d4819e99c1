# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm speedtest`: measures a line with Flent, and reports as speedtest-netperf.sh does."""

from __future__ import annotations

import argparse
import os
import shlex
import stat
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError, cause_of, why_unreadable
from flent_aqm.base.words import plain
from flent_aqm.results.advice.speedtest import advice, report
from flent_aqm.results.data_file import DataFile
from flent_aqm.sweep.speedtest import (
    SpeedtestRequest,
    check_ping,
    check_server,
    check_tools,
    measure,
)

# Defaults of speedtest-netperf.sh.
HOST, PING_HOST = "netperf.bufferbloat.net", "gstatic.com"
LENGTH_S, STREAMS = 60, 5
MAX_LENGTH_S, MAX_STREAMS = 86_400, 128

# Mode -> Flent's test, and the directions that share a block of the report.
_MODES: dict[str, tuple[str, Sequence[Sequence[str]]]] = {
    "sequential": ("speedtest_sequential", (("download",), ("upload",))),
    "concurrent": ("speedtest_concurrent", (("download", "upload"),)),
}
_IDLE: tuple[str, Sequence[Sequence[str]]] = ("speedtest_idle", ((),))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm speedtest`, and set the parser's description. Of -4 and -6,
    of -s and -c, and of several durations (-t, -s and -c), the last one counts, as in
    speedtest-netperf.sh."""
    parser.description = (
        "Download and upload with netperf, ping meanwhile, and report speed, latency and CPU load "
        "as speedtest-netperf.sh does.")
    parser.add_argument("-4", dest="ip_version", action="store_const", const=4, default=4,
                        help="over IPv4 (default)")
    parser.add_argument("-6", dest="ip_version", action="store_const", const=6,
                        help="over IPv6")
    parser.add_argument("-H", "--host", help=f"netperf server (default: {HOST}, which "
                        "volunteers run)")
    parser.add_argument("-t", "--time", metavar="SECONDS", type=_length_s,
                        help=f"duration of each direction (default: {LENGTH_S})")
    parser.add_argument("-p", "--ping", metavar="HOST",
                        help="host to ping (default: the host of -H; without -H, "
                        f"{PING_HOST})")
    parser.add_argument("-n", "--number", metavar="N", type=_streams, default=STREAMS,
                        help="streams per direction (default: %(default)s)")
    parser.add_argument("-s", "--sequential", dest="mode", nargs="?", metavar="SECONDS",
                        action=_Mode, const="", help="download, then upload (default)")
    parser.add_argument("-c", "--concurrent", dest="mode", nargs="?", metavar="SECONDS",
                        action=_Mode, const="", help="download and upload at once")
    parser.add_argument("-i", "--idle", nargs="?", metavar="SECONDS", type=_length_s, const=0,
                        help="first measure the idle line; without -s and -c, measure nothing else")
    parser.add_argument("-Z", "--passphrase", default="",
                        help="passphrase for a netperf server that requires one")
    parser.add_argument("-o", "--output", metavar="FILE.flent.gz", type=Path,
                        help="keep the samples of the speed test as a Flent data file")


class _Mode(argparse.Action):
    """Argument action of -s and -c, each with or without a duration in seconds: sets `mode` to
    "sequential" or "concurrent", and `time` if a duration is given. A wrong duration ends the
    program with a message."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: object, option_string: str | None = None) -> None:
        namespace.mode = "concurrent" if option_string in ("-c", "--concurrent") else "sequential"
        if values:
            try:
                namespace.time = _length_s(str(values))
            except argparse.ArgumentTypeError as error:
                parser.error(f"argument {option_string}: {error}")


def _length_s(text: str) -> int:
    """Parse a duration in seconds. Raises ArgumentTypeError if it is not a whole number from 1 to
    MAX_LENGTH_S."""
    return _parse_count(text, MAX_LENGTH_S, "seconds")


def _streams(text: str) -> int:
    """Parse a number of streams per direction. Raises ArgumentTypeError if it is not a whole number
    from 1 to MAX_STREAMS."""
    return _parse_count(text, MAX_STREAMS, "streams")


def _parse_count(text: str, most: int, what: str) -> int:
    """Parse a whole number from 1 to `most`. Only ASCII digits are accepted: no sign, blank or
    point. Raises ArgumentTypeError if the text is no such number.

    Args:
        text: the user's text.
        most: largest allowed number, of at most eight digits.
        what: plural noun of the counted things, for the message.
    """
    digits = text.lstrip("0")
    # int() refuses thousands of digits, and nine are more than any limit here.
    if not (digits.isascii() and digits.isdigit() and len(digits) < 9
            and int(digits) <= most):
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number of {what}, 1 to "
                                         f"{most}")
    return int(digits)


def main(args: argparse.Namespace) -> int:
    """Measure the line, and print report and advice. Return 0.

    With -i, the idle line is measured first. Without -s and -c, nothing else is measured then, and
    there is no advice. Without -i, the only advice is to measure the idle line, too. With --output,
    the data file of the test under load is copied, replacing an older file, even if one of the
    test's tools failed.

    Raises AqmError if an option is wrong, such as --output without a test under load, if a server
    or host doesn't answer, if a program is missing, or if the test fails. Raises KeyboardInterrupt
    during a test at SIGTERM and SIGHUP, too.
    """
    host = args.host or HOST
    ping_host = args.ping or args.host or PING_HOST
    length_s = args.time or LENGTH_S
    idle_s = 0 if args.idle is None else args.idle or length_s
    mode = args.mode or ("" if idle_s else "sequential")
    if args.output and not args.output.name.endswith(".flent.gz"):
        raise ConfigError(f"-o: {str(args.output)!r}; expected a name that ends in .flent.gz")
    if args.output and not mode:
        raise ConfigError("-o: it keeps a speed test, and -i alone measures the idle line; add -s "
                          "or -c")
    if args.output and not os.path.isdir(folder := args.output.absolute().parent):
        raise ConfigError(f"-o: {folder}: {why_unreadable(folder)}; name a file in a folder that "
                          "is there, and that this user may enter")
    if args.output:
        _refuse_unfit(args.output)
    check_tools()
    if mode:
        check_server(host, args.ip_version, is_default=not args.host)
    check_ping(ping_host, args.ip_version)
    # Flent requires a host, even if the test sends nothing to it.
    request = SpeedtestRequest(
        test="", host=host if mode else ping_host, ip_version=args.ip_version, length_s=length_s,
        streams=args.number, ping_host=ping_host, passphrase=args.passphrase)
    _print_head(request, mode, idle_s)
    idle = None
    if idle_s:
        _print_now(f"Measure idle latency by pinging {ping_host} (IPv{args.ip_version}).")
        idle = _measure_and_print(replace(request, length_s=idle_s, streams=0), _IDLE, None)
        if mode:
            _print_now("")
    if mode:
        _print_now(f"Measure speed to {host} (IPv{args.ip_version}) while pinging {ping_host}.")
        _print_now(f"Download and upload sessions are {mode}, each with {args.number} "
                   "simultaneous streams.")
        loaded = _measure_and_print(request, _MODES[mode], args.output)
        for sentence in advice(idle, loaded):
            _print_now("\n" + textwrap.fill(sentence, 79))
        if args.output:
            _print_now(f"\nData file: {plain(args.output)}; for every metric: flent-aqm score "
                       f"{plain(shlex.quote(str(args.output)))}")
    return 0


def _refuse_unfit(output: Path) -> None:
    """Raise ConfigError if no data file can be written to a path, which is found before the line is
    measured: if something other than a regular file is there, if the path can't be looked up, such
    as one that is too long, or if this user may not write to its folder, which must exist."""
    # First: of a folder that this user may not enter, no name can be looked up.
    folder = output.absolute().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"-o: {plain(folder)}: this user may not write to this folder; name a "
                          "file in another one")
    try:
        why = "" if stat.S_ISREG(os.stat(output).st_mode) else "is there and not a regular file"
    except FileNotFoundError:
        why = ""
    except OSError as error:
        why = f"can't be written: {cause_of(error)}"
    if why:
        raise ConfigError(f"-o: {plain(output)} {why}; give another name")


def _print_head(request: SpeedtestRequest, mode: str, idle_s: int) -> None:
    """Print the time, and the sessions of the test with their durations.

    Args:
        request: settings of the speed test.
        mode: "sequential", "concurrent", or "" without a speed test.
        idle_s: duration of the test of the idle line, 0 for none.
    """
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    if not idle_s:
        _print_now(f"{now} Starting speedtest for {request.length_s} seconds per transfer session.")
        return
    sessions = [f"{idle_s}-second ping", *([f"{request.length_s}-second transfer"] if mode else [])]
    _print_now(f"{now} Begin test with {', '.join(sessions)} sessions.")


def _measure_and_print(request: SpeedtestRequest, kind: tuple[str, Sequence[Sequence[str]]],
                       keep: Path | None) -> DataFile:
    """Run one test of Flent, print its part of the report, and return its data file. If standard
    error is a terminal, a dot per second is printed to it meanwhile. Must be called in the main
    thread.

    Args:
        request: settings of the test. Its `test` is replaced by that of `kind`.
        kind: name of Flent's test, and the blocks of the report: for each, the directions that
            share it, none for an idle line.
        keep: path for a copy of the data file, which is written even if one of the test's tools
            failed. None for no copy.

    Raises BadResult if the test fails, ConfigError if `keep` can't be written, KeyboardInterrupt at
    SIGTERM and SIGHUP, too.
    """
    test, blocks = kind
    data = measure(replace(request, test=test), sys.stderr.isatty(), keep)
    print(report(data, blocks, environment.IN_LAB in os.environ), end="", flush=True)
    return data


def _print_now(line: str) -> None:
    """Print a line and flush standard output."""
    print(line, flush=True)
