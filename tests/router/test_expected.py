# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel has to report, worked out by hand, and how tc prints it."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest

from flent_aqm.router.expected import (
    ExpectedDirection,
    _transmission_time_ns,
    burst_bytes,
    expected_direction,
    new_ticks,
    old_ticks,
    unit_of,
)
from flent_aqm.router.printed import old_time_text, printed, size_text, time_ns_text, time_text
from flent_aqm.spec.queues.units import Clock, Scalar
from flent_aqm.spec.scenario import Scenario

# Of all kernels since 2.6.27: 15.625 ticks a microsecond; high-resolution timers.
CLOCK = Clock(15.625, 10**9, "")


def expected(role: str = "up", clock: Clock = CLOCK, queues: int = 1,
             **settings: object) -> ExpectedDirection:
    """What a scenario of 100 and 20 Mbit/s leads to."""
    requested = {"aqm": "codel", "rate_down_mbps": 100, "rate_up_mbps": 20, **settings}
    return expected_direction(Scenario.from_settings(requested), role, clock, 1000, queues)


def test_three_tiers_have_a_class_a_queue_and_filters_each() -> None:
    """EF a third of the rate and no more, background a fifth, the rest may have all of it; two
    filters for each DSCP, as IPv6 has its byte elsewhere."""
    direction = expected("down", tiers=3)
    assert [qdisc.position() for qdisc in direction.qdiscs] == [
        "htb 1: at root", "codel 11: at 1:11", "codel 12: at 1:12", "codel 13: at 1:13"]
    assert direction.qdiscs[0].parameters == {"default": "0x12"}
    # 1600 bytes take 128 us at 100 Mbit/s; 387.88, 272.34 and 640 us at 33, 47 and 20.
    whole = frozenset({2000})
    assert [astuple(each)[:8] for each in direction.classes] == [
        ("1:1", "root", "", None, 12_500_000, 12_500_000, whole, whole),
        ("1:11", "1:1", "11:", 1, 4_125_000, 4_125_000, {6046, 6061}, {6046, 6061}),
        ("1:12", "1:1", "12:", 2, 5_875_000, 12_500_000, {4250, 4256}, whole),
        ("1:13", "1:1", "13:", 3, 2_500_000, 12_500_000, {10_000}, whole)]
    assert [each.position() for each in direction.classes[:2]] == [
        "1:1 at root with no qdisc", "1:11 at 1:1 with 11:"]
    assert direction.filters == (
        "ip u32 00b80000/00fc0000 at 0 to 1:11", "ipv6 u32 0b800000/0fc00000 at 0 to 1:11",
        "ip u32 00c00000/00fc0000 at 0 to 1:11", "ipv6 u32 0c000000/0fc00000 at 0 to 1:11",
        "ip u32 00900000/00fc0000 at 0 to 1:11", "ipv6 u32 09000000/0fc00000 at 0 to 1:11",
        "ip u32 00200000/00fc0000 at 0 to 1:13", "ipv6 u32 02000000/0fc00000 at 0 to 1:13",
        "ip u32 00040000/00fc0000 at 0 to 1:13", "ipv6 u32 00400000/0fc00000 at 0 to 1:13")


def test_one_class_has_the_rate_or_the_studys_burst() -> None:
    """1600 bytes by default; with burst shaping 15 and 30 KB, at 1.6 times the rate."""
    [plain] = expected("down").classes
    assert astuple(plain)[:8] == ("1:1", "root", "10:", 0, 12_500_000, 12_500_000, {2000}, {2000})
    [burst] = expected("up", burst_shaping=True).classes
    # 15 KB take 6144 us at 20 Mbit/s; 30 KB 7680 us at 32.
    assert astuple(burst)[:8] == (
        "1:1", "root", "10:", 0, 2_500_000, 4_000_000, {96_000}, {120_000})
    assert expected("up").qdiscs[0].parameters == {"default": "0x1"}
    assert expected("up").filters == ()


def test_default_burst_is_what_a_timer_interrupts_time_lets_through() -> None:
    """And one packet: 12500 + 1600 bytes at 100 Mbit/s and 1000 Hz."""
    [one] = expected("down", Clock(15.625, 1000, "")).classes
    assert one.burst_ticks == one.cburst_ticks == {17_625}  # 1128 us


@pytest.mark.parametrize(("rate", "sizes"), [
    (100, {"12500b/1", "12500b"}),  # 1 ms
    # No less than two frames, 3028 bytes, which take 1211.2 us: 1211 by old versions of tc, and
    # 18,925 ticks by new ones or the kernel, or one more where that is rounded up.
    (20, {"3027b/1", "3027b", "3028b/1", "3028b"}),
    (5, {"3027b/1", "3027b", "3028b/1", "3028b"}),  # 4844.8 us
    (1000, {"122Kb/1", "122Kb", "125000b/1", "125000b"}),
    # The kernel's multiplication gives 999,999 ns, of which tc shows 999 us or 15,624 ticks.
    (900, {"112500b/1", "112500b", "112492b/1", "112492b", "112387b/1", "112387b"}),
])
def test_tbf_has_a_millisecond_of_burst_and_two_frames_at_least(
        rate: int, sizes: set[str]) -> None:
    """As a size with a cell behind it, which newer versions leave out."""
    root, leaf = expected(shaper="tbf", rate_up_mbps=rate).qdiscs
    assert (root.position(), leaf.position()) == ("tbf 1: at root", "codel 10: at 1:1")
    assert root.parameters["rate"] == rate * 125_000
    assert root.parameters["linklayer"] == "ethernet"
    burst = root.parameters["burst"]
    assert isinstance(burst, frozenset)
    assert burst <= sizes
    assert {f"{max(3028, rate * 125)}b"} <= burst
    assert expected(shaper="tbf").classes == ()


@pytest.mark.parametrize(("of_shaper", "size"), [
    # 3028 bytes and 10 are 64 cells of 53 bytes on the link, 1356.8 us at 20 Mbit/s, of which tc
    # shows 1356.
    ({"shaper_linklayer": "atm", "shaper_overhead": 10}, "3390b"),
    ({"shaper_overhead": 972}, "4000b"),
    ({"shaper_mpu": 4000}, "4000b"),
])
def test_tbfs_burst_counts_what_a_packet_takes_on_the_link(
        of_shaper: dict[str, Any], size: str) -> None:
    """Cells of ATM, the overhead, and the least size: as the kernel reckons a burst in time."""
    root, _leaf = expected(shaper="tbf", rate_up_mbps=20, **of_shaper).qdiscs
    burst = root.parameters["burst"]
    assert isinstance(burst, frozenset)
    assert size in burst
    plain = expected(shaper="tbf", rate_up_mbps=20).qdiscs[0].parameters["burst"]
    assert isinstance(plain, frozenset)
    assert size not in plain


def test_hfsc_has_the_rates_in_bytes_and_no_burst() -> None:
    """Its curves have one slope."""
    direction = expected("up", shaper="hfsc")
    assert [qdisc.position() for qdisc in direction.qdiscs] == ["hfsc 1: at root",
                                                                "codel 10: at 1:1"]
    [only] = direction.classes
    assert astuple(only)[:8] == (
        "1:1", "root", "10:", None, 2_500_000, 2_500_000, {0}, {0})


def test_shaped_arrivals_have_an_ingress_and_a_redirection() -> None:
    """On the device where they arrive; the other one has neither."""
    up, down = expected("up", ingress="ifb"), expected("down", ingress="ifb")
    assert up.qdiscs[-1].position() == "ingress ffff: at ffff:fff1"
    assert up.filters == ("all u32 00000000/00000000 at 0 to egress redirect flent-ifb",)
    assert [qdisc.kind for qdisc in down.qdiscs] == ["htb", "codel"]
    assert down.filters == ()


@pytest.mark.parametrize(("quantum", "any_of"), [
    (1514, {1514}), (300, {300}), (100, {100, 256}), (3_000_000, {3_000_000, 2**20})])
def test_drr_has_a_class_for_each_flow_and_a_filter_that_places_them(
        quantum: int, any_of: set[int]) -> None:
    """Its quantum as asked, or within what newer kernels have it in."""
    direction = expected(aqm="drr", aqm_flows=3, aqm_quantum=quantum)
    assert direction.drr == {"10:1", "10:2", "10:3"}
    assert direction.drr_quantum_bytes == any_of
    assert direction.filters == ("all flow src,dst,proto,proto-src,proto-dst in 3 to 10:1",)
    by_default = expected(aqm="drr")
    assert len(by_default.drr) == 64
    assert by_default.drr_quantum_bytes == {1514}
    assert not expected().drr
    assert not expected().drr_quantum_bytes


def test_queue_without_a_shaper_is_the_root() -> None:
    """No class, no handle above it."""
    direction = expected(shaper="none")
    assert [qdisc.position() for qdisc in direction.qdiscs] == ["codel 10: at root"]
    assert direction.classes == ()


def test_each_queue_of_a_device_has_its_cake() -> None:
    """Numbered from 1 in hexadecimal, with handles of the kernel's."""
    direction = expected(aqm="cake_mq", shaper="cake", tx_queues=11, queues=11)
    assert [qdisc.position() for qdisc in direction.qdiscs][:3] == [
        "cake_mq 10: at root", "cake 0: at 10:1", "cake 0: at 10:2"]
    assert direction.qdiscs[-1].position() == "cake 0: at 10:b"


def test_red_that_changes_its_probability_by_itself_may_have_any() -> None:
    """The one that is fixed may not."""
    adaptive, fixed = expected(aqm="red", aqm_adaptive=True), expected(aqm="red")
    assert "probability" in adaptive.qdiscs[-1].ignored
    assert "probability" not in fixed.qdiscs[-1].ignored


def test_ticks_are_cut_off_by_old_versions_and_rounded_up_by_new_ones() -> None:
    """1 byte at 1 MB/s takes 15.625 ticks; 1.5 us are 23.4375, and one by old versions."""
    assert (old_ticks(1, 1_000_000, CLOCK), new_ticks(1, 1_000_000, CLOCK)) == (15, 16)
    assert (old_ticks(3, 2_000_000, CLOCK), new_ticks(3, 2_000_000, CLOCK)) == (15, 24)
    assert old_ticks(1_000_000, 1_000_000, CLOCK) == 15_625_000  # a second
    assert new_ticks(1_000_000, 1_000_000, CLOCK) == 15_625_000
    assert burst_bytes(31, 1_000_000, CLOCK) == 1
    assert burst_bytes(15_625_000, 1_000_000, CLOCK) == 1_000_000
    assert burst_bytes(32, 1_000_000, CLOCK) == 2


@pytest.mark.parametrize(("time_us", "new", "old"), [
    (999, "999us", "999us"), (1000, "1ms", "1.0ms"), (5040, "5.04ms", "5.0ms"),
    (99_999, "100ms", "100.0ms"), (10**6, "1s", "1.0s"), (1_250_000, "1.25s", "1.2s")])
def test_times_are_printed_with_three_digits_or_one_behind_the_point(
        time_us: int, new: str, old: str) -> None:
    """By new and by old versions of tc."""
    assert (time_text(time_us), old_time_text(time_us)) == (new, old)


@pytest.mark.parametrize(("time_ns", "text"), [
    (999, "999ns"), (1000, "1us"), (1_500_000, "1.5ms"), (10**6, "1ms"), (10**9, "1s"),
    (2_340_000_000, "2.34s")])
def test_nanoseconds_are_printed_in_the_largest_unit(time_ns: int, text: str) -> None:
    assert time_ns_text(time_ns) == text


@pytest.mark.parametrize(("size_bytes", "text"), [
    (1023, "1023b"), (1024, "1Kb"), (1039, "1Kb"), (1040, "1040b"), (2032, "2032b"),
    (2033, "2Kb"), (12_500, "12500b"), (2**20 - 1, "1024Kb"), (2**20, "1Mb"),
    (2**20 + 1023, "1Mb"), (2**20 + 1024, "1025Kb"), (32 * 2**20, "32Mb"), (0, "0b")])
def test_sizes_are_printed_as_the_unit_that_is_near(size_bytes: int, text: str) -> None:
    """Within 16 bytes of a K, or 1024 of an M."""
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(("kind", "name", "value", "texts"), [
    ("htb", "default", "0x12", {"0x12", "12"}),
    ("codel", "ecn", True, {True}),
    ("cake", "flowmode", "triple-isolate", {"triple-isolate"}),
    ("codel", "target", 4999, {"5ms", "5.0ms"}),
    ("sfb", "rehash", 600_000, {"600ms", "600.0ms"}),
    ("sfb", "rehash", 7_200_000, {"7.2s", "7200ms"}),
    ("codel", "interval", 2_000_000, {"2s", "2.0s"}),
    ("bfifo", "limit", 1514, {"1514b", "1514B", "1514"}),
    ("pfifo", "limit", 1000, {"1000p", "1000"}),
    ("sfb", "penalty_rate", 10, {"10pps", "10"}),
    ("sfq", "perturb", 10, {"10sec"}),
    ("tbf", "rate", 2_500_000, {"20Mbit"}),
    ("dualpi2", "coupling_factor", 2, {"2"}),
    ("dualpi2", "alpha", 0.15625, {"0.15625", "0.156250"}),
])
def test_value_is_printed_as_any_version_does(
        kind: str, name: str, value: Scalar, texts: set[Scalar]) -> None:
    """With its unit, with fewer digits, or as a bare number."""
    assert printed(kind, name, unit_of(kind, name), value) == texts


def test_each_subscriber_has_a_class_and_a_queue_of_its_share() -> None:
    """All may have the whole rate; filters take the class out of the address's last 16 bits,
    of IPv6 with the prefix's taken out. The first class gets what is no other's."""
    direction = expected("down", topology="subscribers:3")
    assert [qdisc.position() for qdisc in direction.qdiscs] == [
        "htb 1: at root", "codel 1001: at 1:1001", "codel 1002: at 1:1002",
        "codel 1003: at 1:1003"]
    assert direction.qdiscs[0].parameters == {"default": "0x1001"}
    assert direction.qdiscs[1].parameters == expected("down").qdiscs[1].parameters
    # 1600 bytes take 384.00006 us at a third of 100 Mbit/s.
    assert [astuple(each)[:8] for each in direction.classes] == [
        ("1:1", "root", "", None, 12_500_000, 12_500_000, {2000}, {2000}),
        *((f"1:{minor}", "1:1", f"{minor}:", 0, 4_166_666, 12_500_000, {6000, 6001}, {2000})
          for minor in ("1001", "1002", "1003"))]
    for role, key in (("down", "dst"), ("up", "src")):
        assert expected(role, topology="subscribers:3").filters == (
            f"ip flow map {key} and 0x0000ffff addend 0xffffffff to 1:1",
            f"ipv6 flow map {key} and 0x0000ffff xor 0x00000db8 addend 0xffffffff to 1:1")
    assert expected("down", topology="clients:3").classes == expected("down").classes


def test_subscribers_plan_is_the_most_that_one_may_have() -> None:
    """In its direction."""
    topology = "subscribers:3+plan_down_mbps=50+plan_up_mbps=10"
    down, up = expected("down", topology=topology), expected("up", topology=topology)
    assert [each.ceil_bytes_per_s for each in down.classes] == [12_500_000] + [6_250_000] * 3
    assert [each.ceil_bytes_per_s for each in up.classes] == [2_500_000] + [1_250_000] * 3
    assert up.classes[1].rate_bytes_per_s == 833_333


def test_all_that_was_requested_is_compared() -> None:
    """A parameter may be missing only in a queue of a kernel that the user built."""
    for settings in ({"tiers": 3}, {"shaper": "tbf"}, {"aqm": "fq_codel"}):
        assert not any(qdisc.external for qdisc in expected(**settings).qdiscs)


@pytest.mark.parametrize(("size_bytes", "bytes_per_s", "time_ns"), [
    (125, 1000, 125_000_000), (12_500, 12_500_000, 1_000_000), (112_500, 112_500_000, 999_999),
    # 7,001,287.001 ns, of which a factor of 32 bits keeps too little
    (680_000, 97_125_000, 7_001_286),
    (1_000_000, 5_000_000_000, 199_999)])  # the largest rate, of which the factor has 64 bits
def test_kernel_reckons_times_by_a_factor_of_32_bits(
        size_bytes: int, bytes_per_s: int, time_ns: int) -> None:
    """Rounded down, by which whole nanoseconds may become one less."""
    assert _transmission_time_ns(size_bytes, bytes_per_s) == time_ns


def test_device_has_one_queue_unless_it_is_told() -> None:
    scenario = Scenario.from_settings({
        "aqm": "cake_mq", "shaper": "cake", "rate_mbps": 20, "tx_queues": 2})
    direction = expected_direction(scenario, "up", CLOCK, 1000)
    assert [qdisc.position() for qdisc in direction.qdiscs] == [
        "cake_mq 10: at root", "cake 0: at 10:1"]


@pytest.mark.parametrize(("of_shaper", "quantum"), [
    ({}, None), ({"shaper_quantum": 1600}, 1600),
    # the class's 2,500,000 bytes a second by r2q, within what the kernel takes for sensible
    ({"shaper_r2q": 100}, 25_000), ({"shaper_r2q": 12}, 200_000), ({"shaper_r2q": 13}, 192_307),
    ({"shaper_r2q": 2500}, 1000), ({"shaper_r2q": 2499}, 1000), ({"shaper_r2q": 5000}, 1000)])
def test_quantum_of_a_class_is_as_asked_or_follows_from_r2q(
        of_shaper: dict[str, Any], quantum: int | None) -> None:
    """Only a class with a queue has one, and without either it isn't compared."""
    [only] = expected("up", **of_shaper).classes
    assert only.quantum_bytes == quantum
    top, *tiers = expected("up", tiers=3, **of_shaper).classes
    assert top.quantum_bytes is None
    assert [one.quantum_bytes is None for one in tiers] == [quantum is None] * 3
