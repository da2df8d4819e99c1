# SPDX-License-Identifier: GPL-3.0-or-later
"""Part for speed tests other than NDT7 and iperf3, one module each: docs/scorecard.md.

A line in this file adds a speed test.
"""

from flent_aqm.base.part import Part

# In the order of the figure.
PART = Part(tools=tuple(f"{__name__}.{place}" for place in (
    "nuttcp:TOOL",
    "librespeed:TOOL",
    "librespeed:BROWSER",
    "ookla_style:TOOL",
    "iperf2_bounceback:TOOL",
    "cloudflare:TOOL",
    "cloudflare:BROWSER",
    "librespeed_cli:TOOL",
    "ethr:TOOL",
    "msak:TOOL",
    "crusader:TOOL",
    "goresponsiveness:TOOL",
    "responsiveness:TOOL",
    "webrtc_call:TOOL",
    "bbperf:TOOL",
    "obudpst:TOOL",
)))
