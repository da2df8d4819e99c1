# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm calibrate`: fit a router model to measurements of a real router."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from operator import itemgetter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import counted
from flent_aqm.lab.place import kill_all
from flent_aqm.parts.router_models.calibrate.fit import (
    Fit,
    Parameter,
    Simulate,
    Values,
    fit,
    telling_setting,
)
from flent_aqm.parts.router_models.calibrate.points import (
    FORM,
    MeasuredResult,
    Measurements,
    Setting,
    parse_measurements,
)
from flent_aqm.parts.router_models.calibrate.simulate import measure
from flent_aqm.parts.router_models.model import with_parameters

# Greatest deviation of an acceptable model, in standard deviations of the measurement: 3 % of
# goodput, 45 % of a rise of latency.
_ACCEPTABLE = 3.0
# Settings that may be recommended for a further measurement.
_MENU = tuple(Setting(rate, burst, flows)
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
    """Fit a model and print it. Return the exit status, 1 if no model explains the measurements.

    Raises ConfigError if an argument is wrong.
    """
    measurements = parse_measurements(args.points)
    if not 1 <= args.step <= args.highest <= defaults.MAX_WATCHDOG_LATENCY_NS // 1000:
        raise ConfigError(f"--highest {args.highest} and --step {args.step}: expected 1 <= step "
                          f"<= highest <= {defaults.MAX_WATCHDOG_LATENCY_NS // 1000}")
    by_name = _parameters(args.highest, args.step)
    parameters = [by_name[name] for name in _names(args.fit, measurements, by_name)]
    if measurements.values < max(2, len(parameters)):
        raise ConfigError(
            f"{counted(measurements.values, 'measured value')} can't determine "
            f"{counted(len(parameters), 'parameter')}; give at least {max(2, len(parameters))}, "
            "or fit fewer parameters with --fit")
    with_parameters(args.base, {}, "--base")  # raises if the model is wrong
    lab = _Lab(args.base, parameters, latency=any(
        point.measured.rise_ms is not None for point in measurements.points))
    fitted = fit(measurements, parameters,
                 lab.simulator([point.setting for point in measurements.points]))
    if args.csv:
        _write_csv(args.csv, fitted)
    return _show(fitted, args.base, lab)


def _parameters(highest_us: int, step_us: int) -> dict[str, Parameter]:
    """Return the parameters that can be fitted, by name. `highest_us` and `step_us` are the bound
    and first step of the timer latency."""
    return {one.name: one for one in (
        Parameter("timer_latency_us", 0, highest_us, step_us, 1),
        Parameter("rx_packet_ns", 0, 1_000_000, 4000, 250),
        Parameter("rx_ring_packets", 64, 4096, 4, 1.4, geometric=True))}


def _names(text: str | None, measurements: Measurements, by_name: Mapping[str, Parameter]
           ) -> Sequence[str]:
    """Return the names of the parameters to fit.

    text: the value of --fit, None if not given. Then only the first parameter is fitted if only
    goodputs were measured, otherwise all are.

    Raises ConfigError if a name is unknown or given twice.
    """
    if text is None:
        only_goodputs = measurements.values == len(measurements.points)
        return list(by_name)[:1] if only_goodputs else list(by_name)
    names = [name for name in by_name if name in text.split(",")]
    if len(names) != len(text.split(",")):
        raise ConfigError(f"--fit: {text!r}: expected names of {', '.join(by_name)}, each once, "
                          "with commas between")
    return names


class _Lab:
    """Measures router models in virtual labs, several at a time."""

    def __init__(self, base: str, parameters: Sequence[Parameter], *, latency: bool) -> None:
        """Args:
            base: the router model whose parameters are changed.
            parameters: the parameters to fit.
            latency: measure the rise of latency as well.
        """
        self.base = base
        self.parameters = parameters
        self.latency = latency

    def text_of(self, values: Values) -> str:
        """Return the text of the model with these values of the fitted parameters."""
        return with_parameters(self.base, {
            one.name: f"{value:g}" for one, value in zip(self.parameters, values, strict=True)})

    def simulator(self, settings: Sequence[Setting]) -> Simulate:
        """Return a function that measures models in each of these settings.

        It boots a lab per model, as many at a time as there are cores, and stops them all on an
        error.
        """
        def simulate(models: Sequence[Values]) -> Mapping[Values, Sequence[MeasuredResult]]:
            """Measure these models, each in a lab of its own. Return model -> result in each
            setting."""
            with (ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool,
                  _console().status(f"lab: {len(models)} models")):
                try:
                    return dict(zip(models, pool.map(self._one(settings), models), strict=True))
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    kill_all()
                    raise

        return simulate

    def _one(self, settings: Sequence[Setting]) -> Callable[[Values], list[MeasuredResult]]:
        """Return a function that measures one model in these settings."""
        return lambda values: measure(self.text_of(values), settings, latency=self.latency)


def _console() -> Console:
    """Return a console on standard error, for the progress."""
    return Console(stderr=True)


def _show(fitted: Fit, base: str, lab: _Lab) -> int:
    """Print measured and modelled values, and the best model with the plausible range of each
    parameter.

    Return the exit status, 1 if even the best model deviates too much.
    """
    console = Console()
    table = Table(box=None, pad_edge=False)
    for title in ("measured", "", "model", "off by"):
        table.add_column(title, justify="left" if title == "measured" else "right")
    for words in _rows(fitted):
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
        console.print(f"{one.name}: {value:g}; from {low:g} to {high:g} explains them as well"
                      + (", which is all that was tried: they don't tell it"
                         if (low, high) == (one.low, one.high) else ""),
                      highlight=False, soft_wrap=True)
    _advise(fitted, lab, console)
    return 0


def _advise(fitted: Fit, lab: _Lab, console: Console) -> None:
    """Print which further measurement would best tell the plausible models apart, if any would.

    Boots labs to find out.
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
        console.print(f"The {what} at {setting} would narrow that: there these models are "
                      f"{apart:.0f} times apart as far as it can be measured.",
                      highlight=False, soft_wrap=True)
    elif fitted.measurements.packets_per_s is None and "rx_packet_ns" in [
            one.name for one in fitted.parameters]:
        console.print("Packets per second (pps=) would narrow that.", highlight=False)


def _rows(fitted: Fit) -> Iterator[tuple[str, str, str, str]]:
    """Yield a table row per measured quantity: its name, the measured value, the best model's
    value, and the difference."""
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


def _write_csv(path: Path, fitted: Fit) -> None:
    """Write the values of all models tried, and their results in each setting, to a CSV file.

    Raises ConfigError if it can't be written.
    """
    names = [f"{quantity} at {point.setting}" for point in fitted.measurements.points
             for quantity in ("goodput_mbps", "rise_ms")]
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*(one.name for one in fitted.parameters), *names])
            writer.writerows(
                [*values, *(f"{one:.3f}" if one is not None else "" for model in measured
                            for one in (model.goodput_mbps, model.rise_ms))]
                for values, measured in fitted.table.items())
    except OSError as error:
        raise ConfigError(f"--csv: {path} can't be written: {error.strerror}") from None
