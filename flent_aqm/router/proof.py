# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves that the router obeyed: compares the requested settings with those that its kernel
reports."""

from __future__ import annotations

from collections.abc import Iterable

from flent_aqm.base import shell
from flent_aqm.base.errors import ParseError, RouterDisagrees
from flent_aqm.router import expected
from flent_aqm.router.expected import ExpectedDirection, ExpectedQdisc
from flent_aqm.router.hook import ROUTER, read_back_command
from flent_aqm.router.metadata import as_metadata
from flent_aqm.router.printed import printed, rate_text, size_text
from flent_aqm.router.shaping import IFB_DEVICE
from flent_aqm.router.tc.read_back import (
    Direction,
    HtbClass,
    Qdisc,
    ReadBack,
    parse_read_back,
)
from flent_aqm.spec.queues.units import Clock
from flent_aqm.spec.scenario import Scenario

# Parameters that old versions of tc neither take nor show; the kernel's default holds then.
_NOT_SHOWN_BY_OLD = frozenset({
    ("fq_codel", "drop_batch"), ("fq_codel", "memory_limit"), ("red", "nodrop")})
# Parameters that old versions of tc take, but show only as what then is in use, a size in
# bytes among the counters (CAKE's before iproute2 5.10).
_SHOWN_IN_USE = {("cake", "memlimit"): "memory_limit"}
# What follows from a rate that is changed while it runs.
_OF_RATES = {"cake": frozenset({"bandwidth"}), "cake_mq": frozenset({"bandwidth"}),
              "tbf": frozenset({"rate", "burst"})}

__all__ = ["as_metadata", "differences", "prove", "read_back"]


def read_back(scenario: Scenario, router: str = ROUTER) -> ReadBack:
    """Read the settings of a router. Raises CommandFailed or ParseError.

    If tc's JSON is broken, as it is in some versions for some qdiscs, tc's text is read.
    """
    command = read_back_command(scenario, router)
    try:
        return parse_read_back(shell.run(command))
    except ParseError:
        return parse_read_back(shell.run([*command, "tc_json=no"]))


def prove(scenario: Scenario, report: ReadBack, router: str = ROUTER) -> None:
    """Raise RouterDisagrees if a setting differs, with each such setting as requested and as
    reported."""
    mismatches = differences(scenario, report)
    if mismatches:
        name = "the router" if router == ROUTER else router
        raise RouterDisagrees(f"{name} does not have the requested settings: "
                              + "; ".join(mismatches))


def differences(scenario: Scenario, report: ReadBack) -> list[str]:
    """Return one line for each setting that differs from the request, empty if none does.

    Rates are not compared if a program runs on the router, because it may change them.
    """
    mismatches = []
    for role, direction in report.directions.items():
        requested = expected.expected_direction(scenario, role, report.clock, direction.txqueuelen,
                                            direction.queues)
        lines = _device(scenario, role, direction) + _hierarchy(requested, direction)
        if not lines:  # parameters of queues that aren't the ones asked for say nothing
            lines = _settings(requested, direction, report.clock,
                              rates=not scenario.router.router_program)
        mismatches += [f"{role}: {line}" for line in lines]
    return mismatches


def _device(scenario: Scenario, role: str, direction: Direction) -> list[str]:
    lines = []
    if role == "down":
        ifb = scenario.router.ingress == "ifb"
        if ifb != (direction.device == IFB_DEVICE):
            lines = _compare("device", IFB_DEVICE if ifb else "the LAN side's",
                             direction.device)
    if scenario.router.txqueuelen is not None:
        lines += _compare("txqueuelen", scenario.router.txqueuelen, direction.txqueuelen, "packets")
    if not scenario.lab.testbed.startswith("ssh://") and direction.device != IFB_DEVICE:
        lines += _compare("tx_queues", scenario.router.tx_queues or 1, direction.queues)
    return lines


def _hierarchy(requested: ExpectedDirection, direction: Direction) -> list[str]:
    """Compare which qdiscs, classes and filters are at which place. Both lists are sorted, because
    kernels list them in the order of a hash."""
    return (
        _compare("qdiscs", _joined(q.place() for q in requested.qdiscs),
                 _joined(f"{q.kind} {q.handle} at {q.parent}" for q in direction.qdiscs))
        + _compare("classes", _joined(c.place() for c in requested.classes),
                   _joined(f"{c.handle} at {c.parent} with {c.leaf or 'no qdisc'}"
                           for c in direction.classes))
        + _compare("drr classes", _joined(requested.drr),
                   _joined(each.handle for each in direction.drr_classes))
        + _compare("filters", _joined(requested.filters), _joined(direction.filters))
    )


def _joined(places: Iterable[str]) -> str:
    # the root first, what takes arriving packets last
    order = sorted(places, key=lambda place: (" at root" not in place, " at ffff:" in place, place))
    return ", ".join(order) or "none"


def _settings(requested: ExpectedDirection, direction: Direction, clock: Clock, *,
              rates: bool) -> list[str]:
    lines = []
    qdiscs = {(qdisc.handle, qdisc.parent): qdisc for qdisc in direction.qdiscs}
    for qdisc in requested.qdiscs:
        lines += _qdisc(qdisc, qdiscs[qdisc.handle, qdisc.parent],
                        frozenset() if rates else _OF_RATES.get(qdisc.kind, frozenset()))
    classes = {htb.handle: htb for htb in direction.classes}
    for htb in requested.classes if rates else ():
        lines += _class(classes[htb.handle], htb, clock, len(requested.classes) > 1)
    for drr in direction.drr_classes:
        # tc rounds it to a unit that is near
        if size_text(drr.quantum_bytes) not in map(size_text, requested.drr_quantum_bytes):
            lines += _compare(f"drr class {drr.handle} quantum", min(requested.drr_quantum_bytes),
                              drr.quantum_bytes, "bytes")
    return lines


def _class(reported: HtbClass, requested: expected.ExpectedClass, clock: Clock,
           several: bool) -> list[str]:
    lines = (
        _compare("rate", rate_text(requested.rate_bytes_per_s), reported.rate)
        + _compare("ceil", rate_text(requested.ceil_bytes_per_s), reported.ceil)
        + _compare_burst("burst", requested.burst_ticks, reported.burst_ticks,
                         requested.rate_bytes_per_s, clock)
        + _compare_burst("cburst", requested.cburst_ticks, reported.cburst_ticks,
                         requested.ceil_bytes_per_s, clock)
        + _compare("overhead", requested.overhead_bytes, reported.overhead_bytes, "bytes")
        + _compare("linklayer", requested.linklayer, reported.linklayer)
        # tc rounds it to a unit that is near
        + _compare("mpu", size_text(requested.mpu_bytes), size_text(reported.mpu_bytes))
    )
    if requested.quantum_bytes is not None:
        lines += _compare("quantum", requested.quantum_bytes, reported.quantum_bytes, "bytes")
    if requested.prio is not None:
        lines += _compare("prio", requested.prio, reported.prio)
    return [f"class {requested.handle} {line}" for line in lines] if several else lines


def _qdisc(requested: ExpectedQdisc, reported: Qdisc, but: frozenset[str]) -> list[str]:
    lines = []
    names = (requested.parameters.keys() & reported.parameters.keys() if requested.external
             else requested.parameters.keys() | reported.parameters.keys())
    for name in sorted(names - requested.ignored - but):
        unit = expected.unit_of(requested.kind, name)
        wanted = requested.parameters.get(name, "nothing")
        got = reported.parameters.get(name, "nothing")
        fits = frozenset({wanted}) if not isinstance(wanted, frozenset) else wanted
        if reported.printed:
            in_use = reported.counters.get(_SHOWN_IN_USE.get((requested.kind, name), ""))
            if got == "nothing" and isinstance(in_use, int):
                got = size_text(in_use)
            fits = fits.union(*(printed(requested.kind, name, unit, each) for each in fits))
            # text leaves out what is off
            if fits & {False, "0"} or (requested.kind, name) in _NOT_SHOWN_BY_OLD:
                fits |= {"nothing"}
        if not any(_same(each, got) for each in fits):
            lines += _compare(f"{requested.kind} {name}", " or ".join(sorted(set(map(str, fits)))),
                              got, unit)
    return lines


def _same(requested: object, reported: object) -> bool:
    return requested == reported and isinstance(requested, bool) == isinstance(reported, bool)


def _compare_burst(name: str, requested: frozenset[int], reported: int,
                   rate_bytes_per_s: int, clock: Clock) -> list[str]:
    if reported in requested:
        return []
    sizes = [expected.burst_bytes(ticks, rate_bytes_per_s, clock)
             for ticks in (max(requested), reported)]
    return _compare(name, f"{max(requested)} ticks ({sizes[0]} bytes)",
                    f"{reported} ticks ({sizes[1]} bytes)")


def _compare(name: str, requested: object, reported: object, unit: str = "") -> list[str]:
    if _same(requested, reported):
        return []
    values = [f"{value} {unit}" if unit and value != "nothing" else f"{value}"
              for value in (requested, reported)]
    return [f"{name}: asked for {values[0]}, the kernel reports {values[1]}"]
