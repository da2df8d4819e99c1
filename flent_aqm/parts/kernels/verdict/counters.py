# SPDX-License-Identifier: GPL-3.0-or-later
"""The router's counters as evidence: rules that hold after each run, and unexplained differences.

A rule counts as broken if the test side's run breaks it and its partner on the base side does not.
CAKE's `memory_used`, for example, is the most that it ever used, so that both sides break the rule.
Counters are also compared between runs whose samples are all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from flent_aqm.parts.kernels.verdict.pairs import QUEUE_KEYS, PairedSides

Counters = Mapping[str, float]
# Examples of counters that differ, in a sentence.
MOST_NAMED = 3


@dataclass(frozen=True)
class Rule:
    """A rule that the counters of one direction should keep after a run. Those of a correct kernel
    may break it, too, so that only a rule that the test side alone breaks is evidence: see
    broken().

    Attributes:
        text: the rule in words.
        is_broken: function that gets the counters of one direction, by names such as `qdisc drops`,
            and returns True if they break the rule.
    """

    text: str
    is_broken: Callable[[Counters], bool]


def _differ_if_present(first: str, second: str) -> Callable[[Counters], bool]:
    """Return the `is_broken` function of the rule that two counters are equal: True if both exist
    and differ. first, second: names of the counters without a direction, such as `qdisc drops`."""
    return lambda counters: first in counters and second in counters \
        and counters[first] != counters[second]


RULES = (
    Rule("an empty queue uses no memory (memory_used)",
         lambda counters: counters.get("qdisc qlen") == 0
         and counters.get("qdisc memory_used", 0) > 0),
    Rule("an empty queue has no backlog, and a backlog has packets",
         lambda counters: (counters.get("qdisc qlen", 0) == 0)
         != (counters.get("qdisc backlog", 0) == 0)),
    Rule("the shaper counts the drops of its queue",
         _differ_if_present("qdisc drops", "shaper drops")),
    Rule("the shaper sends the packets that its queue sent",
         lambda counters: counters.get("qdisc qlen") == 0
         and _differ_if_present("qdisc packets", "shaper packets")(counters)),
    Rule("the shaper's queue length is that of its queue",
         _differ_if_present("qdisc qlen", "shaper qlen")),
)


def flat(counters: object) -> dict[str, float]:
    """Return a data file's counters by names such as `up qdisc drops`: direction (`down`, `up`),
    part and counter. Values that aren't numbers, and counters on deeper levels, such as those of
    CAKE's tins, are left out. Empty if there are none.

    Args:
        counters: direction -> part -> counter -> value, as in the file's metadata. Anything else
            has no counters.
    """
    return {f"{direction} {part} {name}": value
            for direction, parts in _dict_items(counters) for part, fields in _dict_items(parts)
            for name, value in _dict_items(fields)
            if isinstance(value, int | float) and not isinstance(value, bool)}


def _dict_items(value: object) -> Iterator[tuple[str, object]]:
    """Yield (key as text, value) of each item, nothing if `value` isn't a dict."""
    if isinstance(value, dict):
        yield from ((str(key), item) for key, item in value.items())


def broken(comparison: PairedSides) -> dict[str, str]:
    """Return the rules that a run of the test side breaks and its partner does not break: text of
    the rule -> direction and cell of the first such run, such as "up, overload"."""
    found: dict[str, str] = {}
    for cell in comparison.cells:
        for base, test in cell.pairs:
            for direction in sorted({name.split(" ", 1)[0] for name in test.counters}):
                ours, theirs = (_counters_of_direction(run.counters, direction)
                                for run in (base, test))
                for rule in RULES:
                    if rule.is_broken(theirs) and not rule.is_broken(ours):
                        found.setdefault(rule.text, f"{direction}, {cell.name}")
    return found


def _counters_of_direction(counters: Counters, direction: str) -> Counters:
    """Return the counters of a direction, "down" or "up", without the direction in their names."""
    return {name.split(" ", 1)[1]: value for name, value in counters.items()
            if name.split(" ", 1)[0] == direction}


def differing(comparison: PairedSides) -> dict[str, str]:
    """Return the counters that differ between partners with the same samples: name of the counter
    -> both values, base first, and the cell, of the first such pair, such as "3 → 4, overload". A
    value that is missing is "none". If the sides have queues of different names, counters that one
    of the partners lacks are left out: tc reports none of a queue's own counters if it doesn't know
    its name."""
    found: dict[str, str] = {}
    other_queue = not comparison.compared.keys().isdisjoint(QUEUE_KEYS)
    for cell in comparison.cells:
        for base, test in cell.pairs:
            if not base.samples or base.samples != test.samples:
                continue
            for name in sorted(base.counters.keys() | test.counters.keys()):
                values = [run.counters.get(name) for run in (base, test)]
                if values[0] != values[1] and not (other_queue and None in values):
                    found.setdefault(name, f"{_number(values[0])} → {_number(values[1])}, "
                                           f"{cell.name}")
    return found


def _number(value: float | None) -> str:
    """Return a counter's value as text, with at most 15 significant digits, "none" for None."""
    # Digits enough for every count of bytes: counters that differ by one must not look alike.
    return "none" if value is None else f"{value:.15g}"


def sentences(comparison: PairedSides) -> list[str]:
    """Return the page's sentences on counters: one on broken rules, and one on counters that
    differ, of which the first few are named. Each is left out if there is nothing to tell."""
    texts = []
    if rules := broken(comparison):
        texts.append("Worse: counters break a rule: " + "; ".join(
            f"{rule} ({where})" for rule, where in rules.items()) + ".")
    if names := differing(comparison):
        more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        texts.append("Different counters where samples are the same: " + "; ".join(
            f"{name} {values}" for name, values in list(names.items())[:MOST_NAMED]) + f"{more}.")
    return texts
