# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests rrul_compete and tcp_compete: what they refuse, and a run of each in the lab."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.measure.runners import ping_exp, rrul_compete, tcp_compete
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.throughput import fairness

FLENT_AQM = Path(sys.executable).with_name("flent-aqm")


def parameters(values: dict[str, str]) -> Callable[..., Any]:
    """As Flent hands them over."""
    return lambda name, default: values.get(name, default)


@pytest.mark.parametrize(("values", "why"), [
    ({"load": "upload", "uploads": "1.5"}, "uploads: '1.5'; expected a whole number from 1 to 128"),
    ({"ping_count": "1e7"}, "ping_count: '1e7'; expected a whole number from 1 to 1000000"),
    ({"ping_interval": "x"}, ("ping_interval: 'x'; expected a number of seconds from 0.01 to "
     "60")),
])
def test_ping_exp_says_which_numbers_it_takes(values: dict[str, str], why: str) -> None:
    """A number with a fraction is not called out of range."""
    output: list[str] = []
    ping_exp.settings_from(parameters(values), output.append)
    assert output == [why]


@pytest.mark.parametrize(("values", "why"), [
    ({"second_start": "soon"}, "second_start: 'soon'"),
    ({"second_length": "nan"}, "second_length: 'nan'"),
    ({"second_start": "1.5"}, "second_start: '1.5'"),
    ({"second_length": "0"}, "second_length: '0'"),
    ({"second_start": "15", "second_length": "6"}, "end after 21 s, and the first takes 20 s"),
])
def test_rrul_compete_second_outside_of_the_first_is_refused(
    values: dict[str, str], why: str
) -> None:
    """One line says what was given."""
    output: list[str] = []
    rrul_compete.span_of(parameters(values), output.append, 20)
    assert why in output[0]


def test_rrul_compete_with_120_s_is_as_documented() -> None:
    """The second RRUL takes 60 s from second 30 on."""
    output: list[str] = []
    assert rrul_compete.span_of(parameters({}), output.append, 120) == rrul_compete.Span(30, 60)
    assert output == []


@pytest.mark.parametrize(("values", "why"), [
    ({"ccs": "cubic"}, "ccs: 'cubic' has 1 name; "), ({"ccs": "cubic,-x"}, "ccs: '-x' is no name"),
    ({"ccs": "cubic,a b"}, "ccs: "), ({"ccs": ",".join(["bbr"] * 9)}, "2 to 8"),
    ({"streams": "0"}, "streams: '0'"), ({"streams": "x"}, "streams: 'x'"),
])
def test_tcp_compete_odd_parameters_are_refused_by_name(
    values: dict[str, str], why: str
) -> None:
    """No names, other characters, no streams."""
    output: list[str] = []
    tcp_compete.congestion_controls(parameters(values), output.append)
    assert why in output[0]


def measured(folder: Path, *words: str) -> Run:
    """The run of a Flent in the lab."""
    done = subprocess.run(
        [FLENT_AQM, "lab", "--aqm", "fq_codel", "--rate", "4", "--delay", "10", "--seed", "1",
         "--results", folder, "--", "flent", "-H", "server", *words],
        cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path, = folder.glob("*.flent.gz")
    return load_run(path)


@pytest.mark.lab
def test_rrul_compete_under_fq_codel_second_gets_its_share(tmp_path: Path) -> None:
    """Eight flows of each RRUL, and the second one's start when they should and get as much
    as the first one's do."""
    run = measured(tmp_path, "rrul_compete", "-l", "12")
    second = [flow for flow in run.flows if "second" in flow.name]
    assert (len(run.flows), len(second)) == (16, 8)
    start_s = min(flow.start_s for flow in run.flows)
    assert {round(flow.start_s - start_s) for flow in second} == {3}
    down = [flow.mean_mbps or 0 for flow in second if flow.direction == "download"]
    assert sum(down) == pytest.approx(4 / 2, rel=0.25)


@pytest.mark.lab
def test_tcp_compete_flows_have_the_congestion_controls_asked_for(tmp_path: Path) -> None:
    """One flow each of Cubic and DCTCP, both of which fq_codel gives a half."""
    run = measured(tmp_path, "tcp_compete", "-l", "6", "--test-parameter", "ccs=cubic,dctcp",
                   "--test-parameter", "streams=1")
    assert [flow.name for flow in run.flows] == ["TCP download cubic 1", "TCP download dctcp 2"]
    assert fairness(run, "download") > 0.95
