# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's runner of netperf streams, watched as all our runners are."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import IO, Any, ClassVar

from flent_aqm.base import environment
from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import NetperfDemoRunner
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, last_line

# Connecting and exchanging results over a full queue takes seconds.
WATCHDOG_MARGIN_S = 30


class AqmNetperfRunner(SupervisedRunner, NetperfDemoRunner):
    """One TCP stream of netperf.

    Keys of the data set: those of Flent's `netperf_demo`; and run_after_all, names of series
    of this runner that have to end first, all of them.
    """

    # Each stream by the name of its series; those of a test before are written over.
    ends: ClassVar[dict[str, threading.Event]] = {}

    def __init__(self, *, run_after_all: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run_after_all = list(run_after_all)

    def check(self) -> None:
        super().check()
        if passphrase := os.environ.get(environment.NETPERF_PASSPHRASE):
            # Not into self.command, which the data file has.
            self.args[1:1] = ["-Z", passphrase]
        self.watchdog_timer = self.length + WATCHDOG_MARGIN_S
        self.ends[self.runner_name] = self.finish_event

    def run(self) -> None:
        for name in self.run_after_all:
            self.ends[name].wait()
        super().run()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        series, samples, metadata = super().read(output, error)
        if "MEAN_VALUE" not in metadata:
            raise BadResult(f"netperf gave no result: {_complaint(output, error)}")
        metadata["LOAD_START"] = self.started_s
        metadata["LOAD_END"] = samples[-1]["t"]
        if environment.IN_LAB not in os.environ:  # computing takes no time there
            metadata["NETPERF"] = {"cpu_s": self.cpu_s}
        return series, samples, metadata

    def _refuse_bad_end(self, error: IO[str]) -> None:
        if not self.stopped_by and self.returncode not in self.success_return:
            raise BadResult(f"netperf ended with status {self.returncode}: "
                            f"{_complaint(self.stdout, error)}")
        super()._refuse_bad_end(error)


def _complaint(output: IO[str], error: IO[str]) -> str:
    """netperf complains on either stream."""
    on_error = [line for line in (last_line(error),) if not line.startswith("tcpi")]
    return on_error[0] if on_error and on_error[0] != "it printed nothing" else last_line(output)
