# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a run failed: the words of whatever failed reach the terminal, the summary and the report.

One sweep of runs that each fail in a way of their own, and one report of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from flent_aqm.results import status

from ..warm_flent import run_flent_aqm
from .conftest import new_bench

pytestmark = pytest.mark.lab

# What fails: lines of its batch, and the cause that everybody has to be told. The batches
# inherit from `short`.
FAILING = {
    "a command": (
        ("commands = card\n\n[Command::card]\ntype = pre\nessential = yes\n"
        "exec = echo 'my hook: the card has no ring' >&2; exit 3"),
        "my hook: the card has no ring"),
    "tc": (
        ("commands = queue\n\n[Command::queue]\ntype = pre\nessential = yes\n"
        "exec = tc qdisc add dev nosuch root pfifo"),
        "Cannot find device"),
    "a tool": (
        ("test_name = iperf3_upload\n"
        "test_parameters = iperf3_port=9"),
        "Connection refused"),
    "the guest": (
        ("commands = memory\n\n[Command::memory]\ntype = pre\nessential = yes\n"
        "exec = echo 1 > /proc/sys/vm/panic_on_oom; tail /dev/zero"),
        "Kernel panic - not syncing: Out of memory"),
}


@dataclass(frozen=True)
class Outputs:
    """What the sweep printed, the causes kept in its folder, and the report's text."""

    terminal: str
    kept: tuple[str, ...]
    report: str


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    """Runs them all."""
    bench = new_bench(tmp_path_factory.mktemp("causes"))
    text = "abstract = yes\ntest_name = ping\nlength = 1\ndelay = 1\nrate_mbps = 20\n"
    for number, (lines, _) in enumerate(FAILING.values()):
        text += (f"\n[Batch::failing{number}]\ninherits = try\n"
                 f"filename_extra = failing{number}\n{lines}\n")
    bench.batch(text)
    done = bench.flent()
    assert done.returncode == 1, done.stderr
    folder = bench.folder / "results"
    kept = status.read(folder)
    assert kept is not None
    page = bench.folder / "report.html"
    reported = run_flent_aqm("report", folder, "-o", page, cwd=bench.folder)
    assert reported.returncode == 0, reported.stderr
    return Outputs(done.stderr, tuple(kept.failed.values()), page.read_text())


@pytest.mark.parametrize("what", FAILING)
def test_cause_of_a_failed_run_is_what_failed_has_said(outputs: Outputs, what: str) -> None:
    """On the terminal when it fails and in the summary, in the sweep's state, in the report."""
    cause = FAILING[what][1]
    lines = [line for line in outputs.terminal.splitlines() if cause in line]
    assert [line for line in lines if line.startswith("FAILED")], outputs.terminal
    assert [line for line in lines if line.startswith("failed:")], outputs.terminal
    assert [one for one in outputs.kept if cause in one]
    assert cause in outputs.report


def test_flent_own_words_are_not_the_cause(outputs: Outputs) -> None:
    """A command line of 200 characters says nothing to who wants to know why."""
    assert "Essential command" not in outputs.terminal
    assert "Traceback" not in outputs.terminal


def test_wrong_parameter_is_refused_before_anything_runs(bench: Any) -> None:
    """What the hook would refuse is known beforehand, too."""
    bench.batch("test_name = ping\naqm = drr\naqm_flows = 2000")
    done = bench.flent()
    assert done.returncode == 1
    assert "aqm_flows: '2000' for drr: expected a whole number from 1 to 1023" in done.stderr
    assert not (bench.folder / "results").exists()
