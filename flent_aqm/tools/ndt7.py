# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes the NDT7 tests, with their clients and servers.

Clients are the Rust crate ndt7-client, M-Lab's client, and M-Lab's script in Chromium. Servers are
this package's and M-Lab's.
"""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.base.defaults import MLAB_NDT7_CLIENT, NDT7_JS, NDT7_PORT, NDT7_TLS_PORT
from flent_aqm.base.switch import switch
from flent_aqm.tools.shared import CHROMIUM
from flent_aqm.tools.tool import FLAG, GO, NPM, Form, Program, Server, Shown, Tool

_PORTS = {"NDT7_PORT": (NDT7_PORT,)}
_BOTH = {**_PORTS, "NDT7_TLS_PORT": (NDT7_TLS_PORT,)}
# NDT7_CC is set by the key ndt7_cc, in the lab and between namespaces.
_CC = "--congestion-control ${NDT7_CC:-bbr}"
CLEARTEXT = Server("ndt7-cleartext", _PORTS,
                   f"serve ndt7 --no-tls --ndt7-port {NDT7_PORT} {_CC}",
                   parameter="ndt7_port", in_lab=False)
TLS = Server(
    "ndt7", _BOTH, (f"serve ndt7 --ndt7-port {NDT7_PORT} --ndt7-tls-port {NDT7_TLS_PORT} "
                    f"{_CC} "
                    "--own-key ${TLS_KEY:-p256}"),
    parameter="ndt7_port", tls=True)
# M-Lab's writes its records to -datadir, and makes no certificate.
_MLAB = f'"$NDT_SERVER" -ndt7_addr_cleartext :{NDT7_PORT} -datadir /run/ndt-server'
_BEFORE = "mkdir -p /run/ndt-server && cd /run/ndt-server || exit"
_AFTER = f'listens_or_exit {NDT7_PORT} "$NDT_SERVER" /run/ndt7.log'
MLAB_CLEARTEXT = Server("ndt-server-cleartext", _PORTS, _MLAB, _BEFORE, _AFTER, "/run/ndt7.log",
                        program="ndt-server", parameter="ndt7_port", behind_ssh=False, in_lab=False)
MLAB_TLS = Server(
    "ndt-server", _BOTH, f"{_MLAB} -ndt7_addr :{NDT7_TLS_PORT} -cert pem -key pem",
    (f'{_BEFORE}\n"$PYTHON" -P -m flent_aqm.servers.certificate pem "${{TLS_KEY:-p256}}" '
     "|| exit"), _AFTER, "/run/ndt7.log", program="ndt-server", parameter="ndt7_port", tls=True,
    behind_ssh=False, in_lab=False)
# (value of the key ndt7_server, whether clients use TLS) -> server.
SERVERS = {("own", False): CLEARTEXT, ("own", True): TLS, ("mlab", False): MLAB_CLEARTEXT,
           ("mlab", True): MLAB_TLS}

MLAB_CLIENT = Program(
    MLAB_NDT7_CLIENT, GO, "github.com/m-lab/ndt7-client-go/cmd/ndt7-client", "v0.10.1", "M-Lab",
    "Apache-2.0", "ndt7-client-go", why="ndt7_client=mlab needs M-Lab's ndt7-client")
MLAB_SERVER = Program(
    "ndt-server", GO, "github.com/m-lab/ndt-server", "v0.25.0", "M-Lab", "Apache-2.0",
    why="ndt7_server=mlab needs M-Lab's ndt-server")
SCRIPT = Program(
    NDT7_JS, NPM, "@m-lab/ndt7", "0.1.4", "M-Lab", "Apache-2.0",
    file="node_modules/@m-lab/ndt7/src/ndt7.js", why="ndt7_browser needs M-Lab's ndt7.js")
_PARAMETERS = {"ndt7_tls": FLAG, "ndt7_early_exit": FLAG,
               "ndt7_client": Form("crate|mlab", "crate or mlab")}


def _requested_server(settings: Mapping[str, object]) -> Server:
    """Return the server that the settings request, one of SERVERS. Raises KeyError if ndt7_server
    has another value than those below.

    settings: the run's test parameters, of which ndt7_tls is used (a switch; any other value counts
    as off, the default), and the key ndt7_server ("own", the default, or "mlab").
    """
    tls = bool(switch(settings.get("ndt7_tls", "no")))
    return SERVERS[str(settings.get("ndt7_server", "own")), tls]


def _with_server(client: tuple[Program | str, ...], settings: Mapping[str, object]
                 ) -> tuple[Program | str, ...]:
    """Return the client's programs, with M-Lab's server at the end if the key ndt7_server is
    "mlab".

    Args:
        client: the client's programs.
        settings: the run's test parameters and the key ndt7_server.
    """
    return (*client, MLAB_SERVER) if settings.get("ndt7_server") == "mlab" else client


def _programs(settings: Mapping[str, object]) -> tuple[Program | str, ...]:
    """Return the programs of the client that the settings request, and M-Lab's server if they
    request it.

    settings: the run's test parameters, of which ndt7_client is used ("mlab", or by default
        "crate"), and the key ndt7_server.
    """
    is_mlabs = settings.get("ndt7_client") == "mlab"
    return _with_server((MLAB_CLIENT if is_mlabs else CRATE,), settings)


def _programs_in_browser(settings: Mapping[str, object]) -> tuple[Program | str, ...]:
    """Return the programs of the client in a browser, and M-Lab's server if the settings request
    it.

    settings: the run's test parameters and the key ndt7_server.
    """
    return _with_server(_IN_BROWSER, settings)


CRATE = "ndt7-client"
TOOL = Tool(
    "ndt7", CLEARTEXT, programs=(CRATE,), choose=_requested_server, choose_programs=_programs,
    sometimes=(MLAB_CLIENT, MLAB_SERVER),
    servers=tuple(SERVERS.values()), parameters=_PARAMETERS,
    shown=Shown("NDT7", ("latency_download_ms", "latency_upload_ms"),
                (("latency_download_ms", "latency {:.0f} ms"),),
                ("throughput_download_mbps", "throughput_upload_mbps")))
_IN_BROWSER = (CHROMIUM, SCRIPT)
BROWSER = Tool("ndt7_browser", CLEARTEXT, programs=_IN_BROWSER, choose=_requested_server,
               choose_programs=_programs_in_browser,
               parameters={"ndt7_tls": FLAG})
