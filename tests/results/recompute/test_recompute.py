# SPDX-License-Identifier: GPL-3.0-or-later
"""Every metric against a second computation, and throughput against what was captured.

recompute.py shares no code with the package, and neither do the cells share conditions: cross
traffic, rates that differ by direction, several flows, lost probes, ECN, shapers.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS, Unavailable, values
from flent_aqm.tools.table import SPEED_TESTS
from tests.files import load

from ...warm_flent import run_flent, run_flent_aqm

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parents[1] / "golden" / "runs"
SCRIPT = HERE / "recompute.py"

# Name -> what the cell asks for; all keep their capture.
CELLS = {
    "ndt7": "test_name = ndt7; rate = 50mbit; aqm = fq_codel",
    "ndt7_cross": "test_name = ndt7; cross = on; rate_mbps = 50; aqm = codel",
    "ndt7_cross_asymmetric": "test_name = ndt7; cross = on; rate_down_mbps = 40; "
                             "rate_up_mbps = 8; aqm = no_aqm; aqm_limit = 100",
    "upload_full": "test_name = iperf3_upload; rate_mbps = 30; aqm = no_aqm",
    "upload_short_queue": "test_name = iperf3_upload; rate_mbps = 30; aqm = no_aqm; "
                          "aqm_limit = 8; cross = on",
    "download_streams": "test_name = iperf3_download; rate_mbps = 30; aqm = sfq; "
                        "parameters = streams=4",
    "both_ecn_cake": "test_name = iperf3_bidirectional; rate_mbps = 20; aqm = cake; "
                     "shaper = cake; aqm_overhead = 38; tcp_ecn = 1",
    "both_cross_asymmetric": "test_name = iperf3_bidirectional; cross = on; rate_down_mbps = 30; "
                             "rate_up_mbps = 10; aqm = fq_codel",
    "both_ecn_codel": "test_name = iperf3_bidirectional; rate_mbps = 20; aqm = codel; "
                      "aqm_ecn = yes; tcp_ecn = 1",
    "flows": "test_name = aqm_flows; rate_mbps = 20; aqm = codel; "
             "parameters = flows=2xreno+1xcubic@2-10",
    "flows_udp": "test_name = aqm_flows; rate_mbps = 10; aqm = fq_codel; "
                 "parameters = flows=2xreno+1xudp8@2-8",
}
# Metrics that are what a client or cross traffic of these tests wrote into the file. No run here
# has any, so there is none of them.
TOLD = (*(tool.metric("") for tool in SPEED_TESTS.values()), "call_", "page_time_", "video_")
# By so much what a tool says and what was acknowledged may differ: intervals don't begin with
# a packet, and of stopped cross traffic only the sender tells.
TOLERANCE = 0.02
# Where a shared span begins, cross traffic gives way from 50 Mbit/s. iperf3's intervals are
# 0.2 s there and its time stamps some hundredths early; 0.1 s of that is half a Mbit/s of ten
# seconds.
EDGE_MBPS = 0.5


def score(*files: Path) -> list[dict[str, Any]]:
    """What the package says of files."""
    done = run_flent_aqm("score", "--format", "json", *files, cwd=HERE)
    assert done.returncode == 0, done.stderr
    scores: list[dict[str, Any]] = json.loads(done.stdout)
    return scores


def again(*words: Path) -> dict[str, Any]:
    """What the script says."""
    done = subprocess.run([sys.executable, "-I", SCRIPT, *words], capture_output=True, text=True,
                          check=True)
    output: dict[str, Any] = json.loads(done.stdout)
    return output


def disagreements(ours: dict[str, float | None], theirs: dict[str, float | None]) -> list[str]:
    """Metrics that aren't the same number, or that only one of the two has."""
    from_tools = {name for name in METRICS if name.startswith(TOLD)}
    assert set(ours) == set(METRICS)
    assert set(theirs) == set(METRICS) - from_tools
    lines = [f"{name}: {ours[name]} of a run without it" for name in from_tools
             if ours[name] is not None]
    for name in theirs:
        one, other = ours[name], theirs[name]
        same = one is other if one is None or other is None else (
            # Times of the epoch have steps of 0.24 µs as floats; a correlation of small
            # differences between steps of 0.25 s makes up to 1e-5 of that.
            one == pytest.approx(other, rel=1e-6, abs=5e-5 if "synchron" in name else 1e-9))
        if not same:
            lines.append(f"{name}: {one} and {other}")
    return lines


def test_script_shares_no_code_with_the_package() -> None:
    """It imports the standard library alone; -I keeps it from this folder, too."""
    names = {name.split(".")[0] for node in ast.walk(ast.parse(SCRIPT.read_text()))
             if isinstance(node, (ast.Import, ast.ImportFrom))
             for name in ([node.module or ""] if isinstance(node, ast.ImportFrom)
                          else [one.name for one in node.names])}
    assert names <= sys.stdlib_module_names


@pytest.mark.parametrize("name", [
    "ndt7", "ndt7_download", "ndt7_upload", "iperf3_upload", "iperf3_download",
    "iperf3_bidirectional", "aqm_flows", "router_model", "speedtest_concurrent", "speedtest_idle",
    "speedtest_sequential"])
def test_metrics_of_a_golden_run_are_the_same_again(name: str) -> None:
    """All of them, and the same ones are not available."""
    file = GOLDEN / f"{name}.flent.gz"
    ours = {metric: None if isinstance(value, Unavailable) else value
            for metric, value in values(load_run(file)).items()}
    assert disagreements(ours, again(file)["metrics"]) == []


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which all cells have been run, side by side."""
    folder = tmp_path_factory.mktemp("cells")
    shutil.copy(resource_dir("batches") / "base.batch", folder)
    text = ["[Batch::cells]", "inherits = base", "abstract = yes", "output_path = results",
            "length = 12", "delay = 3", "base_delay_ms = 5", "filename_extra = ${which}"]
    for name, requested in CELLS.items():
        keys = dict(part.strip().split(" = ", 1) for part in requested.split(";"))
        cross = "1" if keys.pop("cross", "off") == "on" else "0"
        if "rate" in keys:
            keys["rate_mbps"] = keys.pop("rate").removesuffix("mbit")
        more = keys.pop("parameters", "")
        keys |= {"cross_traffic": cross, "which": name, "test_parameters": "; ".join(filter(
            None, ["keep_pcap=yes", more]))}
        text += [f"[Batch::{name}]", "inherits = cells",
                 *(f"{key} = {value}" for key, value in keys.items())]
    (folder / "cells.batch").write_text("\n".join(text) + "\n")
    done = run_flent("-B", "cells.batch", "-b", "ALL", cwd=folder, timeout_s=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results"


@pytest.mark.lab
@pytest.mark.parametrize("name", CELLS)
def test_metrics_of_a_cell_are_the_same_again(name: str, cells: Path) -> None:
    """All of them, of conditions that differ; the capture lies where the file says."""
    file, = cells.glob(f"*-{name}.flent.gz")
    ours, = score(file)
    capture = file.with_name(load(file)[
        "metadata"]["SERIES_META"]["Capture"]["CAPTURE"]["file"])
    theirs = again(file, capture)
    assert disagreements(ours["metrics"], theirs["metrics"]) == []
    for flow, seen in theirs["captured"].items():
        assert 0 <= seen["late_s"] < 0.5, flow
        assert seen["told_mbps"] == pytest.approx(seen["mbps"], rel=TOLERANCE), flow
        if "shared_mbps" in seen:
            assert seen["told_shared_mbps"] == pytest.approx(
                seen["shared_mbps"], rel=TOLERANCE, abs=EDGE_MBPS), flow


@pytest.mark.lab
def test_cells_have_the_conditions_that_they_are_for(cells: Path) -> None:
    """Lost probes, marks, cross traffic: without them, agreement would say little."""
    by_cell = {one["file"].rpartition("-")[2].removesuffix(".flent.gz"): one["metrics"]
               for one in score(cells)}
    assert len(by_cell) >= 10
    assert any(one["loss_loaded_pct"] for one in by_cell.values())
    for name in ("both_ecn_cake", "both_ecn_codel"):
        assert by_cell[name]["queue_marks_upload"] > 0, name
    for name in ("ndt7_cross", "both_cross_asymmetric"):
        assert by_cell[name]["fairness_download"] is not None, name
    assert by_cell["flows"]["fairness_upload"] is not None
    assert any((one["queue_drops_upload"] or 0) > 0 for one in by_cell.values())
