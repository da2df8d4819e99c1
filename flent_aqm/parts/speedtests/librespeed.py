# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests by LibreSpeed's method: with this package's client, and with LibreSpeed's own script.

The script is that of the user's copy, and runs in Chromium.
"""

from __future__ import annotations

from dataclasses import replace

from flent_aqm.base import defaults, environment
from flent_aqm.tools.shared import CHROMIUM, HTTP, HTTP_PARAMETERS, HTTPS, http_server
from flent_aqm.tools.tool import Number, Program, Shown, Tool, both

# LibreSpeed's overheadCompensationFactor.
OVERHEAD_FACTOR = 1.06
TOOL = Tool(
    "librespeed", HTTP,
    method=("Times ten requests on the idle line and shows the shortest. Downloads over 5 "
            "connections, uploads over 3, leaves out the first 1.5 and 3 s, multiplies all "
            "bytes by 1.06. Measures no latency under load."),
    source="librespeed/speedtest, speedtest_worker.js",
    longest_s=50,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {}, with 6 % for headers"),
        Number("ping_ms", "ms", "its ping: the shortest on the idle line"),
        Number("jitter_ms", "ms", "its jitter: of the idle line, smoothed"),
    ),
    overhead_factor=OVERHEAD_FACTOR,
    module="flent_aqm.parts.speedtests.librespeed_client",
    servers=(HTTPS,),
    choose=http_server,
    parameters=HTTP_PARAMETERS,
    shown=Shown("LibreSpeed\n(its method)", ("ping_ms",),
                (("ping_ms", "ping {:.0f} ms"), ("jitter_ms", "jitter {:.1f} ms"))),
)
BROWSER = replace(
    TOOL, name="librespeed_browser",
    module="flent_aqm.parts.speedtests.librespeed_browser",
    method="LibreSpeed's own script, of your copy, in headless Chromium.",
    source="librespeed/speedtest, speedtest_worker.js, which runs", longest_s=60,
    programs=(CHROMIUM, Program(
        defaults.LIBRESPEED_WORKER, variable=environment.LIBRESPEED,
        why=(f"librespeed_browser needs {defaults.LIBRESPEED_WORKER} of librespeed/speedtest, "
             f"whose folder {environment.LIBRESPEED} names"))),
    shown=None)
