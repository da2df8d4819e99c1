# SPDX-License-Identifier: GPL-3.0-or-later
"""LibreSpeed's own script in Chromium, of the user's copy."""

from __future__ import annotations

from flent_aqm.base import defaults, environment
from flent_aqm.tools.shared import CHROMIUM, HTTP, HTTP_PARAMETERS, HTTPS, http_server
from flent_aqm.tools.tool import HIGHER, LOWER, Number, Program, Tool, both

TOOL = Tool(
    "librespeed_browser", HTTP,
    method="LibreSpeed's own script, of your copy, in headless Chromium.",
    source="librespeed/speedtest, speedtest_worker.js, which runs",
    longest_s=60,
    numbers=(
        *both("{}_mbps", "Mbit/s", HIGHER, "its {}, with 6 % for headers"),
        Number("ping_ms", "ms", LOWER, "its ping: the shortest on the idle line"),
        Number("jitter_ms", "ms", LOWER, "its jitter: of the idle line, smoothed"),
    ),
    module="flent_aqm.measure.speedtests.librespeed_browser",
    programs=(CHROMIUM, Program(
        defaults.LIBRESPEED_WORKER,
        f"librespeed_browser needs {defaults.LIBRESPEED_WORKER} of librespeed/speedtest, whose "
        f"folder {environment.LIBRESPEED} names", variable=environment.LIBRESPEED)),
    servers=(HTTPS,),
    choose=http_server,
    parameters=HTTP_PARAMETERS,
    encrypted=True,
)
