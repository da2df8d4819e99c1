# SPDX-License-Identifier: GPL-3.0-or-later
"""Every paper: its numbers, and the bounds of agreement.

docs/papers.md has sources and set-ups, in sections named like the batches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from flent_aqm.results.metrics.throughput import FRAME_BYTES, PAYLOAD_SHARE
from validation.papers import measure
from validation.papers.claim import Claim, Paper, within

WARE2019 = Paper(
    "ware2019",
    "five percentage points either way. The paper's model has a median error of 5 % beside "
    "Cubic.",
    "1 Cubic",
    tuple(Claim(cell, "BBR's share, %", 40, 35, 45, measure.share_pct("bbr", 300))
          for cell in ("1 Cubic", "4 Cubic")))

# TCP's payload rate on a link of 100 Mbit/s.
_FULL = 100 * PAYLOAD_SHARE
CARDWELL2016 = Paper(
    "cardwell2016",
    "for Cubic at 0.1 % a factor of two, because the paper's figure has a logarithmic scale. "
    "\"Stalls\" is less than 2 % of the link. \"Meets this limit\" is at least 95 % of the "
    "limit, and \"is close\" is at least 90 % of it.",
    "cubic, 2 %",
    (Claim("cubic, 0.1 %", "goodput, Mbit/s", _FULL / 10, _FULL / 20, _FULL / 5,
           measure.goodput_mbps(0)),
     Claim("cubic, 2 %", "goodput, Mbit/s", 0, 0, 2, measure.goodput_mbps(0)),
     Claim("bbr, 5 %", "goodput, Mbit/s", 0.95 * _FULL, 0.95 * 0.95 * _FULL, 0.95 * _FULL,
           measure.goodput_mbps(0)),
     Claim("bbr, 15 %", "goodput, Mbit/s", 0.85 * _FULL, 0.9 * 0.85 * _FULL, 0.85 * _FULL,
           measure.goodput_mbps(0))))

# Loss -> mean window of Reno and of Cubic with C = 0.4, with a round trip of 100 ms.
_WINDOWS = {"1 %": (12, 12), "0.1 %": (38, 38), "0.01 %": (120, 187)}
RFC8312 = Paper(
    "rfc8312",
    "a quarter. The RFC's table is for losses at even intervals. Losses here are random, and the "
    "rarest ones are only some thirty in a run.",
    "cubic, 1 %",
    tuple(Claim(f"{control}, {loss}", "mean window, packets", window, *within(window, 25),
                measure.window_packets(60))
          for loss, windows in _WINDOWS.items()
          for control, window in zip(("reno", "cubic"), windows, strict=True)))

RFC8312_RTT = Paper(
    "rfc8312_rtt",
    "a quarter, as above.",
    "40 and 160 ms",
    tuple(Claim(f"40 and {far} ms", "rate of the near flow / rate of the far one", far / 40,
                *within(far / 40, 25), measure.ratio(30), digits=2) for far in (80, 160)))

# Number of flows, and the period in which they run, without its first ten seconds.
_PHASES = ((10, 10, 50), (30, 60, 100), (50, 110, 150), (30, 160, 200), (10, 210, 250))
PAN2013 = Paper(
    "pan2013",
    "a quarter of PIE's target delay. The curve of the paper's figure stays within them.",
    "10, 30, 50, 30, 10 flows",
    tuple(Claim("10, 30, 50, 30, 10 flows",
                f"{flows} flows, {start} to {end} s: mean queueing delay, ms", 20,
                *within(20, 25), measure.queue_delay_ms(start, end))
          for flows, start, end in _PHASES))

CAO2019 = Paper(
    "cao2019",
    "ten percentage points around the paper's share.",
    "10 MB",
    (Claim("10 kB", "BBR's share, %", 94, 84, 100, measure.share_pct("bbr", 0)),
     Claim("5 MB", "BBR's share, %", 50, 40, 60, measure.share_pct("bbr", 0)),
     Claim("10 MB", "BBR's share, %", 25, 15, 35, measure.share_pct("bbr", 0))))

APPENZELLER2004 = Paper(
    "appenzeller2004",
    "two percentage points around the utilisation that the paper measured on its router. The "
    "paper's model and simulation are up to two points from that.",
    "64 packets",
    tuple(Claim(f"{packets} packets", "utilisation, %", published, published - 2,
                min(published + 2, 100), measure.utilisation_pct(15))
          for packets, published in ((64, 94.9), (129, 98.1), (258, 99.8))))

_MARKED_FROM = 40
_PRODUCT = 100e6 / 8 * 0.010 / FRAME_BYTES


def _sawtooth(flows: int) -> tuple[Claim, Claim]:
    """Return the paper's equations 8, 10 and 12, for synchronised flows, as claims."""
    highest = _MARKED_FROM + flows
    lowest = highest - math.sqrt(2 * flows * (_PRODUCT + _MARKED_FROM)) / 2
    cell = f"{flows} flows"
    return (Claim(cell, "fullest queue (p99), packets", highest, *within(highest, 20),
                  measure.queue_packets(99, 10)),
            Claim(cell, "emptiest queue (p1), packets", lowest, *within(lowest, 20),
                  measure.queue_packets(1, 10)))


ALIZADEH2010 = Paper(
    "alizadeh2010",
    "a fifth. The analysis assumes synchronised flows, and the paper itself finds smaller swings "
    "with 40.",
    "2 flows",
    (*_sawtooth(2), *_sawtooth(10), *_sawtooth(40)))

SCHERRER2022 = Paper(
    "scherrer2022",
    "a fifth. The model leaves out what Linux adds to the cap.",
    "2 flows, 50 Mbit/s",
    tuple(Claim(f"{flows} flows, {rate} Mbit/s", "median queue, bandwidth-delay products",
                1, 0.8, 1.2, measure.queue_products(20), digits=2)
          for flows, rate in ((2, 50), (10, 50), (10, 400))))

PAPERS: Mapping[str, Paper] = {paper.batch: paper for paper in (
    WARE2019, CARDWELL2016, CAO2019, SCHERRER2022, RFC8312, RFC8312_RTT, PAN2013,
    ALIZADEH2010, APPENZELLER2004)}
