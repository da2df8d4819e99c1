# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a run has no such number: the reason holds in each circumstance that leads to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import NotAvailable
from flent_aqm.parts.why.probe_series import with_series
from flent_aqm.results.metrics.flows import Points
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.metrics.window import Window
from flent_aqm.results.reading.series import Tool


def reason(run: Any, name: str) -> str:
    """Return why a run lacks a metric."""
    value = METRICS[name].of(run)
    assert isinstance(value, Unavailable)
    return value.because


def test_probes_of_a_phase_are_missing_not_those_of_the_run(make_run: Any) -> None:
    """Those of the other phase came back."""
    short = make_run([20.0] * 100, idle_ms=(21.0,) * 3)
    assert reason(short, "jitter_idle_ms") == "only one probe of this phase came back"
    assert reason(make_run([None] * 100), "latency_loaded_mean_ms") == (
        "none of the probes of this phase came back")


def test_load_without_probes_is_named_and_a_tool_that_stood_still(make_run: Any) -> None:
    run = make_run([20.0] * 100, directions=("download",))
    window = run.load_window
    sent_s = numpy.array([window.start_s - 2, window.start_s - 1])
    probe = Probe("UDP", Tool.UDP_RR, sent_s, numpy.array([20.0, 20.0]), "stands still")
    early = replace(run, probes=(probe,))
    assert reason(early, "latency_loaded_mean_ms") == "no probe was sent under load"
    assert reason(early, "ookla_style_iqm_download_ms") == "no probe was sent during the download"
    stood = replace(run, probes=(replace(probe, still=(Window(window.start_s, window.end_s),)),))
    assert reason(stood, "latency_loaded_mean_ms") == (
        "no probe was sent under load; netperf UDP_RR stood still then")


def test_series_whose_probes_are_all_lost_is_no_missing_series(make_run: Any) -> None:
    silent = make_run([None] * 100, idle_ms=())
    why = "none of the probes of 'Ping (ms) UDP irtt' came back"
    assert reason(silent, "latency_loaded_mean_ms") == why
    with pytest.raises(Exception, match=f"because {why.replace('(', '.').replace(')', '.')}; "):
        with_series(silent)
    with pytest.raises(NotAvailable, match="no latency series of irtt, ping or netperf"):
        _ = replace(silent, silent_probes={}).probe


def test_cross_traffic_that_failed_is_not_missing(make_run: Any) -> None:
    run = make_run([20.0] * 100)
    assert reason(run, "page_time_max_ms") == "the run has no cross traffic"
    failed = replace(run, failed_series={"TCP upload": "x", "Cross download": "web: no server"})
    assert reason(failed, "page_time_max_ms") == "web: no server"
    assert reason(failed, "call_lost_frames_download_pct") == "web: no server"
    assert reason(failed, "call_lost_frames_upload_pct") == "the run has no cross traffic"


def test_frames_of_another_direction_are_not_meant(make_run: Any) -> None:
    run = make_run([20.0] * 100)
    late = Points(numpy.array([run.load_window.end_s + 1]), numpy.array([1.0]))
    call = replace(run.flows[0], is_cross=True, noticed={"frame_lost": late})
    assert reason(replace(run, flows=(*run.flows, call)), "call_lost_frames_download_pct") == (
        "none of the cross traffic's frames of a call in the download began under load")
