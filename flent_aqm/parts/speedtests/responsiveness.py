# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test by the IETF's responsiveness draft, with this package's client."""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.base import defaults
from flent_aqm.base.switch import switch
from flent_aqm.tools.shared import AIOQUIC, HTTP, HTTP_PARAMETERS, HTTPS, UNSENT, http_server
from flent_aqm.tools.tool import HIGHER, STREAMS, Form, Number, Server, Shown, Tool, both

HTTP3 = Server(
    "speedtest-http3", {"SPEEDTEST_HTTP3_PORT": (defaults.SPEEDTEST_HTTP3_PORT,)},
    f"serve http3 --http3-port {defaults.SPEEDTEST_HTTP3_PORT}", protocol="udp",
    module="aioquic", parameter="speedtest_port", tls=True, behind_ssh=False,
    words=("http_version=3",))


def _over_quic(parameters: Mapping[str, object]) -> bool:
    """Return whether the test's parameters request HTTP/3: `http_version` is 3, as a number or
    text."""
    return str(parameters.get("http_version")) == "3"


def _choose_server(parameters: Mapping[str, object]) -> Server:
    """Return the server for these test parameters: HTTP3 if `http_version` is 3, otherwise HTTPS if
    `speedtest_tls` is a word for yes, otherwise HTTP."""
    return HTTP3 if _over_quic(parameters) else http_server(parameters)


def _conflict(parameters: Mapping[str, object]) -> str:
    """Return a message if the parameters request HTTP/3 together with `unsent`, or with a word for
    yes as `speedtest_tls`, which can't be combined, otherwise ""."""
    if _over_quic(parameters) and parameters.get("unsent"):
        return "unsent: only for HTTP/2; leave it out with http_version=3"
    if _over_quic(parameters) and switch(parameters.get("speedtest_tls", "no")):
        return "speedtest_tls: HTTP/3 is always encrypted; leave it out with http_version=3"
    return ""


TOOL = Tool(
    "responsiveness", HTTP,
    method=("Adds an HTTP/2 connection every interval, first with downloads, then with uploads, "
            "and times new connections beside them (foreign) and requests among them (self, "
            "loaded). Ends when goodput and result are stable; RPM is the mean of 60000/ms of "
            "both kinds. The batch has intervals of 1 s for the draft's 5, and 20 probes a "
            "second for 100."),
    source="draft-ietf-ippm-responsiveness-09",
    longest_s=100,
    numbers=(
        *both("rpm_{}", "RPM", "round trips per minute under {}"),
        *both("foreign_rpm_{}", "RPM", "its part of new connections, {}"),
        *both("loaded_rpm_{}", "RPM", "its part of the loading connections, {}"),
        *both("go_rpm_{}", "RPM", "goresponsiveness' formula of trimmed means, {}"),
        *both("go_p90_rpm_{}", "RPM", "goresponsiveness' formula of 90th percentiles, {}"),
        Number("rpm", "RPM", "the worse direction's"),
        Number("go_rpm", "RPM", "the worse direction's by goresponsiveness"),
        Number("go_p90_rpm", "RPM", "the worse direction's by goresponsiveness' 90th percentiles"),
        *both("goodput_{}_mbps", "Mbit/s", "its goodput of the {}"),
        *both("confidence_{}", "",
              "its confidence in the {}'s result: 0 low, 1 medium, 2 high", HIGHER),
        *both("connections_{}", "", "connections that loaded the {} at the end"),
        Number("idle_ms", "ms", "its shortest request before the load"),
    ),
    module="flent_aqm.parts.speedtests.responsiveness_client",
    servers=(HTTPS, HTTP3),
    choose=_choose_server,
    sometimes=(AIOQUIC,),
    parameters={
        **HTTP_PARAMETERS,
        "interval_s": Form(r"[1-9]|10|0\.5", "0.5, or 1 to 10"),
        "most_connections": STREAMS,
        "probes_per_s": Form("[1-9][0-9]?|100", "1 to 100"),
        "unsent": UNSENT,
        "http_version": Form("[23]", "2 or 3"),
    },
    together=_conflict,
    shown=Shown("Responsiveness\n(IETF's draft)", ("rpm",), (("rpm", "{}"), ("rpm", "{:.0f} RPM")),
                ("goodput_download_mbps", "goodput_upload_mbps"), between=", "),
)
