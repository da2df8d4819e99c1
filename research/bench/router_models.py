# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what a router model costs: a run's wall time with it, relative to the ideal router's.

    make bench BENCH_ARGUMENTS='--only "router model"'
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from research.bench.cost import Cost, Figure, lab_cost

# Of a run with a model, as a multiple of the same run's without.
TARGET = 1.5
# Model, rate in Mbit/s: where the router passes all of it, and omnia where it just does not.
CASES = (("omnia", 300), ("omnia", 800), ("mt7621", 300), ("mt7988", 1000))
LENGTH_S = 5
COMMAND = ("sh", "-c", (f"irtt client -Q -i 10ms -d {LENGTH_S}s server:2112 >/dev/null & "
                        f"iperf3 -c server -t {LENGTH_S}; status=$?; wait $! && exit $status"))


def figures(repeat: int, only: str) -> list[Figure]:
    """Measure an upload by iperf3 with irtt beside it, at each rate of CASES, in turn with the
    ideal router and with the case's model. Print and return a figure for each case: the time with
    the model divided by that with the ideal router, as the median of the pairs, on the clock
    (value) and of the processor (cpu). Raises SystemExit if iperf3 or irtt fails, AqmError if the
    lab does.

    Args:
        repeat: number of such pairs, 1 or more.
        only: part of the names of the figures, "" for all.
    """
    return list(_measure_cases(repeat, only))


def _measure_cases(repeat: int, only: str) -> Iterator[Figure]:
    for model, rate_mbps in CASES:
        name = f"router model {model} at {rate_mbps} Mbit/s"
        if only not in name:
            continue
        # In turn, so that what the machine does meanwhile meets both.
        pairs = [(_cost(rate_mbps, "ideal"), _cost(rate_mbps, model)) for _ in range(repeat)]
        wall, cpu = (median(one) for one in zip(*(
            (slow.wall_s / ideal.wall_s, slow.cpu_s / ideal.cpu_s) for ideal, slow in pairs),
            strict=True))
        print(f"{name}: {wall:.2f} times ideal, processor {cpu:.2f}", flush=True)
        yield Figure(name, "times ideal", wall,
                     [slow.wall_s / ideal.wall_s for ideal, slow in pairs], TARGET, cpu)


def _cost(rate_mbps: float, model: str) -> Cost:
    return lab_cost(list(COMMAND), rate_mbps, ("iperf3", "irtt"), router_model=model)
