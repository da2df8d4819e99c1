# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a read-back is stored where it has several classes: tiers, subscribers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from flent_aqm.router.metadata import as_metadata
from flent_aqm.router.tc.read_back import Direction, DrrClass, Qdisc, ReadBack, ReportedClass
from flent_aqm.spec.queues.units import parse_psched

CLOCK = parse_psched("000003e8 00000040 000f4240 3b9aca00")
HTB = Qdisc("htb", "1:", "root", {"default": "0x12"}, {"bytes": 100})


def htb_class(handle: str, parent: str, leaf: str, packets: int = 0,
              prio: int = 0) -> ReportedClass:
    """At 20 Mbit/s; 25,000 ticks are 1600 us, and of these the ceiling of 40 lets 8000 bytes
    through."""
    return ReportedClass(handle, parent, leaf, prio, 1514, "20Mbit", "40Mbit", 0, "ethernet", 0, 0,
                    25_000, 25_000, {"packets": packets})


def direction(qdiscs: tuple[Qdisc, ...], *classes: ReportedClass) -> Direction:
    """A device with these queues."""
    return Direction("eth1", 1000, 1500, 9000, True, {"gso": None}, qdiscs, classes, (), ())


def stored(one: Direction) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Settings and counters."""
    metadata = as_metadata(ReadBack("7.3.4", "tc", CLOCK, {"up": one}))
    applied, counters = metadata["applied"], metadata["counters"]
    assert isinstance(applied, dict)
    assert isinstance(counters, dict)
    return applied["up"], counters["up"]


SETTINGS = {"rate_mbps": 20.0, "ceil_mbps": 40.0, "burst_bytes": 4000, "cburst_bytes": 8000,
            "htb_quantum_bytes": 1514}


def test_tiers_are_stored_by_handle_and_the_rate_is_that_of_the_whole() -> None:
    """The queue once, as all three have the same; counters of each."""
    leaves = tuple(Qdisc("codel", f"1{n}:", f"1:1{n}", {"limit": 1000}, {"drops": n})
                   for n in (1, 2))
    applied, counters = stored(direction(
        (HTB, *leaves), htb_class("1:1", "root", "", 9), htb_class("1:11", "1:1", "11:", 3, 1),
        htb_class("1:12", "1:1", "12:", 6, 2)))
    assert applied == {
        "shaper": "htb", "shaper_parameters": {"default": "0x12"},
        "qdisc": "codel", "qdisc_parameters": {"limit_packets": 1000}, **SETTINGS,
        "tiers": {"1:11": {"prio": 1, **SETTINGS}, "1:12": {"prio": 2, **SETTINGS}}}
    assert counters == {
        "shaper": {"bytes": 100}, "qdisc 11:": {"drops": 1}, "qdisc 12:": {"drops": 2},
        "class 1:1": {"packets": 9}, "class 1:11": {"packets": 3}, "class 1:12": {"packets": 6}}


def test_subscribers_are_stored_once_and_counters_of_those_with_traffic() -> None:
    """What can be added is added; of CAKE's tins, too."""
    tins = [{"ecn_mark": 1, "peak_delay_us": 5}, {"ecn_mark": 2}]
    leaves = (
        Qdisc("cake", "1001:", "1:1001", {}, {"bytes": 10, "drops": 1, "delay": 7, "tins": tins}),
        Qdisc("cake", "1002:", "1:1002", {}, {"bytes": 20, "drops": 0, "delay": 9}))
    applied, counters = stored(direction(
        (HTB, *leaves), htb_class("1:1", "root", "", 9), htb_class("1:1001", "1:1", "1001:", 9),
        htb_class("1:1002", "1:1", "1002:", 0)))
    assert {key: applied[key] for key in ("rate_mbps", "subscribers")} == {
        "rate_mbps": 20.0, "subscribers": {"count": 2, **SETTINGS}}
    assert "tiers" not in applied
    assert counters == {
        "shaper": {"bytes": 100},
        "qdisc": {"bytes": 30, "drops": 1, "tins": [{"ecn_mark": 3}]},
        "class": {"packets": 9},
        "subscribers": {"sub1": {"class": {"packets": 9}, "qdisc": {"bytes": 10, "drops": 1}}}}


@pytest.mark.parametrize(("qdisc", "rate_mbps"), [
    (Qdisc("tbf", "1:", "root", {"rate": 2_500_000}, {}), 20.0),
    (Qdisc("cake", "10:", "root", {"bandwidth": 1_250_000}, {}), 10.0),
    (Qdisc("cake", "10:", "root", {"bandwidth": "unlimited"}, {}), None)])
def test_rate_is_the_shapers_where_there_is_no_class(qdisc: Qdisc, rate_mbps: float | None
                                                     ) -> None:
    """TBF's, or CAKE's when it shapes; in bytes a second there."""
    applied, counters = stored(direction((qdisc,)))
    assert applied.get("rate_mbps") == rate_mbps
    assert applied["shaper" if qdisc.kind == "tbf" else "qdisc"] == qdisc.kind
    assert counters == {"shaper" if qdisc.kind == "tbf" else "qdisc": {}}


def test_arrivals_drrs_classes_and_the_device_are_stored() -> None:
    """The ingress under its own name; what else describes the device beside them."""
    one = replace(
        direction((HTB, Qdisc("drr", "10:", "1:1", {}, {"drops": 3}),
                   Qdisc("ingress", "ffff:", "ffff:fff1", {}, {"bytes": 5})),
                  htb_class("1:1", "root", "10:", 9)),
        drr_classes=(DrrClass("10:1", 1500, {"bytes": 1}), DrrClass("10:2", 1500, {"bytes": 2})),
        filters=("all flow",), queues=4)
    applied, counters = stored(one)
    assert SETTINGS.items() <= applied.items()
    assert {key: applied[key] for key in ("qdisc", "ingress", "drr_classes", "drr_quantum_bytes",
                                          "filters")} == {
        "qdisc": "drr", "ingress": "ingress", "drr_classes": 2, "drr_quantum_bytes": 1500,
        "filters": ["all flow"]}
    assert counters == {"shaper": {"bytes": 100}, "qdisc": {"drops": 3}, "ingress": {"bytes": 5},
                        "class": {"packets": 9},
                        "drr_classes": {"10:1": {"bytes": 1}, "10:2": {"bytes": 2}}}
    of_one_queue = as_metadata(ReadBack("7.3.4", "tc", CLOCK, {"up": replace(one, queues=1)}))
    assert "tx_queues" not in of_one_queue["router"]["up"]  # type: ignore[index]
    device = {"device": "eth1", "txqueuelen_packets": 1000, "tx_queues": 4, "mtu_bytes": 1500,
              "bql_limit_bytes": 9000, "hardware": True, "offloads": {"gso": None}}
    assert as_metadata(ReadBack("7.3.4", "tc", CLOCK, {"up": one}))["router"] == {
        "kernel": "7.3.4", "psched": CLOCK.text, "tc": "tc", "up": device}


def test_two_classes_are_told_apart_by_their_handles() -> None:
    """One needs no name."""
    leaf = Qdisc("codel", "11:", "1:11", {}, {"drops": 7})
    _, counters = stored(direction((HTB, leaf), htb_class("1:1", "root", "", 9),
                                   htb_class("1:11", "1:1", "11:", 3, 1)))
    assert counters == {"shaper": {"bytes": 100}, "qdisc 11:": {"drops": 7},
                        "class 1:1": {"packets": 9}, "class 1:11": {"packets": 3}}


def test_a_single_subscriber_and_a_single_class_of_drr_are_stored() -> None:
    """As several are."""
    leaf = Qdisc("codel", "1001:", "1:1001", {}, {"drops": 7})
    applied, counters = stored(direction(
        (HTB, leaf), htb_class("1:1", "root", "", 9), htb_class("1:1001", "1:1", "1001:", 3)))
    assert applied["subscribers"] == {"count": 1, **SETTINGS}
    assert counters["subscribers"] == {"sub1": {"class": {"packets": 3}, "qdisc": {"drops": 7}}}
    applied, counters = stored(replace(
        direction((Qdisc("drr", "10:", "root", {}, {}),)),
        drr_classes=(DrrClass("10:1", 1500, {"bytes": 1}),)))
    assert (applied["drr_classes"], applied["drr_quantum_bytes"]) == (1, 1500)
    assert counters["drr_classes"] == {"10:1": {"bytes": 1}}
