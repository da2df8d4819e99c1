# SPDX-License-Identifier: GPL-3.0-or-later
"""Cloudflare's own engine in Chromium."""

from __future__ import annotations

from flent_aqm.base import defaults
from flent_aqm.tools.shared import CHROMIUM, HTTP, HTTP_PARAMETERS, HTTPS, http_server
from flent_aqm.tools.tool import HIGHER, LOWER, NPM, Number, Package, Program, Tool, both

TOOL = Tool(
    "cloudflare_browser", HTTP,
    method="Cloudflare's own engine in headless Chromium, without packet loss.",
    source="npm's @cloudflare/speedtest, which runs",
    longest_s=200,
    numbers=(
        *both("{}_mbps", "Mbit/s", HIGHER, "its {}: the 90th percentile of requests"),
        Number("latency_ms", "ms", LOWER, "its latency: median on the idle line"),
        Number("jitter_ms", "ms", LOWER, "its jitter of the idle line"),
        *both("loaded_latency_{}_ms", "ms", LOWER,
              "its latency under {}: median of the last 20"),
        *both("loaded_jitter_{}_ms", "ms", LOWER, "its jitter under {}"),
    ),
    module="flent_aqm.measure.speedtests.cloudflare_browser",
    programs=(CHROMIUM, Program(
        defaults.CLOUDFLARE_JS, "cloudflare_browser needs npm's @cloudflare/speedtest",
        Package("cloudflare-speedtest", NPM, "@cloudflare/speedtest", "1.14.1", "Cloudflare",
                "MIT", "node_modules/@cloudflare/speedtest/dist/speedtest.js"))),
    servers=(HTTPS,),
    choose=http_server,
    parameters=HTTP_PARAMETERS,
    encrypted=True,
)
