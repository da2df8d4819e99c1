# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `flent-aqm serve`. The module imports little, so that the server starts fast."""

from __future__ import annotations

import os
import socket
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.servers.limits import MOST_CONNECTIONS, REQUEST_TIMEOUT_S
from flent_aqm.servers.ndt7.spec import TEST_DURATION_S, Settings

if TYPE_CHECKING:
    import argparse
    import ssl
    from collections.abc import Sequence

    from flent_aqm.servers.acceptor import Listener, Service, TlsSource
    from flent_aqm.servers.limits import Quiet

NDT7, HTTP, HTTP3, WEBRTC = "ndt7", "http", "http3", "webrtc"
SERVED = (NDT7, HTTP, HTTP3, WEBRTC)
# Services that need only packages which every installation has.
USUAL = (NDT7, HTTP)
# Service -> Python package that it needs.
_MODULES = {NDT7: "websockets", HTTP: "h2", HTTP3: "aioquic", WEBRTC: "aiortc"}
# Service -> protocols that it uses at its ports, if they aren't TCP alone.
_PROTOCOLS = {HTTP3: ("UDP",), WEBRTC: ("TCP", "UDP")}
_LONGEST_CC_NAME = 15
# The congestion control that NDT7's protocol asks for.
_USUAL_CC = "bbr"
_LONGEST_S = 3600


class _Port(NamedTuple):
    """A port on which the server listens.

    Attributes:
        what: service of the port, one of SERVED.
        of: description of the service for help texts.
        usual: default port number.
        tls: True if connections to the port use TLS.
    """

    what: str
    of: str
    usual: int
    tls: bool = False


# Ports by their name in the log. The option of a port is --NAME-port.
_PORTS = {
    "ndt7": _Port(NDT7, "NDT7 in cleartext", defaults.NDT7_PORT),
    "ndt7-tls": _Port(NDT7, "NDT7 through TLS", defaults.NDT7_TLS_PORT, tls=True),
    "http": _Port(HTTP, "HTTP in cleartext", defaults.SPEEDTEST_PORT),
    "http-tls": _Port(HTTP, "HTTPS", defaults.SPEEDTEST_TLS_PORT, tls=True),
    "http3": _Port(HTTP3, "HTTP/3, over UDP", defaults.SPEEDTEST_HTTP3_PORT),
    "webrtc": _Port(WEBRTC, "calls, over TCP and UDP", defaults.WEBRTC_PORT),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serve` to the parser, and set its description."""
    from argparse import SUPPRESS  # here: a start without options needs no argparse

    parser.description = (
        "Serve speed tests until SIGINT or SIGTERM: NDT7, and over HTTP/1.1 and HTTP/2 those of "
        "LibreSpeed, Cloudflare, responsiveness and Ookla-style. Standard error gets a line of "
        "JSON when the server listens, for each test of NDT7, and for each fault. Anybody who can "
        "reach the server can make it send data: keep it within a lab or your own network.")
    parser.add_argument(
        "what", nargs="*", metavar="WHAT",
        help=f"service to start: {', '.join(SERVED)} (default: {' '.join(USUAL)})")
    parser.add_argument(
        "--bind", action="append", default=[], metavar="ADDR",
        help="listen on this address only; may be repeated (default: all, IPv4 and IPv6)")
    for name, port in _PORTS.items():
        parser.add_argument(
            f"--{name}-port", type=int, default=port.usual, metavar="PORT",
            help=f"port for {port.of}, 0 takes a free one (default: %(default)s)")
    parser.add_argument("--no-tls", action="store_true",
                        help="NDT7 and HTTP in cleartext only")
    parser.add_argument("--cert", metavar="FILE",
                        help="certificate, PEM (default: a self-signed one, in memory)")
    parser.add_argument("--key", metavar="FILE", help="private key of --cert, PEM")
    parser.add_argument(
        "--congestion-control", default=_USUAL_CC, metavar="NAME",
        help="TCP congestion control of NDT7; a kernel that lacks the default uses its own, and "
        "another one must be there (default: %(default)s)")
    parser.add_argument("--most-connections", type=int, default=MOST_CONNECTIONS, metavar="N",
                        help="serve at most N connections at once; others wait (default: "
                             "%(default)s)")
    # For the lab, in which all handshakes have to have the same length: see certificate.py.
    parser.add_argument("--own-key", choices=defaults.OWN_KEYS, default=defaults.P256,
                        help=SUPPRESS)
    # For tests of this server, which needn't last as long as the protocol's.
    parser.add_argument("--duration", type=float, default=TEST_DURATION_S, help=SUPPRESS)
    parser.add_argument("--request-timeout", type=float, default=REQUEST_TIMEOUT_S, help=SUPPRESS)


def main(args: argparse.Namespace) -> int:
    """Run the server until SIGINT or SIGTERM. Return 0. Call it in the process's main thread.

    args: values of the options that add_arguments() adds. Its `what` is replaced by a tuple of the
    services.

    Raises ConfigError if an option is wrong, a certificate can't be read or a port can't be used,
    ToolMissing if a service needs a Python package that isn't installed. Both are raised before the
    log says that it listens.
    """
    args.what = tuple(args.what) or USUAL
    _check_options(args)
    from flent_aqm.servers.acceptor import Acceptor, Listener, address_text, listen
    from flent_aqm.servers.limits import Quiet

    services: dict[str, Service] = {}
    listeners: list[Listener] = []
    addresses: dict[str, list[str]] = {}
    quiet = Quiet()
    for name, port in _requested_ports(args).items():
        sockets = listen(args.bind, _port_number(args, name), f"--{name}-port",
                         socket.SOCK_DGRAM if port.what == HTTP3 else socket.SOCK_STREAM)
        addresses[name] = [address_text(sock.getsockname()) for sock in sockets]
        if port.what == HTTP3:
            services[HTTP3] = _start_http3(args, sockets, quiet)
            continue
        if port.what not in services:
            services[port.what] = _make_service(args, port.what, sockets[0].getsockname()[1])
        tls = _tls_source(args, port.what) if port.tls else None
        listeners += [Listener(sock, services[port.what], tls) for sock in sockets]
    server = Acceptor(listeners, list(services.values()), quiet=quiet,
                    most_connections=args.most_connections,
                    request_timeout_s=args.request_timeout)
    server.stop_on_signals()
    server.serve(addresses)
    return 0


def _requested_ports(args: argparse.Namespace) -> dict[str, _Port]:
    """Return the ports on which the server has to listen, by name: ports of the requested services,
    without TLS if the user excluded it."""
    return {name: port for name, port in _PORTS.items()
            if port.what in args.what and not (port.tls and args.no_tls)}


def _port_number(args: argparse.Namespace, name: str) -> int:
    """Return the number that the command line gives to a port.

    Args:
        name: the port's name, a key of _PORTS.
    """
    return int(vars(args)[f"{name}_port".replace("-", "_")])


def _make_service(args: argparse.Namespace, what: str, port: int) -> Service:
    """Return a new service. The event loops of HTTP and WebRTC have begun to run. The modules are
    imported here, because each service needs large ones that the others don't.

    Args:
        what: the service, NDT7, HTTP or WEBRTC.
        port: number of its first TCP port, which WebRTC uses for its calls over UDP, too.
    """
    if what == NDT7:
        from flent_aqm.servers.ndt7.service import Ndt7

        return Ndt7(Settings(args.duration, args.congestion_control))
    if what == WEBRTC:
        from flent_aqm.servers.webrtc import WebRtc

        return WebRtc(port)
    from flent_aqm.servers.http import Http
    from flent_aqm.servers.loop import Loop

    return Http(Loop(), args.request_timeout)


def _start_http3(args: argparse.Namespace, sockets: Sequence[socket.socket], quiet: Quiet
                 ) -> Service:
    """Return the HTTP/3 service, which serves from now on. It receives its clients from these UDP
    sockets itself, so it has no Listener. Raises ConfigError if the certificate can't be read, or,
    without --cert, if one that it signs itself can't be stored in a temporary file."""
    from flent_aqm.servers.http3 import Http3Service

    if args.cert:
        from flent_aqm.servers.certificate import context_from_files

        context_from_files(args.cert, args.key)  # only for its message on a wrong file
    http3 = Http3Service(quiet, args.most_connections, args.request_timeout)
    http3.serve(sockets, (args.cert, args.key) if args.cert else None)
    return http3


def _check_options(args: argparse.Namespace) -> None:
    """Raise ConfigError for options that are invalid or contradict each other, ToolMissing if a
    service needs a Python package that isn't installed."""
    for what in args.what:
        if what not in SERVED:
            raise ConfigError(f"unknown service {what!r}; known: {', '.join(SERVED)}")
        # Only looked up: NDT7's package is imported when a client arrives.
        if find_spec(_MODULES[what]) is None:
            raise ToolMissing(f"{what}: Python package {_MODULES[what]} is not installed: "
                              f"pip install {_MODULES[what]}")
    if "" in args.bind:
        raise ConfigError("--bind is empty; expected an address, such as 127.0.0.1 or ::1")
    taken: dict[tuple[int, str], str] = {}
    for name, port in _requested_ports(args).items():
        number = _port_number(args, name)
        if not 0 <= number <= 65535:
            raise ConfigError(f"--{name}-port {number}: expected 0 to 65535")
        for protocol in _PROTOCOLS.get(port.what, ("TCP",)) if number else ():
            other = taken.setdefault((number, protocol), name)
            if other != name:
                raise ConfigError(f"--{other}-port and --{name}-port are both {number}, and use "
                                  f"{protocol}: choose two different ports")
    if (args.cert is None) != (args.key is None):
        raise ConfigError("--cert and --key belong together: give both or neither")
    if args.cert is not None and args.no_tls and HTTP3 not in args.what:
        raise ConfigError("--cert and --key can't be combined with --no-tls: leave out --no-tls, "
                          "or both of them")
    if not 0 < args.duration <= _LONGEST_S:
        raise ConfigError(f"--duration {args.duration!r}: expected more than 0 and at most "
                          f"{_LONGEST_S} seconds")
    if args.most_connections < 1:
        raise ConfigError(f"--most-connections {args.most_connections}: expected 1 or more")
    name = args.congestion_control
    if not (name.isascii() and name.replace("_", "").isalnum() and len(name) <= _LONGEST_CC_NAME):
        raise ConfigError(f"--congestion-control {name!r}: expected a name such as bbr or cubic, "
                          f"of up to {_LONGEST_CC_NAME} letters, digits and _")
    if name != _USUAL_CC and _congestion_control_for(name) != name:
        why = ("doesn't let this user have it" if name in _available_congestion_controls() else
               "lacks it, or its module is not loaded")
        as_root = ", or start the server as root" * (os.geteuid() != 0)
        raise ConfigError(f"--congestion-control {name}: this kernel {why}; give one of `sysctl "
                          f"net.ipv4.tcp_allowed_congestion_control`{as_root}")


def _congestion_control_for(name: str) -> str:
    """Return the congestion control that a socket uses after a request for one by its name."""
    from flent_aqm.servers.ndt7.tcp import use_congestion_control

    with socket.socket() as sock:
        return use_congestion_control(sock, name)


def _available_congestion_controls() -> list[str]:
    """Return the names of the congestion controls that the kernel has now, which other users than
    root may not all have. Empty if the kernel doesn't tell."""
    try:
        with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def _tls_source(args: argparse.Namespace, what: str) -> TlsSource:
    """Return a function that returns the TLS context of a service, always the same.

    Certificate files are read at once, so that the user gets an error message. A self-signed
    certificate for HTTP is made at once, too. That for NDT7 is made by the function's first call,
    when a client connects to the TLS port, because the modules for it take most of a start.

    Args:
        what: the service, NDT7 or HTTP.

    Raises ConfigError if certificate and key can't be used: if one can't be read, or the key has a
    password or is that of another certificate. For HTTP, also if /proc, through which a self-signed
    certificate is loaded, can't be read.
    """
    def with_alpn(context: ssl.SSLContext) -> ssl.SSLContext:
        """Return the same context. If _tls_source()'s service `what` is HTTP, it is changed so that
        clients can select the version of HTTP in the handshake (ALPN)."""
        if what == HTTP:
            context.set_alpn_protocols(["h2", "http/1.1"])
        return context

    if args.cert is not None:
        from flent_aqm.servers.certificate import context_from_files

        context = with_alpn(context_from_files(args.cert, args.key))
        return lambda: context

    @cache
    def make_once() -> ssl.SSLContext:
        """Return the context with a self-signed certificate, made by the first call."""
        from flent_aqm.servers.certificate import self_signed_context

        return with_alpn(self_signed_context(
            [addr for addr in args.bind if addr not in ("0.0.0.0", "::")], args.own_key))

    if what == HTTP:
        make_once()  # made now, because clients of HTTP measure also the first handshake
    return make_once
