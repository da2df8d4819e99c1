# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report says first: words and numbers, worked by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.show.report.facts import Facts
from flent_aqm.show.report.findings import conditions
from flent_aqm.show.report.gather import ReportRow
from flent_aqm.show.report.headline import headline, number, panels, scale
from flent_aqm.show.report.slices import dimensions, with_sides


def row(aqm: str, sent_ms: Sequence[float], mbps: float = 95.6, **settings: Any) -> ReportRow:
    """A run of an upload with these probes."""
    said: dict[str, Any] = {"test": "iperf3_upload", "aqm": aqm, "rate_mbps": 100.0} | settings
    loaded_ms = {"upload": numpy.array(sent_ms, numpy.float32)} if len(sent_ms) else {}
    return ReportRow(Path(f"{aqm}.flent.gz"), said, loaded_ms, {"throughput_upload_mbps": mbps},
                     {}, {}, Facts({}, None, None, None), ())


def said(rows: Sequence[ReportRow], words: str = "queue") -> str:
    """All sentences on some runs."""
    return " ".join(headline(conditions(rows, dimensions(rows)), words, len(rows)))


FAST, SLOW = [1.0] * 1000, [50.0] * 900 + [200.0] * 100


def test_best_and_worst_are_named_with_their_percentile_and_factor() -> None:
    """200 ms is 200 times 1 ms, at the same throughput."""
    text = said([row("fq_codel", FAST), row("no_aqm", SLOW)])
    assert "fq_codel kept latency under load lowest: 99 % of the probes were back within 1 ms." \
        in text
    assert "With no_aqm, the worst, it took 200 ms, 200 times as long." in text
    assert "It cost no throughput: 95.6 Mbit/s with all." in text
    assert "From 2 runs, 1 of each queue: how much of the difference is chance" in text


def test_runs_that_are_not_compared_are_counted() -> None:
    """A run without load, and one that is alone in its condition."""
    text = said([row("fq_codel", FAST), row("no_aqm", SLOW), row("fq_codel", []),
                 row("fq_codel", FAST, rate_mbps=10.0)])
    assert "From 2 runs" in text
    assert text.endswith(" 2 more runs have no latency under load, or no other queue to be "
                         "compared with.")


def test_cost_in_throughput_is_told_against_the_best_in_throughput() -> None:
    """90 in place of 100 Mbit/s are 10 %."""
    text = said([row("codel", FAST, 90), row("no_aqm", SLOW, 100)])
    assert "It cost 10 % of throughput: 90 Mbit/s with codel, 100 with no_aqm." in text


def test_runs_that_differ_in_a_setting_are_never_pooled() -> None:
    """Of each rate its own panel; the best is counted over them."""
    rows = [row("codel", FAST), row("no_aqm", SLOW),
            row("codel", SLOW, rate_mbps=10.0), row("no_aqm", FAST, rate_mbps=10.0),
            row("codel", FAST, rate_mbps=50.0), row("no_aqm", SLOW, rate_mbps=50.0)]
    found = conditions(rows, dimensions(rows))
    assert [one.title for one in found] == ["10 Mbit/s", "50 Mbit/s", "100 Mbit/s"]
    assert [[line.tail_ms for line in one.lines] for one in found] == [
        [1, 200], [200, 1], [200, 1]]
    assert "codel kept latency under load lowest in 2 of 3 conditions" in said(rows)


def test_lost_probes_count_as_later_than_any_other() -> None:
    """With 2 % lost the 99th percentile never came back, whatever the others took."""
    lossy = row("sfb", [1.0] * 980 + [math.inf] * 20)
    text = said([lossy, row("no_aqm", SLOW)])
    assert "no_aqm kept latency under load lowest: 99 % of the probes were back within 200 ms" \
        in text
    assert "With sfb, the worst, fewer than 99 % came back at all." in text
    assert "Up to 2 % of the probes were lost, with sfb" in text
    drawn = panels(conditions([lossy], dimensions([lossy])))["first"][0]["lines"][0]
    assert (drawn["lost"], drawn["to"], drawn["lost_pct"]) == (True, 100.0, "2")


def test_percentile_is_the_furthest_that_all_runs_have_samples_for() -> None:
    """100 probes have ten beyond the 90th percentile, and one beyond the 99th."""
    few = [row("codel", FAST), row("no_aqm", [5.0] * 100)]
    assert conditions(few, dimensions(few))[0].tail_pct == 90
    assert "90 % of the probes" in said(few)


@pytest.mark.parametrize(("rows", "text"), [
    ([row("codel", [])], "None of these runs measured latency under load"),
    ([row("codel", FAST)], "With codel, 99 % of the probes under load were back within 1 ms."),
    ([row("codel", FAST), row("no_aqm", FAST)], "All kept latency under load alike"),
])
def test_nothing_to_compare_is_said(rows: list[ReportRow], text: str) -> None:
    """No winner without a race."""
    assert text in said(rows)
    assert "lowest" not in said(rows)


def test_configurations_are_compared_as_their_titles_call_them() -> None:
    """As in ping_exp's batch: the same queue with another shaper is another line."""
    rows = [row(aqm, FAST, load=load, shaper=shaper, title=f"{name} {load}")
            for load in ("upload", "download")
            for name, aqm, shaper in (("defaults", "no_aqm", "none"), ("small", "no_aqm", "htb"),
                                      ("fair", "sfq", "htb"))]
    sided, names = with_sides(rows)
    assert {one.side for one in sided} == {"defaults", "small", "fair"}
    assert names == ("aqm", "shaper")
    found = conditions(sided, dimensions(sided, names))
    assert [(one.title, len(one.lines)) for one in found] == [
        ("load download", 3), ("load upload", 3)]


def test_what_is_tried_with_every_queue_is_a_condition() -> None:
    """ECN on and off with both queues: two panels of two lines."""
    rows = [row(aqm, FAST, tcp_ecn=ecn) for aqm in ("no_aqm", "codel") for ecn in (True, False)]
    sided, names = with_sides(rows)
    assert names == ("aqm",)
    assert len(conditions(sided, dimensions(sided, names))) == 2


def test_scale_has_decades_around_all_latencies() -> None:
    """From 1 to 200 ms it goes from 1 to 1,000; 10 ms is a third of the way."""
    rows = [row("fq_codel", FAST), row("no_aqm", SLOW)]
    found = scale(conditions(rows, dimensions(rows)))
    assert [text for _, text in found.ticks] == ["1", "10", "100", "1,000"]
    assert found.place(10.0) == pytest.approx(33.33)


@pytest.mark.parametrize(("value", "text"), [
    (0.1234, "0.123"), (5.0, "5"), (95.57, "95.6"), (1234.5, "1,230"), (0.0, "0"), (99.97, "100")])
def test_numbers_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    """Plain to read."""
    assert number(value) == text
