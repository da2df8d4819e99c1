# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluate a condition with the values of one run, or the medians of a group."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.metrics.table import Unavailable, middle
from flent_aqm.results.score.expression import (
    Arithmetic,
    Comparison,
    Constant,
    Logic,
    Node,
    compare,
)
from flent_aqm.results.score.leaves import Leaf

Values = Mapping[Leaf, float | Unavailable]
_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def truth(node: Node, values: Values) -> bool:
    """Return whether the condition holds.

    Args:
        node: the parsed condition.
        values: value of each leaf of the condition.

    Raises NotAvailable if the result depends on a number that is not known, see number(), or
    compares one lost probe with another. A true side is enough for "or", and a false side for
    "and".
    """
    if isinstance(node, Comparison):
        left, right = number(node.left, values), number(node.right, values)
        if math.isinf(left) and left == right:
            raise NotAvailable("lost probes are on both sides, and which is slower is not known")
        return compare(node.sign, left, right)
    assert isinstance(node, Logic)  # parse() has checked the kinds
    if node.word == "not":
        return not truth(node.parts[0], values)
    decisive = node.word == "or"
    unknown: NotAvailable | None = None
    for part in node.parts:
        try:
            if truth(part, values) is decisive:
                return decisive
        except NotAvailable as error:
            unknown = unknown or error
    if unknown:
        raise unknown
    return not decisive


def number(node: Node, values: Values) -> float:
    """Return the value of an expression in ms, Mbit/s, % or without a unit. A percentile that is a
    lost probe is infinite, because it is slower than any other. Raises NotAvailable if a value is
    not known, if the expression divides by 0, or if it has no value, such as the difference of two
    lost probes, or one that is too large.

    Args:
        node: the parsed expression, not a condition.
        values: value of each leaf of the expression.
    """
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Leaf):
        value = values[node]
        if isinstance(value, Unavailable):
            if value.lost:
                return math.inf
            raise NotAvailable(f"{node.text} is not available, because {value.because}")
        return value
    assert isinstance(node, Arithmetic)  # parse() has checked the kinds
    left, right = number(node.left, values), number(node.right, values)
    if node.sign == "/" and right == 0:
        raise NotAvailable("the expression divides by 0")
    result: float = _OPERATIONS[node.sign](left, right) / node.scale
    if math.isnan(result):
        raise NotAvailable("the expression has no value for lost probes, such as their difference")
    if math.isinf(result) and math.isfinite(left) and math.isfinite(right):
        raise NotAvailable("the expression's value is too large; expected less than 1.8e308")
    return result


def medians(runs: Sequence[Values]) -> dict[Leaf, float | Unavailable]:
    """Return the median over runs of each leaf, with Unavailable if a run doesn't have it, or if
    the median is a lost probe.

    Args:
        runs: values of each run, at least one. All runs have the same leaves.
    """
    return {leaf: _median([run[leaf] for run in runs]) for leaf in runs[0]}


def _median(values: Sequence[float | Unavailable]) -> float | Unavailable:
    """Return the median over runs. If a run has no value, and not because of a lost probe, return
    Unavailable with the first such reason and, if there are several runs, the number of those
    without a value, which may have other reasons. Lost probes count as slower than any other: if
    the median is one, or lies between a number and one, return Unavailable with `lost`."""
    silent = [one for one in values if isinstance(one, Unavailable) and not one.lost]
    if silent:
        of = "" if len(values) == 1 else f" (no value in {len(silent)} of {len(values)} runs)"
        return Unavailable(silent[0].because + of)
    return middle(values)
