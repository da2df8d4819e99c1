# SPDX-License-Identifier: GPL-3.0-or-later
"""Series of probes that are sent side by side, each found in the capture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.why.ledger import Ledger, read_ledger
from flent_aqm.parts.why.probe_series import (
    answers,
    explainable,
    flow_of,
    with_series,
    with_worst_series,
)
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.reading.series import ProbeTool
from tests.files import RUNS
from tests.parts.why.frames import DEVICES, Seen, irtt, ping, through, write

US, MS, S = 1_000, 1_000_000, 10**9
COUNT = 20
# Name -> port or identifier, us by which its probes are later than the first series'.
SERIES = {"UDP BE": (50007, 0), "UDP EF": (50003, 4), "UDP BK": (50005, 11)}


def _waits_ms(name: str) -> Sequence[float]:
    return [1.0 + number % 5 + len(name) / 10 for number in range(COUNT)]


def _probe(name: str, late_us: float, tool: ProbeTool = ProbeTool.IRTT,
           waits_ms: Sequence[float] = ()) -> Probe:
    """Probes of 20 ms, and what they waited."""
    sent_s = numpy.array([100 + number * 0.2 + late_us / 1e6 for number in range(COUNT)])
    return Probe(name, tool, sent_s, numpy.array([20 + one for one in waits_ms or _waits_ms(name)]))


def _run(probes: Sequence[Probe]) -> Run:
    return Run(Path("a.flent.gz"), "rrul", "", tuple(probes), (), {}, {})


def _ledger(tmp_path: Path, *, first_ping: int = 65530) -> Ledger:
    """Each probe comes to the router 3 us after it was sent, and waits there."""
    seen: list[Seen] = []
    for name, (port, late_us) in SERIES.items():
        for number in range(COUNT):
            came_ns = 100 * S + number * 200 * MS + late_us * US + 3 * US
            left_ns = came_ns + round(_waits_ms(name)[number] * MS)
            seen += through(irtt(number, port=port, ip_id=number), came_ns, left_ns)
            back_ns = left_ns + 20 * MS - 6 * US
            seen += through(irtt(number, port=port, ip_id=number, reply=True), back_ns, back_ns,
                            direction="down")
    for number in range(COUNT):
        came_ns = 100 * S + number * 200 * MS
        icmp = (first_ping + number) % 65536
        seen += through(ping(icmp, 77), came_ns, came_ns + MS)
        seen += through(ping(icmp, 77, reply=True), came_ns + 21 * MS, came_ns + 21 * MS,
                        direction="down")
    seen.sort(key=lambda one: one.time_ns)
    return read_ledger(write(tmp_path / "a", seen), DEVICES)


def test_each_series_has_packets_of_its_own(tmp_path: Path) -> None:
    """Although all have the same numbers within 11 us."""
    ledger = _ledger(tmp_path)
    run = _run([_probe(name, late_us) for name, (_, late_us) in SERIES.items()])
    for probe in run.probes:
        flow = flow_of(run, probe, ledger)
        assert flow.key.source_port == SERIES[probe.name][0]
        rows = flow.rows(ledger, "up")
        assert list(rows) == list(range(COUNT))[::-1]
        assert [ledger.up.sojourn_ns[rows[number]] / MS for number in range(COUNT)] == \
            pytest.approx(_waits_ms(probe.name))
        assert flow.rows(ledger, "down").keys() == rows.keys()


def test_pings_number_begins_anywhere_and_goes_on_beyond_16_bits(tmp_path: Path) -> None:
    """The probe's number is its index in the series. ping rounds its times."""
    ledger = _ledger(tmp_path)
    probe = _probe("ICMP", 300, ProbeTool.PING, [1.4] * COUNT)
    run = _run([probe, _probe("UDP BE", 0)])
    flow = flow_of(run, probe, ledger)
    assert (flow.first, flow.key.ports) == (65530, (77, 77))
    rows = flow.rows(ledger, "up")
    assert sorted(rows) == list(range(COUNT))
    assert ledger.up.arrived_ns[rows[10]] == 102 * S


def test_series_without_an_answer_takes_no_other_ones_flow(tmp_path: Path) -> None:
    """Its times say nothing; the others are found as without it."""
    ledger = _ledger(tmp_path)
    silent = Probe("silent", ProbeTool.IRTT, _probe("x", 0).sent_s, numpy.full(COUNT, numpy.inf))
    run = _run([silent, *(_probe(name, late_us) for name, (_, late_us) in SERIES.items())])
    with pytest.raises(BadResult, match="no packets of the series 'silent'"):
        flow_of(run, silent, ledger)
    for probe in run.probes[1:]:
        assert flow_of(run, probe, ledger).key.source_port == SERIES[probe.name][0]


def test_series_of_another_time_is_not_found(tmp_path: Path) -> None:
    ledger = _ledger(tmp_path)
    probe = _probe("late", 3e6)
    with pytest.raises(BadResult, match="series 'late' were recognised at the router; expected "
                                        "numbered ones within 50 ms of the times of its probes"):
        flow_of(_run([probe]), probe, ledger)


@pytest.mark.parametrize(("late_ms", "is_found"), [(4, True), (25, True), (60, False)])
def test_probes_may_come_later_than_the_next_one_is_sent(
        tmp_path: Path, late_ms: int, is_found: bool) -> None:
    """A Wi-Fi channel holds them up: at that time another one comes to the router."""
    seen: list[Seen] = []
    for number in range(COUNT):
        came_ns = 100 * S + (10 * number + late_ms) * MS
        seen += through(irtt(number, port=50007, ip_id=number), came_ns, came_ns + MS)
        seen += through(irtt(number, port=50007, ip_id=number, reply=True), came_ns + 2 * MS,
                        came_ns + 2 * MS, direction="down")
    seen.sort(key=lambda one: one.time_ns)
    ledger = read_ledger(write(tmp_path / "a", seen), DEVICES)
    probe = Probe("irtt", ProbeTool.IRTT, 100 + numpy.arange(COUNT) / 100,
                  numpy.full(COUNT, late_ms + 2.0 + late_ms))
    if not is_found:
        with pytest.raises(BadResult, match="no packets of the series 'irtt'"):
            flow_of(_run([probe]), probe, ledger)
        return
    rows = flow_of(_run([probe]), probe, ledger).rows(ledger, "up")
    assert [int(ledger.up.arrived_ns[rows[number]]) for number in range(COUNT)] == [
        100 * S + (10 * number + late_ms) * MS for number in range(COUNT)]


def test_series_is_the_named_one_or_the_worst_or_refused() -> None:
    slow = _probe("UDP EF", 0, waits_ms=[300.0] * COUNT)
    steps = Probe("steps", ProbeTool.PING, slow.sent_s, slow.rtt_ms, "it has steps only",
                  of_steps=True)
    rr = Probe("rr", ProbeTool.UDP_RR, slow.sent_s, slow.rtt_ms * 2, "stands still")
    run = _run([_probe("UDP BE", 0), slow, _probe("UDP BK", 0), steps, rr])
    assert [one.name for one in explainable(run)] == ["UDP BE", "UDP EF", "UDP BK"]
    assert with_series(run).probe.name == "UDP BE"
    assert with_series(run, "UDP BK").probe.name == "UDP BK"
    for name in ("ICMP", "rr"):  # the second has probes
        with pytest.raises(BadResult, match=rf"^--series: a\.flent\.gz has no series '{name}' "
                                            "whose probes can be explained; expected one of 'UD"):
            with_series(run, name)
    for probes, reason in (([rr], "because netperf UDP_RR tells means of many packets; expected"),
                           ([steps], "because it has steps only; expected"),
                           ([], "because the run has no latency series of irtt, ping or netperf;")):
        with pytest.raises(BadResult, match=reason):
            with_series(_run(probes))


def test_worst_series_is_of_the_load_alone() -> None:
    """In a real run of Flent's: all of its probes under load are looked at."""
    run = load_run(RUNS / "stock_rrul.flent.gz")
    worst = with_worst_series(run)
    under_load_ms = {one.name: run.loaded(None, one).answered_ms.max() for one in explainable(run)}
    assert len(under_load_ms) > 1
    assert under_load_ms[worst.probe.name] >= max(under_load_ms.values()) / 1.1


@pytest.mark.parametrize(("times_as_long", "is_chosen"), [(1.09, False), (1.11, True),
                                                           (0.5, False)])
def test_best_series_is_explained_unless_another_is_clearly_slower(
        times_as_long: float, is_chosen: bool) -> None:
    """ping shows 140 ms for 139.6, and too few probes to count glitches."""
    run = load_run(RUNS / "ndt7.flent.gz")
    best, other = explainable(run)
    slowest_ms, others_ms = (run.loaded(None, one).answered_ms.max() for one in (best, other))
    other = replace(other, rtt_ms=other.rtt_ms * times_as_long * slowest_ms / others_ms)
    worst = with_worst_series(replace(run, probes=(best, other)))
    assert worst.probe.name == (other if is_chosen else best).name


def test_lost_probe_has_no_answer() -> None:
    probe = _probe("UDP BE", 0)
    probe.rtt_ms[3] = math.inf
    found = answers(probe)
    assert sorted(found) == [number for number in range(COUNT) if number != 3]
    assert found[4].back_ns - found[4].sent_ns == round(probe.rtt_ms[4] * 1e6)
