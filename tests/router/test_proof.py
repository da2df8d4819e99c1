# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison of a scenario with captured read-backs, and what is stored of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from flent_aqm.base.errors import ParseError, RouterDisagrees
from flent_aqm.router.expected import burst_bytes, ticks
from flent_aqm.router.metadata import as_metadata
from flent_aqm.router.printed import rate_text
from flent_aqm.router.proof import differences, prove
from flent_aqm.router.tc.read_back import DrrClass, ReadBack, parse_read_back
from flent_aqm.router.warnings import warnings
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.queues.units import parse_psched
from flent_aqm.spec.scenario import Scenario
from tests import files

GOLDEN = files.GOLDEN / "tc"
ASKED = Scenario().but(aqm="fq_codel", rate_down_mbps=100, rate_up_mbps=20, burst_shaping=True)


@pytest.fixture
def report() -> ReadBack:
    """fq_codel with burst shaping, after a load."""
    return parse_read_back((GOLDEN / "read_back_fq_codel_after_load.txt").read_text())


@pytest.mark.parametrize(("file", "aqm", "burst"), [
    ("read_back_fq_codel_after_load.txt", "fq_codel", True),
    ("read_back_codel_after_load.txt", "codel", True),
    ("read_back_sfq_under_load.txt", "sfq", False),
])
def test_proof_when_the_router_obeyed_finds_no_difference_under_load(
        file: str, aqm: str, burst: bool) -> None:
    """Counters, queued packets and negative tokens are no settings."""
    scenario = ASKED.but(aqm=aqm, burst_shaping=burst)
    obeyed = parse_read_back((GOLDEN / file).read_text())
    assert differences(scenario, obeyed) == []
    prove(scenario, obeyed)


@pytest.mark.parametrize(("change", "named"), [
    ({"aqm": "codel"}, {"down: qdiscs", "up: qdiscs"}),
    ({"rate_down_mbps": 101.0}, {"down: rate", "down: ceil", "down: burst", "down: cburst"}),
    ({"rate_up_mbps": 19.99}, {"up: rate", "up: ceil", "up: burst", "up: cburst"}),
    ({"burst_shaping": False}, {f"{device}: {what}" for device in ("down", "up")
                                for what in ("ceil", "burst", "cburst")}),
])
def test_proof_when_one_setting_differs_names_it_and_what_depends_on_it(
        report: ReadBack, change: dict[str, object], named: set[str]) -> None:
    """Each field of the scenario that the router knows is compared."""
    requested = Scenario.from_settings({**ASKED.as_dict(), **change})
    mismatches = {": ".join(line.split(": ")[:2]) for line in differences(requested, report)}
    assert mismatches == named


def test_default_bursts_when_the_clock_is_coarse_are_expected_larger(report: ReadBack) -> None:
    """A tick of 10 ms adds what 100 Mbit/s sends in it, 125000 bytes, to tc's 1600."""
    coarse = replace(report, clock=parse_psched("000003e8 00000040 000f4240 00000064"))
    [line] = [line for line in differences(ASKED.but(burst_shaping=False), coarse)
              if line.startswith("down: burst")]
    assert "asked for 158250 ticks (126600 bytes)" in line


def test_ticks_when_microseconds_are_not_whole_allow_old_and_new_tc() -> None:
    """15 KB take 1228.8 us at 100 Mbit/s: 1228 us by tc 6.1 (captured), 19200 ticks since 6.16."""
    clock = parse_psched("000003e8 00000040 000f4240 3b9aca00")
    assert ticks(15 * 1024, 12_500_000, clock) == {19_187, 19_200}
    assert burst_bytes(19_200, 12_500_000, clock) == 15 * 1024


@pytest.mark.parametrize(("bytes_per_s", "text"), [
    (8, "64bit"), (125, "1Kbit"), (96_000, "768Kbit"), (153_600, "1228Kbit"),
    (12_500_000, "100Mbit"), (12_288_000, "98304Kbit"), (125_000_000, "1Gbit"),
    (154_320_986, "1234Mbit"), (5_000_000_000, "40Gbit"), (187_500_000, "1500Mbit"),
])
def test_rate_text_when_digits_do_not_fit_drops_them_as_tc_does(
        bytes_per_s: int, text: str) -> None:
    """What tc 6.1 prints for these rates."""
    assert rate_text(bytes_per_s) == text


def test_metadata_when_stored_has_units_in_its_names_and_plain_values(report: ReadBack) -> None:
    """Settings and counters by direction, in dicts, and JSON gives them back unchanged."""
    stored = as_metadata(report)
    assert json.loads(json.dumps(stored)) == stored
    assert stored["applied"]["up"] == {  # type: ignore[index]
        "shaper": "htb",
        "shaper_parameters": {"r2q": 10, "default": "0x1", "ver": "3.17",
                              "direct_qlen_packets": 1000},
        "qdisc": "fq_codel",
        "qdisc_parameters": {
            "limit_packets": 10_240, "flows": 1024, "quantum_bytes": 1514, "target_us": 4999,
            "interval_us": 99_999, "memory_limit_bytes": 33_554_432, "ecn": True,
            "drop_batch": 64},
        "rate_mbps": 20.0, "ceil_mbps": 32.0, "burst_bytes": 15_360, "cburst_bytes": 30_720,
        "htb_quantum_bytes": 1514,
    }
    counters = stored["counters"]["up"]  # type: ignore[index]
    assert (counters["qdisc"]["drops"], counters["qdisc"]["backlog"]) == (148, 21_395)
    assert counters["class"]["tokens"] == -4167
    assert counters["shaper"]["direct_packets_stat"] == 0


def test_metadata_when_there_is_no_aqm_tells_the_queue_that_is_there() -> None:
    """Before anything is applied: the default queue, no class."""
    untouched = parse_read_back((GOLDEN / "read_back_untouched.txt").read_text())
    applied = as_metadata(untouched)["applied"]
    assert applied == {name: {"qdisc": "noqueue", "qdisc_parameters": {}}
                       for name in ("down", "up")}


def _captured(aqm: str) -> Scenario:
    """What was asked for when the files were captured."""
    requested = Scenario().but(aqm=aqm, rate_down_mbps=100, rate_up_mbps=20)
    return requested.but(shaper="cake", tx_queues=2) if QUEUES[aqm].per_queue else requested


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("aqm", list(QUEUES))
def test_proof_of_each_aqm_holds_for_captured_json_and_text(form: str, aqm: str) -> None:
    """After a load, from tc with and without -j: no difference, and one with another AQM."""
    requested = _captured(aqm)
    obeyed = parse_read_back((GOLDEN / form / f"{aqm}.txt").read_text())
    assert differences(requested, obeyed) == []
    assert as_metadata(obeyed)["applied"]
    other = "codel" if aqm != "codel" else "no_aqm"
    assert differences(requested.but(aqm=other), obeyed)


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(("aqm", "parameter"), [
    ("no_aqm", ("limit", "999")), ("bfifo", ("limit", "1513999")), ("codel", ("target", "6ms")),
    ("fq_codel", ("flows", "1023")), ("sfq", ("limit", "126")), ("cake", ("rtt", "50ms")),
    ("cake", ("nat", "yes")), ("pie", ("alpha", "3")), ("fq_pie", ("ecn", "yes")),
    ("red", ("probability", "0.03")), ("sfb", ("increment", "0.001")), ("drr", ("flows", "65")),
    ("drr", ("quantum", "3000")), ("dualpi2", ("coupling_factor", "3")),
    ("cake_mq", ("rtt", "50ms")),
])
def test_proof_when_one_parameter_differs_names_it(
        form: str, aqm: str, parameter: tuple[str, str]) -> None:
    """Asked for another value than the router has: found in JSON and in text."""
    requested = _captured(aqm).but(aqm_parameters=(parameter,))
    obeyed = parse_read_back((GOLDEN / form / f"{aqm}.txt").read_text())
    mismatches = differences(requested, obeyed)
    kind = requested.router.aqm.replace("no_aqm", "pfifo")
    assert {line.split(":")[0] for line in mismatches} == {"down", "up"}
    assert any(f": {kind} " in line for line in mismatches)


@pytest.mark.parametrize("form", ["json", "text"])
def test_hfsc_as_shaper_is_proved_by_its_classes(form: str) -> None:
    """The root class is none of ours; the rates are those of the curves."""
    requested = Scenario().but(aqm="codel", shaper="hfsc", rate_down_mbps=100, rate_up_mbps=20)
    obeyed = parse_read_back((GOLDEN / form / "shaper_hfsc.txt").read_text())
    assert differences(requested, obeyed) == []
    [only] = obeyed.directions["up"].classes
    assert (only.handle, only.parent, only.leaf, only.rate, only.ceil) == (
        "1:1", "root", "10:", "20Mbit", "20Mbit")
    assert (only.burst_ticks, only.cburst_ticks, only.overhead_bytes, only.mpu_bytes) == (
        0, 0, 0, 0)
    assert only.counters["packets"] > 1000
    assert {line.split(" reports")[0] for line in differences(
        requested.but(rate_up_mbps=21.0), obeyed)} == {
        "up: rate: asked for 21Mbit, the kernel",
        "up: ceil: asked for 21Mbit, the kernel"}


@pytest.mark.parametrize("form", ["json", "text"])
def test_hfsc_with_another_curve_is_refused(form: str) -> None:
    """Two slopes, or no upper limit, are no rate."""
    text = (GOLDEN / form / "shaper_hfsc.txt").read_text()
    for changed, message in (
            (text.replace("ls m1 0bit", "ls m1 1Mbit"), r"\(expected the curves ls and ul, of"),
            (text.replace("period", "since"), "no line 'period … level …' below the class")):
        assert changed != text
        with pytest.raises(ParseError, match=message):
            parse_read_back(changed)


@pytest.mark.parametrize("form", ["json", "text"])
def test_proof_looks_at_each_queue_of_a_device(form: str) -> None:
    """CAKE on another number of queues, with another setting on one of them, or missing there."""
    requested = _captured("cake_mq")
    text = (GOLDEN / form / "cake_mq.txt").read_text()
    assert differences(requested.but(tx_queues=4), parse_read_back(text)) == [
        f"{way}: tx_queues: asked for 4, the kernel reports 2" for way in ("down", "up")]
    other = {"json": ('"parent":"10:2","options":{"bandwidth":2500000,',
                      '"parent":"10:2","options":{"bandwidth":1250000,'),
             "text": ("parent 10:2 bandwidth 20Mbit", "parent 10:2 bandwidth 10Mbit")}[form]
    assert other[0] in text
    [line] = differences(requested, parse_read_back(text.replace(*other)))
    assert line.startswith("up: cake bandwidth: asked for ")
    gone = {"json": '"parent":"10:2"', "text": "parent 10:2"}[form]
    assert any("cake 0: at 10:2" in line for line in differences(
        requested, parse_read_back(text.replace(gone, gone.replace("10:2", "10:3")))))


def test_metadata_keeps_the_counters_of_each_queue() -> None:
    """Settings once; counters of the whole, and by the queue's place those of its CAKE."""
    stored = as_metadata(parse_read_back((GOLDEN / "json" / "cake_mq.txt").read_text()))
    applied = stored["applied"]["up"]  # type: ignore[index]
    assert (applied["qdisc"], applied["rate_mbps"]) == ("cake_mq", 20.0)
    assert stored["router"]["up"]["tx_queues"] == 2  # type: ignore[index]
    counters = stored["counters"]["up"]  # type: ignore[index]
    assert list(counters["queues"]) == ["10:2", "10:1"]
    sent = [queue["bytes"] for queue in counters["queues"].values()]
    assert sum(sent) == counters["qdisc"]["bytes"]
    assert min(sent) > 0


@pytest.mark.parametrize(("part", "change", "named"), [
    ("class", {"overhead_bytes": 38}, "overhead: asked for 0 bytes, the kernel reports 38 bytes"),
    ("class", {"linklayer": "atm"}, "linklayer: asked for ethernet, the kernel reports atm"),
    ("class", {"prio": 3}, "prio: asked for 0, the kernel reports 3"),
    ("class", {"burst_ticks": 95_999},
     "burst: asked for 96000 ticks (15360 bytes), the kernel reports 95999 ticks (15359 bytes)"),
    ("class", {"cburst_ticks": 120_001}, ("cburst: asked for 120000 ticks (30720 bytes), the "
                                         "kernel reports 120001 ticks (30720 bytes)")),
    ("class", {"ceil": "31Mbit"}, "ceil: asked for 32Mbit, the kernel reports 31Mbit"),
    ("class", {"leaf": ""}, ("classes: asked for 1:1 at root with 10:, the kernel reports "
                            "1:1 at root with no qdisc")),
    ("direction", {"filters": ("ip u32 all to 1:1",)},
     "filters: asked for none, the kernel reports ip u32 all to 1:1"),
    ("direction", {"drr_classes": (DrrClass("10:1", 1514, {}),)},
     "drr classes: asked for none, the kernel reports 10:1"),
    ("direction", {"txqueuelen": 50},
     "txqueuelen: asked for 1000 packets, the kernel reports 50 packets"),
    ("direction", {"queues": 2}, "tx_queues: asked for 1, the kernel reports 2"),
])
def test_proof_when_one_fact_of_a_device_differs_tells_that_alone(
        report: ReadBack, part: str, change: dict[str, Any], named: str) -> None:
    """In the words that a user reads."""
    up = report.directions["up"]
    changed = replace(up, **change) if part == "direction" else replace(
        up, classes=(replace(up.classes[0], **change),))
    requested = ASKED.but(txqueuelen=1000)
    assert differences(requested, replace(report, directions={"up": changed})) == [f"up: {named}"]


def test_proof_when_the_download_is_shaped_elsewhere_names_the_device(report: ReadBack) -> None:
    """By the device for arrivals, or by the LAN side's; it has one queue, whatever others have."""
    down = report.directions["down"]
    elsewhere = replace(report, directions={"down": replace(down, device="flent-ifb", queues=4)})
    assert differences(ASKED, elsewhere) == [
        "down: device: asked for the LAN device, the kernel reports flent-ifb"]
    ifb = ASKED.but(ingress="ifb")
    assert differences(ifb, elsewhere) == []
    assert differences(ifb, replace(report, directions={"down": down})) == [
        "down: device: asked for flent-ifb, the kernel reports down"]


def test_proof_leaves_out_what_is_the_routers_own(report: ReadBack) -> None:
    """A router of one's own has as many queues as it has; a program on it may change rates, and
    nothing else."""
    up = report.directions["up"]
    many = replace(report, directions={"up": replace(up, queues=4)})
    assert differences(ASKED.but(testbed="ssh://router"), many) == []
    other = ASKED.but(rate_up_mbps=10.0)
    assert differences(other, report)
    assert differences(other.but(router_program="controller"), report) == []
    assert differences(other.but(router_program="controller", aqm="codel"), report)


def test_prove_names_the_router_and_all_that_differs(report: ReadBack) -> None:
    """One line, by which a user sees what to look at."""
    with pytest.raises(RouterDisagrees, match=r"^the router does not have the requested settings: "
                                              r"up: rate.*; up: ceil"):
        prove(ASKED.but(rate_up_mbps=10.0), report)
    with pytest.raises(RouterDisagrees, match=r"^attic does not have"):
        prove(ASKED.but(rate_up_mbps=10.0), report, "attic")


def test_places_are_told_from_the_root_to_what_arrives(report: ReadBack) -> None:
    """Whatever the order in which the kernel lists them."""
    requested = ASKED.but(ingress="ifb", aqm="codel")
    [line] = [line for line in differences(requested, report) if line.startswith("up: qdiscs")]
    assert "asked for htb 1: at root, codel 10: at 1:1, ingress ffff: at ffff:fff1, " in line


def test_warnings_when_packets_are_merged_or_wait_in_the_driver_tell_both(
        report: ReadBack) -> None:
    """gso counts 64 KB as a packet, but not for CAKE; a driver without limits hides a queue."""
    assert warnings(ASKED, report) == []
    up = replace(report.directions["up"], hardware=True, offloads={"gso": True})
    hiding = replace(report, directions={"up": up})
    [line] = warnings(ASKED, hiding)
    assert "gso on up" in line
    assert len(warnings(ASKED.but(shaper="none"), hiding)) == 2
    assert warnings(ASKED.but(aqm="cake"), hiding) == []


MERGED = ("{names} on {device}: up to 64 KB count as one packet in the queue; switch off with "
          "ethtool -K {device} {words}")
ALL_ON = {"tso": True, "gso": True, "gro": True}


@pytest.mark.parametrize(("settings", "offloads", "words"), [
    ({}, ALL_ON, "tso off gso off gro off"), ({}, {"gro": True, "gso": None}, "gro off"),
    ({}, {"tso": False, "gso": None, "gro": False}, None),
    ({"aqm": "cake"}, ALL_ON, None), ({"aqm": "cake", "aqm_split_gso": "1"}, ALL_ON, None),
    ({"aqm": "cake", "aqm_split_gso": "0"}, ALL_ON, "tso off gso off gro off"),
    ({"aqm": "cake_mq", "shaper": "cake", "tx_queues": 4}, ALL_ON, None),
    ({"aqm": "cake_mq", "shaper": "cake", "tx_queues": 4, "aqm_split_gso": "0"}, ALL_ON,
     "tso off gso off gro off"),
    ({"aqm": "dualpi2"}, ALL_ON, None),
    ({"aqm": "dualpi2", "aqm_options": "no_split_gso"}, ALL_ON, "tso off gso off gro off"),
    ({"aqm": "codel", "up_aqm": "cake"}, ALL_ON, None),
    ({"aqm": "cake", "up_aqm": "codel"}, ALL_ON, "tso off gso off gro off")])
def test_offloads_that_are_on_are_told_unless_the_queue_splits(
        report: ReadBack, settings: dict[str, object], offloads: dict[str, bool | None],
        words: str | None) -> None:
    """Of the queue of this direction; those that are off or not known are no fault."""
    up = replace(report, directions={"up": replace(report.directions["up"], offloads=offloads)})
    told = warnings(Scenario.from_settings(settings), up)
    assert told == ([] if words is None else ["up: " + MERGED.format(
        names=", ".join(words.replace(" off", "").split()), device="up", words=words)])


def test_device_for_arrivals_has_what_was_merged_where_they_arrive(report: ReadBack) -> None:
    """By gro alone; its own offloads merge nothing."""
    down = replace(report.directions["down"], device="flent-ifb", offloads=ALL_ON)
    up = report.directions["up"]
    ifb = ASKED.but(ingress="ifb")
    gro = MERGED.format(names="gro", device="up", words="gro off")
    for offloads, told in (({"gro": True}, [f"down: {gro}", f"up: {gro}"]),
                           ({"gro": False}, [])):
        both = replace(report, directions={"down": down, "up": replace(up, offloads=offloads)})
        assert warnings(ifb, both) == told
    of_tso = replace(report, directions={
        "down": down, "up": replace(up, offloads={"tso": True, "gso": True, "gro": False})})
    assert [line.partition(" on ")[0] for line in warnings(ifb, of_tso)] == ["up: tso, gso"]


@pytest.mark.parametrize(("shaper", "hardware", "bql_bytes", "is_told"), [
    ("none", True, None, True), ("none", True, 9000, False), ("none", True, 0, False),
    ("none", False, None, False), ("htb", True, None, False), ("cake", True, None, False)])
def test_driver_without_limits_is_told_where_no_shaper_is_before_it(
        report: ReadBack, shaper: str, hardware: bool, bql_bytes: int | None, is_told: bool
) -> None:
    """A shaper keeps its queue empty, and a virtual device has none."""
    up = replace(report.directions["up"], hardware=hardware, bql_bytes=bql_bytes)
    requested = Scenario.from_settings({"aqm": "cake", "shaper": shaper})
    line = ("up: up has no byte queue limits: without a shaper, packets wait in its driver, where "
            "the AQM doesn't see them")
    assert warnings(requested, replace(report, directions={"up": up})) == [line] * is_told
