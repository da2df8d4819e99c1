# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours and lines of queues and of other things."""

from __future__ import annotations

from flent_aqm.show.looks import AQM_LOOKS, OTHER_LOOKS, looks_for


def test_other_names_avoid_colours_that_mean_something() -> None:
    """Those of drops, and of queues among the names. If none is left, all are used."""
    taken = [OTHER_LOOKS[0].colour, OTHER_LOOKS[2].colour]
    looks = looks_for(["aqm_limit=500", "codel", "cross_traffic=no"], avoid=taken)
    assert looks["codel"] == AQM_LOOKS["codel"]
    assert [looks[name] for name in ("aqm_limit=500", "cross_traffic=no")] == [
        OTHER_LOOKS[1], OTHER_LOOKS[3]]
    every = [look.colour for look in OTHER_LOOKS]
    assert looks_for(["x"], avoid=every) == {"x": OTHER_LOOKS[0]}
