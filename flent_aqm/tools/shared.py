# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes programs and servers that several tools use."""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.base import defaults
from flent_aqm.base.switch import switch
from flent_aqm.tools.tool import DEBIAN, FLAG, PYPI, Form, Program, Server

CHROMIUM = Program(
    "chromium", DEBIAN, "chromium", "", "the Chromium authors", "BSD-3-Clause", "browser",
    why="the tests in a browser need Chromium")
AIOQUIC = Program(
    "aioquic", PYPI, "aioquic", "1.7.2", "Jeremy Lainé", "BSD-3-Clause",
    why=("QUIC (quic_download, cross_traffic=quic, http_version=3) needs the Python package "
         "aioquic"))

_PORTS = {"SPEEDTEST_PORT": (defaults.SPEEDTEST_PORT,)}
# Starts faster than HTTPS because it makes no certificate.
HTTP = Server("speedtest-cleartext", _PORTS,
              f"serve http --no-tls --http-port {defaults.SPEEDTEST_PORT}",
              parameter="speedtest_port", in_lab=False)
HTTPS = Server(
    "speedtest", {**_PORTS, "SPEEDTEST_TLS_PORT": (defaults.SPEEDTEST_TLS_PORT,)},
    (f"serve http --http-port {defaults.SPEEDTEST_PORT} "
     f"--http-tls-port {defaults.SPEEDTEST_TLS_PORT} --own-key ${{TLS_KEY:-p256}}"),
    parameter="speedtest_port", tls=True,
    words=("responsiveness", "goresponsiveness", "networkQuality", "librespeed", "cloudflare",
           "ookla_style", "speedtest", str(defaults.SPEEDTEST_PORT),
           str(defaults.SPEEDTEST_TLS_PORT)))
HTTP_PARAMETERS: Mapping[str, Form] = {"speedtest_tls": FLAG}
# How many unsent bytes a sender leaves in its kernel: see servers/protocols/watermarks.py.
UNSENT = Form("draft|kernel|[1-9][0-9]{3,8}", "draft, kernel, or bytes, 1000 or more")


def http_server(parameters: Mapping[str, object]) -> Server:
    """Return the server HTTPS if the test parameter speedtest_tls is a word for yes, otherwise
    HTTP.

    parameters: the run's test parameters.
    """
    return HTTPS if switch(parameters.get("speedtest_tls", "no")) else HTTP
