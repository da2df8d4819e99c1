# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs iperf 2 for one direction: a TCP connection, and small messages there and back."""

from __future__ import annotations

import re
import shlex
from typing import IO, Any

from flent_aqm.base import defaults
from flent_aqm.base.flent_api import RunnerCheckError, normalise_host
from flent_aqm.base.shell import find_program
from flent_aqm.measure.parsers.iperf2 import parse_iperf2
from flent_aqm.measure.runners.one_way import OneWayRunner
from flent_aqm.measure.runners.process import Parsed, text_of

# A message that isn't back after half an interval ends iperf 2.1.8's bounceback with "read
# failed", and iperf then goes on for ever. With its usual 1 s that is a queue of 0.5 s.
INTERVAL_S = 5
OLDEST = (2, 1)
_WORDS = {"upload": "up", "download": "down"}


class AqmIperf2Runner(OneWayRunner):
    """iperf's bounceback beside a working load of one TCP connection.

    Keys of the data set: see OneWayRunner; direction is that of the load; trip_times (True: tell
    the messages' delay of each way, too, by the clocks of both hosts). Series: throughput of the
    load, Mbit/s. Raw samples have 'val' and 'dur' (s), or bounceback_ms, the mean of 5 s,
    and bounceback_max_ms.
    """

    usual_port = defaults.IPERF2_PORT

    def __init__(self, *, trip_times: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.trip_times = trip_times

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
        words = [str(program), "-c", normalise_host(self.host), "-p", str(self.port), "-e",
                 "-f", "m", "-i", f"{INTERVAL_S}", "-t", f"{self.length:g}", "--bounceback",
                 f"--bounceback-congest={_WORDS[self.direction]},1"]
        if self.trip_times:
            words.append("--trip-times")
        if self.settings.IP_VERSION == 6:
            words.append("-V")
        self.command = shlex.join(words)
        super().check()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        found = parse_iperf2(text_of(output))
        start_s = self.started_s
        samples: list[dict[str, Any]] = [
            {"t": start_s + one.end_s, "val": one.mbps, "dur": one.end_s - one.start_s}
            for one in found.load]
        samples += [{"t": start_s + one.end_s, "bounceback_ms": one.mean_ms,
                     "bounceback_max_ms": one.max_ms} for one in found.bounces]
        way, all_bounces = self.direction, found.all_bounces
        one_way = {} if found.one_way is None else {
            f"owd_to_server_{way}_ms": found.one_way.to_server_ms,
            f"owd_from_server_{way}_ms": found.one_way.from_server_ms}
        return ([[one["t"], one["val"]] for one in samples if "val" in one],
                sorted(samples, key=lambda one: one["t"]), {
                    "MEAN_VALUE": found.whole.mbps, "LOAD_START": start_s,
                    "LOAD_END": start_s + found.whole.end_s,
                    "SPEEDTEST": {"client": "iperf2_bounceback", "numbers": {
                        f"{way}_mbps": found.whole.mbps, f"rps_{way}": all_bounces.rps,
                        f"bounceback_{way}_ms": all_bounces.mean_ms,
                        f"bounceback_max_{way}_ms": all_bounces.max_ms, **one_way}}})
