# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep over a link by a trace: what its data file has, and that it can be made again."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from ..warm_flent import run_flent_aqm
from .conftest import Bench

RUN = "test_name = iperf3_download\nlength = 2\ndelay = 1\nrate_mbps = 100\nshaper = none\n"


@pytest.mark.lab
def test_data_file_tells_of_the_link_and_is_made_again_from_the_same_trace(bench: Bench) -> None:
    """The trace by path and content, what the link carried; replay finds the trace by its content
    where the user says, and refuses a run with a program of the router's, which a file may not
    choose."""
    trace = "".join(f"{ms}\n" for ms in range(1, 1001))  # 12 Mbit/s
    (bench.folder / "some.trace").write_text(trace)
    bench.batch(RUN + "link_down_trace = some.trace\nlink_up_loss = 0.5%\n"
                "router_program = sleep 1000")
    done = bench.flent()
    assert done.returncode == 0, done.stderr
    file, = bench.files()
    metadata = bench.data(file.name)["metadata"]
    requested, links = metadata["AQM"]["requested"], metadata["AQM"]["links"]
    assert (requested["link_down_trace"], requested["router_program"]) == (
        "some.trace", "sleep 1000")
    assert links["down"]["trace"] == "some.trace"
    assert links["down"]["sha256"] == hashlib.sha256(trace.encode()).hexdigest()
    assert links["down"]["mean_mbps"] == pytest.approx(12)
    carried = links["down"]["counters"]["carried_bytes"] * 8 / 1e6
    assert 12 * 2 * 0.8 < carried < 12 * 20
    assert links["up"]["counters"]["lost_packets"] > 0
    again = _replay(file, "--trace", bench.folder)
    assert again.returncode != 0
    assert "flent-aqm replay and why repeat the run with --run-programs" in again.stderr
    bench.batch(RUN + "link_down_trace = some.trace\nfilename_extra = second", "second")
    assert bench.flent(name="second").returncode == 0
    again = _replay(bench.file("second"))
    assert (again.returncode, again.stdout) == (2, "")
    assert "is beside the data file or in a folder of --trace; put your" in again.stderr
    moved = bench.folder / "traces"
    moved.mkdir()
    (bench.folder / "some.trace").rename(moved / "other.name")
    again = _replay(bench.file("second"), "--trace", moved)
    assert (again.returncode, again.stdout) == (0, "identical\n"), again.stderr


def _replay(file: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return run_flent_aqm("replay", file, *words, cwd=file.parents[1])
