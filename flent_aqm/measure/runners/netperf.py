# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs netperf streams as Flent does, with the supervision of this package's runners."""

from __future__ import annotations

import os
from typing import IO

from flent_aqm.base import environment
from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import NetperfDemoRunner
from flent_aqm.measure.load_window import START, received
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, text_of

# Seconds after the test's length at which netperf is considered hung. Connecting and exchanging
# results over a full queue takes round trips, of up to 24 s for 1000 packets at 0.5 Mbit/s.
WATCHDOG_MARGIN_S = 60
# An interval longer than this multiple of the requested length includes waiting.
_WAITED = 1.25


class AqmNetperfRunner(SupervisedRunner, NetperfDemoRunner):
    """Runs one TCP stream of netperf.

    Keys of the data set: those of Flent's `netperf_demo`, and run_after_all, a list of series that
    have to end before it starts (bridge/collect.py).

    Series: throughput in Mbit/s.
    """

    title = "netperf"

    def check(self) -> None:
        """Check as Flent's runner does, pass the server's passphrase from the environment to
        netperf, if there is one, and set the watchdog. Flent calls it before the test. Raises
        RunnerCheckError as Flent's runner does, such as if netperf isn't installed."""
        super().check()
        if passphrase := os.environ.get(environment.NETPERF_PASSPHRASE):
            # Not added to self.command, because the data file records that.
            self.args[1:1] = ["-Z", passphrase]
        self.watchdog_timer = self.length + WATCHDOG_MARGIN_S

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Parse netperf's output as Flent does, and add the load's times, and outside of a lab
        netperf's processor time, to the metadata. Raises BadResult if netperf gave no result."""
        series, samples, metadata = super().read(output, error)
        if "MEAN_VALUE" not in metadata:
            raise BadResult("netperf reported no throughput of the whole test: it or its "
                            f"connection ended early; {self.last_words(output, error)}")
        metadata |= received(samples, self.started_s)
        # netperf counts from before the connection is established, and reads the clock only after
        # it has sent or received data. A first interval that took longer ended with the first data.
        if samples[0]["dur"] > _WAITED * self.settings.STEP_SIZE:
            metadata[START] = samples[0]["t"]
        if environment.IN_LAB not in os.environ:  # computing takes no time in the lab
            metadata["NETPERF"] = {"cpu_s": self.cpu_s}
        return series, samples, metadata

    def complaint(self, error: IO[str]) -> str:
        """Return netperf's message: the last line on standard error, "" if there is none or it
        begins with "tcpi". Such lines are TCP's counters, for which Flent asks."""
        line = super().complaint(error)
        return "" if line.startswith("tcpi") else line

    def last_words(self, output: IO[str], error: IO[str]) -> str:
        """Return what netperf said of a server that isn't there, if it did: netperf's last line is
        another one then, which is cut off. Otherwise as for other tools."""
        lines = text_of(output).splitlines()
        return next((line for line in lines if "netserver listening" in line), "") or (
            super().last_words(output, error))
