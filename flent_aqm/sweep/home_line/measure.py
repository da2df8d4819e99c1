# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a test speedtest_… with Flent, and returns its data file."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.results.data_file import SUFFIX, DataFile, read_data_file
from flent_aqm.sweep.run import first_error_of_flent

# Pings begin so long before the load, and end so long after the planned end of the load.
MARGIN_S = 2
DOT_S = 1.0


@dataclass(frozen=True)
class SpeedtestRequest:
    """Settings of a speed test: test definition, netperf server, duration, number of streams per
    direction (0 for an idle line), host to ping, and the server's passphrase."""

    # Name of the test definition.
    test: str
    # netperf server.
    host: str
    # 4 or 6.
    ip_version: int
    length_s: int
    # TCP connections in each direction, 0 to measure an idle line.
    streams: int
    ping_host: str
    # Passphrase of the netperf server, "" if it requires none.
    passphrase: str


def measure(wish: SpeedtestRequest, dots: bool, keep: Path | None) -> DataFile:
    """Run a speed test, and return its data file.

    Args:
        wish: settings of the test.
        dots: print a dot per second to standard error.
        keep: path to which the data file is copied; None keeps no copy.

    Raises BadResult with Flent's first error if the test failed or one of its tools did,
    ConfigError if `keep` can't be written.
    """
    with tempfile.TemporaryDirectory(prefix="flent-aqm-speedtest-") as name:
        folder = Path(name)
        output = _run(_words(wish, folder), {
            # Files with the tools' output are written there, so they are removed with the folder.
            "TMPDIR": name, environment.WITHOUT_PLOTS: "1",
            # The data file records test parameters, so the passphrase must not be one.
            environment.NETPERF_PASSPHRASE: wish.passphrase}, dots)
        files = list(folder.glob(f"*{SUFFIX}"))
        if not files:
            raise BadResult(first_error_of_flent(output))
        data = read_data_file(files[0])
        if keep is not None:
            try:
                shutil.copyfile(files[0], keep)
            except OSError as error:
                raise ConfigError(f"--output: can't write {keep}: {error.strerror}") from None
    for about in data.series_meta.values():
        if isinstance(about.get("ERROR"), list) and about["ERROR"]:
            raise BadResult(str(about["ERROR"][0]))
    return data


def _words(wish: SpeedtestRequest, folder: Path) -> list[str]:
    """Return Flent's command line. folder: where Flent writes the data file."""
    parameters = {"probes": "ping", "ping_host": wish.ping_host}
    if wish.streams:
        parameters["streams"] = str(wish.streams)
    return [
        # The user's .flentrc is not meant for this test.
        sys.executable, "-P", "-m", "flent", wish.test, "--rcfile", os.devnull,
        f"-{wish.ip_version}", f"--host={wish.host}", f"--length={wish.length_s}",
        f"--delay={MARGIN_S if wish.streams else 0}", f"--data-dir={folder}",
        *(f"--test-parameter={name}={value}" for name, value in parameters.items())]


def _run(words: list[str], settings: dict[str, str], dots: bool) -> str:
    """Run Flent, and return its standard error. A signal kills Flent with its tools.

    Args:
        words: the command line.
        settings: environment variables to add.
        dots: print a dot per second to standard error.
    """
    variables = {**os.environ, **settings}
    variables.pop(environment.DISABLE, None)
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        flent = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output,
            env=variables, start_new_session=True)
        # A killed test must not go on loading the line.
        before = {number: signal.signal(number, _interrupt)
                  for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            while True:
                try:
                    flent.wait(DOT_S)
                    break
                except subprocess.TimeoutExpired:
                    if dots:
                        print(".", end="", file=sys.stderr, flush=True)
        finally:
            _stop(flent)
            for number, handler in before.items():
                signal.signal(number, handler)
            if dots:
                print(file=sys.stderr)
        output.seek(0)
        return output.read()


def _interrupt(number: int, frame: object) -> None:
    """Signal handler: raise KeyboardInterrupt."""
    raise KeyboardInterrupt


def _stop(flent: subprocess.Popen[bytes]) -> None:
    """Kill Flent with all its tools, which are in its session, if it is still running."""
    if flent.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(flent.pid, signal.SIGKILL)
        flent.wait()
