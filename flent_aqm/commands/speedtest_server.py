# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm speedtest-server`: serve the speed tests over HTTP on any machine."""

from __future__ import annotations

import argparse

from flent_aqm.base.defaults import SPEEDTEST_PORT
from flent_aqm.base.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.description = (
        "Serve the tests responsiveness, librespeed, cloudflare and ookla_style, over HTTP/1.1 "
        "and HTTP/2, until SIGINT or SIGTERM. Anybody who can reach the server can make it send "
        "data: keep it within a lab or your own network.")
    parser.add_argument("--bind", metavar="ADDR",
                        help="listen on this address only (default: all, IPv4 and IPv6)")
    parser.add_argument("--port", type=int, default=SPEEDTEST_PORT,
                        help="port to listen on, in cleartext (default: %(default)s)")
    parser.add_argument("--tls-port", type=int, metavar="PORT",
                        help="also serve HTTPS at this port, with a certificate made at the start")


def main(args: argparse.Namespace) -> int:
    """Serve until a signal; 0 then. Raises ConfigError where it can't listen."""
    for option, port in (("--port", args.port), ("--tls-port", args.tls_port)):
        if port is not None and not 0 < port < 65536:
            raise ConfigError(f"{option} {port}: expected 1 to 65535")
    if args.port == args.tls_port:
        raise ConfigError(f"--port and --tls-port are both {args.port}: choose two")
    from flent_aqm.measure.speedtests.server import serve

    try:
        serve(args.port, args.tls_port, bind=args.bind)
    except OSError as error:
        ports = " or ".join(str(port) for port in (args.port, args.tls_port) if port)
        raise ConfigError(f"can't listen on {args.bind or 'any address'}, port {ports}: "
                          f"{error.strerror or error}") from None
    return 0
