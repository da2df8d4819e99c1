# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs iperf 2 for one direction: a TCP connection, and small messages there and back beside it."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import IO, Any

from flent_aqm.base import defaults
from flent_aqm.base.flent_api import RunnerCheckError, normalise_host
from flent_aqm.base.shell import find_program
from flent_aqm.measure.load_window import received
from flent_aqm.measure.parsers.iperf2 import parse_bounceback, parse_load
from flent_aqm.measure.runners.one_way import WATCHDOG_MARGIN_S, OneWayRunner
from flent_aqm.measure.runners.process import Parsed, text_of

# A message that isn't back after half an interval ends iperf 2.1.8's bounceback with "read
# failed", and iperf then goes on for ever. With its usual 1 s that is a queue of 0.5 s.
INTERVAL_S, LOAD_INTERVAL_S = 5, 1
OLDEST = (2, 1)


class AqmIperf2Runner(OneWayRunner):
    """iperf's bounceback, and beside it a load by a second iperf.

    iperf's own load for it (--bounceback-congest) writes pieces as long as the messages, 100 bytes,
    and so loads a processor more than the line; the second iperf writes its usual 128 kB.

    Keys of the data set: see OneWayRunner; direction is that of the load; trip_times (True: tell
    the messages' delay of each way, too, by the clocks of both hosts). Series: throughput of the
    load, Mbit/s. Raw samples have 'val' and 'dur' (s), or bounceback_ms, the mean of 5 s,
    and bounceback_max_ms.
    """

    usual_port = defaults.IPERF2_PORT

    def __init__(self, *, trip_times: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.trip_times = trip_times
        self.load_args: list[str] = []

    def check(self) -> None:
        program = find_program("iperf")
        if program is None:
            raise RunnerCheckError("iperf (version 2.1 or newer) is not installed; "
                                   "see flent-aqm doctor")
        out, err = self.run_simple([str(program), "--version"])
        version = re.search(r"iperf version (\d+)\.(\d+)", out + err)
        if version is None or tuple(map(int, version.groups())) < OLDEST:
            raise RunnerCheckError(f"{program}: version {version[0] if version else 'unknown'}; "
                                   "--bounceback needs iperf 2.1 or newer")
        both = [str(program), "-c", normalise_host(self.host), "-p", str(self.port), "-e",
                "-f", "m", "-t", f"{self.length:g}",
                *(["-V"] if self.settings.IP_VERSION == 6 else [])]
        self.load_args = [*both, "-i", f"{LOAD_INTERVAL_S}",
                          *(["-R"] if self.direction == "download" else [])]
        self.command = shlex.join([*both, "-i", f"{INTERVAL_S}", "--bounceback",
                                   *(["--trip-times"] if self.trip_times else [])])
        super().check()

    def fork(self) -> int:
        self.open_written(".txt")
        return super().fork()

    def _run_tool(self) -> None:
        with Path(self.written).open("w", encoding="utf-8") as output, subprocess.Popen(
                self.load_args, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT) as load:
            try:
                super()._run_tool()
                # It ends as the messages do, and waits for what a full queue still holds.
                load.wait(0.0 if self.stopped_by else WATCHDOG_MARGIN_S)
            except subprocess.TimeoutExpired:
                self.stopped_by = self.stopped_by or (
                    f"iperf's load still ran {WATCHDOG_MARGIN_S} s after its end and was killed")
            finally:
                load.kill()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        load = parse_load(Path(self.written).read_text(encoding="utf-8"))
        found = parse_bounceback(text_of(output))
        start_s, way, whole = self.started_s, self.direction, found.whole
        rates: list[dict[str, Any]] = [
            {"t": start_s + one.end_s, "val": one.mbps, "dur": one.end_s - one.start_s}
            for one in load.intervals]
        samples = rates + [{"t": start_s + one.end_s, "bounceback_ms": one.mean_ms,
                     "bounceback_max_ms": one.max_ms} for one in found.intervals]
        numbers = {f"{way}_mbps": load.whole.mbps, f"rps_{way}": whole.rps,
                   f"bounceback_{way}_ms": whole.mean_ms,
                   f"bounceback_max_{way}_ms": whole.max_ms}
        if found.one_way is not None:
            numbers |= {f"owd_to_server_{way}_ms": found.one_way.to_server_ms,
                        f"owd_from_server_{way}_ms": found.one_way.from_server_ms}
        return ([[one["t"], one["val"]] for one in rates],
                sorted(samples, key=lambda one: one["t"]), {
                    "MEAN_VALUE": load.whole.mbps, **received(rates, start_s),
                    **self.load(self.port, way, own_clock=True, zero_s=start_s),
                    "SPEEDTEST": {"client": "iperf2_bounceback", "numbers": numbers}})
