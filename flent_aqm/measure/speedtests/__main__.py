# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m flent_aqm.measure.speedtests` and a client's name: see table.py."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from flent_aqm.base.defaults import SPEEDTEST_PORT
from flent_aqm.base.errors import AqmError

# Of table.py's clients those that are modules here.
OURS = ("responsiveness", "librespeed", "cloudflare", "ookla_style", "webrtc_call")


def _client(args: argparse.Namespace) -> None:
    from flent_aqm.measure.speedtests.connection import find_server
    from flent_aqm.measure.speedtests.report import Report

    server = find_server(args.host, args.port, args.ip_version, args.tls)
    report = Report(args.what)
    try:
        asyncio.run(_measure(args, server, report))
    except BaseExceptionGroup as group:
        # The first fault is the cause of the others.
        fault: BaseException = group
        while isinstance(fault, BaseExceptionGroup):
            fault = fault.exceptions[0]
        raise fault from None
    print(report.text())


def _measure(args: argparse.Namespace, server: Any, report: Any) -> Coroutine[Any, Any, None]:
    # Imported here: each test needs its own module alone, and in the guest importing is dear.
    if args.what == "librespeed":
        from flent_aqm.measure.speedtests import librespeed

        return librespeed.measure(server, report)
    if args.what == "cloudflare":
        from flent_aqm.measure.speedtests import cloudflare

        return cloudflare.measure(server, report, http=args.http_version, unsent=args.unsent)
    if args.what == "ookla_style":
        from flent_aqm.measure.speedtests import ookla_style

        return ookla_style.measure(server, report)
    if args.what == "webrtc_call":
        from flent_aqm.measure.speedtests import webrtc_call

        return webrtc_call.measure(server, report, length_s=args.call_length_s)
    from flent_aqm.measure.speedtests import responsiveness

    return responsiveness.measure(server, report, responsiveness.Parameters(
        most_connections=args.most_connections, interval_s=args.interval_s,
        probes_per_s=args.probes_per_s, unsent=args.unsent, http_version=args.http_version))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m flent_aqm.measure.speedtests")
    parts = parser.add_subparsers(dest="what", required=True)
    for name in OURS:
        client = parts.add_parser(name)
        client.add_argument("--host", required=True)
        client.add_argument("--port", type=int, default=SPEEDTEST_PORT)
        client.add_argument("--ip-version", type=int, choices=(4, 6))
        client.add_argument("--tls", action="store_true")
        if name == "cloudflare":
            client.add_argument("--http-version", type=int, choices=(1, 2), default=2)
            client.add_argument("--unsent", default="16384")
        if name == "webrtc_call":
            client.add_argument("--call-length-s", type=float, default=30.0)
        if name == "responsiveness":
            client.add_argument("--interval-s", type=float, default=5.0)
            client.add_argument("--most-connections", type=int, default=16)
            client.add_argument("--probes-per-s", type=float, default=100.0)
            client.add_argument("--http-version", type=int, choices=(2, 3), default=2)
            client.add_argument("--unsent", default="draft")
    return parser


def main() -> int:
    """Test and print a report; the exit status."""
    args = _parser().parse_args()
    try:
        _client(args)
    except AqmError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {args.what}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
