# SPDX-License-Identifier: GPL-3.0-or-later
"""Completes the results after a test's tools have ended.

Runners of this package may return several series (measure/runners/part.py), and the time of their
load is read from the capture when all are parsed (measure/load_window.py).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from flent_aqm.base import environment
from flent_aqm.measure.runners.fallback import warn_of_netperf


def collect(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a replacement for the method that runs a test's runners and collects their series. It
    returns measurements, metadata and raw values, as Flent's does.

    The replacement starts a runner with the key run_after_all when the runners of all series in
    that list have ended. Afterwards it adds further series of this package's runners, reads the
    time of their load from the capture, and logs series without data (not in a run on a testbed).
    It warns if netperf replaced irtt.

    stock: Flent's method.
    """
    @wraps(stock)
    def collect(self: Any) -> Any:
        for instance in self.instances.values():
            if names := instance.get("run_after_all"):
                instance["start_event"] = _EndOfAll(
                    [self.instances[name]["finish_event"] for name in names])
        # Flent parses in two more processes, which take the lab's guest half a second.
        if os.environ.get(environment.CELL):
            self.parse_results_parallel = self.parse_results_direct
        measurements, metadata, raw_values = stock(self)
        warn_of_netperf(metadata["series"])
        ours = any(about["RUNNER"].startswith("Aqm") for about in metadata["series"].values())
        if ours:
            # Imported late, because Flent's own tests need none of these modules in the lab's
            # guest.
            from flent_aqm.measure.load_window import settle
            from flent_aqm.measure.runners.part import take_parts

            self.failed_runners += take_parts(measurements, metadata["series"], raw_values)
            settle(measurements, metadata["series"], raw_values)
        if self.failed_runners and not os.environ.get(environment.CELL):
            _log_missing(self, ours)
        return measurements, metadata, raw_values

    return collect


def _log_missing(aggregator: Any, ours: bool) -> None:
    """Log the names of the series whose tools returned no data and logged no error. Nothing is
    logged if there are none.

    It is an error in a test of this package. In a test of Flent's it is a warning, so that Flent's
    exit status does not change.

    Args:
        aggregator: Flent's aggregator, after the test.
        ours: True if the test has runners of this package.
    """
    missing = [name for name, runner in aggregator.threads.items()
               if runner.result is not None and not runner.result
               and not runner.metadata.get("ERROR")]
    if missing:
        logging.getLogger(__name__).log(logging.ERROR if ours else logging.WARNING,
                                        "no data, and no error, from the tools of the series: %s",
                                        ", ".join(missing))


class _EndOfAll:
    """An object in place of a runner's start event, of which Flent only calls wait(): that returns
    when all of several runners have ended.

    Args:
        ends: the events that Flent sets when these runners have ended.
    """

    def __init__(self, ends: Sequence[Any]) -> None:
        self._ends = ends

    def wait(self) -> None:
        """Wait until all runners have ended."""
        for end in self._ends:
            end.wait()
