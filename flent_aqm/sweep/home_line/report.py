# SPDX-License-Identifier: GPL-3.0-or-later
"""Formats a speed test's report in the format of speedtest-netperf.sh."""

from __future__ import annotations

from collections.abc import Sequence

from flent_aqm.results.data_file import DataFile
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.throughput import throughput_mbps
from flent_aqm.sweep.home_line.numbers import Latency, Load, latency, load, pings

IN_LAB = "not measured: in the virtual lab computing takes no time"
NO_SAMPLE = "not measured: the test was shorter than a sample"


def report(data: DataFile, blocks: Sequence[Sequence[str]], in_lab: bool) -> str:
    """Return the text of the report.

    Args:
        data: the data file of the speed test.
        blocks: directions whose streams ran together, in the order of the report. An empty block is
            an idle line.
        in_lab: the test ran in the virtual lab, where processors are never busy.

    Raises BadResult, and NotAvailable if no ping was answered.
    """
    return "\n".join(_block(data, block, in_lab) for block in blocks)


def _block(data: DataFile, directions: Sequence[str], in_lab: bool) -> str:
    """Return the report's lines on directions whose streams ran together."""
    run = as_run(data)
    lines = [f"{way.capitalize():>9}: {throughput_mbps(run, way):6.2f} Mbps"
             for way in directions]
    only = directions[0] if len(directions) == 1 else None
    lines += _latency(latency(pings(run, only)))
    flows = [flow for flow in run.speed_test if flow.direction in directions]
    cpu_load = load(data, flows)
    lines += _no_load(IN_LAB if in_lab else NO_SAMPLE) if cpu_load is None else _load(cpu_load)
    return "".join(f"{line}\n" for line in lines)


def _latency(summary: Latency) -> list[str]:
    """Return the report's lines on latency."""
    return [
        f"  Latency: [in msec, {summary.count} pings, {summary.lost_pct:4.2f}% packet loss]",
        *(f"{name:>9}: {'-':>7}" if value is None else f"{name:>9}: {value:7.3f}"
          for name, value in (
              ("Min", summary.min_ms), ("10pct", summary.p10_ms), ("Median", summary.median_ms),
              ("Avg", summary.mean_ms), ("90pct", summary.p90_ms), ("Max", summary.max_ms)))]


def _load(cpu_load: Load) -> list[str]:
    """Return the report's lines on the load of the processors."""
    at = " @ avg frequency" if any(one.mhz is not None for one in cpu_load.processors) else ""
    return [
        f" CPU Load: [in % busy (avg +/- std dev){at}, {cpu_load.samples} samples]",
        *(f"{one.name:>9}: {one.busy_pct:5.1f} +/- {one.deviation_pct:4.1f}"
          + (f"  @ {one.mhz:4.0f} MHz" if one.mhz is not None else "")
          for one in cpu_load.processors),
        " Overhead: [in % used of total CPU available]",
        f"{'netperf':>9}: {cpu_load.netperf_pct:5.1f}"]


def _no_load(why: str) -> list[str]:
    """Return the report's lines for a test without samples of the processors. why: the reason."""
    return [f" CPU Load: [{why}]", f" Overhead: [{why}]"]
