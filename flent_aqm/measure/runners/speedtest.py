# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a speed test with a client of its own (flent_aqm/tools), as a runner for Flent."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import IO, Any

from flent_aqm.base.errors import BadResult, ToolMissing
from flent_aqm.base.flent_api import RunnerCheckError, lookup_host, normalise_host
from flent_aqm.measure.runners.part import PARTS
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, text_of
from flent_aqm.tools import own
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import CLOCK, read_report
from flent_aqm.tools.table import SPEED_TESTS
from flent_aqm.tools.tool import Program

WATCHDOG_MARGIN_S = 60


class AqmSpeedtestRunner(SupervisedRunner):
    """Runs one client in a process of its own. The series is that of `direction`. If the client
    also measures the other direction, the metadata have its series under PARTS, by its direction.

    Keys of the data set:
        client: name in SPEED_TESTS.
        direction: "download" or "upload".
        host, port: the server.
        longest_s: longest duration in seconds. The client is killed WATCHDOG_MARGIN_S later.
        tls: True for TLS with any certificate.
        options: the client's options, by their test parameters.

    Series: throughput in Mbit/s. Raw samples have `val` and `dur` (s), or a time in ms that the
    client measured, under its kind, such as ping_ms or rtt_ms, with the prefix "idle_" if it was
    measured without load.
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
        """Build the client's command line. Flent calls it before the test. Raises RunnerCheckError
        if a program is missing, RuntimeError if the host of a client with programs can't be
        resolved."""
        call = Call(self._address() if self.client.programs else str(normalise_host(self.host)),
                    self.port, self.tls, self.settings.IP_VERSION or 0,
                    tuple(self._program_paths()), self.options)
        self.command = shlex.join([sys.executable, "-P", "-m", self.client.module, *call.words()])
        super().check()

    def _address(self) -> str:
        """Return the server's first address of the test's IP version, by the system's resolver. A
        program may have a resolver with another order, but the capture expects this address. Raises
        RuntimeError if the host can't be resolved."""
        address: str = lookup_host(normalise_host(self.host), self.settings.IP_VERSION)[4][0]
        return address

    def _program_paths(self) -> Iterator[str]:
        """Yield the paths of the programs that the client starts, except Python packages. Raises
        RunnerCheckError if a program is missing."""
        for program in self.client.client_programs:
            # Imported here, because each import takes time in the guest.
            from flent_aqm.setup.optional import is_python, optional_path

            assert isinstance(program, Program)
            if not is_python(program):
                try:
                    yield str(optional_path(program.name))
                except ToolMissing as error:
                    raise RunnerCheckError(str(error)) from None

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Return series, raw samples and metadata of this runner's direction from the client's
        report. The metadata have those of the other direction, if the client measured it, under
        PARTS. Raises BadResult if the report has no result of this runner's direction, ParseError
        if it is damaged, or if the throughput of a direction is missing, below 0 or not finite."""
        parsed = read_report(text_of(output), self.client)
        if self.direction not in parsed:
            said = self.complaint(error)
            if self.client.name == own.NAME and not said:
                raise BadResult(
                    f"{own.NAME} reported no result of the {self.direction}, of which its TOOL's "
                    f"numbers declare {self.direction}_mbps: let measure() call "
                    f"report.load({self.direction!r}).begin(…) and set its mbps, or leave that "
                    "number out")
            raise BadResult(f"{self.client.name} reported no result of the {self.direction}"
                            + (f"; its last line on standard error: {said}" if said else
                               ": it ended before that began"))
        for direction, (_, _, metadata) in parsed.items():
            metadata |= self.load(self.port + self.client.data_port, direction,
                                  zero_s=metadata["LOAD_START"], **metadata.pop(CLOCK))
        first = parsed.pop(self.direction)
        return first[0], first[1], {**first[2], PARTS: parsed}
