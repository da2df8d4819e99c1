# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a speed test over HTTP, one of measure/speedtests/table.py, for all its directions."""

from __future__ import annotations

import json
import shlex
import sys
from typing import IO, Any

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import BadResult, ParseError, ToolMissing
from flent_aqm.base.flent_api import RunnerCheckError, lookup_host, normalise_host
from flent_aqm.base.shell import find_program
from flent_aqm.measure.runners.part import PARTS
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, text_of
from flent_aqm.measure.speedtests.table import CLIENTS
from flent_aqm.setup.cloudflare_page import find_cloudflare
from flent_aqm.setup.librespeed_page import find_worker

MODULE = "flent_aqm.measure.speedtests"
# In place of a client of ours: the makers' own scripts, in a page; how each is found, and what it
# takes.
BROWSERS = {
    "librespeed_browser": (find_worker, (
        "LibreSpeed in a browser needs chromium, and a copy of librespeed/speedtest whose folder "
        f"is in {environment.LIBRESPEED}")),
    "cloudflare_browser": (find_cloudflare, (
        "Cloudflare's test in a browser needs chromium and npm's @cloudflare/speedtest")),
}
# Clients that are programs of others, and these as setup/chosen_tools.py finds them.
PROGRAMS = {"goresponsiveness": "goresponsiveness", "librespeed_cli": "librespeed-cli",
            "msak": "msak-client", "ethr": "ethr", "crusader": "crusader"}
WATCHDOG_MARGIN_S = 60


class AqmSpeedtestRunner(SupervisedRunner):
    """One client, in a process of its own. Gives the series of its first direction; the other
    is its part of that direction's name.

    Keys of the data set: client (a name of table.py), direction, host, port, tls (True: with
    whatever certificate the server has), options (further words of its command line). Series:
    throughput, Mbit/s. Raw samples have 'val' and 'dur' (s); or a time in ms that it measured:
    ping_ms, foreign_tcp_ms, foreign_tls_ms, foreign_http_ms, foreign_ms, self_http_ms, rtt_ms, with
    "idle_" in front where the line was idle.
    """

    def __init__(self, *, client: str, direction: str, host: str,
                 port: int = defaults.SPEEDTEST_PORT, tls: bool = False,
                 options: list[str] | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("watchdog_timer", CLIENTS[client].longest_s + WATCHDOG_MARGIN_S)
        super().__init__(**kwargs)
        self.client = self.title = client
        self.direction = direction
        self.host = host
        self.port = port
        self.tls = tls
        self.options = [*(options or []),
                        *(["--tls"] if tls and client not in PROGRAMS else [])]

    def check(self) -> None:
        self.command = shlex.join(
            self._browser_words() if self.client in BROWSERS else
            self._program_words() if self.client in PROGRAMS else self._client_words())
        super().check()

    def _program_words(self) -> list[str]:
        # Imported here: each module takes its time in the guest.
        from flent_aqm.setup.chosen_tools import chosen_path

        try:
            program = chosen_path(PROGRAMS[self.client])
        except ToolMissing as error:
            raise RunnerCheckError(str(error)) from None
        return [sys.executable, "-P", "-m", f"{MODULE}.programs", self.client, str(program),
                self._address(), str(self.port), *self.options]

    def _address(self) -> str:
        """Return the server's, by the order of the system: others' resolvers may have one of
        theirs, and the capture looks for this one."""
        found: str = lookup_host(normalise_host(self.host), self.settings.IP_VERSION)[4][0]
        return found

    def _client_words(self) -> list[str]:
        words = [sys.executable, "-P", "-m", MODULE, self.client,
                 "--host", normalise_host(self.host), "--port", str(self.port), *self.options]
        if self.settings.IP_VERSION:
            words += ["--ip-version", str(self.settings.IP_VERSION)]
        return words

    def _browser_words(self) -> list[str]:
        find, needs = BROWSERS[self.client]
        script, chromium = find(), find_program("chromium")
        if script is None or chromium is None:
            raise RunnerCheckError(f"{needs} (docs/reference/tools.md)")
        address = normalise_host(self._address(), bracket_v6=True)
        return [sys.executable, "-P", "-m", f"{MODULE}.{self.client}", str(script),
                str(chromium),
                f"{'https' if self.tls else 'http'}://{address}:{self.port}"]

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        parsed = read_report(text_of(output), self.client)
        if self.direction not in parsed:
            raise BadResult(f"{self.client} gave no {self.direction}")
        for way, (_, _, metadata) in parsed.items():
            metadata |= self.load(self.port, way)
        first = parsed.pop(self.direction)
        return first[0], first[1], {**first[2], PARTS: parsed}


def read_report(text: str, client: str) -> dict[str, Parsed]:
    """Return what Flent keeps of a client's report, by direction. Raises ParseError."""
    try:
        report = json.loads(text)
        known = {number.name for number in CLIENTS[client].numbers}
        numbers = {name: float(value) for name, value in report["numbers"].items()
                   if name in known}
        idle = [{("t" if name == "t" else f"idle_{name}"): float(value)
                 for name, value in one.items()} for one in report["idle"]]
        found: dict[str, Parsed] = {}
        for direction, way in report["ways"].items():
            samples = [{name: float(value) for name, value in one.items()}
                       for one in (*way["rates"], *way["probes"])]
            # Those of the idle line go with the first direction.
            samples += [] if found else idle
            found[direction] = (
                [[one["t"], one["val"]] for one in samples if "val" in one],
                sorted(samples, key=lambda one: one["t"]), {
                    "MEAN_VALUE": float(way["mbps"]), "LOAD_START": float(way["start_s"]),
                    "LOAD_END": float(way["end_s"]),
                    "SPEEDTEST": {"client": client, "numbers": numbers}})
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise ParseError(f"{client}: its report can't be read ({fault!r}); it starts with "
                         f"{text[:60]!r}") from None
    return found
