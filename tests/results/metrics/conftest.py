# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs made of numbers, as a data file would give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.metrics.run import Run, as_run

START_S = 1_767_225_600.0
SPACING_S = 0.01
PROBE = "Ping (ms) UDP irtt"


def run_of(loaded_ms: Sequence[float | None], idle_ms: Sequence[float] = (21.0,) * 300, *,
           lost_at_s: Sequence[float] = (), directions: Sequence[str] = ("download", "upload"),
           tcp_rtt_ms: Sequence[float] | None = None, mbps: float = 90.0,
           spacing_s: float = SPACING_S,
           captured: Sequence[tuple[float, float]] = ()) -> Run:
    """A run of irtt and a flow per direction: idle probes, then loaded ones, None being a
    lost one. lost_at_s: when more lost ones were sent, in s after the load's start.
    tcp_rtt_ms: a sample of TCP_INFO with each loaded probe. captured: download and upload in Mbit/s
    in the steps of a capture, which share the load's time."""
    load_s = START_S + len(idle_ms) * spacing_s
    end_s = load_s + len(loaded_ms) * spacing_s
    # Half a probe away from the load's edges, so that rounding decides nothing.
    sent = [START_S + (place + 0.5) * spacing_s
            for place in range(len(idle_ms) + len(loaded_ms))]
    probes: list[dict[str, Any]] = [
        {"t": at, "lost": True} if rtt is None else {"t": at + rtt / 1000, "val": rtt}
        for at, rtt in zip(sent, [*idle_ms, *loaded_ms], strict=True)]
    probes += [{"t": load_s + after, "lost": True} for after in lost_at_s]
    tcp = [{"t": at, "tcp_rtt": rtt}
           for at, rtt in zip(sent[len(idle_ms):], tcp_rtt_ms or (), strict=False)]
    series: dict[str, Any] = {PROBE: {"RUNNER": "AqmIrttRunner", "UNITS": "ms"}}
    raw: dict[str, Any] = {PROBE: probes}
    for way in directions:
        series[f"TCP {way}"] = {
            "RUNNER": "AqmIperf3Runner", "UNITS": "Mbits/s", "MEAN_VALUE": mbps,
            "LOAD_START": load_s, "LOAD_END": end_s}
        raw[f"TCP {way}"] = [{"t": end_s, "val": mbps, "dur": end_s - load_s}, *tcp]
    if captured:
        series["Capture"] = {"RUNNER": "AqmCaptureRunner", "UNITS": "Mbits/s"}
        step_s = (end_s - load_s) / len(captured)
        raw["Capture"] = [
            {"t": load_s + (number + 1) * step_s, "dur": step_s, "val": down + up,
             "download": down, "upload": up} for number, (down, up) in enumerate(captured)]
    requested = {"rate_down_mbps": 100.0, "rate_up_mbps": 100.0, "aqm": "no_aqm"}
    return as_run(as_data_file({
        "version": 4, "raw_values": raw,
        "metadata": {"NAME": "made", "SERIES_META": series, "AQM": {"requested": requested}},
    }, Path("made.flent.gz")))


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Run]:
    """run_of(), which makes a Run of latencies."""
    return run_of
