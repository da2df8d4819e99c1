# SPDX-License-Identifier: GPL-3.0-or-later
"""Flent's ping runner (fping, or else ping), watched as all our runners are."""

from __future__ import annotations

from flent_aqm.base.flent_api import PingRunner
from flent_aqm.measure.runners.process import SupervisedRunner


class AqmPingRunner(SupervisedRunner, PingRunner):
    """ICMP round-trip times; the keys of the data set are those of Flent's `ping`."""

    # fping and ping end with status 1 when some replies are missing: no failure here,
    # as long as the output can be read.
    success_return = (0, 1)

    def check(self) -> None:
        super().check()
        # With a lost last packet fping waits for ever, and Flent's watchdog is how it
        # ends normally; its output is whole by then.
        self.run_for_s, self.watchdog_timer = self.watchdog_timer, None
