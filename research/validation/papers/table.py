# SPDX-License-Identifier: GPL-3.0-or-later
"""Every paper: its numbers, and the bounds of agreement.

docs/results/papers.md has sources and set-ups, in sections named like the batches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from flent_aqm.results.metrics.throughput import FRAME_BYTES, PAYLOAD_SHARE
from research.validation.papers import measure
from research.validation.papers.claim import Claim, Paper, within

# Bounds: five percentage points either way. The paper's model has a median error of 5 % beside
# Cubic.
WARE2019 = Paper(
    "ware2019",
    "BBR's share, %",
    "1 Cubic",
    tuple(Claim(cell, 40, 35, 45, measure.share_pct("bbr", 300))
          for cell in ("1 Cubic", "4 Cubic")))

# TCP's payload rate on a link of 100 Mbit/s.
_FULL = 100 * PAYLOAD_SHARE
# Bounds: for Cubic at 0.1 % a factor of two, because the paper's figure has a logarithmic scale.
# "Stalls" is less than 2 % of the link. "Meets this limit" is at least 95 % of the limit, and
# "is close" is at least 90 % of it.
CARDWELL2016 = Paper(
    "cardwell2016",
    "goodput, Mbit/s",
    "cubic, 2 %",
    (Claim("cubic, 0.1 %", _FULL / 10, _FULL / 20, _FULL / 5,
           measure.goodput_mbps(0)),
     Claim("cubic, 2 %", 0, 0, 2, measure.goodput_mbps(0)),
     Claim("bbr, 5 %", 0.95 * _FULL, 0.95 * 0.95 * _FULL, 0.95 * _FULL,
           measure.goodput_mbps(0)),
     Claim("bbr, 15 %", 0.85 * _FULL, 0.9 * 0.85 * _FULL, 0.85 * _FULL,
           measure.goodput_mbps(0))))

# Loss -> mean window of Reno and of Cubic with C = 0.4, with a round trip of 100 ms.
_WINDOWS = {"1 %": (12, 12), "0.1 %": (38, 38), "0.01 %": (120, 187)}
# Bounds: a quarter. The RFC's table is for losses at even intervals. Losses here are random, and
# the rarest ones are only some thirty in a run.
RFC8312 = Paper(
    "rfc8312",
    "mean window, packets",
    "cubic, 1 %",
    tuple(Claim(f"{control}, {loss}", window, *within(window, 25),
                measure.total_window_segments(60))
          for loss, windows in _WINDOWS.items()
          for control, window in zip(("reno", "cubic"), windows, strict=True)))

# Bounds: a quarter, as above.
RFC8312_RTT = Paper(
    "rfc8312_rtt",
    "rate of the near flow / rate of the far one",
    "40 and 160 ms",
    tuple(Claim(f"40 and {far} ms", far / 40,
                *within(far / 40, 25), measure.ratio(30), digits=2) for far in (80, 160)))

# Number of flows, and the period in which they run, without its first ten seconds.
_PHASES = ((10, 10, 50), (30, 60, 100), (50, 110, 150), (30, 160, 200), (10, 210, 250))
# Bounds: a quarter of PIE's target delay. The curve of the paper's figure stays within them.
PAN2013 = Paper(
    "pan2013",
    "mean queueing delay, ms",
    "10, 30, 50, 30, 10 flows",
    tuple(Claim("10, 30, 50, 30, 10 flows", 20, *within(20, 25),
                measure.queue_delay_ms(start, end),
                name=f"{flows} flows, {start} to {end} s")
          for flows, start, end in _PHASES))

# Bounds: ten percentage points around the paper's share.
CAO2019 = Paper(
    "cao2019",
    "BBR's share, %",
    "10 MB",
    (Claim("10 kB", 94, 84, 100, measure.share_pct("bbr", 0)),
     Claim("5 MB", 50, 40, 60, measure.share_pct("bbr", 0)),
     Claim("10 MB", 25, 15, 35, measure.share_pct("bbr", 0))))

# Bounds: two percentage points around the utilisation that the paper measured on its router. The
# paper's model and simulation are up to two points from that.
APPENZELLER2004 = Paper(
    "appenzeller2004",
    "utilisation, %",
    "64 packets",
    tuple(Claim(f"{packets} packets", published, published - 2,
                min(published + 2, 100), measure.utilisation_pct(15))
          for packets, published in ((64, 94.9), (129, 98.1), (258, 99.8))))

_MARKED_FROM = 40
_PRODUCT = 100e6 / 8 * 0.010 / FRAME_BYTES


def _sawtooth_claims(flows: int) -> tuple[Claim, Claim]:
    """Return two claims on the queue of synchronised DCTCP flows, in packets: the fullest queue
    (99th percentile) and the emptiest one (1st), from 10 s on. The published numbers follow from
    equations 8, 10 and 12 of alizadeh2010's paper, and the bounds are 20 % around them. flows:
    number of flows."""
    highest = _MARKED_FROM + flows
    lowest = highest - math.sqrt(2 * flows * (_PRODUCT + _MARKED_FROM)) / 2
    cell = f"{flows} flows"
    return (Claim(cell, highest, *within(highest, 20), measure.queue_packets(99, 10),
                  name=f"{cell}, fullest (p99)"),
            Claim(cell, lowest, *within(lowest, 20), measure.queue_packets(1, 10),
                  name=f"{cell}, emptiest (p1)"))


# Bounds: a fifth. The analysis assumes synchronised flows, and the paper itself finds smaller
# swings with 40.
ALIZADEH2010 = Paper(
    "alizadeh2010",
    "queue, packets",
    "2 flows",
    (*_sawtooth_claims(2), *_sawtooth_claims(10), *_sawtooth_claims(40)))

# Bounds: a fifth. The model leaves out what Linux adds to the cap.
SCHERRER2022 = Paper(
    "scherrer2022",
    "median queue, bandwidth-delay products",
    "2 flows, 50 Mbit/s",
    tuple(Claim(f"{flows} flows, {rate} Mbit/s", 1, 0.8, 1.2, measure.queue_products(20),
                digits=2)
          for flows, rate in ((2, 50), (10, 50), (10, 400))))

PAPERS: Mapping[str, Paper] = {paper.batch: paper for paper in (
    WARE2019, CARDWELL2016, CAO2019, SCHERRER2022, RFC8312, RFC8312_RTT, PAN2013,
    ALIZADEH2010, APPENZELLER2004)}
