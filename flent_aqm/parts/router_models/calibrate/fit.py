# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches for the router model with which the lab's results come closest to measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from flent_aqm.parts.router_models.calibrate.points import MeasuredResult, Measurements, Setting

# Standard deviation of a measurement: relative for goodput, rise of latency and packets per second.
# The standard deviation of a rise is at least LEAST_RISE_SD_MS.
GOODPUT_SD, RISE_SD, LEAST_RISE_SD_MS, PACKETS_SD = 0.01, 0.15, 0.03, 0.02
# Models whose sum of squares exceeds the best model's by at most this value are as plausible: the
# 95 % interval of a chi-square with one degree of freedom, for one parameter.
AS_GOOD = 3.84
# Most values of a parameter in the first grid.
MOST_GUESSES = 12

Values = tuple[float, ...]  # a model: the value of each fitted parameter
# Function that measures models: models -> model -> result in each setting.
Simulate = Callable[[Sequence[Values]], Mapping[Values, Sequence[MeasuredResult]]]


@dataclass(frozen=True)
class Parameter:
    """A parameter to fit, between `low` and `high`. The search begins with steps of `step` and ends
    with steps of `finest`."""

    name: str
    low: float
    high: float
    step: float
    finest: float
    # True: steps are factors. Meant for sizes of rings, which can't be determined to the packet.
    geometric: bool = False

    def moved(self, value: float, step: float) -> float:
        """Return the value changed by one step, within the bounds."""
        if self.geometric:
            return min(self.high, max(self.low, round(value * step)))
        return min(self.high, max(self.low, value + step))


@dataclass(frozen=True)
class Fit:
    """The result of a fit."""

    parameters: Sequence[Parameter]
    measurements: Measurements
    # The model with the least sum of squares.
    best: Values
    # Each model that was tried -> its result in each setting.
    table: Mapping[Values, Sequence[MeasuredResult]]

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Return the least and greatest value of each parameter among the plausible models."""
        plausible = self.plausible()
        return {one.name: (min(values[place] for values in plausible),
                           max(values[place] for values in plausible))
                for place, one in enumerate(self.parameters)}

    def plausible(self) -> list[Values]:
        """Return the models tried that explain the measurements as well as the best model."""
        bound = self.misfit(self.best) + AS_GOOD
        return [values for values in self.table if self.misfit(values) <= bound]

    def misfit(self, values: Values) -> float:
        """Return the sum of squares of a model's deviations from the measurements."""
        return misfit(self.measurements, self.table[values], self.packet_ns(values))

    def deviations(self) -> Iterable[float]:
        """Yield the best model's deviations from the measurements, in standard deviations."""
        return deviations(self.measurements, self.table[self.best], self.packet_ns(self.best))

    def packet_ns(self, values: Values) -> float | None:
        """Return the processor time per packet in a model, in ns. None if that parameter isn't
        fitted."""
        names = [one.name for one in self.parameters]
        return values[names.index("rx_packet_ns")] if "rx_packet_ns" in names else None


def deviations(measurements: Measurements, simulated: Sequence[MeasuredResult],
               packet_ns: float | None) -> Iterable[float]:
    """Yield (model - measurement) / standard deviation for each goodput, rise of latency, and
    packets per second.

    Args:
        measurements: the measured values.
        simulated: the model's result at each measured point.
        packet_ns: the model's processor time per packet, None if it isn't fitted.
    """
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
    """Return the standard deviation of a measured rise of latency, in ms."""
    return max(RISE_SD * rise_ms, LEAST_RISE_SD_MS)


def fit(measurements: Measurements, parameters: Sequence[Parameter], simulate: Simulate) -> Fit:
    """Search for the model with the least sum of squares.

    First a coarse grid is measured, because a parameter may have no effect up to some value. Then a
    pattern search moves from the best model one step along each parameter and each pair of
    parameters, and halves the steps if no neighbour is better. All models of a round are measured
    at once. At last, each parameter is moved away from the best model until the model is no longer
    plausible, to find the parameter's range.

    simulate: function that measures models in the settings of the measurements.
    """
    table = dict(simulate(_first_guesses(measurements, parameters)))
    result = Fit(parameters, measurements, next(iter(table)), table)

    def least(models: Iterable[Values]) -> Values:
        """Return the model with the least misfit. Of equal ones, return the first in order of
        values."""
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
    """Return the models of the first grid. The grid has a single value for a cost that packets per
    second determine, and for a ring's size."""
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
    """Return whether the step is above the parameter's finest."""
    return step > one.finest * (1 + 1e-9)


def _finer(one: Parameter, step: float) -> float:
    """Return the next smaller step: half, or the square root of a factor, down to the finest."""
    if not _is_coarse(one, step):
        return step
    return max(one.finest, math.sqrt(step) if one.geometric else step / 2)


def _around(parameters: Sequence[Parameter], best: Values, steps: Sequence[float]) -> list[Values]:
    """Return the neighbours of a model: a step up and down along each parameter, and opposite steps
    along each pair of parameters, which may compensate each other."""
    def move(place: int, values: Values, sign: int) -> Values:
        """Return the model `values` with the parameter at index `place` moved one step up or
        down."""
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
    """Move a parameter away from the best model, in growing steps, while the model stays plausible.

    Adds the models to `table`.

    Args:
        result: the fit, whose misfits are computed from `table`.
        table: models tried -> their results.
        place: index of the parameter.
        one: the parameter.
        sign: 1 for upwards, -1 for downwards.
        simulate: function that measures models.
    """
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
    """Return the setting in which the candidates differ most.

    Returns (setting, `goodput` or `latency`, difference in standard deviations). None if no
    difference exceeds two standard deviations.

    Args:
        settings: the settings in which the candidates were measured.
        candidates: plausible models -> their result in each setting.
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
