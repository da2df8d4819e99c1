# SPDX-License-Identifier: GPL-3.0-or-later
"""Part for speed tests other than NDT7 and iperf3: docs/scorecard.md.

Each test has one module, NAME.py, with its Tool record and its client. A line in this file adds a
speed test. Only a client that is this package's own stands beside it, in NAME_client.py, or in
NAME_browser.py for another project's script in Chromium: every run imports all Tool records, and
what these clients import (asyncio, HTTP/2) would lengthen the start of each run by 0.1 s.
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
