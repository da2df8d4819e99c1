# SPDX-License-Identifier: GPL-3.0-or-later
"""What was the load of a run, when did it last, and what did the probes see meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Runners whose series are a speed test's own throughput.
SPEED_TESTS = ("AqmNdt7Runner", "AqmIperf3Runner", "AqmIperf3ReverseRunner")
# Series of speed-test runners that load the link beside the test.
CROSS_TRAFFIC = "cross"
# Latency probes, the best first: irtt samples every 10 ms, ping every 200 ms.
PROBES = ("IrttRunner", "UdpRttRunner", "PingRunner")


@dataclass(frozen=True)
class Window:
    """A span of time, in seconds of the epoch."""

    start_s: float
    end_s: float


def speed_test_series(metadata: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Metadata by name of the speed test's own series."""
    return {name: meta for name, meta in metadata["SERIES_META"].items()
            if is_a(meta, SPEED_TESTS) and CROSS_TRAFFIC not in name.lower()}


def probe_series(metadata: Mapping[str, Any]) -> str | None:
    """The name of the latency series with the closest samples, or None."""
    for runner in PROBES:
        for name, meta in metadata["SERIES_META"].items():
            if is_a(meta, (runner, f"Aqm{runner}")) and meta.get("UNITS", "ms") == "ms":
                return str(name)
    return None


def load_window(metadata: Mapping[str, Any]) -> Window | None:
    """From the start of the speed test's first transfer to the end of its last."""
    spans = [(meta["LOAD_START"], meta["LOAD_END"])
             for meta in speed_test_series(metadata).values()
             if "LOAD_START" in meta and "LOAD_END" in meta]
    if not spans:
        return None
    return Window(min(start for start, _ in spans), max(end for _, end in spans))


def loaded_latency_ms(samples: Iterable[Mapping[str, Any]], window: Window) -> list[float]:
    """Round-trip times, in ms, of the probes inside the window; lost ones have none."""
    return [sample["val"] for sample in samples
            if sample.get("val") is not None and window.start_s <= sample["t"] <= window.end_s]


def is_a(meta: Any, runners: Collection[str]) -> bool:
    """Whether a series was made by one of the runners."""
    return isinstance(meta, Mapping) and meta.get("RUNNER") in runners
