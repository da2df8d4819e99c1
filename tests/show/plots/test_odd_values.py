# SPDX-License-Identifier: GPL-3.0-or-later
"""Values at which a figure or plot would stumble: none, lost probes alone, a file of a stranger."""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import ConfigError, NotAvailable
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.results.reading.series import ProbeTool
from flent_aqm.show.figures.speedtests import SHOWN, _shown_ms
from flent_aqm.show.figures.verdicts import shade
from flent_aqm.show.plots.latency import span_s, spans
from flent_aqm.show.plots.observed import Captured
from flent_aqm.show.plots.overlay import captured_payload
from flent_aqm.show.report.server import ReportServer
from tests.files import GOLDEN, RUNS, load, save


@pytest.mark.parametrize(("values", "shades"), [
    ([math.inf, math.inf], [1.0, 1.0]), ([10.0, math.inf, None], [0.0, 1.0, math.nan]),
    ([10.0, 10.0], [0.0, 0.0]), ([None], [math.nan])])
def test_lost_probes_are_darkest_also_where_there_is_nothing_else(
        values: list[float | None], shades: list[float]) -> None:
    """A missing value has another shade."""
    found = shade(METRICS["latency_loaded_median_ms"], values)
    assert numpy.array_equal(found, shades, equal_nan=True)


@pytest.mark.parametrize(("sent_s", "seen"), [
    ([1.0], "a single probe"), ([1.0, 1.0, 1.0, 2.0], "most of its probes at the same time")])
def test_series_without_spans_says_why(sent_s: list[float], seen: str) -> None:
    with pytest.raises(NotAvailable, match=f"made has {seen}"):
        span_s(Probe("made", ProbeTool.IRTT, numpy.array(sent_s), numpy.ones(len(sent_s))))


def test_capture_without_packets_of_the_test_is_none() -> None:
    run = load_run(RUNS / "ndt7.flent.gz")
    at_s = numpy.array([1.0, 2.0])
    for capture in (Captured(at_s, {}), Captured(at_s, {"cross_upload": at_s})):
        with pytest.raises(NotAvailable, match=r"captured$"):
            captured_payload(run, capture)
    _, mbps = captured_payload(run, Captured(at_s, {"download": at_s, "cross_upload": at_s}))
    assert mbps.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("host", ["..", "a" * 64, "999.0.0.1"])
def test_page_is_not_served_at_what_is_no_host(host: str) -> None:
    follower: Any = None
    with pytest.raises(ConfigError, match=r"^--host .* --port 0: can't listen there: (this is not "
                                          r"a host name|Name or service not known|.*resol)"):
        ReportServer(follower, host, 0)


def test_page_is_served_at_a_link_local_address() -> None:
    """With the device that it belongs to; without one it is none of this machine's."""
    code = ("from flent_aqm.show.report.server import ReportServer\n"
            "ReportServer(None, 'fe80::9%d0', 0).server_close()\n"
            "ReportServer(None, 'fe80::9', 0)\n")
    done = subprocess.run(
        ["unshare", "-rn", "sh", "-c", ("ip link add d0 type veth peer name d1 && ip link set d0 "
         'up && ip addr add fe80::9/64 dev d0 nodad && exec "$0" -c "$1"'), sys.executable, code],
        capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr.splitlines()[-1].endswith(
        "--host fe80::9 --port 0: can't listen there: a link-local address needs its device, such "
        "as fe80::1%eth0; give an address of this machine, and a port that is free, 0 for any")


def test_page_is_served_at_a_port_that_this_user_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port below 1024 may be free, and need a right."""
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(ReportServer, "server_bind", refuse)
    follower: Any = None
    with pytest.raises(ConfigError, match="Permission denied; give an address of this machine, and "
                                          "a port that this user may use, as those from 1024 on"):
        ReportServer(follower, "127.0.0.1", 80)


@pytest.mark.parametrize(("rpm", "shown_ms"), [(0.0, None), (60.0, 1000.0)])
def test_zero_round_trips_per_minute_are_no_latency(
        rpm: float, shown_ms: float | None, tmp_path: Path) -> None:
    """goresponsiveness' output may have it, and a user's own test."""
    data = load(GOLDEN / "speedtests" / "goresponsiveness.flent.gz")
    for series in data["metadata"]["SERIES_META"].values():
        for name in series.get("SPEEDTEST", {}).get("numbers", {}):
            if "rpm" in name:
                series["SPEEDTEST"]["numbers"][name] = rpm
    save(tmp_path / "odd.flent.gz", data)
    run = load_run(tmp_path / "odd.flent.gz")
    assert _shown_ms(run, SHOWN["goresponsiveness"]) == shown_ms


@pytest.mark.parametrize("spacing_ms", [
    5, 10, 10.003, 10.3, 10.32, 10.53, 10.65, 10.7, 10.75, 20, 21.3, 50, 53.5, 100, 107, 200])
def test_every_whole_span_has_enough_probes_for_its_percentile(spacing_ms: float) -> None:
    """Though their number varies by one."""
    sent_s = numpy.arange(4000) * spacing_ms / 1000
    probe = Probe("made", ProbeTool.IRTT, sent_s, numpy.ones(sent_s.size))
    _, statistics = spans(probe, span_s(probe))
    assert not numpy.isnan(statistics["90th percentile"][:-1]).any()
