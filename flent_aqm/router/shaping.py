# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute rates, bursts (burst_shaping), classes and handles of a router's shaper from a scenario.

The words for tc (tc/words.py) and the values that the kernel has to report (expected.py) both
follow from these numbers.
"""

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
class RequestedClass:
    """A class of HTB or HFSC. HFSC uses neither `prio` nor `sizes`.

    Attributes:
        handle: handle of the class, such as "1:1".
        parent: handle of the class above it, or "root".
        leaf: handle of the qdisc below the class, "" for a class with other classes below it.
        prio: priority, None for a class with other classes below it.
        rate_bit_s: guaranteed rate in bit/s.
        ceil_bit_s: rate up to which the class may borrow, in bit/s.
        sizes: burst and cburst in bytes with burst shaping. None without it: then the user's
            parameters of the shaper hold, or tc's defaults for those that the user didn't set.
    """

    handle: str
    parent: str
    leaf: str
    prio: int | None
    rate_bit_s: int
    ceil_bit_s: int
    sizes: tuple[int, int] | None = None


def rate_bit_s(scenario: Scenario, direction: str) -> int:
    """Return the rate in bit/s to which a direction is shaped. With shaper = none nothing is
    shaped, and the rate has no effect.

    direction: "down" or "up".
    """
    return round(scenario.router.rate_mbps(direction) * 1_000_000)


def subscribers_of(scenario: Scenario) -> int:
    """Return the number of subscribers, each of which has its own class and queue. 0 unless the
    topology is subscribers:N."""
    if scenario.path.topology == DUMBBELL:
        return 0
    from flent_aqm.spec.topology.topology import parse_topology

    return parse_topology("topology", scenario.path.topology).subscribers


def tbf_burst_bytes(scenario: Scenario, rate: int) -> int:
    """Return TBF's burst in bytes: the bytes that `rate` sends in tbf_burst_ms (1 ms unless the
    user requested another), at least two frames.

    rate: rate in bit/s.
    """
    burst_ms = scenario.router.tbf_burst_ms
    burst_us = defaults.TBF_BURST_US if burst_ms is None else round(burst_ms * 1000)
    return max(rate // 1000 * burst_us // 8000, defaults.TBF_MIN_BURST_BYTES)


def leaves(scenario: Scenario) -> dict[str, str]:
    """Return handle -> parent of each AQM qdisc, for a scenario without subscribers. A parent is
    the handle of a class, or "root"."""
    if scenario.router.tiers == 3:
        return {f"{parent.removeprefix(ROOT_HANDLE)}:": parent
                for parent in (EF_CLASS, OTHER_CLASS, BACKGROUND_CLASS)}
    shaped = scenario.router.shaper in ("htb", "hfsc", "tbf")
    return {LEAF_HANDLE: CLASS_HANDLE if shaped else "root"}


def htb_classes(scenario: Scenario, direction: str) -> tuple[RequestedClass, ...]:
    """Return the classes of HTB or HFSC for a direction, parents first. Empty for other shapers.

    direction: "down" or "up".
    """
    if scenario.router.shaper not in ("htb", "hfsc"):
        return ()
    rate = rate_bit_s(scenario, direction)
    if scenario.router.burst_shaping:
        return (RequestedClass(CLASS_HANDLE, "root", LEAF_HANDLE, _prio(scenario), rate,
                         rate * round(defaults.BURST_CEIL_FACTOR * 100) // 100,
                         (defaults.BURST_BYTES, defaults.CBURST_BYTES)),)
    top = RequestedClass(CLASS_HANDLE, "root", "", None, rate, rate)
    if scenario.router.tiers == 3:
        # EF never exceeds its share. Background gets its own when all tiers are busy, as the
        # rest borrows first; otherwise it may use the whole rate.
        ef = rate // 100 * defaults.EF_PERCENT
        background = rate // 100 * defaults.BACKGROUND_PERCENT
        return (top,
                RequestedClass(EF_CLASS, CLASS_HANDLE, "11:", 1, ef, ef),
                RequestedClass(OTHER_CLASS, CLASS_HANDLE, "12:", 2, rate - ef - background, rate),
                RequestedClass(BACKGROUND_CLASS, CLASS_HANDLE, "13:", 3, background, rate))
    if subscribers_of(scenario):
        return (top, *_subscriber_classes(scenario, direction, rate))
    return (RequestedClass(CLASS_HANDLE, "root", LEAF_HANDLE, _prio(scenario), rate, rate),)


def _prio(scenario: Scenario) -> int:
    """Return the requested priority of a class that has no classes of other priorities beside it, 0
    if none is requested."""
    return int(scenario.router.shaper_values().get("prio", 0))


def _subscriber_classes(scenario: Scenario, direction: str, rate: int) -> list[RequestedClass]:
    """Return a class for each subscriber, in the order of their numbers. The guaranteed rate is an
    equal share of `rate`, and the ceil is the plan's rate, or the whole `rate` without a plan.

    Args:
        scenario: the scenario, whose topology has subscribers.
        direction: "down" or "up".
        rate: rate of the direction in bit/s.
    """
    from flent_aqm.spec.topology.subscribers import class_of
    from flent_aqm.spec.topology.topology import parse_topology

    topology = parse_topology("topology", scenario.path.topology)
    plan_mbps = topology.plan_down_mbps if direction == "down" else topology.plan_up_mbps
    plan = rate if plan_mbps is None else round(plan_mbps * 1_000_000)
    return [RequestedClass(f"1:{minor:x}", CLASS_HANDLE, f"{minor:x}:", _prio(scenario),
                     rate // topology.subscribers, plan)
            for minor in range(class_of(1), class_of(topology.subscribers) + 1)]
