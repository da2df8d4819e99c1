# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the intervals in which a test loads one direction alone, if it alternates between both.

Some tests, such as Cloudflare's, download a little, upload a little, and so on. From the first to
the last packet of their download, the line is busy with uploads for half of the time. What a probe
met while the upload filled its queue is not latency under download.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flent_aqm.results.data_file import Numbers, numbers
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.window import Window

# A direction carries data in a step of the capture if its payload is above this share of its
# largest step. Requests and short responses are below it.
_DATA_SHARE = 0.01
# A test alternates if, while both of its directions are under way, it has data in both for less
# than this share of the steps that have any. Tests that load both at once have nearly all.
_MOST_TOGETHER = 0.5


def turns(steps: Sequence[Mapping[str, Any]], spans: Mapping[str, Window | None]
          ) -> Mapping[str, Sequence[Window]]:
    """Return the intervals in which only one direction carries data of the test.

    Args:
        steps: raw samples of the capture, in the order of time: `t` (end of the step in epoch
            seconds), `dur` in s, payload of `download` and `upload` in Mbit/s.
        spans: "download" and "upload" -> time from the first to the last packet of its load, None
            without load.

    Returns:
        "download" and "upload" -> intervals. An interval lasts from the first step with data of
        this direction alone to the last such step before data of the other (or of both), and lies
        within the load's time. Steps without data may lie in between. The mapping is empty if there
        is no capture, if a direction has no such interval, or if the test doesn't alternate: it
        loads one direction alone, one after the other, or mostly both at once.

    Raises BadResult if a time, duration or payload is not a number. A missing payload counts as 0.
    """
    loads = [load for name in DIRECTIONS if (load := spans[name])]
    if not steps or len(loads) < len(DIRECTIONS):
        return {}
    overlap = Window(max(load.start_s for load in loads), min(load.end_s for load in loads))
    if overlap.length_s <= 0:
        return {}
    end_s = numbers([one.get("t") for one in steps], "time of the capture")
    start_s = end_s - numbers([one.get("dur") for one in steps], "step of the capture")
    carries = {name: _has_data(numbers([one.get(name) or 0.0 for one in steps],
                                      f"{name} of the capture")) for name in DIRECTIONS}
    under_way = (end_s > overlap.start_s) & (start_s < overlap.end_s)
    either = under_way & (carries["download"] | carries["upload"])
    together = under_way & carries["download"] & carries["upload"]
    if not either.any() or together.sum() >= _MOST_TOGETHER * either.sum():
        return {}
    found: dict[str, list[Window]] = {name: [] for name in DIRECTIONS}
    last = ""
    for begins, ends, down, up in zip(start_s, end_s, carries["download"], carries["upload"],
                                      strict=True):
        if not (down or up):
            continue
        now = "" if down and up else "download" if down else "upload"
        if now and now == last:
            found[now][-1] = Window(found[now][-1].start_s, float(ends))
        elif now:
            found[now].append(Window(float(begins), float(ends)))
        last = now
    # Steps begin before the first packet of a load, and end after its last one.
    within = {name: [part for window in found[name] if (part := _overlap(window, load)) is not None]
              for name, load in zip(DIRECTIONS, loads, strict=True)}
    return within if all(within.values()) else {}


def _overlap(first: Window, second: Window) -> Window | None:
    """Return the time that both windows have in common, None if there is none."""
    common = Window(max(first.start_s, second.start_s), min(first.end_s, second.end_s))
    return common if common.length_s > 0 else None


def _has_data(mbps: Numbers) -> Any:
    """Return a mask of the steps in which a direction carries data: more than 1 % (_DATA_SHARE) of
    its largest step.

    Args:
        mbps: its payload in each step, of at least one.
    """
    return mbps > _DATA_SHARE * mbps.max()
