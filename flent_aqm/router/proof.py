# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof that the router obeyed: what was asked for against what the kernel reports."""

from __future__ import annotations

from flent_aqm import shell
from flent_aqm.errors import RouterDisagrees
from flent_aqm.parsers.tc import Clock, Direction, HtbClass, Qdisc, ReadBack, parse_read_back
from flent_aqm.router import expected
from flent_aqm.router.apply import read_back_command
from flent_aqm.router.metadata import as_metadata
from flent_aqm.scenario import Scenario

__all__ = ["as_metadata", "differences", "prove", "read_back"]


def read_back(scenario: Scenario) -> ReadBack:
    """What the router reports now. Raises CommandFailed or ParseError."""
    return parse_read_back(shell.run(read_back_command(scenario)))


def prove(scenario: Scenario, report: ReadBack) -> None:
    """Raise RouterDisagrees, with each setting as asked and as reported, if any differs."""
    found = differences(scenario, report)
    if found:
        raise RouterDisagrees("the router does not have the settings asked for: "
                              + "; ".join(found))


def differences(scenario: Scenario, report: ReadBack) -> list[str]:
    """One line for each setting that differs; empty when the router obeyed."""
    found = []
    for name, direction in report.directions.items():
        lines = _hierarchy(scenario, direction)
        if not lines:  # parameters of queues that aren't the ones asked for say nothing
            root, leaf = direction.qdiscs
            wanted = expected.expected_class(scenario, name, report.clock)
            lines = (_root(root) + _class(direction.classes[0], wanted, report.clock)
                     + _leaf(leaf, scenario))
        found += [f"{name}: {line}" for line in lines]
    return found


def _hierarchy(scenario: Scenario, direction: Direction) -> list[str]:
    kind = expected.LEAVES[scenario.aqm][0]
    asked_qdiscs = (f"htb {expected.ROOT_HANDLE} at root, "
                    f"{kind} {expected.LEAF_HANDLE} at {expected.CLASS_HANDLE}")
    qdiscs = ", ".join(f"{q.kind} {q.handle} at {q.parent}" for q in direction.qdiscs)
    asked_classes = f"{expected.CLASS_HANDLE} at root with {expected.LEAF_HANDLE}"
    classes = ", ".join(f"{c.handle} at {c.parent} with {c.leaf or 'no qdisc'}"
                        for c in direction.classes)
    return (_compare("qdiscs", asked_qdiscs, qdiscs or "none")
            + _compare("classes", asked_classes, classes or "none"))


def _root(root: Qdisc) -> list[str]:
    return _compare("htb default", "0x1", root.parameters.get("default", "none"))


def _class(reported: HtbClass, asked: expected.ExpectedClass, clock: Clock) -> list[str]:
    return (
        _compare("rate", expected.rate_text(asked.rate_bytes_per_s), reported.rate)
        + _compare("ceil", expected.rate_text(asked.ceil_bytes_per_s), reported.ceil)
        + _compare_burst("burst", asked.burst_ticks, reported.burst_ticks,
                         asked.rate_bytes_per_s, clock)
        + _compare_burst("cburst", asked.cburst_ticks, reported.cburst_ticks,
                         asked.ceil_bytes_per_s, clock)
        + _compare("overhead", 0, reported.overhead_bytes, "bytes")
        + _compare("linklayer", "ethernet", reported.linklayer)
    )


def _leaf(leaf: Qdisc, scenario: Scenario) -> list[str]:
    asked = expected.LEAVES[scenario.aqm][1]
    lines = []
    for name in sorted(asked.keys() | leaf.parameters.keys()):
        lines += _compare(f"{leaf.kind} {name}", asked.get(name, "nothing"),
                          leaf.parameters.get(name, "nothing"),
                          expected.unit_of(leaf.kind, name))
    return lines


def _compare_burst(name: str, asked: frozenset[int], reported: int,
                   rate_bytes_per_s: int, clock: Clock) -> list[str]:
    if reported in asked:
        return []
    sizes = [expected.burst_bytes(ticks, rate_bytes_per_s, clock)
             for ticks in (max(asked), reported)]
    return _compare(name, f"{max(asked)} ticks ({sizes[0]} bytes)",
                    f"{reported} ticks ({sizes[1]} bytes)")


def _compare(name: str, asked: object, reported: object, unit: str = "") -> list[str]:
    if asked == reported and isinstance(asked, bool) == isinstance(reported, bool):
        return []
    values = [f"{value} {unit}" if unit and value != "nothing" else f"{value}"
              for value in (asked, reported)]
    return [f"{name}: asked for {values[0]}, the kernel reports {values[1]}"]
