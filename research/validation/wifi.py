# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the table of docs/wifi.md, from runs of batches/wifi.batch.

    .venv/bin/flent -B batches/wifi.batch
    .venv/bin/python -m research.validation.wifi results/wifi-… [-o docs]

Prints the table and, with -o, writes it between its marks on the page in that folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.wifi.phy import PHYS
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.throughput import flow_window, mean_mbps
from flent_aqm.results.metrics.window import Window
from flent_aqm.show.looks import DASH
from research.validation import from_runs
from research.validation.wifi_theory import Receiver

PHY = PHYS["n"]
WAY = "download"
SETTLED_S = 2.0
# Size of IP packets relative to the payload that iperf3 counts.
FRAME_SHARE = {"UDP": 1476 / 1448, "TCP": 1500 / 1448}
PAGE, PART = "wifi.md", "three stations"
ACCESS_POINTS = ("FIFO", "FQ-CoDel", "FQ-MAC", "Airtime")
LOADS = ("UDP", "TCP")
HOSTS = ("client", "client2", "client3")
HEAD = ("load", "access point", "packets in an aggregate", "airtime, %", "Mbit/s",
        "all, Mbit/s", "RTT of a fast station, median ms", "p99 ms")


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the Markdown table: a row for each load and access point, with packets in
    an aggregate, airtime and Mbit/s of each station, their sum, and the median and 99th percentile
    of RTTs under load. Of several runs with one title the last counts. Raises BadResult if a row
    has no run or its run no download, or too short a one, KeyError if the run lacks a station or
    its record of the channel."""
    by_title = {run.title: run for run in runs}
    yield f"| {' | '.join(HEAD)} |"
    yield "|" + "---|" * len(HEAD)
    for load in LOADS:
        for name in ACCESS_POINTS:
            run = by_title.get(f"{name}, {load}")
            if run is None:
                raise BadResult(f"there is no run with the title {name}, {load}; expected the runs "
                                "of batches/wifi.batch")
            yield f"| {load} | {name} | {' | '.join(_cells(run, load))} |"


def _cells(run: Run, load: str) -> Iterator[str]:
    wifi: Mapping[str, Any] = read_data_file(run.path).metadata["AQM"]["wifi"]
    down = [wifi["stations"][host]["down"] for host in HOSTS]
    receivers = [Receiver(wifi["rates_mbps"][host], one["packets"] / one["aggregates"],
                          round(one["bytes"] / one["packets"]))
                 for host, one in zip(HOSTS, down, strict=True)]
    mbps = [mbps * FRAME_SHARE[load] for mbps in _received_mbps(run)]
    # From what arrived under load: counters go on while the queues drain.
    air = [rate * PHY.data_us(one.frames, one.packet_bytes, one.rate_mbps)
           / (one.frames * one.packet_bytes)
           for rate, one in zip(mbps, receivers, strict=True)]
    yield _join_numbers(one.frames for one in receivers)
    yield _join_numbers((100 * one / sum(air) for one in air), digits=0)
    yield _join_numbers(mbps)
    yield f"{sum(mbps):.1f}"
    for statistic in ("median", "p99"):
        value = METRICS[f"latency_loaded_{statistic}_ms"].of(run)
        yield DASH if isinstance(value, Unavailable) else f"{value:.1f}"


def _received_mbps(run: Run) -> list[float]:
    """Return the payload in Mbit/s that each station receives, in the order of HOSTS, from
    SETTLED_S after the begin of the load to its end (of its first flow). Raises NotAvailable
    without a download, or if it is too short for that, KeyError if a station has none."""
    flows = run.flows_of(WAY)
    whole = flow_window(flows[0])
    window = Window(whole.start_s + SETTLED_S, whole.end_s)
    mbps = {flow.name.partition("client")[2][:1]: mean_mbps(flow, window) for flow in flows}
    return [mbps[str(number)] for number in range(1, len(HOSTS) + 1)]


def _join_numbers(values: Iterable[float], digits: int = 1) -> str:
    return " / ".join(f"{value:.{digits}f}" for value in values)


if __name__ == "__main__":
    sys.exit(from_runs.main(__doc__, PAGE, PART, lines))
