# SPDX-License-Identifier: GPL-3.0-or-later
"""Thin the samples of a download to the cadence of M-Lab's archive.

M-Lab's server samples at random: in the 57 downloads of a server in Sydney (2020) the median gap is
0.35 s, and a download has 12 to 39 samples. Our own server samples about every 0.1 s. The model is
made of downloads that are as thin as M-Lab's, so denser ones are thinned before they are judged.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

from flent_aqm.parts.infer.reading import Download

# Gaps are drawn from an exponential distribution with this mean, within these bounds. The next
# sample after a gap is taken.
MEAN_GAP_S = 0.5
_LEAST_GAP_S, _MOST_GAP_S = 0.025, 0.625
# Samples per second above which a download is denser than any of M-Lab's.
_DENSE = 4.0


def thin(download: Download, draw: random.Random, mean_gap_s: float = MEAN_GAP_S) -> Download:
    """Return the download with some of its samples, at random gaps. Its first and its last sample
    are kept.

    Args:
        download: the download.
        draw: source of random numbers, of which only random() is used.
        mean_gap_s: mean of the gaps in s before their bounds apply. The bounds grow with it.
    """
    kept, next_s = [], -math.inf
    scale = mean_gap_s / MEAN_GAP_S
    for index, at_s in enumerate(download.at_s[:-1]):
        if at_s >= next_s:
            kept.append(index)
            gap_s = -mean_gap_s * math.log(1 - draw.random())
            next_s = at_s + min(max(gap_s, _LEAST_GAP_S * scale), _MOST_GAP_S * scale)
    return _only(download, [*kept, download.at_s.size - 1])


def as_archived(download: Download) -> Download:
    """Return the download, thinned if it has more samples per second than M-Lab's archive would
    have (4). Equal downloads give equal results."""
    if download.at_s.size <= _DENSE * download.at_s[-1]:
        return download
    return thin(download, random.Random("flent-aqm infer"))


def _only(download: Download, kept: list[int]) -> Download:
    """Return the download with these samples alone, by index."""
    return replace(
        download, at_s=download.at_s[kept], rtt_ms=download.rtt_ms[kept],
        min_rtt_ms=download.min_rtt_ms[kept], acked_bytes=download.acked_bytes[kept],
        sent_bytes=download.sent_bytes[kept],
        retransmitted_bytes=download.retransmitted_bytes[kept])
