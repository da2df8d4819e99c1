# SPDX-License-Identifier: GPL-3.0-or-later
"""The router model with which the lab comes closest to what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from flent_aqm.parts.router_models.calibrate.points import MeasuredResult, Measurements, Setting

# Of one standard deviation of a measurement: a share of the goodput, a share of the rise of
# latency and no less than so many ms, a share of the packets per second.
GOODPUT_SD, RISE_SD, LEAST_RISE_SD_MS, PACKETS_SD = 0.01, 0.15, 0.03, 0.02
# Models whose sum of squares is no more than this above the best one's explain as much: of one
# parameter, the 95 % interval of a chi-square with one degree of freedom.
AS_GOOD = 3.84
# Of one parameter, in the first search.
MOST_GUESSES = 12

Values = tuple[float, ...]  # one for each parameter
# Several models -> what each does in each setting.
Simulate = Callable[[Sequence[Values]], Mapping[Values, Sequence[MeasuredResult]]]


@dataclass(frozen=True)
class Parameter:
    """What is fitted: a parameter of the model, from low to high, in steps that begin at step
    and end at finest."""

    name: str
    low: float
    high: float
    step: float
    finest: float
    # Steps are factors, as for a ring whose size nobody knows to the packet.
    geometric: bool = False

    def moved(self, value: float, step: float) -> float:
        """Return the value one step further, within the bounds."""
        if self.geometric:
            return min(self.high, max(self.low, round(value * step)))
        return min(self.high, max(self.low, value + step))


@dataclass(frozen=True)
class Fit:
    """The result. table: each model that was tried -> what it does; ranges: parameter -> the
    least and the greatest value that explain the measurements as well, with the other
    parameters as they may then be among the models tried."""

    parameters: Sequence[Parameter]
    measurements: Measurements
    best: Values
    table: Mapping[Values, Sequence[MeasuredResult]]

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Return what explains the measurements as well."""
        plausible = self.plausible()
        return {one.name: (min(values[place] for values in plausible),
                           max(values[place] for values in plausible))
                for place, one in enumerate(self.parameters)}

    def plausible(self) -> list[Values]:
        """Return the models that explain the measurements as well as the best one."""
        bound = self.misfit(self.best) + AS_GOOD
        return [values for values in self.table if self.misfit(values) <= bound]

    def misfit(self, values: Values) -> float:
        """Return the sum of squares of a model's deviations."""
        return misfit(self.measurements, self.table[values], self.packet_ns(values))

    def deviations(self) -> Iterable[float]:
        """Yield the best model's deviations, in standard deviations."""
        return deviations(self.measurements, self.table[self.best], self.packet_ns(self.best))

    def packet_ns(self, values: Values) -> float | None:
        """Return what a packet costs in that model; None if that isn't fitted."""
        names = [one.name for one in self.parameters]
        return values[names.index("rx_packet_ns")] if "rx_packet_ns" in names else None


def deviations(measurements: Measurements, simulated: Sequence[MeasuredResult],
               packet_ns: float | None) -> Iterable[float]:
    """Yield (model - measurement) / standard deviation, of each goodput, rise of latency, and
    packets per second: 1e9 / cost."""
    for point, model in zip(measurements.points, simulated, strict=True):
        wanted = point.measured
        yield (model.goodput_mbps / wanted.goodput_mbps - 1) / GOODPUT_SD
        if wanted.rise_ms is not None and model.rise_ms is not None:
            yield (model.rise_ms - wanted.rise_ms) / rise_sd_ms(wanted.rise_ms)
    if measurements.packets_per_s and packet_ns is not None:
        forwarded = 1e9 / packet_ns if packet_ns else math.inf
        yield min(1e6, (forwarded / measurements.packets_per_s - 1) / PACKETS_SD)


def misfit(measurements: Measurements, simulated: Sequence[MeasuredResult],
           packet_ns: float | None) -> float:
    """Return the sum of squares of deviations()."""
    return sum(one * one for one in deviations(measurements, simulated, packet_ns))


def rise_sd_ms(rise_ms: float) -> float:
    """Return how exactly a rise of latency is known."""
    return max(RISE_SD * rise_ms, LEAST_RISE_SD_MS)


def fit(measurements: Measurements, parameters: Sequence[Parameter], simulate: Simulate) -> Fit:
    """Search the models for the least sum of squares.

    First a coarse grid, as up to some value a parameter may show nowhere. Then a pattern
    search: from the best model one step in each direction and along each pair of
    parameters, then half the step when none is better. All steps of a round are simulated
    at once. Then each parameter is moved away from the best until that no longer explains the
    measurements, for the ranges.
    """
    table = dict(simulate(_first_guesses(measurements, parameters)))
    result = Fit(parameters, measurements, next(iter(table)), table)

    def least(models: Iterable[Values]) -> Values:
        return min(models, key=lambda values: (round(result.misfit(values), 3), values))

    best = least(table)
    steps = [one.step for one in parameters]
    while any(_is_coarse(one, step) for one, step in zip(parameters, steps, strict=True)):
        around = _around(parameters, best, steps)
        table |= simulate([one for one in around if one not in table])
        better = least([best, *around])
        if result.misfit(better) < result.misfit(best) - 1e-3:
            best = better
        else:
            steps = [_finer(one, step) for one, step in zip(parameters, steps, strict=True)]
    result = Fit(parameters, measurements, best, table)
    for place, one in enumerate(parameters):
        for sign in (-1, 1):
            _walk(result, table, place, one, sign, simulate)
    return Fit(parameters, measurements, least(table), dict(sorted(table.items())))


def _first_guesses(measurements: Measurements, parameters: Sequence[Parameter]) -> list[Values]:
    """Return a grid: of a cost that packets per second tell, and of a ring, one value."""
    axes: list[list[float]] = []
    for one in parameters:
        if one.name == "rx_packet_ns" and measurements.packets_per_s:
            axes.append([min(one.high, max(one.low, round(1e9 / measurements.packets_per_s)))])
        elif one.geometric:
            axes.append([round(math.sqrt(one.low * one.high))])
        else:
            count = min(MOST_GUESSES, int((one.high - one.low) / one.step))
            axes.append([one.low + number * one.step for number in range(count + 1)])
    return list(product(*axes))


def _is_coarse(one: Parameter, step: float) -> bool:
    return step > one.finest * (1 + 1e-9)


def _finer(one: Parameter, step: float) -> float:
    if not _is_coarse(one, step):
        return step
    return max(one.finest, math.sqrt(step) if one.geometric else step / 2)


def _around(parameters: Sequence[Parameter], best: Values, steps: Sequence[float]) -> list[Values]:
    """Neighbours of a model: along each parameter, and along two that can stand for each
    other, one up and one down."""
    def move(place: int, values: Values, sign: int) -> Values:
        one, step = parameters[place], steps[place]
        by = step ** sign if one.geometric else sign * step
        return (*values[:place], one.moved(values[place], by), *values[place + 1:])

    places = range(len(parameters))
    neighbours = [move(place, best, sign) for place in places for sign in (-1, 1)]
    neighbours += [move(second, move(first, best, sign), -sign)
                   for first in places for second in places[first + 1:] for sign in (-1, 1)]
    return [one for one in dict.fromkeys(neighbours) if one != best]


def _walk(result: Fit, table: dict[Values, Sequence[MeasuredResult]], place: int, one: Parameter,
          sign: int, simulate: Simulate) -> None:
    """Move one parameter away from the best in growing steps while that explains as much."""
    bound = result.misfit(result.best) + AS_GOOD
    step = one.finest ** sign if one.geometric else sign * one.finest
    values = result.best
    while True:
        there = one.moved(values[place], step)
        values = (*values[:place], there, *values[place + 1:])
        if values not in table:
            table |= simulate([values])
        if result.misfit(values) > bound or there in (one.low, one.high):
            return
        step = step * step if one.geometric else 2 * step


def telling_setting(settings: Sequence[Setting],
                    candidates: Mapping[Values, Sequence[MeasuredResult]]
                    ) -> tuple[Setting, str, float] | None:
    """Return the setting in which plausible models differ most, what differs there (`goodput`
    or `latency`), and by how many standard deviations; None where no difference could be told.
    """
    differences: list[tuple[float, Setting, str]] = []
    for place, setting in enumerate(settings):
        outcomes = [measured[place] for measured in candidates.values()]
        goodputs = [one.goodput_mbps for one in outcomes]
        differences.append(((max(goodputs) / min(goodputs) - 1) / GOODPUT_SD, setting, "goodput"))
        rises = [one.rise_ms for one in outcomes if one.rise_ms is not None]
        if rises:
            apart = max(rises) - min(rises)
            differences.append((apart / rise_sd_ms(sum(rises) / len(rises)), setting, "latency"))
    apart, setting, what = max(differences, key=lambda one: one[0])
    return (setting, what, apart) if apart > 2 else None
