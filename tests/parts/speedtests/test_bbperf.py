# SPDX-License-Identifier: GPL-3.0-or-later
"""bbperf: what it writes, and a real run in the lab where it is installed."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.load_window import SOURCE
from flent_aqm.parts.speedtests import bbperf
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.metrics.latency import flow_rtt_ms
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.show.figures.speedtests import TELLS, row_of
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import ClientReport
from tests import files

from .one_run import make_run

GOLDEN = files.GOLDEN / "speedtest_programs" / "bbperf.json"


def test_file_tells_latency_of_the_data_itself() -> None:
    """An upload through a full queue of 20 Mbit/s: all within the load, which ends now, as the
    file's clock is of another day."""
    report = ClientReport("bbperf")
    bbperf.read(GOLDEN.read_text(), "upload", report)
    assert set(report.numbers) == {
        one.name for one in bbperf.TOOL.numbers if "download" not in one.name}
    assert report.numbers["upload_mbps"] == pytest.approx(20 * 1448 / 1514, rel=0.03)
    assert report.numbers["unloaded_rtt_upload_ms"] == pytest.approx(20, abs=1)
    assert report.numbers["loaded_rtt_upload_ms"] > 5 * report.numbers["unloaded_rtt_upload_ms"]
    assert report.numbers["excess_upload_bytes"] > 100_000
    way = report.loads["upload"]
    assert way.start_s is not None
    assert way.start_s < way.probes[1][0] < way.rates[-1][0] == way.end_s
    assert max(ms for _, _, ms in way.probes) > report.numbers["loaded_rtt_upload_ms"]


@pytest.mark.parametrize(("text", "output"), [
    ('{"entries": []}', "bbperf reported no download: ERROR: not enough"),
    ("{}", "result file has an unexpected form"), ("", "result file has an unexpected form")])
def test_file_without_a_result_is_refused(text: str, output: str) -> None:
    """By bbperf's own words where it has some."""
    with pytest.raises(BadResult, match=output):
        bbperf.read(text, "download", ClientReport("bbperf"), "ERROR: not enough valid samples")


def test_file_with_an_impossible_time_is_refused() -> None:
    """No float has so many digits."""
    entry = (f'{{"received_time_sec": 1{400 * "0"}, "sent_time_sec": 0, "loaded_rtt_ms": 1, '
             '"receiver_throughput_rate_mbps": 1}')
    with pytest.raises(BadResult, match="result file has an unexpected form"):
        bbperf.read(f'{{"entries": [{entry}], "summary": {{"a": 1}}}}', "download",
                    ClientReport("bbperf"))


def test_call_by_hand_has_the_servers_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual one may be another server's; and it is the download that fails first."""
    monkeypatch.setattr(bbperf, "lines_of", lambda *_: iter(()))
    with pytest.raises(BadResult, match=r"wrote no result .* -c 192\.0\.2\.1 -p 99 -R$"):
        bbperf.measure(Call("192.0.2.1", 99), ClientReport("bbperf"))


@pytest.mark.lab
@pytest.mark.skipif(not find_spec("bbperf"), reason="bbperf is optional")
def test_real_one_sees_the_queue_that_its_flow_fills(tmp_path: Path) -> None:
    """As the run's own probe does, in a queue that all share; and the figure shows it."""
    data = read_data_file(make_run("bbperf", tmp_path, "test_parameters = round_trips=yes"))
    run = as_run(data)
    for way in ("download", "upload"):
        mbps, unloaded_ms, loaded_ms = (METRICS[f"bbperf_{name}"].of(run) for name in (
            f"{way}_mbps", f"unloaded_rtt_{way}_ms", f"loaded_rtt_{way}_ms"))
        assert mbps == pytest.approx(10 * 1448 / 1514, rel=0.05)
        assert unloaded_ms == pytest.approx(20, abs=2)
        # The probe has seen the queue fill, too.
        probed_ms = run.loaded(way).rtt_ms
        assert isinstance(loaded_ms, float)
        assert 200 < numpy.median(probed_ms) <= loaded_ms <= max(probed_ms)
        # So have its own packets, which the capture has besides those of its warm-up.
        assert 200 < flow_rtt_ms(run, way, "median") <= max(probed_ms)
        assert SOURCE not in data.series_meta[f"TCP {way}"]
    row = row_of(data)
    assert row is not None
    assert re.fullmatch(r"RTT down \d+ ms\nup \d+ ms", row.verdict)
    assert row.judged == TELLS
