# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs nuttcp for one direction."""

from __future__ import annotations

import shlex
from typing import IO

from flent_aqm.base import defaults
from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import RunnerCheckError, normalise_host
from flent_aqm.base.shell import find_program
from flent_aqm.measure.load_window import received
from flent_aqm.measure.parsers.nuttcp import parse_nuttcp
from flent_aqm.measure.runners.one_way import OneWayRunner
from flent_aqm.measure.runners.process import Parsed, last_line, text_of

INTERVAL_S = 0.5
_WORDS = {"upload": "-t", "download": "-r"}


class AqmNuttcpRunner(OneWayRunner):
    """One nuttcp download or upload.

    Keys of the data set: see OneWayRunner. Series: throughput at the receiver, Mbit/s. Raw
    samples have 'val' and 'dur' (s).
    """

    usual_port = defaults.NUTTCP_PORT

    def check(self) -> None:
        program = find_program("nuttcp")
        if program is None:
            raise RunnerCheckError("nuttcp is not installed; see flent-aqm doctor")
        words = [str(program), "-fparse", "-i", f"{INTERVAL_S:g}", "-T", f"{self.length:g}",
                 "-P", str(self.port), "-p", str(self.port + 1), _WORDS[self.direction]]
        if self.settings.IP_VERSION == 6:
            words.insert(1, "-6")
        self.command = shlex.join([*words, normalise_host(self.host)])
        super().check()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        text = text_of(output)
        if not text.strip():
            raise BadResult(f"nuttcp: {last_line(error)}")
        found = parse_nuttcp(text)
        samples = []
        at_s = self.started_s
        for length_s, mbps in found.intervals:
            at_s += length_s
            samples.append({"t": at_s, "val": mbps, "dur": length_s})
        numbers = {f"{self.direction}_mbps": found.mbps}
        if found.retransmits is not None:
            numbers[f"retransmits_{self.direction}"] = found.retransmits
        if found.rtt_ms is not None:
            numbers["rtt_ms"] = found.rtt_ms
        return [[one["t"], one["val"]] for one in samples], samples, {
            "MEAN_VALUE": found.mbps, **received(samples, self.started_s),
            # Its data goes by the port after that of its control connection.
            **self.load(self.port + 1, self.direction, own_clock=True, zero_s=self.started_s),
            "SPEEDTEST": {"client": "nuttcp", "numbers": numbers}}
