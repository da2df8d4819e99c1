# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's numbers and lines, from data files made of numbers known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import NotAvailable
from flent_aqm.measure.parsers.proc_stat import Ticks, parse_cpus
from flent_aqm.measure.runners.cpu import read_samples
from flent_aqm.results.advice.speedtest import report
from flent_aqm.results.data_file import DataFile, as_data_file

START_S = 1_767_225_600.0
TWO_STREAMS_MBPS = (20.5, 4.25)


def data_file(pings_ms: Sequence[float | None], cpus: Sequence[dict[str, float]] = (),
              load_s: float | None = None) -> DataFile:
    """A download of two streams for load_s, or as long as the pings; a ping a second from its
    start on, None for a lost one; a sample of the processors a second."""
    load_s = load_s or len(pings_ms)
    streams = {f"TCP download::{number + 1}": {
        "RUNNER": "AqmNetperfRunner", "UNITS": "Mbits/s", "MEAN_VALUE": mbps,
        "LOAD_START": START_S, "LOAD_END": START_S + load_s, "NETPERF": {"cpu_s": 1.5}}
        for number, mbps in enumerate(TWO_STREAMS_MBPS)}
    raw: dict[str, list[dict[str, Any]]] = {
        name: [{"t": START_S + load_s, "val": 1.0, "dur": load_s}] for name in streams}
    raw["Ping (ms) ICMP"] = [
        {"t": START_S + place + 0.5 + rtt / 1000, "val": rtt, "seq": float(place)}
        for place, rtt in enumerate(pings_ms) if rtt is not None]
    raw["CPU"] = [{"t": START_S + place + 1.5, "dur": 1.0, "val": 0.0, **one}
                  for place, one in enumerate(cpus)]
    return as_data_file({
        "version": 4, "raw_values": raw, "metadata": {"NAME": "made", "SERIES_META": {
            **streams, "CPU": {"RUNNER": "AqmCpuRunner", "UNITS": "%"},
            "Ping (ms) ICMP": {"RUNNER": "AqmPingRunner", "UNITS": "ms"}}},
    }, Path("made.flent.gz"))


def test_report_has_every_line_in_the_tools_form() -> None:
    """Sum of the streams, percentiles of 1 to 11 ms, population deviation, share of netperf:
    3 of 11 s on 2 processors."""
    cpus = [{"cpu0": busy, "cpu1": 100.0, "cpu0_mhz": 1000.0 + busy, "cpu1_mhz": 800.0}
            for busy in (40.0, 60.0)]
    pings: list[float | None] = [float(number) for number in range(1, 12)]
    assert report(data_file(pings, cpus), [["download"]], in_lab=False) == """\
 Download:  24.75 Mbps
  Latency: [in msec, 11 pings, 0.00% packet loss]
      Min:   1.000
    10pct:   2.000
   Median:   6.000
      Avg:   6.000
    90pct:  10.000
      Max:  11.000
 CPU Load: [in % busy (avg +/- std dev) @ avg frequency, 2 samples]
     cpu0:  50.0 +/- 10.0  @ 1050 MHz
     cpu1: 100.0 +/-  0.0  @  800 MHz
 Overhead: [in % used of total CPU available]
  netperf:  13.6
"""


def test_lost_pings_count_as_loss_and_not_as_latency() -> None:
    """One of five is lost: 20 %; with so few there are no percentiles."""
    text = report(data_file([5.0, None, 5.0, 5.0, 10.0]), [["download"]], in_lab=False)
    assert "5 pings, 20.00% packet loss" in text
    assert "   Median:       -\n" in text
    assert "      Max:  10.000\n" in text


def test_processors_outside_of_the_load_do_not_count() -> None:
    """A sample that began before the streams ended, but ended after them, is left out."""
    cpus = [{"cpu0": 10.0}, {"cpu0": 10.0}, {"cpu0": 90.0}]
    text = report(data_file([1.0], cpus, load_s=3.0), [["download"]], in_lab=False)
    assert "2 samples]\n     cpu0:  10.0 +/-  0.0\n" in text


def test_lab_has_a_reason_in_place_of_processors() -> None:
    """No zeros."""
    text = report(data_file([1.0]), [["download"]], in_lab=True)
    assert " CPU Load: [not measured: in the virtual lab computing takes no time]\n" in text
    assert "cpu0" not in text


def test_no_answered_ping_is_told() -> None:
    """In place of a report with nothing in it."""
    with pytest.raises(NotAvailable, match=r"none of the pings was answered: the tool of 'Ping "
                                           r"\(ms\) ICMP' gave no data"):
        report(data_file([None, None]), [["download"]], in_lab=False)


def test_processor_time_is_that_of_proc_stat() -> None:
    """Idle and waiting for disks is not busy; stolen time is left out, the sum too."""
    assert parse_cpus("cpu  9 9 9 9 9 9 9 9 0 0\ncpu1 1 2 3 40 5 6 7 800 0 0\nintr 1\n") == {
        "cpu1": Ticks(busy=19, total=64)}
    assert parse_cpus("\ncpu1 1 2 3 40 5 6 7 800 0 0\n\n") == {"cpu1": Ticks(busy=19, total=64)}


def test_processor_that_comes_and_goes_has_samples_while_it_is_there() -> None:
    """Switched on for the last two of three looks: one sample."""
    one, two = '"cpu0 0 0 {} {} 0 0 0\\n"', '"cpu0 0 0 {} {} 0 0 0\\ncpu1 0 0 {} {} 0 0 0\\n"'
    lines = [f'{{"t": {at}, "stat": {stat}, "mhz": {{"cpu0": {mhz}}}}}' for at, stat, mhz in (
        (1, one.format(0, 100), "null"), (2, two.format(25, 175, 0, 0), 1000),
        (3, two.format(75, 225, 100, 0), "null"))]
    assert read_samples("\n".join(lines)) == [
        {"t": 2, "dur": 1, "val": 25.0, "cpu0": 25.0, "cpu0_mhz": 1000},
        {"t": 3, "dur": 1, "val": 75.0, "cpu0": 50.0, "cpu1": 100.0}]
