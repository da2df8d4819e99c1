# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test in the style of Ookla's, with this package's client."""

from __future__ import annotations

from flent_aqm.tools.shared import HTTP, HTTP_PARAMETERS, HTTPS, http_server
from flent_aqm.tools.tool import Number, Shown, Tool, both

TOOL = Tool(
    "ookla_style", HTTP,
    method=("Opens 4 connections that ask for chunks of half a second, and up to 4 more while "
            "they help. Shows the mean of 20 slices without the fastest 10 % and slowest 30 %, "
            "and the interquartile mean of a small request every 0.2 s."),
    source="Ookla's support pages; the rest is ours",
    prefix="ookla_style_client",
    longest_s=35,
    numbers=(
        *both("{}_mbps", "Mbit/s",
              "its {}: mean of 20 slices without the fastest 10 % and slowest 30 %"),
        Number("ping_ms", "ms", "its ping: the shortest on the idle line"),
        Number("jitter_ms", "ms", "its jitter of the idle line"),
        *both("latency_iqm_{}_ms", "ms", "its latency under {}, interquartile mean"),
        *both("latency_low_{}_ms", "ms", "its latency under {}, lowest"),
        *both("latency_high_{}_ms", "ms", "its latency under {}, highest"),
        *both("latency_jitter_{}_ms", "ms", "its jitter under {}"),
    ),
    module="flent_aqm.parts.speedtests.ookla_style_client",
    servers=(HTTPS,),
    choose=http_server,
    parameters=HTTP_PARAMETERS,
    shown=Shown("Ookla-style", ("latency_iqm_download_ms", "latency_iqm_upload_ms"),
                (("ping_ms", "ping {:.0f} ms"), ("latency_iqm_download_ms", "down {:.0f} ms"),
                 ("latency_iqm_upload_ms", "up {:.0f} ms"))),
)
