# SPDX-License-Identifier: GPL-3.0-or-later
"""batches/sqm_home.batch: SQM at a share of the line's rate, beside the line without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS
from tests.files import ROOT

from ..warm_flent import run_flent

LINE = ("length=5", "delay=1", "modem_down_mbps=10", "modem_up_mbps=4", "share=50")


@pytest.mark.lab
def test_sqm_home_shapes_to_the_share_of_the_line(tmp_path: Path) -> None:
    """Both kinds of SQM carry half of the line, at a latency that the line alone doesn't have."""
    done = run_flent(
        "-B", ROOT / "batches" / "sqm_home.batch",
        *(f"--batch-override={word}" for word in (*LINE, "output_path=runs")), cwd=tmp_path,
        timeout_s=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"What to do: Busy uploads add \d+ ms with SQM off: .* Set SQM to 5/2 Mbit/s "
                     r"\(50 % of 10/4\), with \w+( or \w+)?: here they then added [0-9.]+ ms, "
                     r"at 5\d % less (download and 5\d % less upload )?throughput\.",
                     " ".join(done.stderr.split())), done.stderr
    assert re.search(r"^SQM +AQM ", done.stderr, re.MULTILINE)
    assert re.search(r"^5/2 +cake +1 ", done.stderr, re.MULTILINE)
    runs = {run.title: run for run in map(load_run, (tmp_path / "runs").glob("*.flent.gz"))}
    off = runs.pop("SQM off")
    assert off.settings["shaper"] == "none"
    assert (off.settings["rate_mbps"], off.settings["shaper_mbps"]) == ("10/4", "off")
    assert set(runs) == {"50 % cake", "50 % htb_fq_codel"}
    latency, speed = METRICS["latency_loaded_median_ms"], METRICS["throughput_download_mbps"]
    for run in runs.values():
        assert (run.settings["rate_mbps"], run.settings["shaper_mbps"]) == ("10/4", "5/2")
        assert 4 < float(str(speed.of(run))) < 5 < float(str(speed.of(off)))
        assert float(str(latency.of(run))) < 30 < float(str(latency.of(off)))
