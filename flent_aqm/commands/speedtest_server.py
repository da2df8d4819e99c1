# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm speedtest-server`: serve the speed tests over HTTP on any machine."""

from __future__ import annotations

import argparse

from flent_aqm.base.defaults import SPEEDTEST_PORT
from flent_aqm.base.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.description = (
        "Serve the tests responsiveness, librespeed, cloudflare and ookla_style, over HTTP/1.1 and "
        "HTTP/2 in cleartext, until SIGINT or SIGTERM. Anybody who reaches it can have data sent: "
        "keep it within a lab or a network of yours.")
    parser.add_argument("--bind", metavar="ADDR",
                        help="listen on this address only (default: all, IPv4 and IPv6)")
    parser.add_argument("--port", type=int, default=SPEEDTEST_PORT,
                        help="port to listen on (default: %(default)s)")


def main(args: argparse.Namespace) -> int:
    """Serve until a signal; 0 then. Raises ConfigError where it can't listen."""
    if not 0 < args.port < 65536:
        raise ConfigError(f"--port {args.port}: expected 1 to 65535")
    from flent_aqm.measure.speedtests.server import serve

    try:
        serve(args.port, bind=args.bind)
    except OSError as error:
        raise ConfigError(f"can't listen on {args.bind or 'any address'}, port {args.port}: "
                          f"{error.strerror or error}") from None
    return 0
