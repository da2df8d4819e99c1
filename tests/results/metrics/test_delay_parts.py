# SPDX-License-Identifier: GPL-3.0-or-later
"""Where probes spent their time, by numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.delay_parts import PARTS, PROBES, delay_parts

# us that a packet spent in each part, there and back
THERE = {"link": 100, "ring": 200, "processor": 300, "queue": 4000, "card": 500}
BACK = {"link": 1, "ring": 2, "processor": 3, "queue": 40, "card": 5}


def raw(*passed: tuple[int, dict[str, int]], **rtts_ms: float | None) -> dict[str, Any]:
    """Passages through the router by number; nN: RTT of probe N, which came back at N s."""
    return {PARTS: [{"t": 0.0, "seq": number, **parts} for number, parts in passed],
            PROBES: [{"t": float(name[1:]), "seq": int(name[1:]), "val": rtt}
                     for name, rtt in rtts_ms.items()]}


def test_parts_are_those_of_probe_and_reply_and_the_rest_is_elsewhere() -> None:
    """Of probes whose both ways were recorded, and that came back."""
    parts = delay_parts(raw((1, THERE), (2, THERE), (3, THERE), (3, BACK), (1, BACK), (4, THERE),
                            (4, BACK), n1=20.0, n2=20.0, n3=10.0, n4=None, n5=20.0))
    assert parts.sent_s.tolist() == [0.98, 2.99]
    assert {name: ms.tolist() for name, ms in parts.ms.items()} == {
        "queue": pytest.approx([4.04] * 2), "processor": pytest.approx([0.505] * 2),
        "cards": pytest.approx([0.606] * 2), "elsewhere": pytest.approx([14.849, 4.849])}
    assert parts.whole_ms.tolist() == pytest.approx([20, 10])
    assert parts.means_ms()["elsewhere"] == pytest.approx(9.849)
    assert parts.subset([1]).whole_ms.tolist() == pytest.approx([10])


def test_run_without_whole_passages_has_no_parts() -> None:
    with pytest.raises(NotAvailable, match="takes the lab and a router model"):
        delay_parts({PROBES: raw(n1=20.0)[PROBES]})
    for passed in ((), ((1, THERE),), ((1, THERE), (1, BACK), (1, BACK)), ((2, THERE), (2, BACK))):
        with pytest.raises(NotAvailable, match="no probe came back whose way"):
            delay_parts(raw(*passed, n1=20.0))
