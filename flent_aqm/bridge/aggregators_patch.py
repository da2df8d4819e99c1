# SPDX-License-Identifier: GPL-3.0-or-later
"""What comes after the measurement. Runners of ours give several series (measure/runners/part.py),
and learn from the capture when their load ran (measure/load_window.py), when all are parsed.

In a run of a sweep there is less work besides, for the same results. Tools' output is parsed by the
Flent that ran them. By itself Flent starts two processes and several threads for it, which talk
through sockets: in the lab's guest, where computing is cheap and system calls are dear, half a
second. It has the other way, too, for systems that can't do this.

Flent puts all series on common steps in time, and for each step looks through each series from its
beginning. Of a probe every 10 ms it uses one sample in ten, so it gets only these: of two minutes,
that saves half a second. And it prints all of them for its log by pprint, which takes as long.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Any

from flent_aqm.base import environment

# Pairs of a time and a value, which may be None.
Series = Sequence[Any]

# Flent refuses more.
_MOST_STEPS = 10**6


def patch(module: Any) -> None:
    """Patch flent.aggregators."""
    _complete(module.Aggregator)
    if not os.environ.get(environment.CELL):
        return
    module.Aggregator.parse_results_parallel = module.Aggregator.parse_results_direct
    module.pprint = _Printer
    stock = module.TimeseriesAggregator.collect

    def collect(self: Any) -> Any:
        measurements, metadata, raw_values = stock(self)
        return used_by_steps(measurements, self.step), metadata, raw_values

    module.TimeseriesAggregator.collect = collect


def _complete(aggregator: Any) -> None:
    stock = aggregator.collect

    @wraps(stock)
    def collect(self: Any) -> Any:
        for instance in self.instances.values():
            if names := instance.get("run_after_all"):
                instance["start_event"] = _EndOfAll(
                    [self.instances[name]["finish_event"] for name in names])
        measurements, metadata, raw_values = stock(self)
        if any(about["RUNNER"].startswith("Aqm") for about in metadata["series"].values()):
            # Late: a stock test in the lab's guest needs none of it.
            from flent_aqm.measure.load_window import settle
            from flent_aqm.measure.runners.part import take_parts

            self.failed_runners += take_parts(measurements, metadata["series"], raw_values)
            settle(measurements, metadata["series"], raw_values)
        return measurements, metadata, raw_values

    aggregator.collect = collect


class _EndOfAll:
    """Stands in for an event: that of the end of several runners."""

    def __init__(self, ends: Sequence[Any]) -> None:
        self._ends = ends

    def wait(self) -> None:
        """Return when all have ended."""
        for end in self._ends:
            end.wait()


def used_by_steps(measurements: Mapping[str, Series], step_s: float) -> Mapping[str, Series]:
    """Return of each series what Flent's interpolation looks at: the first and the last pair, and
    for each step the first one after it and the one before that. step_s: seconds."""
    ends = [(series[0][0], series[-1][0]) for series in measurements.values() if series]
    if not ends:
        return measurements
    first_s, last_s = min(one for one, _ in ends), max(one for _, one in ends)
    if last_s - first_s > step_s * _MOST_STEPS:
        return measurements
    return {name: _used(series, first_s, last_s, step_s)
            for name, series in measurements.items()}


def _used(series: Series, first_s: float, last_s: float, step_s: float) -> Series:
    if len(series) < 3:
        return series
    kept = {0, len(series) - 1}
    step, at_s = 0, first_s
    for number, pair in enumerate(series):
        # As Flent computes a step's time: sums would be another number.
        while pair[0] > at_s:
            if at_s > last_s:
                break
            kept |= {max(number - 1, 0), number}
            step += 1
            at_s = first_s + step_s * step
    return [series[number] for number in sorted(kept)]


class _Printer:
    """In the place of the module pprint."""

    @staticmethod
    def pformat(result: Mapping[str, Series]) -> str:
        """Return each series with its name, a pair a line."""
        return "\n".join("\n ".join([f"{name}:", *map(repr, series)])
                         for name, series in result.items())
