# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe that the user means, in files of real runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.why.chosen import at_time, of_glitch, slowest, with_number
from flent_aqm.results.metrics.run import load_run
from tests.files import GOLDEN, load, save

RUN = GOLDEN / "batches" / "quick" / "iperf3_upload-no_aqm.flent.gz"


def test_probe_is_found_by_number_time_and_glitch() -> None:
    run = load_run(RUN)
    sent_s, rtt_ms = run.probe.sent_s, run.probe.rtt_ms
    number = slowest(run)
    assert rtt_ms[number] == max(one for one in run.loaded().rtt_ms if one < float("inf"))
    assert with_number(run, 7) == 7
    assert at_time(run, float(sent_s[700] - sent_s[0]) + 0.001) == 700
    assert rtt_ms[of_glitch(run, 1)] > 30
    with pytest.raises(ConfigError, match="numbers 0 to"):
        with_number(run, -1)
    with pytest.raises(ConfigError, match=r"has no probe at 1000000 s"):
        at_time(run, 1e6)
    with pytest.raises(ConfigError, match=r"^--glitch: the series 'Ping \(ms\) UDP irtt' has no "
                                          r"glitch 0; its only glitch has the number 1 \(probes "
                                          "under load that were lost or took 30 ms long"):
        of_glitch(run, 0)


def test_number_that_another_series_has_is_told_from_one_that_no_series_has() -> None:
    """The message names the series that was looked at, and the others."""
    run = load_run(RUN)
    short = replace(run.probe, name="Ping (ms) ICMP", sent_s=run.probe.sent_s[:350],
                    rtt_ms=run.probe.rtt_ms[:350])
    both = replace(run, probes=(short, run.probe))
    more = "; --series names another: 'Ping (ms) UDP irtt'"
    with pytest.raises(ConfigError) as of_number:
        with_number(both, 900)
    assert str(of_number.value) == (
        "--probe: the series 'Ping (ms) ICMP' has no probe 900; its probes have the numbers 0 to "
        f"349{more}")
    with pytest.raises(ConfigError, match=rf"^--at: the series 'Ping \(ms\) ICMP' .*s{more[:20]}"):
        at_time(both, 1e6)
    with pytest.raises(ConfigError, match=r"numbers 0 to \d+$"):
        with_number(replace(run, probes=(short,)), 900)


def test_last_time_in_the_message_is_in_the_series() -> None:
    """Rounded to the nearest, 69.996 s was told as 70.00 s."""
    run = load_run(RUN)
    two = replace(run.probe, sent_s=numpy.array([100.0, 169.996]), rtt_ms=run.probe.rtt_ms[:2])
    with pytest.raises(ConfigError, match=r"were sent from 0 to 69\.99 s$"):
        at_time(replace(run, probes=(two,)), 69.999)
    assert at_time(replace(run, probes=(two,)), 69.99) == 1


def test_glitch_of_a_lost_probe_is_explained_by_it(tmp_path: Path) -> None:
    """Although probes beside it were answered."""
    whole = load(RUN.with_name("iperf3_upload-fq_codel.flent.gz"))
    sample = whole["raw_values"]["Ping (ms) UDP irtt"][900]
    del sample["val"]
    sample["lost"] = True
    run = load_run(save(tmp_path / "lost.flent.gz", whole))
    assert of_glitch(run, 1) == 900
    assert slowest(run) != 900
