# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs irtt and fping or ping as Flent does, with the supervision of this package's runners.

Flent's own irtt runner returns nothing if irtt prints no JSON. That ends the thread that collects
results, and Flent then waits for ever.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import IO, Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import IrttRunner, PingRunner, RunnerCheckError
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, text_of

# Seconds after its length at which irtt is considered hung. It waits for the last answers three
# times as long as the longest round trip, and a queue of 1000 packets holds 24 s at 0.5 Mbit/s.
WATCHDOG_MARGIN_S = 90
# Seconds to wait for the answers to the last probes.
ANSWERS_S = 1.0
# A tool that is to be stopped after another's end is started for so many seconds longer than the
# other may last, because irtt writes nothing if it is stopped while it waits for its own last
# answers.
SPARE_S = 90
# Words of Flent and of irtt if irtt's server doesn't answer. irtt's probe may also fail before it
# is sent, such as for a host name that can't be looked up.
_NO_SERVER = re.compile(
    "Irtt connection check failed.*(?:no reply from server|connection refused)", re.DOTALL)
# Words of fping, of ping and of irtt if no reply came.
_NO_REPLY = re.compile(r"xmt/rcv/%loss = \d+/0/|\d+ packets transmitted, 0 received"
                       r'|"packets_received": *0\b|Time\.Sub\(\) clock mismatch')


class AqmIrttRunner(SupervisedRunner, IrttRunner):
    """Measures UDP round-trip times by irtt. The keys of the data set are those of Flent's `irtt`.

    With kill_after and linger_s, irtt runs until linger_s + ANSWERS_S seconds after the end of
    kill_after's runner, and sends probes at most SPARE_S seconds longer than `length`. Only samples
    until ANSWERS_S seconds before the last one are kept: a sample's time is that of the answer, or
    of sending if the probe was lost.
    """

    def __init__(self, *, length: float, linger_s: float | None = None, **kwargs: Any) -> None:
        if linger_s is not None:
            length += SPARE_S
        kwargs.setdefault("watchdog_timer", length + WATCHDOG_MARGIN_S)
        super().__init__(length=length, linger_s=None if linger_s is None
                         else linger_s + ANSWERS_S, **kwargs)

    def check(self) -> None:
        """Build the command line as Flent does, after a probe of the server. Raises
        RunnerCheckError if irtt is missing or too old, or if the probe fails. If the server doesn't
        answer, the text says how to start it."""
        try:
            super().check()
        except RunnerCheckError as error:
            if not _NO_SERVER.search(str(error)):
                raise
            raise RunnerCheckError(
                f"{str(error).strip()}; run irtt server on {self.host}, and let firewalls on the "
                "way accept its UDP port 2112") from None

    def fork(self) -> int:
        if self.linger_s is not None:
            # When it is stopped, irtt writes its result only to a file.
            self.args[self.args.index("-o") + 1] = self.open_written(".json")
        return super().fork()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Parse irtt's JSON as Flent does. If irtt may be stopped (linger_s is given), read it from
        the file `written` in place of `output`, and drop the samples less than ANSWERS_S seconds
        before the last one: a sample's time is that of the answer, or of sending if the probe was
        lost. Raises BadResult if irtt gave no measurement, such as if no reply came."""
        if self.linger_s is None:
            return self._read_json(output, error)
        with open(self.written, encoding="utf-8") as written:
            series, samples, metadata = self._read_json(written, error)
        end_s = max((one["t"] for one in samples), default=0.0) - ANSWERS_S
        if isinstance(series, dict):
            series = {name: _points_until(points, end_s) for name, points in series.items()}
        else:
            series = _points_until(series, end_s)
        return series, [one for one in samples if one["t"] <= end_s], metadata

    def _read_json(self, output: IO[str], error: IO[str]) -> Parsed:
        """Parse irtt's JSON as Flent does. Raises BadResult if there is none, or if it has no
        reply."""
        try:
            return super().read(output, error)
        except BadResult:
            # irtt 0.9.0 leaves out a median of 0, which Flent expects.
            self._refuse_no_reply(output)
            raise

    def _refuse_bad_end(self, error: IO[str]) -> None:
        self._refuse_no_reply(error)  # irtt 0.9.1 crashes then
        super()._refuse_bad_end(error)

    def _refuse_no_reply(self, printed: IO[str]) -> None:
        """Raise BadResult if irtt's output or standard error tells that no reply came."""
        if _NO_REPLY.search(text_of(printed)):
            raise BadResult(f"{self.tool}: none of its probes came back; check that {self.host} "
                            "can be reached, and that nothing on the path drops UDP or this DSCP")


class AqmPingRunner(SupervisedRunner, PingRunner):
    """Measures ICMP round-trip times by fping or ping. The keys of the data set are those of
    Flent's `ping`."""

    # fping and ping end with status 1 when some replies are missing: no failure here,
    # as long as the output can be read.
    success_return = (0, 1)

    def check(self) -> None:
        """Check as Flent's runner does, and turn the time of its watchdog, if it has one, into the
        program's normal end (`run_for_s`). Flent calls it before the test. Raises RunnerCheckError
        as Flent's runner does, such as if neither fping nor ping is installed."""
        super().check()
        # If the last packet is lost, fping waits for ever, and normally ends by Flent's watchdog.
        # Its output is complete by then.
        self.run_for_s, self.watchdog_timer = self.watchdog_timer, None

    def use_ping(self, ping: str, pingargs: Sequence[str], interval: float, length: float,
                 host: str, marking: str | None, local_bind: str | None) -> str:
        """Return the command of ping as Flent does, whose duration is in whole seconds: those of
        `length`, rounded up. Flent calls it if there is no fping."""
        command: str = super().use_ping(ping, pingargs, interval, math.ceil(length), host, marking,
                                        local_bind)
        return command

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Parse the output as Flent does. Raises BadResult if it has no reply."""
        try:
            return super().read(output, error)
        except BadResult:
            if _NO_REPLY.search(text_of(output) + text_of(error)):
                said = next((line.strip() for line in text_of(error).splitlines()
                             if line.strip() and not _NO_REPLY.search(line)), "")
                raise BadResult(f"{self.tool}: none of its probes came back"
                                + (f", and it says {said[:200]!r}" if said else "")
                                + f"; check that {self.host} can be reached and answers pings"
                                ) from None
            raise


def _points_until(points: list[list[float]], end_s: float) -> list[list[float]]:
    """Return the points, pairs of time and value, whose time is at most end_s."""
    return [one for one in points if one[0] <= end_s]
