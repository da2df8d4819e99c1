# SPDX-License-Identifier: GPL-3.0-or-later
"""When a queue dropped a packet, and where a probe was, without a lab."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from flent_aqm.parts.why.ledger import Passage, read_ledger
from flent_aqm.parts.why.probe_series import Answer
from flent_aqm.parts.why.story import (
    CARDS_AND_PROCESSOR,
    Idle,
    _acted_ns,
    _decisions,
    _held_by_cards,
    _parts,
    _Stop,
)
from flent_aqm.spec.scenario import Scenario
from tests.parts.why.frames import DEVICES, irtt, packet, through, write

MS = 1_000_000


def _passage(tmp_path: Path) -> Passage:
    """Two flows, 40000 and 40001, of which each loses a packet, and whose next one then leaves
    after 100 ms and after 140 ms. A third packet is marked and leaves after 60 ms."""
    def one(number: int, port: int = 40000, ecn: int = 0) -> tuple[bytes, int]:
        return packet(ip_id=number, seq=number, ports=(port, 5201), ecn=ecn)

    seen = [through(one(1, ecn=2), 0, 60 * MS, changed=one(1, ecn=3)),
            through(one(2), 10 * MS, None), through(one(3, 40001), 20 * MS, None),
            through(one(4), 30 * MS, 100 * MS), through(one(5, 40001), 40 * MS, 140 * MS)]
    events = sorted((event for events in seen for event in events), key=lambda one: one.time_ns)
    return read_ledger(write(tmp_path / "a", events), DEVICES).up


@pytest.mark.parametrize(("kind", "acted_ms"), [
    # The next packet of the one queue leaves after 100 ms, that of the second flow after 140 ms.
    ("codel", [60, 100, 100]), ("fq_codel", [60, 100, 140]), ("pie", [0, 10, 20]),
    ("bfifo", [0, 10, 20])])
def test_codel_drops_when_it_is_the_packets_turn_and_others_when_it_comes(
        tmp_path: Path, kind: str, acted_ms: list[int]) -> None:
    rows = numpy.array([0, 1, 2])
    assert (_acted_ns(_passage(tmp_path), rows, kind) / MS).tolist() == acted_ms


def test_what_codel_drops_after_the_probe_left_is_not_told_of_it(tmp_path: Path) -> None:
    """The first drop is 100 ms after the queue began to stand, though the packet came after 10."""
    ledger = read_ledger(tmp_path / "a", DEVICES) if _passage(tmp_path) else None
    assert ledger is not None
    run: Any = SimpleNamespace(
        cell=SimpleNamespace(scenario=Scenario.from_settings({"aqm": "codel"})),
        data={"metadata": {}}, run=SimpleNamespace(applied=lambda way: {}))
    stop = _Stop("router", "up", ledger, ledger.up, 3)
    told = _decisions(run, stop, (0, 30 * MS, 100 * MS), 0)
    assert ([one.marked for one in told.losses], told.first_after_ms) == ([True, False, False], 60)
    told = _decisions(run, stop, (0, 30 * MS, 99 * MS), 0)
    assert [one.marked for one in told.losses] == [True]
    told = _decisions(run, stop, (0, 30 * MS, 59 * MS), 0)
    assert (list(told.losses), told.idle) == ([], Idle.INTERVAL)
    # Nothing waited before the probe came.
    assert _decisions(run, stop, (30 * MS, 30 * MS, 40 * MS), 0).idle is Idle.BELOW_TARGET
    assert _decisions(run, stop, (30 * MS, 30 * MS, 99 * MS), 0).first_after_ms is None


def test_time_in_the_routers_model_is_not_the_hosts(tmp_path: Path) -> None:
    """Before the capture and behind it, in both directions."""
    seen = [*through(irtt(0), 30 * MS, 31 * MS),
            *through(irtt(0, reply=True), 41 * MS, 42 * MS, direction="down")]
    ledger = read_ledger(write(tmp_path / "a", seen), DEVICES)
    stops = [_Stop("router", "up", ledger, ledger.up, 0),
             _Stop("router", "down", ledger, ledger.down, 0)]
    answer, scenario = Answer(0, 43 * MS, 43.0), Scenario.from_settings({"base_delay_ms": 6})
    told = {part.place: round(part.ms, 6) for part in _parts(
        stops, answer, scenario, {"up": (29.0, 0.5), "down": (2.5, 0.25)})}
    assert told == {"base delay": 6, "up": 1, "down": 1, CARDS_AND_PROCESSOR: 32.25,
                    "server side": 1, "client side": 1.75}
    assert CARDS_AND_PROCESSOR not in {part.place for part in _parts(stops, answer, scenario, {})}


@pytest.mark.parametrize(("hosts_ms", "is_held"), [(0.008, False), (0.09, True), (0.2, False)])
def test_cards_hold_for_longer_than_an_interrupt_takes(hosts_ms: float, is_held: bool) -> None:
    """And not longer than both cards' moderation of 50 us, and their interrupts."""
    run: Any = SimpleNamespace(cell=SimpleNamespace(
        scenario=Scenario.from_settings({"host_moderation_us": 50})))
    assert _held_by_cards(run, {"server side": hosts_ms, "up": 0.0}, hosts_ms) is is_held
