# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's runner of netperf streams, watched as all our runners are."""

from __future__ import annotations

import os
from typing import IO

from flent_aqm.base import environment
from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import NetperfDemoRunner
from flent_aqm.measure.load_window import START, received
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, last_line

# Connecting and exchanging results over a full queue takes seconds.
WATCHDOG_MARGIN_S = 30
# Of an interval as asked for: what takes longer has waited.
_WAITED = 1.25


class AqmNetperfRunner(SupervisedRunner, NetperfDemoRunner):
    """One TCP stream of netperf.

    Keys of the data set: those of Flent's `netperf_demo`; and run_after_all, names of series
    that have to end first, all of them (bridge/collect.py).
    """

    def check(self) -> None:
        super().check()
        if passphrase := os.environ.get(environment.NETPERF_PASSPHRASE):
            # Not into self.command, which the data file has.
            self.args[1:1] = ["-Z", passphrase]
        self.watchdog_timer = self.length + WATCHDOG_MARGIN_S

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        series, samples, metadata = super().read(output, error)
        if "MEAN_VALUE" not in metadata:
            raise BadResult(f"netperf gave no result: {_complaint(output, error)}")
        metadata |= received(samples, self.started_s)
        # It counts from before the connection is there, and looks at the clock when it has sent or
        # received something: an interval that took longer ended with the first bytes.
        if samples[0]["dur"] > _WAITED * self.settings.STEP_SIZE:
            metadata[START] = samples[0]["t"]
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
