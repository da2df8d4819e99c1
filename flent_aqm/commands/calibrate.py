# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm calibrate`: fit a router model to measurements of a real router."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from flent_aqm.asked.router_model import with_latency
from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.sweep.calibrate.fit import Fit, fit
from flent_aqm.sweep.calibrate.points import FORM, Setting, parse_point
from flent_aqm.sweep.calibrate.simulate import goodputs_mbps
from flent_aqm.testbed.place import kill_all

# What a model may be off, as a share, before it is no model of that router.
_ACCEPTABLE = 0.03


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Give the goodput of one bulk TCP flow (iperf3) through your router at two or more "
        "rates of HTB. The lab measures the same with timers that fire more and more late, and "
        "tells which latency fits best. Take rates at which your router falls short, without "
        "burst shaping, and one with it as a check.")
    parser.add_argument("points", nargs="+", metavar="RATE=GOODPUT", help=FORM)
    parser.add_argument("--highest", type=int, default=60, metavar="US",
                        help="the highest latency to try, in us (default: %(default)s)")
    parser.add_argument("--step", type=int, default=5, metavar="US",
                        help="the steps of the first search (default: %(default)s)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the whole table there")


def main(args: argparse.Namespace) -> int:
    """Fit and show; exit status 1 when no latency explains the measurements."""
    points = [parse_point(text) for text in args.points]
    if len(points) < 2:
        raise ConfigError("one measurement fits any model; give at least two")
    if not 1 <= args.step <= args.highest <= defaults.MAX_WATCHDOG_LATENCY_NS // 1000:
        raise ConfigError(f"--highest {args.highest} and --step {args.step}: expected 1 <= step "
                          f"<= highest <= {defaults.MAX_WATCHDOG_LATENCY_NS // 1000}")
    settings = [point.setting for point in points]
    found = fit(points, args.highest * 1000, args.step * 1000, 1000,
                lambda latencies: _simulate(latencies, settings))
    if args.csv:
        _write_csv(args.csv, found)
    return _show(found)


def _simulate(latencies: Sequence[int], settings: Sequence[Setting]
              ) -> Mapping[int, Sequence[float]]:
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            measured = pool.map(lambda ns: goodputs_mbps(ns, settings), latencies)
            return dict(zip(latencies, track(measured, "lab", len(latencies), console=_console()),
                            strict=True))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            kill_all()
            raise


def _console() -> Console:
    return Console(stderr=True)


def _show(found: Fit) -> int:
    console = Console()
    table = Table(box=None, pad_edge=False)
    table.add_column("latency us", justify="right")
    for point in found.points:
        table.add_column(f"{point.setting}", justify="right")
    for latency_ns, goodputs in found.table.items():
        table.add_row(f"{latency_ns / 1000:g}", *(f"{one:.1f}" for one in goodputs),
                      style="bold" if latency_ns == found.latency_ns else "")
    table.add_section()
    table.add_row("measured", *(f"{point.goodput_mbps:.1f}" for point in found.points))
    table.add_row("deviation", *(f"{100 * one:+.1f} %" for one in found.deviations()))
    console.print(table)
    if max(map(abs, found.deviations())) > _ACCEPTABLE:
        console.print(f"No latency from 0 to {max(found.table) / 1000:g} us explains these "
                      "measurements: something else limits this router as well, its CPU for "
                      f"instance. The closest is {with_latency(found.latency_ns)}.", soft_wrap=True)
        return 1
    console.print(f"router_model = {with_latency(found.latency_ns)}", highlight=False)
    if found.highest_ns - found.lowest_ns > 0.25 * max(found.latency_ns, 1000):
        console.print(
            f"Anything from {found.lowest_ns / 1000:g} to {found.highest_ns / 1000:g} us explains "
            "the measurements as well. A rate at which the router falls short without burst "
            "shaping would tell more.", soft_wrap=True)
    return 0


def _write_csv(path: Path, found: Fit) -> None:
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["watchdog_latency_us",
                             *(f"goodput_mbps at {point.setting}" for point in found.points)])
            writer.writerows([latency_ns / 1000, *(f"{one:.3f}" for one in goodputs)]
                             for latency_ns, goodputs in found.table.items())
    except OSError as error:
        raise ConfigError(f"--csv: {path} can't be written: {error.strerror}") from None
