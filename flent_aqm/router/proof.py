# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves that the router obeyed: compares the requested settings with the kernel's report."""

from __future__ import annotations

from collections.abc import Callable, Iterable

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
    Qdisc,
    ReadBack,
    ReportedClass,
    parse_read_back,
)
from flent_aqm.spec.queues.units import Clock
from flent_aqm.spec.scenario import Scenario

# Parameters that old versions of tc neither accept nor report, so the kernel's default holds.
_NOT_SHOWN_BY_OLD = frozenset({
    ("fq_codel", "drop_batch"), ("fq_codel", "memory_limit"), ("red", "nodrop")})
# Parameters that old versions of tc accept, but report only as a size in bytes among the counters
# (CAKE's before iproute2 5.10) -> name of the counter.
_SHOWN_IN_USE = {("cake", "memlimit"): "memory_limit"}
# Kind of qdisc -> parameters that follow from the rate, which a program on the router may change.
_OF_RATES = {"cake": frozenset({"bandwidth"}), "cake_mq": frozenset({"bandwidth"}),
              "tbf": frozenset({"rate", "burst"})}

__all__ = ["as_metadata", "differences", "prove", "read_back"]


def read_back(scenario: Scenario, router: str = ROUTER,
              run: Callable[[list[str]], str] = shell.run) -> ReadBack:
    """Read the settings of a router with the read-back command, which doesn't change them.

    If its output can't be parsed (tc's JSON is broken in some versions for some qdiscs), the
    command runs a second time, with tc's text in place of JSON.

    Args:
        scenario: settings of the run.
        router: name of the router.
        run: function that runs a command and returns its output. Its errors are passed on.

    Raises CommandFailed if the command fails, ParseError if the second output can't be parsed
    either.
    """
    command = read_back_command(scenario, router)
    try:
        return parse_read_back(run(command))
    except ParseError:
        return parse_read_back(run([*command, "tc_json=no"]))


def prove(scenario: Scenario, report: ReadBack, router: str = ROUTER) -> None:
    """Raise RouterDisagrees if the report differs from the request. The message has all texts of
    differences().

    Args:
        scenario: the requested settings.
        report: the router's report.
        router: name of the router, for the message.
    """
    mismatches = differences(scenario, report)
    if mismatches:
        name = "the router" if router == ROUTER else router
        raise RouterDisagrees(f"{name} does not have the requested settings: "
                              f"{'; '.join(mismatches)}; does another program change them? If none "
                              "does, report this line")


def differences(scenario: Scenario, report: ReadBack) -> list[str]:
    """Return a text for each difference that is found between request and report, such as "down:
    txqueuelen: asked for 100 packets, the kernel reports 1000 packets". Empty if there is none.

    Parameters of a direction are only compared if the properties of its device, and its qdiscs,
    classes and filters are as requested. If a program runs on the router, the parameters of HTB's
    and HFSC's classes, the rates of CAKE and TBF, and TBF's burst are not compared, because the
    program may change them.
    """
    mismatches = []
    for direction_name, direction in report.directions.items():
        requested = expected.expected_direction(scenario, direction_name, report.clock,
                                                direction.txqueuelen, direction.queues)
        lines = (_device_differences(scenario, direction_name, direction)
                 + _hierarchy_differences(requested, direction))
        if not lines:  # the parameters of other queues than the requested ones can't be compared
            lines = _parameter_differences(requested, direction, report.clock,
                                           rates=not scenario.router.router_program)
        mismatches += [f"{direction_name}: {line}" for line in lines]
    return mismatches


def _device_differences(scenario: Scenario, direction_name: str, direction: Direction) -> list[str]:
    """Return a text for each property of a device that differs from the request: the device itself
    (only for "down": IFB or not), the length of its transmit queue if one was requested, and the
    number of its transmit queues unless the router is behind ssh or the device is the IFB.

    direction_name: "down" or "up".
    """
    texts = []
    if direction_name == "down":
        ifb = scenario.router.ingress == "ifb"
        if ifb != (direction.device == IFB_DEVICE):
            texts = _difference("device", IFB_DEVICE if ifb else "the LAN device",
                                direction.device)
    if scenario.router.txqueuelen is not None:
        texts += _difference("txqueuelen", scenario.router.txqueuelen, direction.txqueuelen,
                             "packets")
    if not scenario.lab.testbed.startswith("ssh://") and direction.device != IFB_DEVICE:
        texts += _difference("tx_queues", scenario.router.tx_queues or 1, direction.queues)
    return texts


def _hierarchy_differences(requested: ExpectedDirection, direction: Direction) -> list[str]:
    """Return up to four texts, one for each of these in which the report differs from the request:
    the qdiscs (kind, handle, parent), the classes of HTB or HFSC (handle, parent, leaf), DRR's
    classes (handle), the filters (lines). The order doesn't matter, because kernels list them in
    that of a hash."""
    return (
        _difference("qdiscs", _sort_and_join(q.position() for q in requested.qdiscs),
                    _sort_and_join(f"{q.kind} {q.handle} at {q.parent}" for q in direction.qdiscs))
        + _difference("classes", _sort_and_join(htb.position() for htb in requested.classes),
                      _sort_and_join(f"{htb.handle} at {htb.parent} with {htb.leaf or 'no qdisc'}"
                                     for htb in direction.classes))
        + _difference("drr classes", _sort_and_join(requested.drr),
                      _sort_and_join(drr_class.handle for drr_class in direction.drr_classes))
        + _difference("filters", _sort_and_join(requested.filters),
                      _sort_and_join(direction.filters))
    )


def _sort_and_join(positions: Iterable[str]) -> str:
    """Return texts as one line, sorted, with ", " between them. Those with " at root" come first,
    and those with " at ffff:" (the ingress qdisc) last. "none" if there is no text.

    positions: texts that describe qdiscs, classes or filters, such as "1:1 at root".
    """
    # the root first, the ingress qdisc last
    order = sorted(positions, key=lambda position: (
        " at root" not in position, " at ffff:" in position, position))
    return ", ".join(order) or "none"


def _parameter_differences(requested: ExpectedDirection, direction: Direction, clock: Clock, *,
                           rates: bool) -> list[str]:
    """Return a text for each parameter of qdiscs and classes that differs from the request. The
    caller has checked that handles and parents are equal.

    Args:
        requested: the device as requested.
        direction: the device as reported.
        clock: clock of the router's packet scheduler.
        rates: True if the parameters of HTB's and HFSC's classes, the rates of CAKE and TBF, and
            TBF's burst are compared, too. The quantum of DRR's classes and other parameters of
            qdiscs always are, unless `ignored` has them.
    """
    texts = []
    qdiscs = {(qdisc.handle, qdisc.parent): qdisc for qdisc in direction.qdiscs}
    for qdisc in requested.qdiscs:
        texts += _qdisc_differences(qdisc, qdiscs[qdisc.handle, qdisc.parent],
                                    frozenset() if rates else _OF_RATES.get(qdisc.kind,
                                                                            frozenset()))
    classes = {htb_class.handle: htb_class for htb_class in direction.classes}
    for htb_class in requested.classes if rates else ():
        texts += _class_differences(classes[htb_class.handle], htb_class, clock,
                                    len(requested.classes) > 1)
    for drr_class in direction.drr_classes:
        # tc rounds it to a unit that is near
        if size_text(drr_class.quantum_bytes) not in map(size_text, requested.drr_quantum_bytes):
            texts += _difference(f"drr class {drr_class.handle} quantum",
                                 min(requested.drr_quantum_bytes),
                                 drr_class.quantum_bytes, "bytes")
    return texts


def _class_differences(reported: ReportedClass, requested: expected.ExpectedClass, clock: Clock,
                       several: bool) -> list[str]:
    """Return a text for each parameter of a class that differs from the request. Handle, parent and
    leaf are not compared here, quantum and prio not if they are None in the request.

    Args:
        reported: the class as the kernel reports it.
        requested: the class that was requested.
        clock: the router's clock, in whose ticks bursts are given.
        several: True if there are several classes, so that the texts begin with the handle.
    """
    texts = (
        _difference("rate", rate_text(requested.rate_bytes_per_s), reported.rate)
        + _difference("ceil", rate_text(requested.ceil_bytes_per_s), reported.ceil)
        + _burst_difference("burst", requested.burst_ticks, reported.burst_ticks,
                            requested.rate_bytes_per_s, clock)
        + _burst_difference("cburst", requested.cburst_ticks, reported.cburst_ticks,
                            requested.ceil_bytes_per_s, clock)
        + _difference("overhead", requested.overhead_bytes, reported.overhead_bytes, "bytes")
        + _difference("linklayer", requested.linklayer, reported.linklayer)
        # tc rounds it to a unit that is near
        + _difference("mpu", size_text(requested.mpu_bytes), size_text(reported.mpu_bytes))
    )
    if requested.quantum_bytes is not None:
        texts += _difference("quantum", requested.quantum_bytes, reported.quantum_bytes, "bytes")
    if requested.prio is not None:
        texts += _difference("prio", requested.prio, reported.prio)
    return [f"class {requested.handle} {text}" for text in texts] if several else texts


def _qdisc_differences(requested: ExpectedQdisc, reported: Qdisc,
                       excluded: frozenset[str]) -> list[str]:
    """Return a text for each parameter of a qdisc that differs from the request, sorted by name. A
    parameter that only one of the two has is a difference, too, unless the qdisc is external, or tc
    printed text, which leaves out switches that are off and a few others.

    excluded: names of parameters that aren't compared, in addition to `requested.ignored`.
    """
    texts = []
    names = (requested.parameters.keys() & reported.parameters.keys() if requested.external
             else requested.parameters.keys() | reported.parameters.keys())
    for name in sorted(names - requested.ignored - excluded):
        unit = expected.unit_of(requested.kind, name)
        expected_value = requested.parameters.get(name, "nothing")
        reported_value = reported.parameters.get(name, "nothing")
        possible = (expected_value if isinstance(expected_value, frozenset)
                    else frozenset({expected_value}))
        if reported.printed:
            in_use = reported.counters.get(_SHOWN_IN_USE.get((requested.kind, name), ""))
            if reported_value == "nothing" and isinstance(in_use, int):
                reported_value = size_text(in_use)
            possible = possible.union(*(printed(requested.kind, name, unit, accepted)
                                        for accepted in possible))
            # tc's text leaves out parameters that are off
            if possible & {False, "0"} or (requested.kind, name) in _NOT_SHOWN_BY_OLD:
                possible |= {"nothing"}
        if not any(_equal(accepted, reported_value) for accepted in possible):
            texts += _difference(f"{requested.kind} {name}",
                                 " or ".join(sorted(set(map(str, possible)))),
                                 reported_value, unit)
    return texts


def _equal(requested: object, reported: object) -> bool:
    """Return whether two values are equal as in Python, except that True and False only equal
    themselves: True is not 1 here. 1 equals 1.0."""
    return requested == reported and isinstance(requested, bool) == isinstance(reported, bool)


def _burst_difference(name: str, requested: frozenset[int], reported: int,
                      rate_bytes_per_s: int, clock: Clock) -> list[str]:
    """Return a text in a list if a reported burst is not among the requested ones, all in ticks of
    the clock. Otherwise return an empty list.

    Args:
        name: the parameter's name, for the text.
        requested: the bursts that are accepted. The text has the largest.
        reported: the reported burst.
        rate_bytes_per_s: rate at which the text converts both to bytes.
        clock: clock of the router's packet scheduler.
    """
    if reported in requested:
        return []
    sizes = [expected.burst_bytes(ticks, rate_bytes_per_s, clock)
             for ticks in (max(requested), reported)]
    return _difference(name, f"{max(requested)} ticks ({sizes[0]} bytes)",
                       f"{reported} ticks ({sizes[1]} bytes)")


def _difference(name: str, requested: object, reported: object, unit: str = "") -> list[str]:
    """Return a text in a list if the values are not _equal(). Otherwise return an empty list.

    Args:
        name: name of the setting, for the text.
        requested: the requested value.
        reported: the reported value. In both, "nothing" stands for a missing value.
        unit: unit of the values, for the text.
    """
    if _equal(requested, reported):
        return []
    values = [f"{value} {unit}" if unit and value != "nothing" else f"{value}"
              for value in (requested, reported)]
    return [f"{name}: asked for {values[0]}, the kernel reports {values[1]}"]
