# SPDX-License-Identifier: GPL-3.0-or-later
"""What --what-if changes in the settings of a recorded run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy
import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.why.command import as_text
from flent_aqm.parts.why.what_if import (
    UNCHANGED,
    changed,
    outcome,
    parse_packet,
    usual_changes,
)
from flent_aqm.results.metrics.latency import LISTED_GLITCH_MS, glitches
from flent_aqm.results.metrics.run import load_run
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.scenario import Scenario
from tests.files import GOLDEN, ROOT, load
from tests.results.metrics.conftest import run_of

from .test_words import STORY

WAS = {"aqm": "codel", "aqm_target": "5ms", "up_aqm": "pie", "up_aqm_limit": "99",
       "rate_down_mbps": 50, "rate_up_mbps": 5}


def cell_of(settings: Mapping[str, object]) -> Cell:
    """A cell with these batch keys."""
    return Cell(name="run", folder=ROOT, test_name="iperf3_upload",
                scenario=Scenario.from_settings(settings), settings={}, commands=ROUTER_COMMAND,
                metadata={}, length_s=5)


def of(change: str) -> Mapping[str, object]:
    """The settings that differ from the defaults after a change."""
    now = changed(cell_of(WAS), change)
    return {**now.scenario.differing(), **now.settings}


@pytest.mark.parametrize(("change", "differs"), [
    ("", {}),
    ("base_delay_ms=40", {"base_delay_ms": 40.0}),
    ("aqm_interval=50ms", {"aqm_parameters": {"target": "5ms", "interval": "50ms"}}),
    # Parameters are of the queue that they were given for, and so is a queue of one direction.
    ("aqm=fq_codel", {"aqm": "fq_codel", "aqm_parameters": None, "up_aqm": None,
                      "up_aqm_parameters": None}),
    ("aqm=fq_codel,aqm_limit=7", {"aqm": "fq_codel", "aqm_parameters": {"limit": "7"},
                                  "up_aqm": None, "up_aqm_parameters": None}),
    ("up_aqm=sfq", {"up_aqm": "sfq", "up_aqm_parameters": None}),
    ("rate_mbps=20", {"rate_down_mbps": 20.0, "rate_up_mbps": 20.0}),
    ("rate_mbps=20,rate_up_mbps=2", {"rate_down_mbps": 20.0, "rate_up_mbps": 2.0}),
    # In any order, although neither is possible alone.
    ("shaper=cake,aqm=cake", {"shaper": "cake", "aqm": "cake", "aqm_parameters": None,
                              "up_aqm": None, "up_aqm_parameters": None}),
    ("aqm=cake, shaper=cake", {"shaper": "cake", "aqm": "cake", "aqm_parameters": None,
                               "up_aqm": None, "up_aqm_parameters": None}),
    ("cross_traffic=1", {"TEST_PARAMETERS": {"cross_traffic": "1"}, "cross_traffic": True}),
])
def test_change_takes_the_place_of_what_it_replaces(
        change: str, differs: Mapping[str, object]) -> None:
    """None: the setting has its default again."""
    before, now = of(""), of(change)
    assert {name: now.get(name) for name in before.keys() | now.keys()
            if now.get(name) != before.get(name)} == differs


@pytest.mark.parametrize(("change", "why"), [
    ("aqm", "'aqm' is no change; expected key=value, such as aqm=fq_codel, and commas only"),
    ("aqm=", "'aqm=' is no change"), ("=codel", "'=codel' is no change"),
    ("seed=3", "seed can't be changed: with another seed"),
    ("kernel=mine", "kernel can't be changed"),
    ("aqn=codel", "aqn"), ("aqm=codle", "aqm: "), ("shaper=cake", "shaper: cake is AQM and shaper"),
    ("aqm=fq_codel,rate_mbps=x", "rate_mbps: "),
    ("shaper=none,rate_up_mbps=5", "--what-if: rate_up_mbps has no effect with shaper = none"),
    ("shaper=none,rate_mbps=5", "--what-if: rate_mbps has no effect with shaper = none")])
def test_change_that_cannot_be_made_is_refused(change: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        of(change)
    assert why in str(caught.value)


@pytest.mark.parametrize("text", ["upload", "upload:+x", "upload:+nan", "upload:+1e6", ":+1"])
def test_packet_of_another_form_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is no packet; expected FLOW:\+SECONDS, such as upload:"
                                          r"\+0.35s, with SECONDS from 0 to below 1,000,000$"):
        parse_packet(text)


@pytest.mark.parametrize("file", ["runs/iperf3_upload", "runs/speedtest_sequential",
                                  "docs/scores/no_aqm"])
def test_first_probe_of_a_glitch_is_in_it(file: str) -> None:
    """Also a lost one, and to the last digit: judge() asks which glitch is that of the probe."""
    path = GOLDEN / f"{file}.flent.gz"
    run = load_run(path)
    for one in glitches(run, LISTED_GLITCH_MS):
        number = run.probe.sent_s.tolist().index(one.start_s)
        told = outcome("", load(path), run, number)
        assert any(start == told.sent_s < end for start, end in told.glitches or ())
    beyond = outcome("", load(path), run, run.probe.sent_s.size)
    assert beyond.probe_ms is None
    assert beyond.sent_s == pytest.approx(run.probe.sent_s[-1] - run.probe.sent_s[0], abs=0.1)


SQM = ("shaper=cake,aqm=cake,ingress=ifb,", "shaper=htb,aqm=fq_codel,ingress=ifb,")


@pytest.mark.parametrize(("settings", "links", "changes"), [
    ({"rate_mbps": 100, "modem_mbps": 50}, {}, [
        "rate_mbps=45", *(f"{one}rate_mbps=45" for one in SQM)]),
    # The download's shaper is narrow enough.
    ({"rate_mbps": 40, "modem_down_mbps": 100, "modem_up_mbps": 10}, {}, [
        "rate_down_mbps=40,rate_up_mbps=9",
        *(f"{one}rate_down_mbps=40,rate_up_mbps=9" for one in SQM)]),
    ({"rate_mbps": 100, "modem_mbps": 50, "link_access": "lte"}, {"up": {"steps": 1}}, [
        "rate_mbps=45", *(f"{one}rate_mbps=45" for one in SQM)]),
    # 90 % of a rate that changes is none.
    ({"rate_mbps": 100, "modem_mbps": 50, "link_access": "starlink"}, {"up": {"steps": 121}}, []),
    ({"rate_mbps": 100, "link_trace": "seeded"}, {"up": {"steps": 9}}, [])])
def test_queue_of_a_modem_narrower_than_the_shaper_is_moved_to_the_router(
        settings: Mapping[str, object], links: Mapping[str, object], changes: list[str]) -> None:
    """Other queues of the router gave five equal rows."""
    watched = SimpleNamespace(cell=cell_of(settings), data={"metadata": {"AQM": {"links": links}}},
                              run=None)
    assert usual_changes(watched, "up (modem)") == changes  # type: ignore[arg-type]


@pytest.mark.parametrize(("settings", "limit", "changes"), [
    ({"aqm": "pie"}, 1000, ["aqm=no_aqm", "aqm=codel", "aqm=sfq", "aqm=fq_codel",
                            "aqm_limit=500"]),
    ({"aqm": "sfq"}, None, ["aqm=no_aqm", "aqm=codel", "aqm=fq_codel"]),
    # The reported limit is the upload's, so that queue's is halved.
    ({"aqm": "codel", "up_aqm": "fq_codel"}, 10240, [
        "aqm=no_aqm", "aqm=sfq", "aqm=fq_codel", "up_aqm_limit=5120"]),
    ({"aqm": "cake", "shaper": "cake"}, None, []),
    ({"shaper": "none", "modem_down_mbps": 50, "modem_up_mbps": 10}, 1000, [
        "shaper=cake,aqm=cake,ingress=ifb,rate_down_mbps=45,rate_up_mbps=9",
        "shaper=htb,aqm=fq_codel,ingress=ifb,rate_down_mbps=45,rate_up_mbps=9"]),
    # 90 % of this rate is less than a shaper can be given.
    ({"shaper": "none", "modem_down_mbps": 50, "modem_up_mbps": 0.065}, 1000, [])])
def test_usual_changes_are_those_that_the_run_allows(
        settings: Mapping[str, object], limit: int | None, changes: list[str]) -> None:
    """Of the run, only its cell and what the kernel reported count."""
    watched = SimpleNamespace(
        cell=cell_of(settings), data={"metadata": {}},
        run=SimpleNamespace(applied=lambda direction: {
            "qdisc_parameters": {"limit_packets": limit} if direction == "upload" else {}}))
    assert usual_changes(watched, "up") == changes  # type: ignore[arg-type]


@pytest.mark.parametrize(("lost", "length", "shown"), [
    (0, 2000, "30.0"), (100, 2000, "lost"), (0, 500, "-")])
def test_percentile_that_is_a_lost_probe_is_told_as_lost(
        lost: int, length: int, shown: str) -> None:
    """"-" is a percentile for which there are too few probes."""
    answered: list[float | None] = [30.0] * (length - lost)
    run = run_of(answered + [None] * lost, [20.0] * 100)
    one = outcome(UNCHANGED, {}, run, 0)
    assert one.p99_lost is (shown == "lost")
    rows = [line for line in as_text(STORY, [one, one], 20.0, "") if line.startswith(UNCHANGED)]
    assert {row.removeprefix(UNCHANGED).split()[1] for row in rows} == {shown}


@pytest.mark.parametrize("lost_packets", [7, 0])
def test_glitch_of_lost_probes_alone_is_told_of_a_link_that_loses_at_random(
        lost_packets: int) -> None:
    """A probe is lost in 1 s, another among slow ones in 2 s, and a load of 4 s ends in 5 s."""
    loaded: list[float | None] = [20.0] * 400
    loaded[0], loaded[100:103] = None, [90.0, None, 90.0]
    data = {"metadata": {"AQM": {"links": {"up": {"counters": {"lost_packets": lost_packets}}}}}}
    one = outcome(UNCHANGED, data, run_of(loaded, [20.0] * 100), 100)
    assert one.glitches is not None
    assert [pytest.approx(each) for each in one.glitches] == [(1.0, 1.01), (2.0, 2.03)]
    assert one.lost_alone == (one.glitches[:1] if lost_packets else [])
    assert one.is_lost_alone is bool(lost_packets)
    assert one.load_end_s == pytest.approx(4.995)
    assert not one.is_over


@pytest.mark.parametrize(("number", "is_over", "was_sent"), [
    (399, False, True), (450, True, True), (500, True, False)])
def test_probe_after_the_load_or_the_run_tells_nothing_of_it(
        number: int, is_over: bool, was_sent: bool) -> None:
    """A transfer is over sooner on a faster line; the load's last 100 probes come after its end."""
    run = run_of([20.0] * 300, [20.0] * 100)
    probe = run.probe
    later_s = probe.sent_s[-1] + 0.01 * (1 + numpy.arange(100))
    run = replace(run, probes=(replace(
        probe, sent_s=numpy.concatenate((probe.sent_s, later_s)),
        rtt_ms=numpy.concatenate((probe.rtt_ms, numpy.full(100, 20.0)))),))
    one = outcome(UNCHANGED, {}, run, number)
    assert (one.is_over, one.was_sent, one.probe_ms) == (is_over, was_sent,
                                                         20.0 if was_sent else None)
    row = next(line for line in as_text(STORY, [one, one], 20.0, "")
               if line.startswith(UNCHANGED))
    assert row.removeprefix(UNCHANGED).split()[0] == ("20.0" if was_sent else "-")
