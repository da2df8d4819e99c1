# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of the router's queues in a booted lab, beside tc's counters and the capture."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.runners.qdisc import read_samples
from flent_aqm.results.data_file import DataFile, read_data_file
from flent_aqm.results.metrics.queue_samples import queues
from flent_aqm.results.metrics.run import as_run
from flent_aqm.show.plots.observed import captured

pytestmark = pytest.mark.lab

# The same upload twice through CoDel that may mark: TCP asks for ECN, then it doesn't.
BOTH = """\
set -e
for ecn in 1 0; do
    sysctl -qw net.ipv4.tcp_ecn=$ecn
    flent iperf3_upload -H server -l 4 -D . -t ecn$ecn >flent.log
    ip netns exec router tc -s -j qdisc show dev up >tc$ecn.json
done
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two data files, and what tc counted after each."""
    folder = tmp_path_factory.mktemp("ecn")
    done = subprocess.run(
        [Path(sys.executable).with_name("flent-aqm"), "lab", "--aqm", "codel", "--rate", "20",
         "--delay", "20", "--aqm-parameter", "ecn=1", "--", "sh", "-c", BOTH],
        cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


def run_with(ecn: int, folder: Path) -> DataFile:
    file, = folder.glob(f"*.ecn{ecn}.flent.gz")
    return read_data_file(file)


def counted(ecn: int, folder: Path) -> tuple[int, int]:
    """Drops and marks of the upload's queue since the lab started, by tc."""
    kinds = json.loads((folder / f"tc{ecn}.json").read_text())
    codel, = (one for one in kinds if one["kind"] == "codel")
    return codel["drops"], codel.get("ecn_mark", 0)


def test_marks_and_drops_are_those_that_tc_counts(folder: Path) -> None:
    """With ECN packets are marked, and only those that can't be are dropped; without, all are."""
    drops, marks = counted(1, folder)
    # irtt's probes, a SYN and an ICMP message don't ask for ECN: CoDel has to drop those it meets.
    assert drops < marks
    with_ecn = queues(run_with(1, folder).raw_values)["upload"]
    assert (with_ecn.drops.sum(), with_ecn.marks.sum()) == (drops, marks)
    without = queues(run_with(0, folder).raw_values)["upload"]
    drops_then, marks_then = counted(0, folder)
    assert marks_then == marks
    assert drops_then - drops > drops
    # Counted from the start of each run, not of the lab.
    assert (without.drops.sum(), without.marks.sum()) == (drops_then - drops, 0)


def test_bytes_that_went_on_are_the_rate_while_the_queue_stands(folder: Path) -> None:
    """Whole frames, as HTB counts them."""
    samples = run_with(1, folder).raw_values["Queues"]
    full = [one for one in samples if one["up_backlog_packets"] > 2]
    first, last = full[5], full[-5]
    carried_mbit = (last["up_sent_bytes"] - first["up_sent_bytes"]) * 8e-6
    assert carried_mbit / (last["t"] - first["t"]) == pytest.approx(20, rel=0.02)


@pytest.mark.parametrize(("stored", "message"), [
    (b"", "were not sampled"),
    (bytes(8), "were not sampled"),
    (bytes(8) + bytes(5), "are cut off"),
    (bytes(8) + struct.pack("=dIII", 1.0, 100, 0, 0), "are cut off"),
    (bytes(8) + struct.pack("=dIII", 1.0, 0, 0, 0),
     "device that sends the download had no root qdisc with counters"),
])
def test_stored_samples_that_are_cut_off_are_told_from_a_device_without_queue(
        stored: bytes, message: str) -> None:
    with pytest.raises(BadResult, match=message):
        read_samples(io.BytesIO(stored))


@pytest.mark.parametrize("ecn", [0, 1])
def test_queue_load_and_capture_are_on_one_clock(ecn: int, folder: Path) -> None:
    """The queue stands, and loses or marks packets, when the capture sees the upload; ten
    samples a second."""
    data = run_with(ecn, folder)
    queue, seen = queues(data.raw_values)["upload"], captured(data.raw_values)
    assert seen is not None
    sending_s = seen.at_s[seen.mbps["upload"] > 1]
    span_s = (sending_s[0] - 0.1, sending_s[-1] + 0.1)
    window = as_run(data).load_window
    assert window is not None
    assert abs(window.start_s - span_s[0]) < 0.2
    for what in (queue.backlog_bytes, queue.drops, queue.marks):
        at_s = queue.at_s[what > 0]
        assert all(span_s[0] <= moment <= span_s[1] + 0.1 for moment in at_s)
    assert queue.backlog_packets.max() > 5
    assert queue.at_s[1:] - queue.at_s[:-1] == pytest.approx(0.1, abs=0.01)


def test_plots_show_the_marks_where_they_were(folder: Path, monkeypatch: pytest.MonkeyPatch
                                              ) -> None:
    """qdisc_over_time has a row for marks; throughput_instant has them below the payload."""
    import matplotlib

    matplotlib.use("agg")
    from flent import plotters, resultset, settings

    monkeypatch.chdir(folder)
    file, = folder.glob("*.ecn1.flent.gz")
    results = resultset.ResultSet.load_file(str(file))
    sampled = queues(run_with(1, folder).raw_values)["upload"]

    def draw(plot: str) -> Any:
        loaded = settings.load([str(file), "-p", plot, "-o", f"{plot}.png"])
        loaded.update(results.meta())
        loaded.load_test(informational=True)
        loaded.PLOT, loaded.OUTPUT = plot, f"{plot}.png"
        plotters.init_matplotlib(f"{plot}.png", False, True)
        return plotters.draw_worker(loaded, [results])

    with matplotlib.rc_context():
        over_time, instant = draw("qdisc_over_time"), draw("throughput_instant")
    assert [axis.get_ylabel() for axis in over_time.figure.axes] == [
        "backlog\n(packets)", "drops so far", "marks so far"]
    line = next(line for line in over_time.figure.axes[2].get_lines()
                if line.get_label() == "upload queue")
    assert line.get_ydata()[-1] == sampled.marks.sum()
    assert [one.get_label() for one in instant.handles] == [
        "upload, headers", "the tool's own", *(["drops"] if sampled.drops.any() else []), "marks"]
    above, below = instant.figure.axes
    first_s = min(x for path in below.collections[0].get_paths()
                  for x, y in path.vertices if y > 0)
    assert above.get_lines()[0].get_xdata()[0] - 0.2 <= first_s
    assert first_s <= above.get_lines()[0].get_xdata()[-1]


def test_download_that_is_shaped_as_it_arrives_has_the_queue_of_the_ifb_device(
        tmp_path: Path) -> None:
    """The LAN's device has none then: its backlog was told, which is 0."""
    done = subprocess.run(
        [Path(sys.executable).with_name("flent-aqm"), "lab", "--aqm", "codel", "--rate", "20",
         "--delay", "20", "--set", "ingress=ifb", "--", "flent", "iperf3_download", "-H", "server",
         "-l", "4"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    file, = tmp_path.glob("*.flent.gz")
    queue = queues(read_data_file(file).raw_values)["download"]
    assert queue.backlog_packets.max() > 10
    assert queue.drops.sum() > 0
    assert 5 < queue.delay_ms.max() < 100
