# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a speed test that has a client of its own, see flent_aqm/tools, for all its directions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import IO, Any

from flent_aqm.base.errors import BadResult, ToolMissing
from flent_aqm.base.flent_api import RunnerCheckError, lookup_host, normalise_host
from flent_aqm.measure.runners.part import PARTS
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, text_of
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import CLOCK, read_report
from flent_aqm.tools.table import SPEED_TESTS
from flent_aqm.tools.tool import Program

WATCHDOG_MARGIN_S = 60


class AqmSpeedtestRunner(SupervisedRunner):
    """One client, in a process of its own. Gives the series of its first direction; the other
    is its part of that direction's name.

    Keys of the data set: client (of SPEED_TESTS), direction, host, port, longest_s, tls (True: with
    whatever certificate the server has), options (the client's, by their test parameters). Series:
    throughput, Mbit/s. Raw samples have 'val' and 'dur' (s); or a time in ms that it measured:
    ping_ms, foreign_tcp_ms, foreign_tls_ms, foreign_http_ms, foreign_ms, self_http_ms, rtt_ms, with
    "idle_" in front where the line was idle.
    """

    def __init__(self, *, client: str, direction: str, host: str, port: int, longest_s: float,
                 tls: bool = False, options: dict[str, str] | None = None, **kwargs: Any) -> None:
        self.client = SPEED_TESTS[client]
        kwargs.setdefault("watchdog_timer", longest_s + WATCHDOG_MARGIN_S)
        super().__init__(**kwargs)
        self.title = client
        self.direction = direction
        self.host = host
        self.port = port
        self.tls = tls
        self.options = options or {}

    def check(self) -> None:
        call = Call(self._address() if self.client.programs else str(normalise_host(self.host)),
                    self.port, self.tls, self.settings.IP_VERSION or 0, tuple(self._programs()),
                    self.options)
        self.command = shlex.join([sys.executable, "-P", "-m", self.client.module, *call.words()])
        super().check()

    def _address(self) -> str:
        """Return the server's, by the order of the system: others' resolvers may have one of
        theirs, and the capture looks for this one."""
        address: str = lookup_host(normalise_host(self.host), self.settings.IP_VERSION)[4][0]
        return address

    def _programs(self) -> Iterator[str]:
        for program in self.client.programs:
            # Imported here: each module takes its time in the guest.
            from flent_aqm.setup.optional import is_python, optional_path

            assert isinstance(program, Program)
            if not is_python(program):
                try:
                    yield str(optional_path(program.name))
                except ToolMissing as error:
                    raise RunnerCheckError(str(error)) from None

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        parsed = read_report(text_of(output), self.client)
        if self.direction not in parsed:
            raise BadResult(f"{self.client.name} gave no {self.direction}")
        for way, (_, _, metadata) in parsed.items():
            metadata |= self.load(self.port + self.client.data_port, way,
                                  zero_s=metadata["LOAD_START"], **metadata.pop(CLOCK))
        first = parsed.pop(self.direction)
        return first[0], first[1], {**first[2], PARTS: parsed}
