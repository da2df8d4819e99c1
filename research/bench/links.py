# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what a link that plays a long trace costs, and hosts that are far away."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario
from research.bench.cost import Cost, Figure, cost_of, figure

LENGTH_S = 120
TARGET_S = 0.15


def figures(repeat: int, only: str) -> list[Figure]:
    """Measure two figures, print and return them: a download over a trace of 120 s at 300 Mbit/s,
    including boot and reading the trace, per virtual second; and 200 pings one after the other at a
    round trip of 9 minutes, in s. Raises SystemExit if a command fails, AqmError if the lab does.

    Args:
        repeat: largest number of measurements of each figure. Fewer are made if they take longer
            than cost.LONG_S.
        only: part of the names of the figures, "" for all.
    """
    costs = []
    name = "iperf3 over a link by a trace of 120 s at 300 Mbit/s"
    if only in name:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace")
            path.write_text(_make_trace())
            scenario = Scenario.from_settings({
                "shaper": "none", "link_trace": path, "modem_down_buffer_ms": 50})
            costs.append(figure(name, "s per virtual s", TARGET_S, repeat, lambda: _per_virtual_s(
                scenario, ["iperf3", "-c", "server", "-R", "-t", str(LENGTH_S)], ("iperf3",))))
    name = "200 pings at a round trip of 540 s"
    if only in name:
        far = Scenario.from_settings({"base_delay_ms": 540_000})
        costs.append(figure(name, "s", None, repeat, lambda: _lab_run_cost(
            far, ["ping", "-q", "-c", "200", "-i", "540", "-W", "1400", "server"], ())))
    return costs


def _make_trace() -> str:
    """Return a mahimahi trace of 120 s, 300 Mbit/s on average: a line with the time in ms for each
    packet that may be sent, in groups of up to 50 at a time. It is always the same."""
    chance = random.Random(1)
    return "".join(f"{ms}\n" * chance.choice((0, 10, 25, 25, 40, 50))
                   for ms in range(1, LENGTH_S * 1000 + 1))


def _per_virtual_s(scenario: Scenario, argv: list[str], servers: tuple[str, ...]) -> Cost:
    cost = _lab_run_cost(scenario, argv, servers)
    return Cost(cost.wall_s / LENGTH_S, cost.cpu_s / LENGTH_S)


def _lab_run_cost(scenario: Scenario, argv: list[str], servers: tuple[str, ...]) -> Cost:
    def run() -> None:
        with Lab(scenario, argv, servers=servers, prelude=[apply_command(scenario)]) as lab:
            if lab.run().status:
                raise SystemExit(f"{argv[0]} failed: "
                                 f"{lab.stderr.read_text()[-500:] or 'it printed no error'}")

    return cost_of(run)
