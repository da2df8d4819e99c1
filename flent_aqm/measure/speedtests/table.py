# SPDX-License-Identifier: GPL-3.0-or-later
"""Every client of this package: its method, what of the server it uses, the numbers it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LOWER, HIGHER, NEITHER = "lower", "higher", "neither"
WAYS = ("download", "upload")


@dataclass(frozen=True)
class Number:
    """One that a client tells its user, or that follows from it by its maker's formula.

    name: in a data file's SPEEDTEST.numbers; unit, better and description: as a metric's.
    """

    name: str
    unit: str
    better: str
    description: str


@dataclass(frozen=True)
class Client:
    """A speed test's client. prefix: of its metrics; method: a few sentences; source: of it;
    longest_s: no test of it takes longer on a line of 10 Mbit/s or more."""

    prefix: str
    method: str
    source: str
    longest_s: float
    numbers: tuple[Number, ...]


def _both(name: str, unit: str, better: str, description: str) -> tuple[Number, ...]:
    """Return one for each direction; {} in name and description stands for it."""
    return tuple(Number(name.format(way), unit, better, description.format(way))
                 for way in WAYS)


CLIENTS: Mapping[str, Client] = {
    "responsiveness": Client(
        "responsiveness",
        "Adds an HTTP/2 connection every interval, first with downloads, then with uploads, and "
        "times new connections beside them (foreign) and requests among them (self, loaded). Ends "
        "when goodput and result are stable; RPM is the mean of 60000/ms of both kinds. The batch "
        "has intervals of 1 s for the draft's 5, and 20 probes a second for 100.",
        "draft-ietf-ippm-responsiveness-09", 100, (
            *_both("rpm_{}", "RPM", HIGHER, "round trips per minute under {}"),
            *_both("foreign_rpm_{}", "RPM", HIGHER, "its part of new connections, {}"),
            *_both("loaded_rpm_{}", "RPM", HIGHER, "its part of the loading connections, {}"),
            *_both("go_rpm_{}", "RPM", HIGHER,
                   "goresponsiveness' formula of trimmed means, {}"),
            *_both("go_p90_rpm_{}", "RPM", HIGHER,
                   "goresponsiveness' formula of 90th percentiles, {}"),
            Number("rpm", "RPM", HIGHER, "the worse direction's"),
            Number("go_rpm", "RPM", HIGHER, "the worse direction's by goresponsiveness"),
            Number("go_p90_rpm", "RPM", HIGHER,
                   "the worse direction's by goresponsiveness' 90th percentiles"),
            *_both("goodput_{}_mbps", "Mbit/s", HIGHER, "its goodput of the {}"),
            *_both("confidence_{}", "", HIGHER,
                   "its confidence in the {}'s result: 0 low, 1 medium, 2 high"),
            *_both("connections_{}", "", NEITHER, "connections that loaded the {} at the end"),
            Number("idle_ms", "ms", LOWER, "its shortest request before the load"),
        )),
    "librespeed": Client(
        "librespeed",
        "Times ten requests on the idle line and shows the shortest. Downloads over 5 connections, "
        "uploads over 3, leaves out the first 1.5 and 3 s, multiplies all bytes by 1.06. Measures "
        "no latency under load.",
        "librespeed/speedtest, speedtest_worker.js", 50, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}, with 6 % for headers"),
            Number("ping_ms", "ms", LOWER, "its ping: the shortest on the idle line"),
            Number("jitter_ms", "ms", LOWER, "its jitter: of the idle line, smoothed"),
        )),
    "librespeed_browser": Client(
        "librespeed_browser",
        "LibreSpeed's own script, of your copy, in headless Chromium.",
        "librespeed/speedtest, speedtest_worker.js, which runs", 60, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}, with 6 % for headers"),
            Number("ping_ms", "ms", LOWER, "its ping: the shortest on the idle line"),
            Number("jitter_ms", "ms", LOWER, "its jitter: of the idle line, smoothed"),
        )),
    "cloudflare": Client(
        "cloudflare",
        "Requests files of 0.1 to 250 MB one after the other until one takes a second; throughput "
        "is the 90th percentile. An empty request every 400 ms beside them, as in Chromium on the "
        "same HTTP/2 connection (`http_version=1`: on its own), gives latency. Loss, which needs a "
        "TURN server, counts 0 points. The server leaves 16 kB unsent.",
        "cloudflare/speedtest, defaultConfig.ts", 200, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}: the 90th percentile of requests"),
            Number("latency_ms", "ms", LOWER, "its latency: median on the idle line"),
            Number("jitter_ms", "ms", LOWER, "its jitter of the idle line"),
            *_both("loaded_latency_{}_ms", "ms", LOWER,
                   "its latency under {}: median of the last 20"),
            *_both("loaded_jitter_{}_ms", "ms", LOWER, "its jitter under {}"),
        )),
    "cloudflare_browser": Client(
        "cloudflare_browser", "Cloudflare's own engine in headless Chromium, without packet loss.",
        "npm's @cloudflare/speedtest, which runs", 200, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}: the 90th percentile of requests"),
            Number("latency_ms", "ms", LOWER, "its latency: median on the idle line"),
            Number("jitter_ms", "ms", LOWER, "its jitter of the idle line"),
            *_both("loaded_latency_{}_ms", "ms", LOWER,
                   "its latency under {}: median of the last 20"),
            *_both("loaded_jitter_{}_ms", "ms", LOWER, "its jitter under {}"),
        )),
    "ookla_style": Client(
        "ookla_style_client",
        "Opens 4 connections that ask for chunks of half a second, and up to 4 more while they "
        "help. Shows the mean of 20 slices without the fastest 10 % and slowest 30 %, and the "
        "interquartile mean of a small request every 0.2 s.",
        "Ookla's support pages; the rest is ours", 35, (
            *_both("{}_mbps", "Mbit/s", HIGHER,
                   "its {}: mean of 20 slices without the fastest 10 % and slowest 30 %"),
            Number("ping_ms", "ms", LOWER, "its ping: the shortest on the idle line"),
            Number("jitter_ms", "ms", LOWER, "its jitter of the idle line"),
            *_both("latency_iqm_{}_ms", "ms", LOWER, "its latency under {}, interquartile mean"),
            *_both("latency_low_{}_ms", "ms", LOWER, "its latency under {}, lowest"),
            *_both("latency_high_{}_ms", "ms", LOWER, "its latency under {}, highest"),
            *_both("latency_jitter_{}_ms", "ms", LOWER, "its jitter under {}"),
        )),
    # Programs with servers of their own.
    "nuttcp": Client(
        "nuttcp", "Downloads over one TCP connection, then uploads. Its round trip is that of "
        "connecting.", "nuttcp 6.1.2, nuttcp(8)", 22, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {} at the receiver"),
            *_both("retransmits_{}", "packets", LOWER, "what its sender of the {} sent again"),
            Number("rtt_ms", "ms", LOWER, "its round trip: of connecting, before the upload"),
        )),
    "goresponsiveness": Client(
        "goresponsiveness", "The draft's test in Go, up to 16 connections. Shows the fastest "
        "5 % of its times, and their 90th percentiles. Shows 0 for a direction whose first "
        "connection isn't open within a second.",
        "network-quality/goresponsiveness, January 2024", 90, (
            Number("rpm", "RPM", HIGHER, "its final RPM, by 90th percentiles"),
            Number("trimmed_rpm", "RPM", HIGHER, "its final RPM, by trimmed means"),
            *_both("rpm_{}", "RPM", HIGHER, "its RPM under {}, by 90th percentiles"),
            *_both("trimmed_rpm_{}", "RPM", HIGHER, "its RPM under {}, by trimmed means"),
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}"),
            *_both("connections_{}", "", NEITHER, "connections that loaded the {} at the end"),
        )),
    "librespeed_cli": Client(
        "librespeed_cli", "Ten requests on the idle line, 15 s of three downloads, then of three "
        "uploads; the mean of all bytes, uncorrected.",
        "librespeed/speedtest-cli, August 2026", 50, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}"),
            Number("ping_ms", "ms", LOWER, "its ping: the mean on the idle line"),
            Number("jitter_ms", "ms", LOWER, "its jitter of the idle line"),
        )),
    "msak": Client(
        "msak", "Two WebSockets, 10 s down with BBR, 10 s up with Cubic. Shows the streams' sum, "
        "one last sample of TCP's round trip, and the smallest.",
        "m-lab/msak, throughput1, February 2026", 30, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}: the sum of its streams"),
            *_both("rtt_{}_ms", "ms", LOWER, "its round trip: TCP's at the end of the {}"),
            *_both("min_rtt_{}_ms", "ms", LOWER, "TCP's smallest round trip of the {}"),
        )),
    "ethr": Client(
        "ethr", "Messages there and back on the idle line, then one TCP connection down, then up, "
        "10 s each. An upload is what the kernel accepted; the mean of its seconds is ours.",
        "microsoft/ethr, December 2025", 40, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}: the mean of its seconds"),
            Number("latency_ms", "ms", LOWER, "its latency: the mean on the idle line"),
            Number("latency_max_ms", "ms", LOWER, "its longest latency of the idle line"),
        )),
    "crusader": Client(
        "crusader", "Eight TCP connections down, then up, 10 s each, and a UDP packet every 5 ms. "
        "Shows the highest of its smoothed latency, and loss.", "Zoxc/crusader, April 2025", 45, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}"),
            Number("idle_ms", "ms", LOWER, "its latency of the idle line"),
            *_both("latency_{}_ms", "ms", LOWER, "its latency under {}"),
            *_both("loss_{}_percent", "%", LOWER, "its UDP packets that were lost under {}"),
        )),
    "webrtc_call": Client(
        "webrtc", "A call both ways for 30 s: 320×240, 15 frames a second, VP8, a rate of 0.25 to "
        "1.5 Mbit/s by the delay's gradient. Lost packets are asked for again.",
        "aiortc 1.16.0: Google's congestion control, REMB, VP8", 160, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}: SRTP that came, with RTCP"),
            *_both("rtt_{}_ms", "ms", LOWER,
                   "its round trip, by the reports on its {}, mean"),
            *_both("jitter_{}_ms", "ms", LOWER, "its jitter (RFC 3550) of the {}, mean"),
            *_both("lost_{}_percent", "%", LOWER,
                   "its packets of the {} that were lost, before they were sent again"),
            *_both("frame_{}_ms", "ms", LOWER, "95th percentile of how much longer a frame of "
                   "the {} took than the fastest"),
            *_both("late_frames_{}_percent", "%", LOWER, "frames of the {} that came over 100 ms "
                   "behind the fastest"),
            *_both("lost_frames_{}_percent", "%", LOWER, "frames of the {} that never came"),
        )),
    "iperf2_bounceback": Client(
        "iperf2", "Ten messages of 100 bytes a second, each after the one before, beside one TCP "
        "connection each way. Responses a second are 1 / their mean time; `trip_times` adds "
        "one-way times. Reports every 5 s, because 2.1.8 hangs on longer round trips than half of "
        "that.", "iperf 2.1.8, iperf(1), --bounceback-congest", 30, (
            *_both("{}_mbps", "Mbit/s", HIGHER, "its {}, the working load"),
            *_both("rps_{}", "1/s", HIGHER, "its responses a second under {}"),
            *_both("bounceback_{}_ms", "ms", LOWER, "its mean bounceback under {}"),
            *_both("bounceback_max_{}_ms", "ms", LOWER, "its longest bounceback under {}"),
            *_both("owd_to_server_{}_ms", "ms", LOWER,
                   "its messages' mean delay to the server under {}"),
            *_both("owd_from_server_{}_ms", "ms", LOWER,
                   "its messages' mean delay back from the server under {}"),
        )),
}
