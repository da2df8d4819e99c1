# SPDX-License-Identifier: GPL-3.0-or-later
"""The router's counters as evidence: what holds of every queue after a run, and what differs
between runs whose samples are all the same.

A rule counts as broken if the test side's run breaks it and its partner on the base side does not.
CAKE's `memory_used`, for example, is the most that it ever used, so that both sides break the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from flent_aqm.parts.kernels.verdict.pairs import Comparison

Counters = Mapping[str, float]
# Examples of counters that differ, in a sentence.
MOST_NAMED = 3


@dataclass(frozen=True)
class Rule:
    """What holds of a direction's counters after a run. text: the rule in words; is_broken: called
    with the counters of one direction, by names such as `qdisc drops`."""

    text: str
    is_broken: Callable[[Counters], bool]


def _both_differ(one: str, other: str) -> Callable[[Counters], bool]:
    """Return a rule's check that two counters, if both are there, are equal."""
    return lambda counters: one in counters and other in counters \
        and counters[one] != counters[other]


RULES = (
    Rule("an empty queue uses no memory (memory_used)",
         lambda counters: counters.get("qdisc qlen") == 0
         and counters.get("qdisc memory_used", 0) > 0),
    Rule("an empty queue has no backlog, and a backlog has packets",
         lambda counters: (counters.get("qdisc qlen", 0) == 0)
         != (counters.get("qdisc backlog", 0) == 0)),
    Rule("the shaper counts the drops of its queue", _both_differ("qdisc drops", "shaper drops")),
    Rule("the shaper sends the packets that its queue sent",
         lambda counters: counters.get("qdisc qlen") == 0
         and _both_differ("qdisc packets", "shaper packets")(counters)),
    Rule("the shaper's queue length is that of its queue",
         _both_differ("qdisc qlen", "shaper qlen")),
)


def flat(counters: object) -> dict[str, float]:
    """Return a data file's counters by names such as `up qdisc drops`. What isn't a number, and
    what lies deeper, such as CAKE's tins, is left out."""
    return {f"{direction} {part} {name}": value
            for direction, parts in _items(counters) for part, fields in _items(parts)
            for name, value in _items(fields)
            if isinstance(value, int | float) and not isinstance(value, bool)}


def _items(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        yield from ((str(key), item) for key, item in value.items())


def broken(comparison: Comparison) -> dict[str, str]:
    """Return rule -> direction and cell, of each rule that a run of the test side breaks and its
    partner doesn't."""
    found: dict[str, str] = {}
    for cell in comparison.cells:
        for base, test in cell.pairs:
            for direction in sorted({name.split(" ", 1)[0] for name in test.counters}):
                ours, theirs = (_of(run.counters, direction) for run in (base, test))
                for rule in RULES:
                    if rule.is_broken(theirs) and not rule.is_broken(ours):
                        found.setdefault(rule.text, f"{direction}, {cell.name}")
    return found


def _of(counters: Counters, direction: str) -> Counters:
    return {name.split(" ", 1)[1]: value for name, value in counters.items()
            if name.split(" ", 1)[0] == direction}


def differing(comparison: Comparison) -> dict[str, str]:
    """Return name of a counter -> both values and the cell, of counters that differ between
    partners with the same samples."""
    found: dict[str, str] = {}
    for cell in comparison.cells:
        for base, test in cell.pairs:
            if not base.samples or base.samples != test.samples:
                continue
            for name in sorted(base.counters.keys() | test.counters.keys()):
                values = [run.counters.get(name) for run in (base, test)]
                if values[0] != values[1]:
                    found.setdefault(name, f"{_shown(values[0])} → {_shown(values[1])}, "
                                           f"{cell.name}")
    return found


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def sentences(comparison: Comparison) -> list[str]:
    """Return a sentence on broken rules, and one on counters that differ."""
    texts = []
    if rules := broken(comparison):
        texts.append("Worse: counters break a rule: " + "; ".join(
            f"{rule} ({where})" for rule, where in rules.items()) + ".")
    if names := differing(comparison):
        more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        texts.append("Different counters where samples are the same: " + "; ".join(
            f"{name} {values}" for name, values in list(names.items())[:MOST_NAMED]) + f"{more}.")
    return texts
