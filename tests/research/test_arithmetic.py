# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks' arithmetic, against numbers that were worked out by hand."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy
import pytest

from flent_aqm.base.errors import ParseError
from research.validation.captures import passage, read_packets, shares
from research.validation.check import at_least, at_most, close_to
from research.validation.checks.codel_law import law_s, linux_law_s
from research.validation.checks.red_thresholds import HIGHEST_BYTES, LOWEST_BYTES, average_bytes
from research.validation.checks.waits import TICK_MS, granule_ms


def test_finding_passes_up_to_its_tolerance_and_not_beyond() -> None:
    """Both ends of what is allowed pass; the next value doesn't, and neither does NaN."""
    for measured, passes in ((99.0, True), (101.0, True), (98.9, False), (101.1, False),
                             (math.nan, False)):
        assert close_to("x", "", 100, measured, percent=1).passed is passes
    assert at_most("x", "", 3, 3).passed
    assert not at_most("x", "", 3, 3.01).passed
    assert at_least("x", "", 3, 3).passed
    assert not at_least("x", "", 3, math.nan).passed


def test_finding_takes_the_wider_of_percent_and_absolute() -> None:
    """An absolute tolerance helps where the percentage is nothing."""
    assert close_to("x", "", 0, 0.5, percent=1, absolute=0.5).passed
    assert not close_to("x", "", 0, 0.6, percent=1, absolute=0.5).passed


@pytest.mark.parametrize(("ticks", "granule"), [
    (1, 1), (62, 1), (63, 8), (503, 8), (504, 64), (4031, 64), (4032, 512)])
def test_granule_is_that_of_the_timer_wheel(ticks: int, granule: int) -> None:
    """Its levels begin at 63, 504 and 4032 ticks (LVL_START() of kernel/time/timer.c)."""
    assert granule_ms(ticks * TICK_MS) == granule * TICK_MS


def test_codel_law_first_drops() -> None:
    """100, 70.7 and 57.7 ms by the RFC; 100, 50 and 56.25 by one step of Newton's method each."""
    assert numpy.diff(law_s(4)) * 1e3 == pytest.approx([100, 70.71, 57.74], abs=0.01)
    assert numpy.diff(linux_law_s(4)) * 1e3 == pytest.approx([100, 50, 56.2], abs=0.06)


def test_codel_law_linux_comes_close_to_the_formula() -> None:
    """From the fifth drop on, intervals differ by less than 1.5 %."""
    intervals, linux = numpy.diff(law_s(500)), numpy.diff(linux_law_s(500))
    assert linux[4:] == pytest.approx(intervals[4:], rel=0.015)
    assert linux[1] != pytest.approx(intervals[1], rel=0.2)


def test_red_average_at_the_thresholds_and_between() -> None:
    """No overload: the lower threshold; p = 0.05 means 2 × 0.05 / 1.05 dropped: half-way; more
    than `probability` can drop: the upper one."""
    assert average_bytes(1 + 1e-12) == pytest.approx(LOWEST_BYTES, rel=1e-6)
    dropped = 0.1 / 1.05
    assert average_bytes(1 / (1 - dropped)) == pytest.approx((LOWEST_BYTES + HIGHEST_BYTES) / 2)
    assert average_bytes(1.5) == HIGHEST_BYTES


def capture(path: Path, packets: list[tuple[int, int, int]]) -> Path:
    """A capture of UDP packets: (ns since some second, source port, number)."""
    data = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 54, 1)
    for ns, port, number in packets:
        head = bytes(12) + struct.pack(">HBBHHHBBH4s4sHHHHI", 0x0800, 0x45, 0, 1500, 0, 0, 64, 17,
                                       0, bytes(4), bytes(4), port, 9, 1480, 0, number)
        data += struct.pack("=IIII", 7 + ns // 10**9, ns % 10**9, 54, 1514) + head.ljust(54, b"\0")
    path.write_bytes(data)
    return path


def test_passage_knows_packets_again_and_which_were_dropped(tmp_path: Path) -> None:
    """Time in the router of those that left, in another order than they came; NaN for others."""
    came = capture(tmp_path / "in.pcap", [(0, 1, 0), (10**6, 2, 0), (2 * 10**6, 1, 1),
                                          (3 * 10**6, 1, 2)])
    left = capture(tmp_path / "out.pcap", [(4 * 10**6, 2, 0), (5 * 10**6, 1, 0),
                                           (8 * 10**6, 1, 2)])
    way = passage(came, left)
    assert way.sojourn_ms == pytest.approx([5, 3, numpy.nan, 5], nan_ok=True)
    assert way.dropped.tolist() == [False, False, True, False]
    assert way.drop_times_s() == pytest.approx([0.008])  # as the next one left


def test_passage_number_that_comes_again_means_the_latest(tmp_path: Path) -> None:
    """Numbers that wrapped around don't make a packet wait since the first time."""
    came = capture(tmp_path / "in.pcap", [(0, 1, 5), (10**9, 1, 5)])
    left = capture(tmp_path / "out.pcap", [(10**6, 1, 5), (10**9 + 10**6, 1, 5)])
    assert passage(came, left).sojourn_ms == pytest.approx([1, 1])


def test_shares_count_bytes_inside_the_window(tmp_path: Path) -> None:
    """Three packets of port 1 and one of port 2 between 1 and 2 s; others don't count."""
    packets = read_packets(capture(tmp_path / "x.pcap", [
        (0, 2, 0), (10**9, 1, 0), (11 * 10**8, 1, 1), (12 * 10**8, 2, 1), (13 * 10**8, 1, 2),
        (2 * 10**9, 2, 2)]))
    assert shares(packets, "source_port", 1, 2) == {1: 0.75, 2: 0.25}


def test_capture_that_is_cut_or_foreign_is_refused(tmp_path: Path) -> None:
    """A broken capture is an error, not a short one."""
    whole = capture(tmp_path / "x.pcap", [(0, 1, 0)]).read_bytes()
    for broken in (whole[:-1], whole[:23], whole[:4], b"GIF89a" + whole, b""):
        (tmp_path / "y.pcap").write_bytes(broken)
        with pytest.raises(ParseError, match=r"y\.pcap"):
            read_packets(tmp_path / "y.pcap")
