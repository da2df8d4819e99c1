# SPDX-License-Identifier: GPL-3.0-or-later
"""Cross traffic that people have, beside a load in the lab."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS
from tests.files import load

from ...warm_flent import run_flent

pytestmark = pytest.mark.lab

BATCH = """[Batch::try]
inherits = base
output_path = results
test_name = iperf3_download
length = 8
delay = 1
rate_mbps = 10
seed = 1
for_cross = cross_call, cross_video, cross_web
repetitions = 2
filename_extra = ${cross_traffic}-${repetition}
"""
KINDS = ("call", "video", "web")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Two runs of each kind with one seed, behind a FIFO that holds over a second."""
    folder = tmp_path_factory.mktemp("cross")
    shutil.copy(resource_dir("batches") / "base.batch", folder)
    (folder / "try.batch").write_text(BATCH)
    done = run_flent("-B", "try.batch", cwd=folder, timeout_s=600)
    assert done.returncode == 0, done.stderr
    return {kind: sorted(folder.glob(f"results/*-{kind}-*.flent.gz")) for kind in KINDS}


def content(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = load(path)
    return data


def number(path: Path, metric: str) -> float:
    value = METRICS[metric].of(load_run(path))
    assert isinstance(value, float), value
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_kind_repeats_to_the_byte(files: dict[str, list[Path]], kind: str) -> None:
    """Samples of all series, of the router's queues too; and no tool has failed."""
    first, second = map(content, files[kind])
    assert first["raw_values"] == second["raw_values"]
    assert first["metadata"]["FAILED_RUNNERS"] == 0
    assert first["metadata"]["AQM"]["requested"]["cross_traffic"] == kind


def test_call_goes_both_ways_and_suffers_where_the_queue_is(files: dict[str, list[Path]]) -> None:
    """At its pace; the download's frames are late behind a full FIFO, the upload's are not."""
    path = files["call"][0]
    raw = content(path)["raw_values"]
    rates = [one["val"] for one in raw["Cross upload"] if "val" in one]
    assert sum(rates[5:-5]) / len(rates[5:-5]) == pytest.approx(1.44, rel=0.02)
    frames = [one for one in raw["Cross download"] if "frame_lost" in one]
    # From 5 s before the load.
    assert len(frames) == pytest.approx(30 * 13, rel=0.1)
    assert number(path, "call_late_frames_download_pct") > 50
    assert number(path, "call_late_frames_upload_pct") == 0
    assert number(path, "call_lost_frames_upload_pct") == 0
    # The capture tells it from the load.
    assert max(one["cross_upload"] for one in raw["Capture"]) > 1


def test_video_and_pages_tell_how_they_fared(files: dict[str, list[Path]]) -> None:
    """A page takes longer than 2.65 MB alone would; segments come one by one, as they play."""
    segments = [one["t"] for one in content(files["video"][0])["raw_values"]["Cross download"]
                if "segment_mbps" in one]
    # 13 s and what the buffer holds.
    assert 4 <= len(segments) <= (13 + 8) / 2 + 1
    assert 0.1 < number(files["video"][0], "video_bitrate_mbps") <= 7.8
    assert 0 <= number(files["video"][0], "video_stall_pct") < 100
    assert number(files["web"][0], "page_time_max_ms") > 2_652_000 * 8 / 10e6 * 1000
    assert METRICS["page_time_max_ms"].of(load_run(files["call"][0])).because == (  # type: ignore[union-attr]
        "the cross traffic has no complete web pages")
