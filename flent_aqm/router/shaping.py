# SPDX-License-Identifier: GPL-3.0-or-later
"""Rates, classes and handles of a router's shaper, computed from a scenario.

The words for tc (tc/words.py) and the values that the kernel has to report (expected.py) both
follow from these numbers."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.base import defaults
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.scenario import Scenario

# Device to which the router redirects arriving packets, with ingress = ifb.
IFB_DEVICE = "flent-ifb"
ROOT_HANDLE, CLASS_HANDLE, LEAF_HANDLE = "1:", "1:1", "10:"
EF_CLASS, OTHER_CLASS, BACKGROUND_CLASS = "1:11", "1:12", "1:13"


@dataclass(frozen=True)
class HtbClass:
    """A class of HTB or HFSC. HFSC's classes have no `prio` and no `sizes`."""

    handle: str
    parent: str
    # Handle of the qdisc below the class; "" for a class with other classes below it.
    leaf: str
    # None for a class with other classes below it.
    prio: int | None
    rate_bit_s: int
    ceil_bit_s: int
    # burst and cburst in bytes; None for tc's defaults.
    sizes: tuple[int, int] | None = None


def rate_bit_s(scenario: Scenario, role: str) -> int:
    """Return the shaper's rate of the direction `role`, "down" or "up", in bit/s."""
    return round(scenario.router.rate_mbps(role) * 1_000_000)


def subscribers_of(scenario: Scenario) -> int:
    """Return the number of subscribers, each of which has its own class and queue: 0 unless the
    topology is subscribers:N."""
    if scenario.path.topology == DUMBBELL:
        return 0
    from flent_aqm.spec.topology.topology import parse_topology

    return parse_topology("topology", scenario.path.topology).subscribers


def tbf_burst_bytes(scenario: Scenario, rate: int) -> int:
    """Return TBF's burst: the bytes that `rate` (bit/s) sends in tbf_burst_ms, at least two frames.
    """
    burst_ms = scenario.router.tbf_burst_ms
    burst_us = defaults.TBF_BURST_US if burst_ms is None else round(burst_ms * 1000)
    return max(rate // 1000 * burst_us // 8000, defaults.TBF_MIN_BURST_BYTES)


def leaves(scenario: Scenario) -> dict[str, str]:
    """Return handle -> parent of each AQM qdisc, for a scenario without subscribers."""
    if scenario.router.tiers == 3:
        return {f"{parent.removeprefix(ROOT_HANDLE)}:": parent
                for parent in (EF_CLASS, OTHER_CLASS, BACKGROUND_CLASS)}
    shaped = scenario.router.shaper in ("htb", "hfsc", "tbf")
    return {LEAF_HANDLE: CLASS_HANDLE if shaped else "root"}


def htb_classes(scenario: Scenario, role: str) -> tuple[HtbClass, ...]:
    """Return the classes of HTB or HFSC for the direction `role`, parents first. Empty for other
    shapers."""
    if scenario.router.shaper not in ("htb", "hfsc"):
        return ()
    rate = rate_bit_s(scenario, role)
    if scenario.router.burst_shaping:
        return (HtbClass(CLASS_HANDLE, "root", LEAF_HANDLE, _prio(scenario), rate,
                         rate * round(defaults.BURST_CEIL_FACTOR * 100) // 100,
                         (defaults.BURST_BYTES, defaults.CBURST_BYTES)),)
    top = HtbClass(CLASS_HANDLE, "root", "", None, rate, rate)
    if scenario.router.tiers == 3:
        # EF never exceeds its share. Background gets its own when all tiers are busy, as the
        # rest borrows first; otherwise it may use the whole rate.
        ef = rate // 100 * defaults.EF_PERCENT
        background = rate // 100 * defaults.BACKGROUND_PERCENT
        return (top,
                HtbClass(EF_CLASS, CLASS_HANDLE, "11:", 1, ef, ef),
                HtbClass(OTHER_CLASS, CLASS_HANDLE, "12:", 2, rate - ef - background, rate),
                HtbClass(BACKGROUND_CLASS, CLASS_HANDLE, "13:", 3, background, rate))
    if subscribers_of(scenario):
        return (top, *_subscribers(scenario, role, rate))
    return (HtbClass(CLASS_HANDLE, "root", LEAF_HANDLE, _prio(scenario), rate, rate),)


def _prio(scenario: Scenario) -> int:
    """Return the requested priority for a class that has no classes of other priorities beside
    it."""
    return int(scenario.router.shaper_values().get("prio", 0))


def _subscribers(scenario: Scenario, role: str, rate: int) -> list[HtbClass]:
    """Return a class for each subscriber: an equal share of `rate` (bit/s) when all are busy, up to
    the plan's rate otherwise."""
    from flent_aqm.spec.topology.subscribers import class_of
    from flent_aqm.spec.topology.topology import parse_topology

    topology = parse_topology("topology", scenario.path.topology)
    plan_mbps = topology.plan_down_mbps if role == "down" else topology.plan_up_mbps
    plan = rate if plan_mbps is None else round(plan_mbps * 1_000_000)
    return [HtbClass(f"1:{minor:x}", CLASS_HANDLE, f"{minor:x}:", _prio(scenario),
                     rate // topology.subscribers, plan)
            for minor in range(class_of(1), class_of(topology.subscribers) + 1)]
