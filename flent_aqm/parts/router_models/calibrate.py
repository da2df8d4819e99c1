# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm calibrate`: find the router model that fits measurements of a real router.

In this order: the measurements that the user gives, the search for the model with which the lab's
results come closest to them, the measurement of a model in the lab, and the command.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import re
import shlex
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.table import Table

from flent_aqm.base import defaults
from flent_aqm.base.errors import BadResult, ConfigError, LabError, ParseError, cause_of
from flent_aqm.base.words import counted, last_line
from flent_aqm.lab.place import end_threads
from flent_aqm.lab.virtual import Lab
from flent_aqm.measure.parsers.iperf3 import parse_iperf3
from flent_aqm.parts.router_models.model import with_parameters
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.readers import rate as read_rate
from flent_aqm.spec.scenario import Scenario

_POINT_FORM = ("[Nx]RATE[+burst]=GOODPUT[/RISE], in Mbit/s and ms, such as 800=676, "
               "800+burst=765/0.54 or 2x900+burst=860/3.1")
FORM = f"{_POINT_FORM}; or pps=PACKETS_PER_S"

_POINT = re.compile(r"(?:([1-9][0-9]?)x)?([0-9.]+)(\+burst)?=([0-9.]+)(?:/([0-9.]+))?")
_PPS = re.compile(r"pps=([0-9]{2,8})")


@dataclass(frozen=True)
class BenchSetting:
    """Configuration of one measurement. str() returns it in the form of the command line, such as
    "2x900+burst".

    Attributes:
        rate_mbps: rate of the shaper.
        burst_shaping: whether the shaper sends bursts.
        flows: number of bulk TCP flows.
    """

    rate_mbps: float
    burst_shaping: bool
    flows: int = 1

    def __str__(self) -> str:
        flows = f"{self.flows}x" if self.flows > 1 else ""
        return f"{flows}{self.rate_mbps:g}{'+burst' if self.burst_shaping else ''}"


@dataclass(frozen=True)
class MeasuredResult:
    """Result of a measurement in one setting.

    Attributes:
        goodput_mbps: goodput of all flows together.
        rise_ms: median round-trip time of a UDP probe under load minus that of the idle router.
            None: not measured.
    """

    goodput_mbps: float
    rise_ms: float | None = None


@dataclass(frozen=True)
class MeasuredPoint:
    """A setting and the result measured in it."""

    setting: BenchSetting
    measured: MeasuredResult


@dataclass(frozen=True)
class Measurements:
    """All measurements of a router.

    Attributes:
        points: the goodputs and rises of latency.
        packets_per_s: most packets of 64 bytes (with the checksum) that it forwards per second.
            None: not measured.
    """

    points: Sequence[MeasuredPoint]
    packets_per_s: float | None = None

    @property
    def values(self) -> int:
        """Number of measured values: goodputs, rises of latency and packets per second."""
        return (len(self.points) + (self.packets_per_s is not None)
                + sum(point.measured.rise_ms is not None for point in self.points))


def parse_measurements(texts: Sequence[str]) -> Measurements:
    """Parse measurements from the command line, each [Nx]RATE[+burst]=GOODPUT[/RISE], such as
    2x900+burst=860/3.1, or pps=NUMBER.

    N is the number of flows, 1 if left out. RATE is the shaper's rate and GOODPUT what was reached,
    in Mbit/s. The word +burst says that the shaper sends bursts. RISE is the rise of latency in ms.
    NUMBER is the most packets of 64 bytes that the router forwards per second.

    Raises ConfigError if one has another form or an impossible value, a setting or pps is given
    twice, or no goodput is given.
    """
    points = [parse_point(text) for text in texts if not text.startswith("pps=")]
    rates = [parse_packets_per_s(text) for text in texts if text.startswith("pps=")]
    settings = [point.setting for point in points]
    for setting in settings:
        if settings.count(setting) > 1:
            raise ConfigError(f"{setting} is given {settings.count(setting)} times; give it once, "
                              "with the median of its values")
    if len(rates) > 1:
        raise ConfigError(f"pps is given {len(rates)} times; give it once, with the largest value")
    if not points:
        raise ConfigError(f"no goodput at any rate is given; add {_POINT_FORM}")
    return Measurements(points, rates[0] if rates else None)


def parse_point(text: str) -> MeasuredPoint:
    """Parse a measurement of the form [Nx]RATE[+burst]=GOODPUT[/RISE], in Mbit/s and ms. N is the
    number of flows, 1 to 99, and 1 if it is left out. Without RISE, the result's `rise_ms` is None.
    Raises ConfigError if the text has another form, a rate out of range, or a goodput that is 0 or
    above the rate."""
    match = _POINT.fullmatch(text)
    if not match:
        raise ConfigError(f"{text[:60]!r} is not a measurement; give {FORM}, where N is 1 to 99, "
                          "and 0 stands for a RISE below 0")
    rate = read_rate(repr(text), match.group(2))
    goodput_mbps = _to_float(text, match.group(4))
    if not 0 < goodput_mbps <= rate:
        raise ConfigError(f"{text!r}: the goodput is {match.group(4)} Mbit/s; expected more than "
                          f"0, and at most the shaper's rate, {match.group(2)} Mbit/s")
    rise_ms = None if match.group(5) is None else _to_float(text, match.group(5))
    return MeasuredPoint(BenchSetting(rate, bool(match.group(3)), int(match.group(1) or 1)),
                 MeasuredResult(goodput_mbps, rise_ms))


def parse_packets_per_s(text: str) -> float:
    """Parse `pps=NUMBER` and return the number. Raises ConfigError if it is no whole number from
    1000 to 99999999."""
    match = _PPS.fullmatch(text)
    if not match or int(match.group(1)) < 1000:
        raise ConfigError(f"{text!r}: expected pps=NUMBER, the most packets of 64 bytes that the "
                          "router forwards per second, a whole number from 1000 to 99999999")
    return float(match.group(1))


def _to_float(text: str, number: str) -> float:
    """Return `number` as a float. Raises ConfigError, which quotes the whole measurement `text`, if
    it is none, such as "1.2.3"."""
    try:
        return float(number)
    except ValueError:
        raise ConfigError(f"{text!r}: {number!r} is not a number; give {FORM}") from None


# Standard deviation of a measurement: relative for goodput, rise of latency and packets per second.
# The standard deviation of a rise is at least LEAST_RISE_SD_MS.
GOODPUT_SD, RISE_SD, LEAST_RISE_SD_MS, PACKETS_SD = 0.01, 0.15, 0.03, 0.02
# Models whose sum of squares exceeds the best model's by at most this value are as plausible: the
# 95 % interval of a chi-square with one degree of freedom, for one parameter.
AS_GOOD = 3.84
# Most steps of a parameter in the first grid, which has one value more.
MOST_GUESSES = 12

Values = tuple[float, ...]  # a model: the value of each fitted parameter
# Function that measures models: models -> model -> result in each setting.
Simulate = Callable[[Sequence[Values]], Mapping[Values, Sequence[MeasuredResult]]]


@dataclass(frozen=True)
class ModelParameter:
    """A parameter of the router model that is fitted.

    Attributes:
        name: name of the parameter, with its unit.
        low: least value.
        high: greatest value.
        step: step of the first grid, and with which the search begins.
        finest: least step. The search for the best model ends when all steps are down to it, and
            that for the parameter's range begins with it.
        geometric: True: steps are factors above 1, and values whole numbers. Meant for sizes of
            rings, which can't be determined to the packet.
    """

    name: str
    low: float
    high: float
    step: float
    finest: float
    geometric: bool = False

    def moved(self, value: float, step: float) -> float:
        """Return the value changed by one step, within the bounds. The step is added. If
        geometric, the value is multiplied by it and rounded to a whole number. A step down is
        negative or, if geometric, a factor below 1."""
        if self.geometric:
            return min(self.high, max(self.low, round(value * step)))
        return min(self.high, max(self.low, value + step))


@dataclass(frozen=True)
class Fit:
    """The result of a fit. A model is a tuple with a value for each of `parameters`, in their
    order.

    Attributes:
        parameters: the fitted parameters.
        measurements: the measurements.
        best: the tried model whose misfit(), rounded to three decimals, is the least; of equal
            ones, the first by its values.
        table: each model that was tried -> its result in each setting.
    """

    parameters: Sequence[ModelParameter]
    measurements: Measurements
    best: Values
    table: Mapping[Values, Sequence[MeasuredResult]]

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Return name of each parameter -> its least and greatest value among the plausible models:
        those tried whose misfit is at most 3.84 (AS_GOOD) above the best model's."""
        plausible = self.plausible()
        return {one.name: (min(values[place] for values in plausible),
                           max(values[place] for values in plausible))
                for place, one in enumerate(self.parameters)}

    def plausible(self) -> list[Values]:
        """Return the tried models that explain the measurements about as well as the best model
        does: their misfit is at most 3.84 (AS_GOOD) above its."""
        bound = self.misfit(self.best) + AS_GOOD
        return [values for values in self.table if self.misfit(values) <= bound]

    def misfit(self, values: Values) -> float:
        """Return the sum of squares of a model's deviations from the measurements, in standard
        deviations.

        Args:
            values: a model of `table`.
        """
        return misfit(self.measurements, self.table[values], self.packet_ns(values))

    def deviations(self) -> Iterable[float]:
        """Yield the best model's deviations from the measurements (model - measurement), in
        standard deviations. Their order is that of the function deviations()."""
        return deviations(self.measurements, self.table[self.best], self.packet_ns(self.best))

    def packet_ns(self, values: Values) -> float | None:
        """Return the value of rx_packet_ns in a model, None if it isn't fitted. misfit() and
        deviations() take it for the model's whole processor time per packet: what the base model
        takes for sending or per byte is not added.

        values: a model, the value of each fitted parameter in the order of `parameters`.
        """
        names = [one.name for one in self.parameters]
        return values[names.index("rx_packet_ns")] if "rx_packet_ns" in names else None


def deviations(measurements: Measurements, simulated: Sequence[MeasuredResult],
               packet_ns: float | None) -> Iterable[float]:
    """Yield (model - measurement) / standard deviation for the goodput and the rise of latency at
    each point, and at last for packets per second. Values that were not measured, or are not
    modelled, are left out. A model forwards 1e9 / `packet_ns` packets per second; for them the
    result is at most 1,000,000, also if `packet_ns` is 0.

    The standard deviations are GOODPUT_SD (1 %) and PACKETS_SD (2 %) of the measured value, and
    rise_sd_ms() of a rise.

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
    """Return the sum of the squares of a model's deviations from the measurements, in standard
    deviations.

    Args:
        measurements: the measured values.
        simulated: the model's result at each measured point.
        packet_ns: the model's processor time per packet, None if it isn't fitted.
    """
    return sum(one * one for one in deviations(measurements, simulated, packet_ns))


def rise_sd_ms(rise_ms: float) -> float:
    """Return the standard deviation of a measured rise of latency, in ms: 15 % of it (RISE_SD), but
    at least 0.03 ms."""
    return max(RISE_SD * rise_ms, LEAST_RISE_SD_MS)


def fit(measurements: Measurements, parameters: Sequence[ModelParameter],
        simulate: Simulate) -> Fit:
    """Search for the model with the least sum of squares.

    First a coarse grid is measured, because a parameter may have no effect up to some value. Then a
    pattern search moves from the best model one step along each parameter and each pair of
    parameters, and makes the steps smaller if no neighbour is better by more than 0.001, until all
    are at their finest. All models of a round are measured at once. At last, each parameter is
    moved away from the best model until the model is no longer plausible, or the parameter is at
    its bound, to find the parameter's range. The result's best model is that of all models tried.

    Args:
        measurements: the measurements.
        parameters: the parameters to fit.
        simulate: function that takes models, measures them, and returns model -> its result in the
            setting of each measurement. A model is a tuple of the parameters' values. Its errors
            are raised.
    """
    table = dict(simulate(_first_guesses(measurements, parameters)))
    result = Fit(parameters, measurements, next(iter(table)), table)

    def least(models: Iterable[Values]) -> Values:
        """Return the model whose misfit, rounded to three decimals, is the least. If several have
        the same, return the first of them by their values, compared in the order of the
        parameters."""
        return min(models, key=lambda values: (round(result.misfit(values), 3), values))

    best = least(table)
    steps = [one.step for one in parameters]
    while any(_is_coarse(one, step) for one, step in zip(parameters, steps, strict=True)):
        around = _neighbours(parameters, best, steps)
        table |= simulate([one for one in around if one not in table])
        better = least([best, *around])
        if result.misfit(better) < result.misfit(best) - 1e-3:
            best = better
        else:
            steps = [_smaller_step(one, step) for one, step in zip(parameters, steps, strict=True)]
    result = Fit(parameters, measurements, best, table)
    for place, one in enumerate(parameters):
        for sign in (-1, 1):
            _extend_range(result, table, place, one, sign, simulate)
    return Fit(parameters, measurements, least(table), dict(sorted(table.items())))


def _first_guesses(measurements: Measurements,
                   parameters: Sequence[ModelParameter]) -> list[Values]:
    """Return the models of the first grid: all combinations of the parameters' values in it. There
    is a single value for a geometric parameter (the geometric mean of its bounds), and for
    rx_packet_ns, the processor time per packet, if packets per second were measured (the time that
    follows from them, within the bounds). Others have up to 13 values, from the least on, a step
    apart."""
    axes: list[list[float]] = []
    for parameter in parameters:
        if parameter.name == "rx_packet_ns" and measurements.packets_per_s:
            packet_ns = round(1e9 / measurements.packets_per_s)
            axes.append([min(parameter.high, max(parameter.low, packet_ns))])
        elif parameter.geometric:
            axes.append([round(math.sqrt(parameter.low * parameter.high))])
        else:
            count = min(MOST_GUESSES, int((parameter.high - parameter.low) / parameter.step))
            axes.append([parameter.low + number * parameter.step for number in range(count + 1)])
    return list(product(*axes))


def _is_coarse(parameter: ModelParameter, step: float) -> bool:
    """Return whether the step is above the parameter's finest."""
    return step > parameter.finest * (1 + 1e-9)


def _smaller_step(parameter: ModelParameter, step: float) -> float:
    """Return half of a step, or its square root if the parameter is geometric, but not less than
    the parameter's finest step. A step that isn't above the finest is returned as it is."""
    if not _is_coarse(parameter, step):
        return step
    return max(parameter.finest, math.sqrt(step) if parameter.geometric else step / 2)


def _neighbours(parameters: Sequence[ModelParameter], best: Values,
                steps: Sequence[float]) -> list[Values]:
    """Return the neighbours of a model: a step up and down along each parameter, and opposite steps
    along each pair of parameters, which may compensate each other. A step that leads beyond a bound
    ends there. Each neighbour is returned once, and the model itself is left out.

    Args:
        parameters: the parameters that are fitted.
        best: the model.
        steps: step of each parameter, which is a factor if the parameter is geometric.
    """
    def move(place: int, values: Values, sign: int) -> Values:
        """Return the model `values` with the parameter at index `place` moved by its step, up if
        `sign` is 1 or down if it is -1, but not beyond its bounds."""
        one, step = parameters[place], steps[place]
        by = step ** sign if one.geometric else sign * step
        return (*values[:place], one.moved(values[place], by), *values[place + 1:])

    places = range(len(parameters))
    neighbours = [move(place, best, sign) for place in places for sign in (-1, 1)]
    neighbours += [move(second, move(first, best, sign), -sign)
                   for first in places for second in places[first + 1:] for sign in (-1, 1)]
    return [one for one in dict.fromkeys(neighbours) if one != best]


def _extend_range(result: Fit, table: dict[Values, Sequence[MeasuredResult]], place: int,
                  parameter: ModelParameter,
                  sign: int, simulate: Simulate) -> None:
    """Move a parameter away from the best model, in growing steps, until the model is no longer
    plausible or the parameter is at its bound. Adds the models to `table`.

    Args:
        result: the fit, whose misfits are computed from `table`.
        table: models tried -> their results.
        place: index of the parameter.
        parameter: the parameter.
        sign: 1 for upwards, -1 for downwards.
        simulate: function that measures models.
    """
    bound = result.misfit(result.best) + AS_GOOD
    step = parameter.finest ** sign if parameter.geometric else sign * parameter.finest
    values = result.best
    while True:
        there = parameter.moved(values[place], step)
        values = (*values[:place], there, *values[place + 1:])
        if values not in table:
            table |= simulate([values])
        if result.misfit(values) > bound or there in (parameter.low, parameter.high):
            return
        step = step * step if parameter.geometric else 2 * step


def telling_setting(settings: Sequence[BenchSetting],
                    candidates: Mapping[Values, Sequence[MeasuredResult]]
                    ) -> tuple[BenchSetting, str, float] | None:
    """Return the setting in which the candidates differ most.

    Args:
        settings: the settings in which the candidates were measured, at least one.
        candidates: plausible models -> their result in each setting, in the order of `settings`.

    Returns:
        (setting, `goodput` or `latency`, difference of the two most different candidates in
            standard deviations of a measurement). None if no difference exceeds two standard
            deviations.
    """
    differences: list[tuple[float, BenchSetting, str]] = []
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


# The load's first second (slow start) is not measured. The next three are.
_WARM_UP_S, _LENGTH_S = 1, 3
# Interval of the probes in ms. It is no multiple of a packet's transmission time at a round rate,
# so that probes don't always arrive at the same moment between two packets.
_PROBE_MS = 9.9
_AQM = "fq_codel"
# What to try if a model can't be measured.
_OTHERWISE = ("calibrate with another --base, with fewer parameters in --fit, or with measurements "
              "that have no latency (RATE=GOODPUT)")


def measure(model: str, settings: Sequence[BenchSetting], *, latency: bool = True
            ) -> list[MeasuredResult]:
    """Measure a model in each setting, all in one boot of the lab. Return the result in each
    setting.

    Args:
        model: text of the router model.
        settings: the settings, at least one.
        latency: True: measure the rise of latency, too, with the queue fq_codel. False: measure
            goodput alone, with the queue no_aqm; the rise is None.

    Raises ConfigError if the model's text is wrong, ToolMissing if the lab's kernel isn't built,
    LabError if a setting could not be measured, BadResult if no probe came back or iperf3 reports
    no total, ParseError if iperf3's output can't be read.
    """
    scenarios = [Scenario.from_settings({
        "aqm": _AQM if latency else "no_aqm", "rate_mbps": one.rate_mbps,
        "burst_shaping": one.burst_shaping, "router_model": model}) for one in settings]
    probe = f"irtt client -Q -i {_PROBE_MS}ms -d {{}}s -o {{}} server:2112 >/dev/null"
    lines = ["set -e"]
    for number, (scenario, setting) in enumerate(zip(scenarios, settings, strict=True)):
        lines.append(f"{shlex.join(apply_command(scenario))} >/dev/null")
        if latency:
            lines.append(probe.format(1, f"/run/results/idle{number}.json"))
            loaded = probe.format(_LENGTH_S, f"/run/results/load{number}.json")
            lines.append(f"(sleep {_WARM_UP_S}; {loaded}) &")
        load = f"iperf3 -J -c server -P {setting.flows} -O {_WARM_UP_S} -t {_LENGTH_S}"
        lines.append(f"{load} > /run/results/{number}.json")
        if latency:
            lines.append("wait $!")  # with irtt's status, which `wait` alone doesn't have
    with Lab(scenarios[0], ["sh", "-c", "\n".join(lines)], servers=["iperf3", "irtt"]) as lab:
        result = lab.run()
        if result.status:
            raise LabError(f"a router {model} could not be measured: the lab's commands ended with "
                           f"status {result.status}: {_why_failed(lab)}; calibrate with another "
                           "--base, or with fewer parameters in --fit")
        return [MeasuredResult(
            _received_mbps((lab.results / f"{number}.json").read_text()),
            _rise_ms(lab.results, number, f"the router model {model} at {setting}")
            if latency else None) for number, setting in enumerate(settings)]


def _why_failed(lab: Lab) -> str:
    """Return the error of commands that failed in a lab: that of iperf3, which `iperf3 -J` writes
    to its output, or else the last line of their standard error, or that they printed none."""
    for path in sorted(lab.results.glob("[0-9]*.json")):
        with suppress(ParseError):
            if error := parse_iperf3(path.read_text(errors="replace")).error:
                return f"iperf3: {error}"
    return last_line(lab.stderr.read_text(errors="replace")) or "they printed no error"


def _received_mbps(text: str) -> float:
    """Return the goodput of an upload in iperf3's JSON output, in Mbit/s. Raises ParseError if the
    text is no such output, BadResult if the output has no total of an upload."""
    if (total := parse_iperf3(text).totals.get("upload")) is None:
        raise BadResult(f"iperf3's output has no total of the upload; {_OTHERWISE}")
    return total.received_mbps


def _rise_ms(results: Path, number: int, router: str) -> float:
    """Return by how much the load raised the median round-trip time in a setting, in ms, at least
    0.

    Args:
        results: folder of the results.
        number: index of the setting.
        router: model and setting of the router, for the message.

    Raises BadResult if no probe came back.
    """
    idle_ms = _median_ms(results / f"idle{number}.json", f"before the load through {router}")
    load_ms = _median_ms(results / f"load{number}.json", f"under load through {router}")
    return max(0.0, load_ms - idle_ms)


def _median_ms(path: Path, where: str) -> float:
    """Return the median round-trip time in a file of irtt, in ms. Raises BadResult if no reply
    came.

    where: when the probes were sent and through which router, for the message.
    """
    trips = json.loads(path.read_text())["round_trips"]
    rtt_ms = [one["delay"]["rtt"] / 1e6 for one in trips if "rtt" in one.get("delay", {})]
    if not rtt_ms:
        raise BadResult(f"no probe came back {where}: {counted(len(trips), 'probe')} lost; "
                        f"{_OTHERWISE}")
    return float(statistics.median(rtt_ms))


# Greatest deviation of an acceptable model, in standard deviations of the measurement: 3 % of
# goodput, 45 % of a rise of latency.
_ACCEPTABLE = 3.0
# Settings that may be recommended for a further measurement.
_MENU = tuple(BenchSetting(rate, burst, flows)
              for rate, burst, flows in product((300.0, 600.0, 900.0), (False, True), (1, 2)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Measure your router with one or several bulk TCP flows (iperf3) at two or more HTB "
        "rates, and give the results: goodput, and how much the load raised the median round-trip "
        "time of a UDP probe. If you can, also give how many packets of 64 bytes the router "
        "forwards per second. The lab measures the same with router models, and reports which "
        "model fits best.")
    parser.add_argument("points", nargs="+", metavar="MEASUREMENT", help=FORM)
    parser.add_argument("--base", default="ideal", metavar="MODEL",
                        help="the router model that gives all other parameters, such as omnia "
                             "(default: %(default)s)")
    parser.add_argument("--fit", metavar="NAMES",
                        help="parameters to fit, separated by commas: timer_latency_us, "
                        "rx_packet_ns, rx_ring_packets (default: the first one; all of them if a "
                        "latency or pps is given)")
    parser.add_argument("--highest", type=int, default=60, metavar="US",
                        help="the highest timer latency to try, in us (default: %(default)s)")
    parser.add_argument("--step", type=int, default=8, metavar="US",
                        help="the steps of the first search (default: %(default)s)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all tried models to FILE")


def main(args: argparse.Namespace) -> int:
    """Fit a model, print the best one, with advice on a further measurement, and write all models
    tried to the file of --csv if it is given. Return the exit status: 0, or 1, without advice, if
    no model explains the measurements.

    Raises ConfigError if an argument is wrong or the file of --csv can't be written. Raises
    ToolMissing, LabError, BadResult or ParseError if a model can't be measured, see measure().
    """
    measurements = parse_measurements(args.points)
    if not 1 <= args.step <= args.highest <= defaults.MAX_WATCHDOG_LATENCY_NS // 1000:
        raise ConfigError(f"--highest {args.highest} and --step {args.step}: expected 1 <= step "
                          f"<= highest <= {defaults.MAX_WATCHDOG_LATENCY_NS // 1000}, in us")
    by_name = _fittable_parameters(args.highest, args.step)
    parameters = [by_name[name] for name in _names_to_fit(args.fit, measurements, by_name)]
    if measurements.values < max(2, len(parameters)):
        fewer = ", or fit fewer parameters with --fit" if measurements.values > 1 else ""
        raise ConfigError(
            f"{counted(measurements.values, 'measured value')} can't determine "
            f"{counted(len(parameters), 'parameter')}; give at least "
            f"{max(2, len(parameters))}{fewer}")
    with_parameters(args.base, {}, "--base")  # raises if the model is wrong
    if args.csv:
        _open_csv(args.csv).close()  # raises before the search, which takes long
    lab = _ModelsInLab(args.base, parameters, latency=any(
        point.measured.rise_ms is not None for point in measurements.points))
    fitted = fit(measurements, parameters,
                 lab.simulator([point.setting for point in measurements.points]))
    # Printed first, so that a file that can't be written doesn't cost the result.
    status = _print_fit(fitted, lab)
    if args.csv:
        _write_csv(args.csv, fitted)
    return status


def _fittable_parameters(highest_us: int, step_us: int) -> dict[str, ModelParameter]:
    """Return name -> parameter for the parameters that can be fitted, in this order:
    timer_latency_us, rx_packet_ns, rx_ring_packets.

    Args:
        highest_us: greatest timer latency.
        step_us: first step of the timer latency.
    """
    return {one.name: one for one in (
        ModelParameter("timer_latency_us", 0, highest_us, step_us, 1),
        ModelParameter("rx_packet_ns", 0, 1_000_000, 4000, 250),
        ModelParameter("rx_ring_packets", 64, 4096, 4, 1.4, geometric=True))}


def _names_to_fit(text: str | None, measurements: Measurements,
                  by_name: Mapping[str, ModelParameter]) -> Sequence[str]:
    """Return the names of the parameters to fit, in the order of `by_name`.

    Args:
        text: value of --fit: names with commas between them. None: only the first parameter if only
            goodputs were measured, otherwise all parameters.
        measurements: the measurements.
        by_name: parameters that can be fitted, by name.

    Raises ConfigError if a name is unknown or given twice.
    """
    if text is None:
        only_goodputs = measurements.values == len(measurements.points)
        return list(by_name)[:1] if only_goodputs else list(by_name)
    given = [name.strip() for name in text.split(",")]
    names = [name for name in by_name if name in given]
    if len(names) != len(given):
        raise ConfigError(f"--fit: {text!r}: expected names of {', '.join(by_name)}, each once, "
                          "with commas between")
    return names


class _ModelsInLab:
    """Measures router models in virtual labs, several at a time. simulator(settings) returns the
    function that a fit calls with models. `latency` says whether it measures the rise of latency
    as well, and may be changed between calls of that function."""

    def __init__(self, base: str, parameters: Sequence[ModelParameter], *, latency: bool) -> None:
        """Args:
            base: the router model whose parameters are changed.
            parameters: the parameters to fit.
            latency: measure the rise of latency as well.
        """
        self.base = base
        self.parameters = parameters
        self.latency = latency

    def text_of(self, values: Values) -> str:
        """Return the text of the model with these values of the fitted parameters: the base model
        with them as changed parameters. Raises ConfigError if that is no valid model."""
        return with_parameters(self.base, {
            one.name: _number(value) for one, value in zip(self.parameters, values, strict=True)},
            "--base, with the parameters of --fit")

    def simulator(self, settings: Sequence[BenchSetting]) -> Simulate:
        """Return a function that measures models in each of these settings: it takes a sequence of
        models and returns model -> results, in the order of the settings.

        It boots a lab per model, as many at a time as there are cores. On an error, it stops all
        labs of this process and raises the error.
        """
        def simulate(models: Sequence[Values]) -> Mapping[Values, Sequence[MeasuredResult]]:
            """Measure these models, each in a lab of its own. Return model -> result in each
            setting that was given to simulator(). Raises the errors of measure(), after all labs of
            this process were stopped."""
            with (ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool,
                  _console().status(f"lab: {len(models)} models")):
                measure_one = self._measure_in(settings)
                futures = {model: pool.submit(measure_one, model) for model in models}
                try:
                    return {model: future.result() for model, future in futures.items()}
                except BaseException:
                    end_threads(pool, futures.values())
                    raise

        return simulate

    def _measure_in(self, settings: Sequence[BenchSetting]) -> Callable[[Values],
                                                                        list[MeasuredResult]]:
        """Return a function that takes values of the fitted parameters, measures that model in each
        of these settings, and returns its results in their order. It raises the errors of
        measure()."""
        return lambda values: measure(self.text_of(values), settings, latency=self.latency)


def _number(value: float) -> str:
    """Return the value of a parameter as text without an exponent, whose "+" would begin another
    parameter in a model's text: 1000000, not 1e+06. It has up to 12 digits."""
    return f"{value:.12g}"


def _console() -> Console:
    """Return a console on standard error, for the progress."""
    return Console(stderr=True)


def _print_fit(fitted: Fit, lab: _ModelsInLab) -> int:
    """Print measured and modelled values, the best model with the plausible range of each
    parameter, and the advice of _advise().

    Args:
        fitted: the result of the fit.
        lab: measures further models, for advice.

    Returns:
        The exit status: 0, or 1 if even the best model deviates from a measurement by more than 3
            of its standard deviations. Then only measured and modelled values and that model are
            printed.
    """
    console = Console()
    table = Table(box=None, pad_edge=False)
    for title in ("measured", "", "model", "off by"):
        table.add_column(title, justify="left" if title == "measured" else "right")
    for words in _result_rows(fitted):
        table.add_row(*words)
    console.print(table)
    if max(map(abs, fitted.deviations())) > _ACCEPTABLE:
        console.print("No model explains these measurements: something that it doesn't contain "
                      "limits this router, or one of the measurements is wrong. The closest is "
                      f"{lab.text_of(fitted.best)}.", soft_wrap=True, highlight=False)
        return 1
    console.print(f"router_model = {lab.text_of(fitted.best)}", highlight=False, soft_wrap=True)
    ranges = fitted.ranges()
    for one, value in zip(fitted.parameters, fitted.best, strict=True):
        low, high = ranges[one.name]
        console.print(f"{one.name}: {_number(value)}; from {_number(low)} to {_number(high)} "
                      "explains them as well"
                      + (", which is all that was tried: the measurements don't determine it"
                         if (low, high) == (one.low, one.high) else ""),
                      highlight=False, soft_wrap=True)
    _advise(fitted, lab, console)
    return 0


def _advise(fitted: Fit, lab: _ModelsInLab, console: Console) -> None:
    """Print which further measurement (goodput or latency at 300, 600 or 900 Mbit/s, with or
    without bursts, of one or two flows) would best tell the plausible models with the least and the
    greatest value of each parameter apart. If none would, print that packets per second would,
    unless they were measured or rx_packet_ns isn't fitted.

    If there is only one such model, or all these settings were measured, do nothing. Otherwise boot
    labs to find out, and set `lab.latency` to True.
    """
    plausible = fitted.plausible()
    ends = {end(plausible, key=itemgetter(place))
            for place in range(len(fitted.parameters)) for end in (min, max)}
    measured = {point.setting for point in fitted.measurements.points}
    menu = [setting for setting in _MENU if setting not in measured]
    if len(ends) < 2 or not menu:
        return
    lab.latency = True
    telling = telling_setting(menu, lab.simulator(menu)(sorted(ends)))
    if telling:
        setting, what, apart = telling
        console.print(f"Measuring the {what} at {setting} would narrow that: there these models "
                      f"are {apart:.0f} standard deviations of a measurement apart.",
                      highlight=False, soft_wrap=True)
    elif fitted.measurements.packets_per_s is None and "rx_packet_ns" in [
            one.name for one in fitted.parameters]:
        console.print("Measuring packets per second (pps=) would narrow that.", highlight=False)


def _result_rows(fitted: Fit) -> Iterator[tuple[str, str, str, str]]:
    """Yield a table row per measured quantity: its setting, name and unit, the measured value, the
    best model's value, and model minus measurement: in percent of the measurement or, for a rise of
    latency, in ms. Quantities of which the model has no value are left out, such as packets per
    second if rx_packet_ns isn't fitted or is 0."""
    for point, model in zip(fitted.measurements.points, fitted.table[fitted.best], strict=True):
        wanted = point.measured
        yield (f"{point.setting} goodput, Mbit/s", f"{wanted.goodput_mbps:.1f}",
               f"{model.goodput_mbps:.1f}",
               f"{100 * (model.goodput_mbps / wanted.goodput_mbps - 1):+.1f} %")
        if wanted.rise_ms is not None and model.rise_ms is not None:
            yield (f"{point.setting} rise of latency, ms", f"{wanted.rise_ms:.2f}",
                   f"{model.rise_ms:.2f}", f"{model.rise_ms - wanted.rise_ms:+.2f} ms")
    cost_ns = fitted.packet_ns(fitted.best)
    if fitted.measurements.packets_per_s and cost_ns:
        measured, forwarded = fitted.measurements.packets_per_s, 1e9 / cost_ns
        yield ("packets per second", f"{measured:.0f}", f"{forwarded:.0f}",
               f"{100 * (forwarded / measured - 1):+.1f} %")


def _open_csv(path: Path, mode: str = "a") -> IO[str]:
    """Open the file of --csv for writing. Raises ConfigError if that fails.

    Args:
        path: path of the file.
        mode: mode of open(). "a" keeps what the file has.
    """
    try:
        return path.open(mode, newline="", encoding="utf-8")
    except OSError as error:
        raise _csv_refused(path, error) from None


def _csv_refused(path: Path, error: OSError) -> ConfigError:
    """Return the error for a file of --csv that can't be written."""
    return ConfigError(f"--csv: {path} can't be written: {cause_of(error)}; name a file that can")


def _write_csv(path: Path, fitted: Fit) -> None:
    """Write the values of all models tried, and their results in each setting, to a CSV file. A
    result that was not measured is empty.

    Raises ConfigError if it can't be written.
    """
    names = [f"{quantity} at {point.setting}" for point in fitted.measurements.points
             for quantity in ("goodput_mbps", "rise_ms")]
    try:
        with _open_csv(path, "w") as file:
            writer = csv.writer(file)
            writer.writerow([*(one.name for one in fitted.parameters), *names])
            writer.writerows(
                [*values, *(f"{one:.3f}" if one is not None else "" for model in measured
                            for one in (model.goodput_mbps, model.rise_ms))]
                for values, measured in fitted.table.items())
    except OSError as error:
        raise _csv_refused(path, error) from None
