# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of metrics' values, notes on a run, and samples of queues, as a whole."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.queue_samples import QUEUES, queues
from flent_aqm.results.metrics.run import Run, as_run, probe_line
from flent_aqm.results.metrics.table import METRICS, Metric, Unavailable, digits, middle

PING = "Ping (ms) ICMP"


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0.00"), (1.0, "1.00"), (0.999, "1.00"), (0.5, "0.50"), (0.1, "0.10"), (0.0999, "0.100"),
    (0.0123, "0.012"), (0.00123, "0.0012"), (1.5e-9, "0.000000"), (99.99, "99.99"), (100, "100.0"),
    (999.94, "999.9"), (1000, "1000"), (-1234.5, "-1234"), (-0.05, "-0.050")])
def test_number_has_the_digits_that_can_be_read(value: float, text: str) -> None:
    assert digits(value) == text


def test_value_in_words() -> None:
    """With its word, its least value and its unit."""
    plain = Metric("x_ms", lambda run: 1.0, "ms", "lower", "", "")
    least, worded = replace(plain, least=5.0), replace(plain, word=lambda value: "B")
    assert [plain.text(value) for value in (
        1.5, math.inf, Unavailable("x"), Unavailable("x", lost=True))][:1] == ["1.50"]
    assert plain.text(Unavailable("x")) == "-"
    assert plain.text(Unavailable("x", lost=True)) == "lost"
    assert [least.text(value) for value in (4.0, 5.0, 5.1)] == ["≤ 5.00", "≤ 5.00", "5.10"]
    assert worded.text(2.0) == "B 2.00"
    assert [one.text_with_unit(2.0) for one in (plain, worded, replace(plain, unit=""))] == [
        "2.00 ms", "B (2.00 ms)", "2.00"]


def run_of(raw: dict[str, Any], meta: dict[str, Any]) -> Run:
    """Return a run."""
    return as_run(as_data_file({"version": 4, "raw_values": raw, "metadata": {
        "SERIES_META": meta}}, Path("x")))


@pytest.mark.parametrize(("count", "text"), [
    (1, "the tool of 'TCP upload::1' gave no data"),
    (3, ("the tool of 'TCP upload::1' gave no data; the tool of 'TCP upload::2' gave no data; the "
         "tool of 'TCP upload::3' gave no data")),
    (4, ("4 of the test's series have no data, such as 'TCP upload::1', 'TCP upload::2', 'TCP "
         "upload::3' and 1 more: the tool of 'TCP upload::1' gave no data"))])
def test_more_than_three_series_without_data_are_one_note(count: int, text: str) -> None:
    raw: dict[str, Any] = {f"TCP upload::{number}": [] for number in range(1, count + 1)}
    raw[PING] = [{"t": float(at), "val": 1.0, "seq": at} for at in range(9)]
    notes = run_of(raw, {name: {"UNITS": "ms" if name == PING else "Mbits/s",
                                "RUNNER": "PingRunner" if name == PING else "x"}
                         for name in raw}).notes
    assert "; ".join(notes) == text


def reason(direction: str | None, flows: list[str], failed: list[str]) -> str:
    """Return why a run has no flow in a direction."""
    raw: dict[str, Any] = {name: [{"t": 2.0, "val": 1.0, "dur": 1.0}] for name in flows}
    raw |= {name: [] for name in failed}
    return run_of(raw, {name: {"UNITS": "Mbits/s"} for name in raw}).why_no_flow(direction)


@pytest.mark.parametrize(("direction", "flows", "failed", "why"), [
    (None, [], [], "the test doesn't load the link"),
    (None, [], ["TCP upload"], "the tool of 'TCP upload' gave no data"),
    (None, ["a"], [],
     "no flow has download or upload in its name, and the names of 'a' tell no direction"),
    ("download", [], ["TCP upload"], "the test has no download"),
    ("upload", [], ["TCP upload"], "the tool of 'TCP upload' gave no data"),
    ("upload", [], ["Cross traffic upload"], "the test has no upload"),
    (None, [], ["Cross traffic upload"], "the test doesn't load the link"),
    ("upload", ["a", "b", "TCP download"], [],
     "no flow has upload in its name, and the names of 'a', 'b' tell no direction"),
    ("upload", ["a", "b", "c"], [],
     "no flow has upload in its name, and the names of 'a', 'b', 'c' tell no direction"),
    ("upload", ["a", "b", "c", "d"], [],
     ("no flow has upload in its name, and the names of 'a', 'b', 'c' and 1 more tell no "
      "direction"))])
def test_reason_why_there_is_no_flow(
        direction: str | None, flows: list[str], failed: list[str], why: str) -> None:
    """A failed tool of the test's own in that direction comes first."""
    assert reason(direction, flows, failed) == why


def test_metric_of_the_probe_is_told_from_others() -> None:
    """One that has a value with the probe, and none without."""
    run = run_of({PING: [{"t": float(at), "val": 1.0, "seq": at} for at in range(40)]}, {
        PING: {"UNITS": "ms", "RUNNER": "PingRunner"}})
    assert METRICS["latency_idle_median_ms"].is_of_probe(run)
    assert not METRICS["throughput_upload_mbps"].is_of_probe(run)
    assert not Metric("x", lambda run: 1.0, "", "", "", "").is_of_probe(run)
    assert probe_line(run.probe) == f"{PING} (ping, every 1000 ms)"


def sample(at_s: float, device: str = "down", **fields: Any) -> dict[str, Any]:
    """Return a sample of a device's queues."""
    usual = {"backlog_bytes": 0, "backlog_packets": 0, "drops": 0, "marks": 0}
    return {"t": at_s, **{f"{device}_{name}": value for name, value in (usual | fields).items()}}


def test_queues_are_read_per_direction() -> None:
    """Counters as increases. A device without fields is left out. Early files lack bytes sent."""
    assert queues({}) == queues({QUEUES: []}) == {}
    raw = [sample(0.0, drops=2, sent_bytes=0, backlog_bytes=300),
           sample(1.0, drops=5, marks=1, sent_bytes=100, backlog_packets=2, backlog_bytes=200),
           sample(2.0, drops=5, marks=4, sent_bytes=300)]
    found = queues({QUEUES: raw})
    assert list(found) == ["download"]
    queue = found["download"]
    assert (queue.at_s.tolist(), queue.drops.tolist(), queue.marks.tolist()) == (
        [0, 1, 2], [2, 3, 0], [0, 1, 3])
    assert (queue.backlog_bytes.tolist(), queue.backlog_packets.tolist(),
            queue.sent_bytes.tolist()) == ([300, 200, 0], [0, 2, 0], [0, 100, 300])
    assert queue.delay_ms.tolist() == pytest.approx([1997.5, 997.5, 0])
    early = queues({QUEUES: [sample(0.0, "up"), sample(1.0, "up", sent_bytes=1)]})["upload"]
    assert early.sent_bytes.tolist() == []
    with pytest.raises(NotAvailable):
        assert numpy.any(early.delay_ms)
    with pytest.raises(BadResult) as caught:
        queues({QUEUES: [sample(0.0), {"t": 1.0}]})
    assert str(caught.value) == (f"a sample of {QUEUES!r} has no down_drops: the file is damaged; "
                                 "repeat the run")


@pytest.mark.parametrize(("numbers", "found"), [
    ([1.0, 3.0, 2.0], 2.0), ([1.0, Unavailable("x"), 2.0], 1.5),
    ([1.0, Unavailable("y"), Unavailable("x", lost=True), Unavailable("z", lost=True)],
     Unavailable("x", lost=True)),
    ([1.0, 2.0, Unavailable("x", lost=True)], 2.0), ([], Unavailable("there is no run")),
    ([Unavailable("x"), Unavailable("y")], Unavailable("x"))])
def test_median_over_runs_counts_lost_probes(
        numbers: list[float | Unavailable], found: float | Unavailable) -> None:
    """As slower than any other. Runs without a value are left out."""
    assert middle(numbers) == found


@pytest.mark.parametrize(("end_s", "is_refused"), [(864_000.0, False), (864_001.0, True)])
def test_flow_ends_up_to_ten_days_after_the_first_probe(end_s: float, is_refused: bool) -> None:
    raw: dict[str, Any] = {
        PING: [{"t": at_s, "val": 0.0} for at_s in (0.0, 10.0, 20.0)],
        "TCP upload": [{"t": end_s, "val": 1.0, "dur": 1.0}]}
    meta = {PING: {"UNITS": "ms", "RUNNER": "PingRunner"}, "TCP upload": {"UNITS": "Mbits/s"}}
    if not is_refused:
        assert run_of(raw, meta).flows[0].end_s == end_s
        return
    with pytest.raises(BadResult, match=r"^x: its flows and probes take 864,001 s, more than"):
        run_of(raw, meta)


@pytest.mark.parametrize(("last_s", "is_refused"), [(864_000.0, False), (864_001.0, True)])
def test_flows_and_probes_take_up_to_ten_days(last_s: float, is_refused: bool) -> None:
    """Together, also where each of them takes less."""
    raw: dict[str, Any] = {
        PING: [{"t": at_s, "val": 0.0} for at_s in (100_000.0, 100_001.0, last_s)],
        "TCP upload": [{"t": 1.0, "val": 1.0, "dur": 1.0}]}
    meta = {PING: {"UNITS": "ms", "RUNNER": "PingRunner"}, "TCP upload": {"UNITS": "Mbits/s"}}
    if not is_refused:
        assert len(run_of(raw, meta).probe.sent_s) == 3
        return
    with pytest.raises(BadResult, match=r"^x: its flows and probes take 864,001 s, more than"):
        run_of(raw, meta)
