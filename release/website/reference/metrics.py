# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the metrics: names that differ only in direction, phase or the like share a row.

Statistics and thresholds also share a row.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from flent_aqm.results.grouping import collect
from flent_aqm.results.metrics.latency import GLITCH_THRESHOLDS_MS
from flent_aqm.results.metrics.table import METRICS, Metric
from flent_aqm.tools.table import SPEED_TESTS
from release.website.reference.rows import table

_WAYS = "download|upload|bidirectional"
_STATISTICS = "min|median|mean|p90|p95|p99_9|p99|max"
# The numbers of these are on the page of tools.
_OF_CLIENTS = tuple(tool.metric("") for tool in SPEED_TESTS.values())
# Of everybody's, or of this project.
_NO_SOURCE = ("common practice", "own definition")
_OWN_NAMES = re.compile(r"ookla_style_(iqm|low|high|jitter)_")


def metrics() -> Iterator[str]:
    """Yield the lines of a Markdown table, a row for all metrics with the same pattern, unit and
    source: name, unit, what it is, source. Left out are numbers that clients of SPEED_TESTS report,
    which are on the page of tools."""
    chosen = [one for one in METRICS.values()
              if not one.name.startswith(_OF_CLIENTS) or _OWN_NAMES.match(one.name)]
    groups = collect(chosen, lambda one: (_pattern(one.name), one.unit, one.source))
    yield from table(("name", "unit", "what", "source"), (
        (f"`{pattern}`" + _list_statistics(pattern, group), unit,
         _common_description(pattern, group),
         "" if source in _NO_SOURCE else source)
        for (pattern, unit, source), group in groups.items()))


def _pattern(name: str) -> str:
    """Return the pattern of a metric's name, which metrics that share a row have in common: WAY for
    a direction, Tms for a threshold of glitches and, where such metrics share a row, PHASE for
    loaded or idle and STAT for a statistic. "latency_loaded_p99_ms" gives "latency_PHASE_STAT_ms".
    """
    name = re.sub(rf"(?<=_)({_WAYS})(?=_|$)", "WAY", name)
    name = re.sub(r"^(latency|jitter|loss)_(loaded|idle)_", r"\1_PHASE_", name)
    name = re.sub(r"^ookla_style_(iqm|low|high|jitter)(?=_)", "ookla_style_STAT", name)
    name = re.sub(rf"^((?:latency|page|flow_rtt|queue)_\w+?_)({_STATISTICS})(?=_(?:ms|bytes)$)",
                  r"\1STAT", name)
    return re.sub(rf"(?<=_)({'|'.join(map(str, GLITCH_THRESHOLDS_MS))})ms(?=_|$)", "Tms", name)


def _list_statistics(pattern: str, group: Sequence[Metric]) -> str:
    """Return the statistics that the metrics of a row have, such as ": median, p99". "" if the
    pattern has no statistic (STAT)."""
    if "STAT" not in pattern:
        return ""
    before, after = pattern.split("STAT")
    found = re.compile(f"{before}(.+){after}".replace("PHASE", "[a-z]+").replace("WAY", "[a-z]+"))
    return ": " + ", ".join(dict.fromkeys(found.sub(r"\1", one.name) for one in group))


def _common_description(pattern: str, group: Sequence[Metric]) -> str:
    """Return the description of a row's metrics: if theirs differ, the words by which all begin and
    end, with "…" between them, unless a comma is before it: then both are left out. Directions are
    WAY, thresholds T and, if the pattern has a PHASE, times under and before the load "in the
    phase"."""
    texts = [re.sub(rf"\b({_WAYS})\b", "WAY", one.description) for one in group]
    texts = [re.sub(r"\b(under|before the) load\b", "in the phase", one) for one in texts
             ] if "PHASE" in pattern else texts
    texts = [re.sub(r"\b\d+ ms above", "T ms above", one) for one in texts]
    if len(set(texts)) == 1:
        return texts[0]
    words = [one.split(" ") for one in texts]
    head = _common_beginning(words)
    tail = _common_beginning([one[len(head):][::-1] for one in words])[::-1]
    return " ".join([*head, "…", *tail]).replace(", …", "")


def _common_beginning(words: Sequence[Sequence[str]]) -> list[str]:
    """Return the words by which all lists begin."""
    return [column[0] for column in itertools.takewhile(
        lambda column: len(set(column)) == 1, zip(*words, strict=False))]
