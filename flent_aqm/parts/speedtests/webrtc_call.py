# SPDX-License-Identifier: GPL-3.0-or-later
"""Test with a video call, both ends of which are this package's, by aiortc."""

from __future__ import annotations

from flent_aqm.base.defaults import WEBRTC_PORT as PORT
from flent_aqm.tools.tool import PYPI, Form, Program, Server, Shown, Tool, both

SERVER = Server("webrtc", {"WEBRTC_PORT": (PORT,)}, f"serve webrtc --webrtc-port {PORT}",
                module="aiortc", parameter="webrtc_port", behind_ssh=False,
                words=("webrtc_call", str(PORT)))
TOOL = Tool(
    "webrtc_call", SERVER,
    method=("A call both ways for 30 s: 320×240, 15 frames a second, VP8, a rate of 0.25 to 1.5 "
            "Mbit/s by the delay's gradient. Lost packets are asked for again."),
    source="aiortc 1.16.0: Google's congestion control, REMB, VP8",
    prefix="webrtc",
    longest_s=160,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {}: SRTP that came, with RTCP"),
        *both("rtt_{}_ms", "ms", "its round trip, by the reports on its {}, mean"),
        *both("jitter_{}_ms", "ms", "its jitter (RFC 3550) of the {}, mean"),
        *both("lost_{}_pct", "%",
              "its packets of the {} that were lost, before they were sent again"),
        *both("frame_{}_ms", "ms",
              "95th percentile of how much longer a frame of the {} took than the fastest"),
        *both("late_frames_{}_pct", "%",
              "frames of the {} that came over 100 ms behind the fastest"),
        *both("lost_frames_{}_pct", "%", "frames of the {} that never came"),
    ),
    module="flent_aqm.parts.speedtests.webrtc_call_client",
    programs=(Program(
        "aiortc", PYPI, "aiortc", "1.16.0", "Jeremy Lainé", "BSD-3-Clause",
        why="the test webrtc_call needs the Python package aiortc"),),
    parameters={"call_length_s": Form("[1-9][0-9]|1[01][0-9]|120",
                                      "a whole number of seconds, 10 to 120")},
    shown=Shown("WebRTC call", ("rtt_download_ms", "rtt_upload_ms"),
                (("late_frames_download_pct", "late {:.0f} % down"),
                 ("late_frames_upload_pct", "late {:.0f} % up")), ()),
)
