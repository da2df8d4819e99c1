# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of a router's shapers, in numbers: the words for tc and what the kernel has to
report both follow from it."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.base import defaults
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.scenario import Scenario

# The device to which the router's shell sends what arrives.
IFB_DEVICE = "flent-ifb"
ROOT_HANDLE, CLASS_HANDLE, LEAF_HANDLE = "1:", "1:1", "10:"
EF_CLASS, OTHER_CLASS, BACKGROUND_CLASS = "1:11", "1:12", "1:13"


@dataclass(frozen=True)
class HtbClass:
    """Of HTB, or of HFSC, which has no prio and sizes. leaf: the handle of the queue below it, ""
    for a class with others below it; prio: None for such a one; sizes: burst and cburst in bytes,
    None for tc's defaults."""

    handle: str
    parent: str
    leaf: str
    prio: int | None
    rate_bit_s: int
    ceil_bit_s: int
    sizes: tuple[int, int] | None = None


def rate_bit_s(scenario: Scenario, role: str) -> int:
    """Return the rate of `down` or `up`."""
    return round(scenario.router.rate_mbps(role) * 1_000_000)


def subscribers_of(scenario: Scenario) -> int:
    """Return how many addresses have a class and a queue of their own; mostly 0."""
    if scenario.path.topology == DUMBBELL:
        return 0
    from flent_aqm.spec.topology.topology import parse_topology

    return parse_topology("topology", scenario.path.topology).subscribers


def tbf_burst_bytes(scenario: Scenario, rate: int) -> int:
    """Return what passes in the time of TBF's burst, but at least two full frames. rate: in bit/s.
    """
    burst_ms = scenario.router.tbf_burst_ms
    burst_us = defaults.TBF_BURST_US if burst_ms is None else round(burst_ms * 1000)
    return max(rate // 1000 * burst_us // 8000, defaults.TBF_MIN_BURST_BYTES)


def leaves(scenario: Scenario) -> dict[str, str]:
    """Return the AQM's handles with their parents, where nobody is a subscriber."""
    if scenario.router.tiers == 3:
        return {f"{parent.removeprefix(ROOT_HANDLE)}:": parent
                for parent in (EF_CLASS, OTHER_CLASS, BACKGROUND_CLASS)}
    shaped = scenario.router.shaper in ("htb", "hfsc", "tbf")
    return {LEAF_HANDLE: CLASS_HANDLE if shaped else "root"}


def htb_classes(scenario: Scenario, role: str) -> tuple[HtbClass, ...]:
    """Return HTB's or HFSC's classes, those with others below them first."""
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
    """Return the priority of a class that has no other beside it, or equal ones."""
    return int(scenario.router.shaper_values().get("prio", 0))


def _subscribers(scenario: Scenario, role: str, rate: int) -> list[HtbClass]:
    """Return a class each, with an equal share when all are busy, and up to the plan otherwise."""
    from flent_aqm.spec.topology.subscribers import class_of
    from flent_aqm.spec.topology.topology import parse_topology

    topology = parse_topology("topology", scenario.path.topology)
    plan_mbps = topology.plan_down_mbps if role == "down" else topology.plan_up_mbps
    plan = rate if plan_mbps is None else round(plan_mbps * 1_000_000)
    return [HtbClass(f"1:{minor:x}", CLASS_HANDLE, f"{minor:x}:", _prio(scenario),
                     rate // topology.subscribers, plan)
            for minor in range(class_of(1), class_of(topology.subscribers) + 1)]
