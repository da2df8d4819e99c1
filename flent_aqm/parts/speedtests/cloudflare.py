# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests by Cloudflare's method: with this package's client, and with Cloudflare's own engine.

This file describes them. cloudflare_client.py measures and computes the numbers, and
cloudflare_browser.py has the engine do so in Chromium.
"""

from __future__ import annotations

from dataclasses import replace

from flent_aqm.base import defaults
from flent_aqm.tools.shared import CHROMIUM, HTTP, HTTP_PARAMETERS, HTTPS, UNSENT, http_server
from flent_aqm.tools.tool import NPM, Form, Number, Program, Shown, Tool, both

TOOL = Tool(
    "cloudflare", HTTP,
    method=("Requests files of 0.1 to 250 MB one after the other until one takes a second; "
            "throughput is the 90th percentile. An empty request every 400 ms beside them, on a "
            "connection of its own as with HTTP/1.1, which the real service speaks "
            "(`http_version=2`: on the same connection), gives latency. Loss, which needs a TURN "
            "server, is that of the run's own probe on the idle line. The server leaves 16 kB "
            "unsent."),
    source="cloudflare/speedtest, defaultConfig.ts",
    longest_s=200,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {}: the 90th percentile of requests"),
        Number("latency_ms", "ms", "its latency: median on the idle line"),
        Number("jitter_ms", "ms", "its jitter of the idle line"),
        *both("loaded_latency_{}_ms", "ms", "its latency under {}: median of the last 20"),
        *both("loaded_jitter_{}_ms", "ms", "its jitter under {}"),
    ),
    module="flent_aqm.parts.speedtests.cloudflare_client",
    servers=(HTTPS,),
    choose=http_server,
    parameters={**HTTP_PARAMETERS, "http_version": Form("[12]", "1 or 2"), "unsent": UNSENT},
    shown=Shown("Cloudflare\n(its method)",
                ("loaded_latency_download_ms", "loaded_latency_upload_ms"),
                (("aim_streaming", "video {}"), ("aim_gaming", "games {}"),
                 ("aim_rtc", "calls {}"))),
)
BROWSER = replace(
    TOOL, name="cloudflare_browser",
    module="flent_aqm.parts.speedtests.cloudflare_browser",
    method="Cloudflare's own engine in headless Chromium, without packet loss.",
    source="npm's @cloudflare/speedtest, which runs", parameters=HTTP_PARAMETERS,
    programs=(CHROMIUM, Program(
        defaults.CLOUDFLARE_JS, NPM, "@cloudflare/speedtest", "1.14.1", "Cloudflare", "MIT",
        "cloudflare-speedtest", "node_modules/@cloudflare/speedtest/dist/speedtest.js",
        "cloudflare_browser needs npm's @cloudflare/speedtest")),
    shown=Shown("Cloudflare\n(in Chromium)",
                ("loaded_latency_download_ms", "loaded_latency_upload_ms"),
                (("loaded_latency_download_ms", "latency down {:.0f} ms"),
                 ("loaded_latency_upload_ms", "up {:.0f} ms"))))
