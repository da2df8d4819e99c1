# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of the rate, with a program in place of tc that ends early, as tc does if it refuses."""

from __future__ import annotations

import io
import tempfile
import threading
import time
from pathlib import Path

import pytest

from flent_aqm.measure.runners.rates import AqmRatesRunner


@pytest.mark.parametrize(("script", "why"), [
    ("exec <&-; sleep 0.3; echo no such class; exit 1", "no such class"),
    ("exec <&-; sleep 0.3; exit 2", "tc ended early"),
    ("cat >/dev/null; exit 3", "tc ended with status 3"),
    ("cat >/dev/null; echo odd; echo more", "odd"),
    ("cat >/dev/null", "")])
def test_what_tc_says_when_it_refuses_a_change_is_told(
        script: str, why: str, tmp_path: Path) -> None:
    """Not that the pipe to it is broken."""
    program = tmp_path / "tc"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    runner = AqmRatesRunner.__new__(AqmRatesRunner)
    runner.command, runner.usual_mbps = str(program), {"down": 10.0, "up": 10.0}
    runner.rates_mbps, runner.step_s, runner.run_for_s = [5.0, 20.0], 0.2, 1.2
    runner.kill_event, runner.stopped_by = threading.Event(), ""
    runner.stderr = None  # type: ignore[assignment]  # Flent looks whether there is one
    with tempfile.TemporaryFile("w+") as runner.stdout:
        runner._run_tool()
    assert runner.stopped_by == (
        f"the router's rate could not be changed or restored: {why}" if why else "due")


@pytest.mark.parametrize(("step_s", "length_s", "rates"), [
    (0.2, 0.6, ["5", "20", "5"]), (0.1, 0.3, ["5", "20", "5"]), (0.25, 0.3, ["5", "20"]),
    (0.25, 0.55, ["5", "20", "5"])])
def test_rate_changes_until_the_end_of_the_test(
        step_s: float, length_s: float, rates: list[str]) -> None:
    """Its last step is shorter if the length is no multiple: the usual rate would come early, or
    the last one stay after the test."""
    runner = AqmRatesRunner.__new__(AqmRatesRunner)
    runner.rates_mbps, runner.step_s, runner.run_for_s = [5.0, 20.0], step_s, length_s
    runner.kill_event, runner.stopped_by = threading.Event(), ""
    runner.stdout = io.StringIO()
    runner.stderr = None  # type: ignore[assignment]  # Flent looks whether there is one
    begin_s = time.monotonic()
    runner._write_changes(io.StringIO())
    took_s = time.monotonic() - begin_s
    assert [line.split()[1] for line in runner.stdout.getvalue().splitlines()] == rates
    assert (runner.stopped_by, took_s >= length_s) == ("due", True)
