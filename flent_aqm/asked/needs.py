# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test needs of the machine and of the server, by the beginning of its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from flent_aqm.asked.cross_traffic import kind_of
from flent_aqm.asked.scenario import Scenario
from flent_aqm.asked.servers import SERVERS
from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.switch import switch


@dataclass(frozen=True)
class Needs:
    """tools: programs of client and server; servers: those to start, as testbed/guest/server.sh
    names them; cross_servers: further ones for bulk cross traffic. A server that isn't started
    costs no time. encrypted: TLS is in use, whose random numbers have to repeat."""

    tools: tuple[str, ...]
    servers: tuple[str, ...]
    cross_servers: tuple[str, ...] = ()
    encrypted: bool = False


NEEDS = {
    "ndt7_browser": Needs(("chromium", defaults.NDT7_JS), ("irtt", "ndt7-cleartext"), ("iperf3",)),
    "ndt7": Needs(("ndt7-client",), ("irtt", "ndt7-cleartext"), ("iperf3",)),
    "iperf3": Needs(("iperf3",), ("irtt", "iperf3")),
    "librespeed_browser": Needs(("chromium", defaults.LIBRESPEED_WORKER),
                                ("irtt", "speedtest-cleartext"), ("iperf3",), encrypted=True),
    "cloudflare_browser": Needs(("chromium", defaults.CLOUDFLARE_JS),
                                ("irtt", "speedtest-cleartext"), ("iperf3",), encrypted=True),
    "librespeed_cli": Needs(("librespeed-cli",), ("irtt", "speedtest-cleartext"), ("iperf3",)),
    **{name: Needs((), ("irtt", "speedtest-cleartext"), ("iperf3",))
       for name in ("responsiveness", "librespeed", "cloudflare", "ookla_style")},
    "goresponsiveness": Needs(("goresponsiveness",), ("irtt", "speedtest"), ("iperf3",),
                              encrypted=True),
    "msak": Needs(("msak-client", "msak-server"), ("irtt", "msak"), ("iperf3",)),
    "ethr": Needs(("ethr",), ("irtt", "ethr"), ("iperf3",)),
    "crusader": Needs(("crusader",), ("irtt", "crusader"), ("iperf3",)),
    "webrtc_call": Needs(("aiortc",), ("irtt", "webrtc"), ("iperf3",), encrypted=True),
    "nuttcp": Needs(("nuttcp",), ("irtt", "nuttcp"), ("iperf3",)),
    "iperf2": Needs(("iperf",), ("irtt", "iperf2"), ("iperf3",)),
    "quic": Needs(("aioquic",), ("irtt", "quic"), ("iperf3",), encrypted=True),
    "ping_exp": Needs(("iperf3",), ("iperf3",)),
    "aqm_flows": Needs(("iperf3",), ("irtt", "iperf3", "iperf3-flows")),
    "speedtest": Needs(("netperf", "netserver"), ("irtt", "iperf3", "netserver")),
    "rrul": Needs(("netperf", "netserver"), ("irtt", "netserver")),
    "rtt_fair": Needs(("netperf", "netserver"), ("irtt", "netserver")),
    "tcp_": Needs(("netperf", "netserver"), ("irtt", "netserver")),
}
# What isn't listed: any server may be the one.
_ALL = Needs((), ("irtt", "iperf3", "netserver", "ndt7-cleartext"))


def needs_of_run(test_name: str, scenario: Scenario, parameters: Mapping[str, object]) -> Needs:
    """Return what one run needs, with all that its scenario and test parameters add. Its
    cross_servers are among the servers."""
    needs = needs_of(test_name)
    if test_name.startswith("ndt7"):
        needs = _ndt7(needs, scenario, parameters)
    if "speedtest-cleartext" in needs.servers and switch(parameters.get("speedtest_tls", "no")):
        needs = replace(needs, servers=("irtt", "speedtest"), encrypted=True)
    if test_name == "responsiveness" and str(parameters.get("http_version")) == "3":
        needs = replace(needs, servers=("irtt", "speedtest-http3"), encrypted=True,
                        tools=(*needs.tools, "aioquic"))
    kind = kind_of(scenario.hosts.cross_traffic)
    if kind:
        cross = (kind.server,) if kind.server else needs.cross_servers
        needs = replace(needs, servers=tuple(dict.fromkeys((*needs.servers, *cross))),
                        encrypted=needs.encrypted or kind.encrypted,
                        tools=(*needs.tools, *kind.tools))
    return needs


def refuse_servers_behind_ssh(needs: Needs, scenario: Scenario) -> None:
    """Raise ConfigError where server_testbed is to start what it can't."""
    for name in needs.servers if scenario.lab.server_testbed else ():
        if not SERVERS[name].behind_ssh:
            kind = kind_of(scenario.hosts.cross_traffic)
            asking = (f"ndt7_server: {scenario.hosts.ndt7_server}" if name.startswith("ndt-server")
                      else f"cross_traffic: {scenario.hosts.cross_traffic}"
                      if kind is not None and kind.server == name else
                      "http_version: 3" if name == "speedtest-http3" else "the test")
            raise ConfigError(f"{asking} needs a server that server_testbed can't start ({name}); "
                              "leave one of them out")


def _ndt7(needs: Needs, scenario: Scenario, parameters: Mapping[str, object]) -> Needs:
    """Return its client and server, of the maker asked for, in cleartext or not."""
    tls = bool(switch(parameters.get("ndt7_tls", "no")))
    server = {("own", False): "ndt7-cleartext", ("own", True): "ndt7",
              ("mlab", False): "ndt-server-cleartext", ("mlab", True): "ndt-server",
              }[scenario.hosts.ndt7_server, tls]
    server_tools = ("ndt-server",) if scenario.hosts.ndt7_server == "mlab" else ()
    client = defaults.MLAB_NDT7_CLIENT if parameters.get("ndt7_client") == "mlab" else "ndt7-client"
    return replace(
        needs, encrypted=tls or defaults.NDT7_JS in needs.tools,
        tools=(*(client if one == "ndt7-client" else one for one in needs.tools), *server_tools),
        servers=tuple(server if one == "ndt7-cleartext" else one for one in needs.servers))


def needs_of(test_name: str) -> Needs:
    """Return the entry of a test."""
    for beginning, needs in NEEDS.items():
        if test_name.startswith(beginning):
            return needs
    return _ALL
