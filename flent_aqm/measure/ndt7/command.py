# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `flent-aqm ndt7-server`. Importing this costs next to nothing."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from flent_aqm.base.defaults import NDT7_PORT, NDT7_TLS_PORT, OWN_KEYS, P256
from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.measure.ndt7.spec import TEST_DURATION_S, Settings

if TYPE_CHECKING:
    import argparse
    import ssl

    from flent_aqm.measure.ndt7.server import TlsSource

_LONGEST_CC_NAME = 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    from argparse import SUPPRESS  # here, as a start without options needs no argparse

    parser.description = (
        "Serve NDT7 speed tests (ndt7 protocol 0.11) until SIGINT or SIGTERM. Standard error gets "
        "one line of JSON when the server listens, and one for each test."
    )
    parser.epilog = (
        "example: flent-aqm ndt7-server --bind 127.0.0.1 --no-tls, and on the same machine "
        "ndt7-client --server localhost:8080 --no-locate --no-tls"
    )
    parser.add_argument(
        "--bind", action="append", default=[], metavar="ADDR",
        help="listen on this address only; may be repeated (default: all, IPv4 and IPv6)",
    )
    parser.add_argument(
        "--port", type=int, default=NDT7_PORT,
        help="port for tests in cleartext, 0 takes a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--tls-port", type=int, default=NDT7_TLS_PORT, metavar="PORT",
        help="port for tests through TLS, 0 takes a free one (default: %(default)s)",
    )
    parser.add_argument("--no-tls", action="store_true", help="serve cleartext only")
    parser.add_argument(
        "--cert", metavar="FILE",
        help="certificate, PEM (default: a self-signed one, made for the first client)",
    )
    parser.add_argument("--key", metavar="FILE", help="its private key, PEM")
    parser.add_argument(
        "--congestion-control", default="bbr", metavar="NAME",
        help="TCP congestion control; a kernel that lacks it uses its own default "
        "(default: %(default)s)",
    )
    # The lab's, where every handshake is to be as long as any other: see certificate.py.
    parser.add_argument("--own-key", choices=OWN_KEYS, default=P256, help=SUPPRESS)
    # Tests of this server needn't last as long as the protocol's.
    parser.add_argument("--duration", type=float, default=TEST_DURATION_S, help=SUPPRESS)


def main(args: argparse.Namespace) -> int:
    """Serve until a signal; 0 then. Raises ConfigError or ToolMissing before it listens."""
    _check(args)
    from flent_aqm.measure.ndt7.listeners import listen
    from flent_aqm.measure.ndt7.server import Server

    plain = listen(args.bind, args.port)
    tls = None if args.no_tls else _tls_source(args)
    secure = listen(args.bind, args.tls_port) if tls else []
    settings = Settings(args.duration, args.congestion_control)
    server = Server(plain, secure, tls, settings)
    server.stop_on_signals()
    server.serve()
    return 0


def _check(args: argparse.Namespace) -> None:
    for option, port in (("--port", args.port), ("--tls-port", args.tls_port)):
        if not 0 <= port <= 65535:
            raise ConfigError(f"{option} {port}: expected 0 to 65535")
    if args.port == args.tls_port != 0 and not args.no_tls:
        raise ConfigError(f"--port and --tls-port are both {args.port}: choose two, or --no-tls")
    if (args.cert is None) != (args.key is None):
        raise ConfigError("--cert and --key belong together: give both or neither")
    if args.cert is not None and args.no_tls:
        raise ConfigError("--cert makes no sense with --no-tls: leave one out")
    if not 0 < args.duration <= 3600:
        raise ConfigError(f"--duration {args.duration:g}: expected seconds, above 0")
    name = args.congestion_control
    if not (name.isascii() and name.replace("_", "").isalnum() and len(name) <= _LONGEST_CC_NAME):
        raise ConfigError(f"--congestion-control {name!r}: expected a name like bbr or cubic")
    # Looked up only, because importing it waits until a client comes.
    if find_spec("websockets") is None:
        raise ToolMissing("Python package websockets is not installed: pip install websockets")


def _tls_source(args: argparse.Namespace) -> TlsSource:
    """Files are read now, so that the user is told. A certificate of our own is made when a
    client asks for TLS: what that takes to load is most of a start otherwise."""
    if args.cert is not None:
        from flent_aqm.measure.ndt7.certificate import context_from_files

        context = context_from_files(args.cert, args.key)
        return lambda: context

    @cache
    def made() -> ssl.SSLContext:
        from flent_aqm.measure.ndt7.certificate import self_signed_context

        return self_signed_context(
            [addr for addr in args.bind if addr not in ("0.0.0.0", "::")], args.own_key)

    return made
