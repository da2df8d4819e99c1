# SPDX-License-Identifier: GPL-3.0-or-later
"""OB-UDPST: what it prints, and a real run in the lab where it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.speedtests import obudpst
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import ClientReport
from tests import files

from .one_run import make_run

GOLDEN = files.GOLDEN / "speedtest_programs"


def test_output_tells_the_best_second_and_round_trips() -> None:
    """Of a queue of 20 Mbit/s: the rate with IP's headers, whose frames have 14 bytes more; the
    mean is between the least and the most that it saw."""
    report = ClientReport("obudpst")
    obudpst.read((GOLDEN / "obudpst.json").read_text(), "upload", report)
    assert set(report.numbers) == {
        one.name for one in obudpst.TOOL.numbers if "download" not in one.name}
    assert report.numbers["upload_mbps"] == pytest.approx(20 * 1250 / 1264, rel=0.01)
    assert report.numbers["min_rtt_upload_ms"] == pytest.approx(20, abs=1)
    assert 100 < report.numbers["rtt_upload_ms"] < 846
    assert report.numbers["loss_upload_pct"] == 0
    way = report.loads["upload"]
    assert way.start_s is not None
    assert way.end_s - way.start_s == pytest.approx(5, abs=0.2)
    assert len(way.rates) == 5
    assert max(8e-6 * size / length_s for _, length_s, size in way.rates) == pytest.approx(
        report.numbers["upload_mbps"], rel=0.001)


@pytest.mark.parametrize(("text", "message"), [
    ((GOLDEN / "obudpst-refused.json").read_text(), "WARNING: Timeout awaiting response"),
    ('{"ErrorMessage": ""}', "udpst reported no download: it gives no reason"),
    ("{}", "output has an unexpected form"), ("", "udpst printed nothing about the download"),
    ('{"Output": {"BOMTime": 1}}', "output has an unexpected form")])
def test_output_without_a_result_is_refused(text: str, message: str) -> None:
    """By its own words where it has some."""
    with pytest.raises(BadResult, match=message):
        obudpst.read(text, "download", ClientReport("obudpst"))


@pytest.mark.parametrize(("script", "message"), [
    (f"cat {GOLDEN / 'obudpst-refused.json'}; exit 200", "WARNING: Timeout awaiting response"),
    ("echo udpst: no library libx; exit 127", "udpst ended with status 127: udpst: no library"),
    ("exit 1", "udpst ended with status 1: it printed nothing")])
def test_status_of_a_client_that_says_why_is_no_reason(
        tmp_path: Path, script: str, message: str) -> None:
    """What it printed is."""
    program = tmp_path / "udpst"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(BadResult, match=message):
        obudpst.measure(Call("192.0.2.1", 1, programs=(str(program),)), ClientReport("obudpst"))


@pytest.mark.lab
@pytest.mark.skipif(not shutil.which("udpst"), reason="udpst is optional")
def test_real_one_fills_the_line_in_its_best_second(tmp_path: Path) -> None:
    """Its least round trip is the idle line's, its mean one within what the run's probe saw."""
    run = load_run(make_run("obudpst", tmp_path))
    for way in ("download", "upload"):
        mbps, least_ms, mean_ms = (METRICS[f"obudpst_{name}"].of(run) for name in (
            f"{way}_mbps", f"min_rtt_{way}_ms", f"rtt_{way}_ms"))
        assert mbps == pytest.approx(10 * 1250 / 1264, rel=0.03)
        assert least_ms == pytest.approx(20, abs=2)
        assert isinstance(mean_ms, float)
        assert 20 < mean_ms < max(run.loaded(way).rtt_ms)
        assert numpy.median(run.loaded(way).rtt_ms) > 30
