# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what a lab costs: seconds on the wall's clock and of the processor."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario

# Measurements of one figure end when they have taken so long together.
LONG_S = 25.0


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    Attributes:
        name: name of the figure.
        unit: unit of all values.
        value: the middle one of the values: wall time, unless `unit` names something else.
        values: all measured values.
        target: greatest value that is wanted, None without a target.
        cpu: median of the processor's time in the same unit, None if it wasn't measured.
    """

    name: str
    unit: str
    value: float
    values: list[float]
    target: float | None
    cpu: float | None = None


@dataclass(frozen=True)
class Cost:
    """Seconds on the wall's clock, and of the processor for this process and the children that it
    has waited for."""

    wall_s: float
    cpu_s: float

    def minus(self, other: Cost) -> Cost:
        return Cost(self.wall_s - other.wall_s, self.cpu_s - other.cpu_s)


def cost_of(do: Callable[[], object]) -> Cost:
    """Call `do` and return what the call costs, including children that it waits for. Errors of
    `do` are passed on."""
    wall_s, cpu_s = time.monotonic(), _cpu_s()
    do()
    return Cost(time.monotonic() - wall_s, _cpu_s() - cpu_s)


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def median_cost(costs: list[Cost]) -> Cost:
    """Return the median wall time and the median processor time, each by itself. `costs` must not
    be empty."""
    return Cost(median(one.wall_s for one in costs), median(one.cpu_s for one in costs))


def figure(name: str, unit: str, target: float | None, repeat: int,
           measure: Callable[[], Cost]) -> Figure:
    """Measure one figure, print the medians of its costs, and return them with all wall times as a
    Figure.

    Args:
        name: name of the figure.
        unit: unit of the costs.
        target: greatest wall time that is wanted, None without a target. Only stored.
        repeat: number of measurements. The first is always made; after LONG_S seconds no further
            one begins.
        measure: function that makes one measurement.
    """
    costs: list[Cost] = []
    end = time.monotonic() + LONG_S
    while not costs or (len(costs) < repeat and time.monotonic() < end):
        costs.append(measure())
    middle = median_cost(costs)
    print(f"{name}: {middle.wall_s:.2f} {unit}, processor {middle.cpu_s:.2f}", flush=True)
    return Figure(name, unit, middle.wall_s, [one.wall_s for one in costs], target, middle.cpu_s)


def lab_cost(argv: list[str], rate_mbps: float, servers: tuple[str, ...], *,
             set_up: bool = True, router_model: str = "ideal") -> Cost:
    """Return the cost of a lab that runs one command: wall time from the guest's start to
    power-off, and processor time with the preparation before it.

    Args:
        argv: the command.
        rate_mbps: rate of the router's shaper, the same in both directions. The queue is FQ-CoDel.
        servers: names of the servers in the lab, as in tools/table.SERVERS.
        set_up: whether shaper and queue are set up.
        router_model: value of the key `router_model`.

    Raises SystemExit if the command fails, AqmError if the lab can't be started or fails.
    """
    scenario = Scenario().but(aqm="fq_codel", rate_up_mbps=rate_mbps, rate_down_mbps=rate_mbps,
                        router_model=router_model)
    cpu_s = _cpu_s()
    with Lab(scenario, argv, prelude=[apply_command(scenario)] if set_up else [],
             servers=servers) as lab:
        outcome = lab.run()
        if outcome.status:
            raise SystemExit(f"{argv[0]} ended with status {outcome.status}: "
                             f"{lab.stderr.read_text()[-500:] or 'it printed no error'}")
        return Cost(outcome.wall_s, _cpu_s() - cpu_s)
