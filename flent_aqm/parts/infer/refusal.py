# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons why a download can't carry a judgement, whatever the model would say of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from flent_aqm.base.words import significant
from flent_aqm.parts.infer.reading import Download

# Least samples and least length of a download. The recipe's have 12 or more in 10 s.
FEWEST, SHORTEST_S = 12, 7.0
# Largest share of the time that something other than the path may limit the sender. The queue is
# then empty for so long.
MOST_LIMITED = 0.25
# Feature -> its name in the reason, and its unit.
_RANGES = {"base_rtt_ms": ("its least round trip of", "ms"), "rate_mbps": ("its rate of", "Mbit/s")}


def reason_against(download: Download, values: Mapping[str, float],
                   ranges: Mapping[str, tuple[float, float]]) -> str:
    """Return why the download can't be judged, "" if it can. It can't be if it has too few
    measurements or is too short, if something other than the path limited the sender for too long,
    or if a feature is outside of its range. The first of these reasons is returned.

    Args:
        download: the download as it was read.
        values: name -> value of its features.
        ranges: "base_rtt_ms", "rate_mbps" or both -> least and largest value of this feature that
            can be judged.
    """
    if download.at_s.size < FEWEST:
        return f"it has only {download.at_s.size} measurements; {FEWEST} or more are needed"
    if download.at_s[-1] < SHORTEST_S:
        # Rounded down, so that it is never shown as long enough.
        end_s = math.floor(10 * download.at_s[-1]) / 10
        return f"its measurements end after {end_s:.1f} s; {SHORTEST_S:g} s or more are needed"
    for share, words in ((download.window_share, "the receiver's window limited it for"),
                         (download.buffer_share, "the sender's buffer limited it for"),
                         (download.idle_share, "the sender had nothing in flight for")):
        if share is not None and share > MOST_LIMITED:
            most_pct = round(100 * MOST_LIMITED)
            # Never shown as what is allowed.
            return (f"{words} {max(round(100 * share), most_pct + 1)} % of the time, more than "
                    f"{most_pct} %")
    for name, (low, high) in ranges.items():
        if not low <= values[name] <= high:
            words, unit = _RANGES[name]
            shown = significant(values[name])
            if low <= float(shown) <= high:  # only by its rounding
                shown = f"{values[name]:.9g}"
            return (f"{words} {shown} {unit} is outside of the {low:g} to "
                    f"{high:g} {unit} that the model knows")
    return ""
