# SPDX-License-Identifier: GPL-3.0-or-later
"""Cross traffic's numbers, worked out by hand."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from flent_aqm.measure.cross_traffic.client import STEP_S, ResultPrinter
from flent_aqm.measure.parsers.cross import (
    FRAMES_PER_S,
    PACKET_BYTES,
    PACKETS_PER_FRAME,
    parse_call,
    parse_lines,
)

MS = 1_000_000  # ns


def test_lines_of_a_client_are_rates_of_every_step_and_events() -> None:
    """1000 bytes in the first half second, none in the second, 500 in the third."""
    parsed = parse_lines("\n".join(map(json.dumps, [
        {"start": 100, "step_s": 0.5}, {"step": 0, "bytes": 1000}, {"t": 100.7, "page_s": 0.25},
        {"step": 2, "bytes": 500}])))
    assert parsed.rates == [
        {"t": 100.5, "dur": 0.5, "val": pytest.approx(0.016)},
        {"t": 101, "dur": 0.5, "val": 0}, {"t": 101.5, "dur": 0.5, "val": pytest.approx(0.008)}]
    assert parsed.events == [{"t": 100.7, "page_s": 0.25}]


def test_lines_of_the_same_step_are_added() -> None:
    """After a clock that went back, as those of several threads were."""
    parsed = parse_lines("\n".join(map(json.dumps, [
        {"start": 100, "step_s": 0.5}, {"step": 0, "bytes": 1000}, {"step": 1, "bytes": 10},
        {"step": 0, "bytes": 500}])))
    assert [one["val"] for one in parsed.rates] == pytest.approx([0.024, 0.00016])


def test_bytes_count_when_they_are_counted_not_when_a_thread_begins_to_wait(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Else steps of several threads go back, and one is printed twice."""
    now_s = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now_s[0])
    printer = ResultPrinter()
    lock: Any = printer._lock

    class Busy:
        """Another thread counts a byte in the next step, and has the lock until then."""

        def __enter__(self) -> None:
            now_s[0] += STEP_S * 1.5
            printer._lock = lock
            printer.count_bytes(1)
            lock.acquire()

        def __exit__(self, *_fault: object) -> None:
            lock.release()

    printer._lock = Busy()  # type: ignore[assignment]
    printer.count_bytes(5)
    printer.end()
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()[1:]]
    assert printed == [{"step": 0, "bytes": 0}, {"step": 1, "bytes": 6}]


def test_lines_without_a_step_give_no_rate() -> None:
    """And what came as the very first event is one."""
    parsed = parse_lines('{"start": 1, "step_s": 0.2}\n{"t": 3, "stalled": 1}')
    assert (parsed.rates, parsed.events) == ([], [{"t": 3, "stalled": 1}])


def trip(number: int, sent_ms: int, up_ms: int, down_ms: int) -> dict[str, Any]:
    """A packet of irtt's that was sent so long after 1000 s, and was so long on both ways."""
    sent = 1_000_000 * MS + sent_ms * MS
    return {"seqno": number, "lost": "false", "delay": {"send": up_ms * MS,
                                                        "receive": down_ms * MS},
            "timestamps": {"client": {"send": {"wall": sent},
                                      "receive": {"wall": sent + (up_ms + down_ms) * MS}}}}


def test_call_gives_frames_and_rates_of_each_way() -> None:
    """Two frames and the first packet of a third; the eighth packet is lost on its way back."""
    trips = [trip(0, 0, 3, 1), trip(1, 10, 5, 0), trip(2, 20, 2, 1), trip(3, 30, 4, 9),
             trip(4, 40, 3, 1), *(trip(number, 160 + 10 * number, 6, 1) for number in range(5, 11))]
    trips[7] |= {"lost": "true_down", "delay": {"send": 8 * MS}}
    del trips[7]["timestamps"]["client"]["receive"]
    call = parse_call(json.dumps({"round_trips": trips}))
    assert call["upload"].events == [{"t": 1000.0, "frame_lost": 0.0, "frame_ms": 3.0},
                                     {"t": 1000.21, "frame_lost": 0.0, "frame_ms": 6.0}]
    # A fastest packet that took no time at all is one, too.
    assert call["download"].events == [{"t": 1000.0, "frame_lost": 0.0, "frame_ms": 9.0},
                                       {"t": 1000.21, "frame_lost": 1.0}]
    for way, packets in (("upload", [5, 6]), ("download", [5, 5])):
        assert call[way].rates == [
            {"t": pytest.approx(1000 + 0.2 * (step + 1), abs=1e-7), "dur": 0.2,
             "val": pytest.approx(count * 1200 * 8e-6 / 0.2)}
            for step, count in enumerate(packets)]


def test_rate_of_a_call_is_the_documented_one() -> None:
    """1.44 Mbit/s in frames of 5 packets."""
    rate_mbps = FRAMES_PER_S * PACKETS_PER_FRAME * PACKET_BYTES * 8e-6
    assert rate_mbps == pytest.approx(1.44)
