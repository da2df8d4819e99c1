# SPDX-License-Identifier: GPL-3.0-or-later
"""From keys of a batch to the schedule that the kernel plays."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.protocol import refuse_virtual_settings
from flent_aqm.parts.links.keys import Loss, parse_loss
from flent_aqm.parts.links.plan import LinkModel, link_plans, refuse_link_that_ends
from flent_aqm.parts.links.schedule import ROUND_S, Schedule
from flent_aqm.spec.cell import derive_seed
from flent_aqm.spec.scenario import Scenario


def _schedule(way: str = "up", **settings: object) -> Schedule:
    schedule = link_plans(Scenario.from_settings({"modem_mbps": "8", **settings}))[way].schedule
    assert schedule is not None
    return schedule


def test_link_without_keys_leaves_everything_as_it_was() -> None:
    """No plan, and no other seed."""
    plain = Scenario.from_settings({"modem_mbps": "8"})
    assert link_plans(plain) == {}
    assert plain == Scenario.from_settings({
        "modem_mbps": "8", "link_trace": "", "link_loss": "", "link_outages_s": "",
        "link_trace_end": "", "modem_buffer_packets": ""})
    assert not [key for key in plain.identity() if key.startswith("link")]


@pytest.mark.parametrize(("settings", "why"), [
    ({"link_access": "starlink+gap_ms=1000+period_s=1"},
     "link_access: nothing ever passes this link: its gap_ms, 1000, is not below its period_s, 1 "),
    ({"link_access": "starlink+period_s=0.0000000001"}, "would have 1,800,000,000,001 steps"),
    ({"link_access": "starlink+period_s=0.0001"}, "expected at most 4,194,304: give a longer pe"),
    ({"link_outages_s": "0-900", "link_trace": "seeded+length_s=1+sigma_mbps=0", "modem_mbps": ""},
     "link_outages_s: nothing ever passes this link: all that it could carry is in an outage"),
    # In an outage as long as the round in which it repeats, no access model would send more.
    *(({"link_access": access, "link_outages_s": "0-500, 500-900"},
       "link_outages_s: nothing ever passes this link: all that it could carry is in an outage")
      for access in ("docsis", "lte", "starlink")),
    ({"link_outages_s": "100000.5-100001, 100000.7-100002"}, "from 100001 to 100000.7 s; give"),
    ({"link_outages_s": "0-924.0001"}, "nothing passes for 924.0001 s from 0 s on, and TCP gives"),
    ({"link_jitter_ms": True}, "link_jitter_ms: yes, on and true are no values of this key; exp"),
    ({"link_trace": "no.trace", "modem_mbps": ""}, "No such file or directory; expected the path"),
    ({"link_trace": "a\nb", "modem_mbps": ""}, "contains control characters; rename the file")])
def test_link_that_cannot_be_played_is_told_with_what_to_change(
        settings: dict[str, Any], why: str) -> None:
    """Not with a rate above 0 where the rate is not what is wrong."""
    with pytest.raises(ConfigError) as fault:
        _schedule(**settings)
    assert why in str(fault.value)


def test_link_trace_is_the_same_wherever_it_lies() -> None:
    """Its path doesn't shape the seed."""
    here, there = (Scenario.from_settings({"link_trace": path})
                   for path in ("a/b.trace", "b.trace"))
    assert here.identity() == there.identity()
    assert Scenario.from_json(here.as_json()) == here


@pytest.mark.parametrize("link", [
    {"link_trace": "seeded+mean_mbps=20"}, {"link_access": "starlink", "modem_mbps": "50"}])
def test_runs_of_one_repetition_have_the_same_link(link: dict[str, str]) -> None:
    """Whatever their queue and test are, without a seed in the batch: else a comparison of queues
    would be one of links. Another repetition has another link."""
    def schedule(aqm: str, test_name: str, repetition: int) -> bytes:
        scenario = Scenario.from_settings({**link, "aqm": aqm})
        seed = derive_seed(test_name, scenario, repetition)
        drawn = link_plans(scenario.but(seed=seed))["down"].schedule
        assert drawn is not None
        return drawn.packed()

    assert schedule("codel", "ndt7", 1) == schedule("pie", "iperf3_upload", 1)
    assert schedule("codel", "ndt7", 1) != schedule("codel", "ndt7", 2)


def test_link_outages_cut_what_the_link_carries_and_nothing_else() -> None:
    """8 Mbit/s but for 2 s and half a second."""
    schedule = _schedule(link_outages_s="10-12, 30-30.5")
    assert [(one.at_ns / 1e9, one.rate_bit_s) for one in schedule.steps] == [
        (0, 8_000_000), (10, 0), (12, 8_000_000), (30, 0), (30.5, 8_000_000)]
    assert schedule.period_ns == 0


MS = 1_000_000


@pytest.mark.parametrize(("settings", "times_ms", "own_ms"), [
    # A request of 8 ms, and then the end of the cycle of 1 ms.
    ({"link_access": "lte"}, (10.25, 30), 8.75), ({"link_access": "lte"}, (10, 30), 8),
    ({"link_access": "lte"}, (10.25, 19), 8.75),
    # No longer than the packet was in the link.
    ({"link_access": "lte"}, (10.25, 15.25), 5),
    ({"link_jitter_ms": 3}, (10, 30), 3), ({"link_loss": "1%"}, (10, 30), 0),
    # An outage is not the link's delay.
    ({"link_outages_s": "0.010-0.020"}, (10, 21), 0),
    ({"link_outages_s": ".010-.02"}, (10, 21), 0)])
def test_own_delay_of_a_link_is_what_packets_have_without_a_queue(
        settings: dict[str, object], times_ms: tuple[float, float], own_ms: float) -> None:
    scenario = Scenario.from_settings({"modem_mbps": "8", **settings})
    start_ns = 5 * 10**9
    came_ns, left_ns = (numpy.array([start_ns + round(one * MS)]) for one in times_ms)
    reported = {"up": {"counters": {"start_ns": start_ns}}}
    own_ns = LinkModel().own_delays_ns(scenario, reported, "up", came_ns, left_ns)
    assert own_ns is not None
    assert own_ns.tolist() == [own_ms * MS]


def test_own_delay_of_a_trace_is_that_of_the_time_at_which_a_packet_was_sent(tmp_path: Path
                                                                              ) -> None:
    """30 ms until 1 s, then 10 ms. The second packet was sent before the change and left after it.
    The trace begins again after 3 s."""
    trace = tmp_path / "t.csv"
    trace.write_text("time_s,rate_mbps,delay_ms\n0,8,30\n1,8,10\n3,8,30\n")
    scenario = Scenario.from_settings({"link_trace": str(trace)})
    came_ns = numpy.array([500, 980, 1100, 3100]) * MS
    left_ns = numpy.array([540, 1020, 1120, 3140]) * MS
    reported = {"down": {"counters": {"start_ns": 0}}}
    own_ns = LinkModel().own_delays_ns(scenario, reported, "down", came_ns, left_ns)
    assert own_ns is not None
    assert own_ns.tolist() == [30 * MS, 30 * MS, 10 * MS, 30 * MS]
    assert LinkModel().own_delays_ns(scenario, None, "down", came_ns, left_ns) is None
    assert LinkModel().own_delays_ns(Scenario(), reported, "down", came_ns, left_ns) is None


def test_link_grants_carry_as_much_as_the_rate_at_the_end_of_each_cycle() -> None:
    """8 Mbit/s in cycles of 2 ms: 2000 bytes each; on request up, and not down."""
    plans = link_plans(Scenario.from_settings({"modem_mbps": "8", "link_access": "docsis"}))
    up, down = plans["up"], plans["down"]
    assert up.schedule is not None
    assert [(one.at_ns, one.burst_bytes, one.rate_bit_s) for one in up.schedule.steps] == [
        (0, 2000, 0)]
    assert (up.schedule.period_ns, up.lead_ns) == (2_000_000, 2_000_000)
    assert down.schedule is not None
    assert (down.schedule.steps[0].rate_bit_s, down.lead_ns) == (8_000_000, 0)
    odd = _schedule(link_outages_s="0.0005-0.001", link_up_access="lte+cycle_ms=70")
    assert odd.mean_mbps == pytest.approx(8 * (1 - 0.0005 / ROUND_S), rel=1e-9)
    # A cycle of less than a nanosecond is none.
    assert _schedule(link_up_access="lte+cycle_ms=1e-7").packed() == _schedule(
        link_up_access="docsis+cycle_ms=0").packed()


def test_link_allotted_anew_follows_the_seed_within_its_bounds() -> None:
    """Every 15 s another rate and delay, after a gap."""
    one = _schedule(link_access="starlink", seed="3")
    assert one.packed() == _schedule(link_access="starlink", seed="3").packed()
    assert one.packed() != _schedule(link_access="starlink", seed="4").packed()
    assert one.packed() != _schedule("down", link_access="starlink", seed="3").packed()
    at = [step.at_ns / 1e9 for step in one.steps]
    assert at[:5] == [0, 9, 9.05, 24, 24.05]
    assert [step.rate_bit_s for step in one.steps[1::2]] == [0] * len(one.steps[1::2])
    rates = [step.rate_bit_s for step in one.steps[::2]]
    assert 8e6 * 0.6 <= min(rates) < 8e6 * 0.7
    assert 8e6 * 1.3 < max(rates) <= 8e6 * 1.4
    assert 0 <= min(step.delay_ns for step in one.steps) < max(
        step.delay_ns for step in one.steps) <= 10 * 10**6


@pytest.mark.parametrize("settings", [{"modem_mbps": "8"}, {"link_trace": "seeded+length_s=30"}])
def test_link_of_a_quarter_of_an_hour_is_laid_out_in_whole_columns(
    settings: dict[str, object]
) -> None:
    """A step of each millisecond, both ways, and no call of a function for any of them."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    scenario = Scenario.from_settings({**settings, "link_access": "lte", "link_outages_s": "3-5"})
    sys.setprofile(count)
    try:
        plans = link_plans(scenario)
        packed = [len(plan.schedule.packed()) for plan in plans.values() if plan.schedule]
    finally:
        sys.setprofile(None)
    assert packed == [32 * ROUND_S * 1000] * 2
    # The model of seeded takes each of its ticks of 20 ms by itself.
    assert calls < 5_000


def test_link_schedule_is_packed_as_the_kernel_reads_it() -> None:
    """struct step of sch_lablink.c."""
    first, second, _ = struct.iter_unpack("<QQQII", _schedule(link_outages_s="1-901").packed())
    assert first == (0, 8_000_000, 0, 0, 0)
    assert second == (10**9, 0, 0, 0, 0)


def test_link_loss_has_netems_words_and_the_chains_mean() -> None:
    """gemodel p r 1-h 1-k; what is left out is as of tc."""
    assert parse_loss("link_up_loss", "1%") == Loss(good=0.01)
    assert parse_loss("link_up_loss", "gemodel 1% 10% 70% 0.1%") == Loss(0.01, 0.1, 0.7, 0.001)
    assert parse_loss("link_up_loss", "gemodel 1%") == Loss(0.01, 0.99, 1.0, 0.0)
    assert Loss(0.01, 0.1, 0.7, 0.001).mean == pytest.approx(
        0.7 * 0.01 / 0.11 + 0.001 * 0.1 / 0.11)
    line = link_plans(Scenario.from_settings({"link_up_loss": "50%"}))["up"].line("wan", "-")
    assert f"ge_good={2**31}" in line.split()


@pytest.mark.parametrize(("settings", "output"), [
    ({"link_loss": "101%"}, "link_loss: '101%' is not a loss"),
    ({"link_loss": False}, "link_loss: no, off and false are no values of this key; expected a"),
    ({"link_trace": True}, "link_trace: yes, on and true are no values of this key; expected the"),
    ({"link_access": True}, "link_access: yes, on and true are no values of this key"),
    ({"link_outages_s": False}, "link_outages_s: no, off and false are no values of this key"),
    ({"link_loss": "5"}, "link_loss: '5' is not a loss"),
    ({"link_up_loss": "100%"}, "'100%' loses every packet; expected a loss below 100%, such as"),
    ({"link_up_loss": "gemodel 0% 5% 10% 100%"}, "loses every packet; expected a loss below 100%"),
    ({"link_up_loss": "gemodel 5% 5% 100% 100%"}, "loses every packet in both states; expected 1-H"
     ),
    ({"link_up_loss": "gemodel 1% 0%"}, "loses every packet once it is in the bad state, which"),
    ({"link_up_loss": "gemodel 100%"}, "R is 0% (without R it is 100% - P); give an R above 0%"),
    ({"link_up_jitter_ms": "-1"}, "link_up_jitter_ms: '-1'"),
    ({"link_up_jitter_ms": "nan"}, "link_up_jitter_ms: 'nan'"),
    ({"link_access": "cable"}, "link_access: unknown value 'cable'; known: docsis"),
    ({"link_access": "lte+"}, "a parameter is missing after a + of 'lte+'"),
    ({"link_access": "lte+cycle=1"}, "'cycle=1' is not a parameter of lte"),
    ({"link_access": "lte+cycle_ms=1e+2"},
     "cycle_ms has the value '1e'; expected a number from 0 to 1000, written without +"),
    ({"link_access": "lte+cycle_ms=1e+2+cycle_ms="}, "to 1000, written without +"),
    ({"link_access": "lte+cycle_ms="}, "cycle_ms has the value ''; expected a number from 0 to 1000"
     ),
    ({"link_access": "lte+cycle_ms = 5"}, "expected NAME=VALUE without blanks, with a NAME of"),
    ({"link_access": "lte+cycle_ms=x"}, "link_access: cycle_ms has the value 'x'; expected a n"),
    ({"link_outages_s": "5"}, "'5' is not an outage; expected FROM-TO in seconds below "),
    ({"link_outages_s": "1000000-1000001"}, "not an outage; expected FROM-TO in seconds below 1"),
    ({"link_outages_s": ".-1"}, "seconds below 1000000 with 9 decimals at most, TO after"),
    ({"link_outages_s": "5-4"}, "link_outages_s: '5-4' is not an outage"),
    ({"link_outages_s": "5-7, 6-8"}, "goes back in time from 7 to 6 s"),
    ({"link_trace_end": "stop"}, "link_trace_end: unknown value 'stop'; known: repeat, hold"),
    ({"link_trace": "a\nb"}, "contains control characters"),
    ({"link_trace": "a" * 5000}, "is longer than 4096 characters"),
    ({"modem_buffer_packets": "0"}, "modem_buffer_packets: '0'"),
    ({"link_up_trace": "x", "modem_mbps": "5"}, (
        "link_up_trace: the trace gives the rate; give no modem_up_mbps, nor modem_mbps")),
    ({"link_trace": "x", "modem_mbps": "5"}, "link_trace: the trace gives the rate"),
])
def test_link_keys_that_are_wrong_are_refused_by_name(
    settings: dict[str, object], output: str
) -> None:
    """One line names key and value."""
    with pytest.raises(ConfigError) as fault:
        Scenario.from_settings(settings)
    assert output in str(fault.value)


@pytest.mark.parametrize(("settings", "output"), [
    ({"link_up_access": "docsis"}, "link_up_access: the link has no rate in the direction up"),
    ({"link_access": "docsis"}, "link_access: the link has no rate in the direction down"),
    ({"link_outages_s": "1-2"}, "link_outages_s: the link has no rate in the direction down"),
    ({"modem_mbps": "1", "link_outages_s": "0-2000"}, "link_outages_s: nothing"),
    ({"modem_mbps": "1", "link_outages_s": "1-1000"}, "link_outages_s: nothing passes for 999 s"),
    ({"modem_mbps": "1", "link_outages_s": "1-600, 600-1200"},
     "link_outages_s: nothing passes for 1199 s"),
    # Not a trace, which the link doesn't have, nor the access model.
    ({"modem_mbps": "1", "link_access": "docsis", "link_outages_s": "1-600, 600-1200"},
     ("link_outages_s: nothing passes for 1199 s from 1 s on, and TCP gives up after 924 s; "
      "expected 924 s at most")),
    ({"link_trace": "/nonexistent"}, "link_trace: can't read the trace /nonexistent"),
    ({"link_up_trace": "/dev/null", "modem_down_mbps": "5"},
     "link_up_trace: /dev/null is not a regular file"),
    ({"modem_mbps": "1", "link_access": "lte+cycle_ms=0.0001", "link_outages_s": "1-2"},
     ("link_…_access: the link's schedule would have 9,000,000,000 steps; expected at most "
      "4,194,304: give a longer cycle_ms")),
    ({"link_trace": "{trace}", "link_outages_s": "1-950"},
     "link_outages_s: nothing passes for 949 s from 1 s on, and TCP"),
])
def test_link_that_starves_or_has_no_rate_is_refused(
    tmp_path: Path, settings: dict[str, str], output: str
) -> None:
    """Before anything starts."""
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,10\n20,50\n40,20\n")
    with pytest.raises(ConfigError) as fault:
        link_plans(Scenario.from_settings({
            key: value.format(trace=trace) for key, value in settings.items()}))
    assert str(fault.value).startswith(output)


def test_link_that_ends_is_refused_for_a_gap_before_its_end(tmp_path: Path) -> None:
    """Longer than TCP waits: what is after the end depends on the run, and this doesn't."""
    trace = tmp_path / "of-2000-s"
    trace.write_text("".join(f"{1000 * second}\n" for second in range(1, 2001)))
    settings = {"link_trace": trace, "link_trace_end": "hold"}
    link_plans(Scenario.from_settings({**settings, "link_outages_s": "10-900"}))
    with pytest.raises(ConfigError, match=r"^link_outages_s: nothing passes for 991 s"):
        link_plans(Scenario.from_settings({**settings, "link_outages_s": "10-1000"}))


@pytest.mark.parametrize("settings", [{}, {"link_outages_s": "1-2"}, {"link_access": "lte"},
                                      {"link_access": "starlink", "link_outages_s": "1-2"}])
def test_link_that_ends_before_the_run_is_refused(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    """A trace of 3 s, held, is enough for a run of 2 s, whose link begins up to 1 s before, and not
    for one of 2.1 s."""
    (tmp_path / "short").write_text("1\n3000\n")
    scenario = Scenario.from_settings({
        **settings, "link_trace": tmp_path / "short", "link_trace_end": "hold"})
    refuse_link_that_ends(scenario, 2)
    for length_s, needed_s in ((2.1, 3.1), (5, 6)):
        with pytest.raises(ConfigError, match=(
                rf"^link_trace: .* ends after 3 s, and the run lasts {length_s} s, {needed_s} s "
                "with the second before its test; give a longer trace, or "
                "link_trace_end = repeat$")):
            refuse_link_that_ends(scenario, length_s)
    # What is advised isn't refused next.
    end = "trace" if "link_outages_s" in settings else "repeat"
    with pytest.raises(ConfigError, match=f"{end}$"):
        refuse_link_that_ends(scenario, ROUND_S + 100)
    if end == "repeat":
        refuse_link_that_ends(scenario.but(link_trace_end="repeat"), ROUND_S + 100)
    alone = Scenario.from_settings({
        "modem_down_mbps": 9, **settings, "link_up_trace": tmp_path / "short",
        "link_trace_end": "hold"})
    with pytest.raises(ConfigError, match=r"^link_up_trace: .* ends after 3 s"):
        refuse_link_that_ends(alone, 5)


@pytest.mark.parametrize(("settings", "output"), [
    ({"link_trace": "{steps}", "link_access": "docsis"}, "link_trace"),
    ({"link_trace": "{steps}", "link_access": "starlink"}, "link_trace"),
    ({"modem_mbps": "8", "link_access": "starlink", "link_outages_s": "1-2"}, "link_outages_s"),
    ({"modem_mbps": "8", "link_access": "docsis", "link_outages_s": "1-2"}, "link_outages_s"),
    ({"link_trace": "seeded", "link_outages_s": "1-2"}, "link_outages_s"),
    ({"link_trace": "{steps}", "link_outages_s": "1-2"}, None),
    ({"modem_mbps": "8", "link_outages_s": "1-2"}, None),
    ({"modem_mbps": "8", "link_access": "starlink"}, None),
])
def test_link_that_begins_again_in_the_run_is_refused(
    tmp_path: Path, settings: dict[str, str], output: str | None
) -> None:
    """Schedules of access, and of outages with a trace that repeats, are computed for 900 s."""
    steps = tmp_path / "steps.csv"
    steps.write_text("time_s,rate_mbps\n0,10\n20,50\n40,20\n")
    scenario = Scenario.from_settings({"link_trace_end": "hold", **{
        key: value.format(steps=steps) for key, value in settings.items()}})
    refuse_link_that_ends(scenario, ROUND_S - 1)
    if output is None:
        refuse_link_that_ends(scenario, 2 * ROUND_S)
    else:
        with pytest.raises(ConfigError, match=(
                rf"^{output}: the \w+ begins? again after 9\d\d s, and the run lasts 1800 s, "
                "1801 s with the second before its test; expected a")):
            refuse_link_that_ends(scenario, 2 * ROUND_S)


@pytest.mark.parametrize("settings", [{}, {"link_access": "docsis"}, {"link_access": "starlink"},
                                      {"link_outages_s": "1-2"}])
def test_trace_that_holds_is_played_whole_and_has_its_own_mean(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    """10, 50 and then 20 Mbit/s. The mean is that of the first two, whatever access does."""
    trace = tmp_path / "steps.csv"
    trace.write_text("time_s,rate_mbps\n0,10\n20,50\n40,20\n")
    plan = link_plans(Scenario.from_settings({
        **settings, "link_up_trace": trace, "link_trace_end": "hold", "modem_down_mbps": 8}))["up"]
    assert (plan.about["mean_mbps"], plan.limit_bytes) == (30, 30e6 / 8 / 2)
    assert plan.schedule is not None
    if settings == {"link_access": "docsis"}:
        assert [(step.at_ns // 10**9, step.burst_bytes) for step in plan.schedule.steps[::5000]][
            1:6] == [(10, 2500), (20, 2500), (30, 12500), (40, 12500), (50, 5000)]


@pytest.mark.parametrize("settings", [{"link_loss": "1%"}, {"base_delay_ms": "20000"},
                                      {"modem_mbps": "5", "modem_buffer_packets": "50"}])
def test_link_on_kernels_that_are_not_the_labs_is_refused(settings: dict[str, object]) -> None:
    """netns and ssh have no such qdisc."""
    with pytest.raises(ConfigError, match="virtual lab's kernel"):
        refuse_virtual_settings("netns", Scenario.from_settings(settings))
