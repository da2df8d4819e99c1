# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a verdict as a page for a pull request, in Markdown or HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from flent_aqm import __version__
from flent_aqm.base.words import counted
from flent_aqm.parts.kernels.verdict.chance import CONFIDENCE
from flent_aqm.parts.kernels.verdict.counters import sentences as counter_sentences
from flent_aqm.parts.kernels.verdict.decide import (
    ALIKE,
    ALIKE_SHARE,
    ALIKE_SHARE_BY_STATISTIC,
    ALIKE_SHARE_BY_UNIT,
    BETTER,
    FALSE_SHARE,
    MIXED,
    SAME,
    UNTOLD,
    WORSE,
    Effect,
    JudgedMetric,
)
from flent_aqm.parts.kernels.verdict.exercised import (
    Exercised,
    Reach,
    reach_of_change,
)
from flent_aqm.parts.kernels.verdict.exercised import sentence as exercised_sentence
from flent_aqm.parts.kernels.verdict.pairs import NOTHING, QUEUE_KEYS, PairedSides
from flent_aqm.results.metrics.table import digits
from flent_aqm.show.templates import text_page
from flent_aqm.spec.queues.external import is_external

# Of a metric, more cells than this stand in one line at the end.
MOST_CELLS = 3
# Metrics of a verdict that have their numbers in the sentence.
MOST_NUMBERS = 3
KERNEL = "kernel"
FAILED = "Runs that failed or could not be made:"
_SPECIAL = "\\`*_{}[]<>()#+!|~"  # characters with a meaning in Markdown
HOW = ("Base and test: medians over seeds. Difference: the mean over seeds, which isn't that of "
       "the medians, without seeds that have a lost probe on both sides, and ∞ if others have one "
       "on one side (if some have one on the base side alone and some on the test side alone, "
       "without all of these, whose numbers are compared); as a share of the base's median; and "
       f"its {CONFIDENCE:.0%} interval. "
       "A difference counts if it is larger than people care about (latency: "
       f"{100 * ALIKE_SHARE:g} % of what the load adds, "
       f"{100 * ALIKE_SHARE_BY_STATISTIC['p99']:g} % at the 99th percentile, "
       f"and {ALIKE['ms']:g} ms; throughput: "
       f"{100 * ALIKE_SHARE_BY_UNIT['Mbit/s']:g} %; own-queue.md has the "
       "limits of the others), and if chance explains it "
       f"with less than {FALSE_SHARE:.0%}, corrected for all cells and metrics (Benjamini and "
       "Hochberg); the same is what has its whole interval within what nobody cares about; between "
       "them, these runs can't tell. For a metric that is the same everywhere the cell with the "
       "largest difference is shown.")


def sentence(comparison: PairedSides, judged: Sequence[JudgedMetric]) -> str:
    """Return the verdict in one sentence: the metrics that are worse, mixed, better and can't be
    told, by name, the first three of each verdict as _named() gives them, the number of runs of the
    test side that failed, if any, and the number of metrics that are the same. If there is nothing
    but the same, the text says so, and how many runs have no partner, for which the verdict can't
    tell, or whether all samples are identical. If they are, one more sentence names settings,
    without the kernel, that differ between the sides, which these runs may just not reach.

    If more runs failed on the test side than chance explains, the sentence begins with "Worse:" and
    the numbers of runs that failed on one side alone, in place of the number of failed runs.
    """
    parts = []
    for word in (WORSE, MIXED, BETTER, UNTOLD):
        metrics = [one for one in judged if one.verdict == word]
        if metrics:
            names = [*map(_named, metrics[:MOST_NUMBERS]),
                     *(one.metric.name for one in metrics[MOST_NUMBERS:])]
            parts.append(f"{word}: {', '.join(names)}")
    if comparison.fails_more:
        base, test = comparison.failed_alone_at_most
        parts.insert(0, f"worse: {counted(test, 'run')} failed on the test side alone, {base} on "
                        "the base side alone")
    same = sum(one.verdict == SAME for one in judged)
    if comparison.failed.get("test") and not comparison.fails_more:
        parts.append(f"{counted(comparison.failed['test'], 'run')} of the test side failed or "
                     "could not be made")
    if comparison.alone and not parts:
        return (f"The same in all {counted(comparison.pairs, 'pair')}, but "
                f"{counted(sum(comparison.alone.values()), 'run')} without a partner can't be "
                "judged: make the missing runs, or leave these out.")
    if comparison.identical == comparison.pairs and not parts:
        # Of a kernel it is examined which of the changed lines ran.
        names = [name for name in comparison.compared if name != KERNEL][:MOST_NUMBERS]
        no_effect = (f" Here {', '.join(names)} had no effect; whether another line or other hosts "
                     "would show one, these runs can't tell.") if names else ""
        return (f"The same: all {counted(comparison.pairs, 'pair')} have identical samples."
                f"{no_effect}")
    if not parts:
        return f"The same in all {counted(same, 'metric')}."
    rest = f"the same: {counted(same, 'metric')}" if same else "no metric is the same"
    return _capitalize_first(f"{'; '.join(parts)}; {rest}.")


def _named(judged: JudgedMetric) -> str:
    """Return a metric's name with the difference and cell of its first effect, such as
    "latency_loaded_p99_ms (+3.20, +40.0% in overload)". Only the name if the metric can't be told,
    or if the verdict is by some seeds, of which the mean difference says nothing."""
    effect = judged.effects[0]
    if judged.verdict == UNTOLD or effect.why or math.isnan(effect.difference):
        return judged.metric.name
    return f"{judged.metric.name} ({', '.join(_difference_and_share(effect))} in {effect.cell})"


def findings(comparison: PairedSides, judged: Sequence[JudgedMetric],
             exercised: Exercised | None) -> list[str]:
    """Return what was found, a paragraph each: what else differs between the sides, which lines of
    the change ran, sentences on counters, and last the verdict, or that these runs say nothing
    because the change didn't run. What else differs are programs, and settings if the sides'
    kernels differ, but for a queue of the user's own. Paragraphs without anything to tell are left
    out.

    Args:
        comparison: the paired runs.
        judged: the judged metrics.
        exercised: which lines ran, None if that wasn't examined.
    """
    parts = [] if exercised is None else [exercised_sentence(exercised)]
    reach = reach_of_change(comparison, judged, exercised)
    if reach is Reach.NONE:
        parts.append("Not exercised: these runs say nothing about the change; --suggest looks for "
                     "cells of gate.batch that reach it.")
    elif reach is Reach.PART:
        parts.append(f"Exercised in part; of what ran: {sentence(comparison, judged)}")
    else:
        parts.append(sentence(comparison, judged))
    parts = [*parts[:-1], *counter_sentences(comparison), parts[-1]]
    beside = [f"{name} {versions}" for name, versions in comparison.programs.items()]
    if KERNEL in comparison.compared:
        # A queue of the user's own is there with its kernel alone.
        beside = [*(name for name, (_, theirs) in comparison.compared.items()
                    if name != KERNEL and not (name in QUEUE_KEYS and is_external(str(theirs)))),
                  *beside]
        if beside:
            parts.insert(0, "The sides differ in more than the kernel: "
                            f"{', '.join(beside)}; build and run both with the same options.")
    elif beside:
        parts.insert(0, f"The sides were made with different programs: {', '.join(beside)}; run "
                        "both with the same.")
    return parts


def _capitalize_first(text: str) -> str:
    """Return the text, which isn't empty, with a capital first letter."""
    return text[0].upper() + text[1:]


def markdown(heading: str, comparison: PairedSides, judged: Sequence[JudgedMetric],
             exercised: Exercised | None = None, sides: Mapping[str, str] | None = None,
             failed: Sequence[str] = ()) -> str:
    """Return the page in Markdown: the heading, what findings() returns, where the runs are, what
    was compared, a table of the metrics, failed runs and the changed lines that ran in no recorded
    cell, if any, and how to read the table.

    Args:
        heading: the verdict in a word or two.
        comparison: the paired runs.
        judged: the judged metrics.
        exercised: which lines of the change ran, None if that wasn't examined.
        sides: "base" and "test" -> where the side's runs are, for readers. None leaves that out.
        failed: lines that name the runs that failed or could not be made.
    """
    alone = sum(comparison.alone.values())
    told = {name: ["not set" if value in (NOTHING, "") else value for value in values]
            for name, values in comparison.compared.items()}
    compared = "; ".join(f"{name} {ours} (base) and {theirs} (test)" for name, (ours, theirs)
                         in told.items()) or "no setting; the sides are alike"
    lines = _opening(heading, findings(comparison, judged, exercised), sides)
    lines += [
        "", f"Compared: {_escape(compared)}. {counted(comparison.pairs, 'pair')} of runs with the "
        f"same seed, in {counted(len(comparison.cells), 'cell')}; {comparison.identical} of "
        f"{comparison.pairs} pairs have identical samples."
        + (f" {counted(alone, 'run')} without a partner left out." if alone else ""), "",
        ("| metric | verdict | cell | base, median | test, median | mean difference | "
         f"{CONFIDENCE:.0%} interval |"),
        "| --- | --- | --- | --- | --- | --- | --- |"]
    for row in judged:
        deciding = [effect for effect in row.effects if effect.verdict != SAME]
        for effect in deciding[:MOST_CELLS] or row.effects[:1]:
            verdict = effect.verdict + (f": {effect.why}" if effect.why else "")
            lines.append(f"| `{row.metric.name}` | {_escape(verdict)} | {_escape(effect.cell)} | "
                         + " | ".join(_format_effect(effect)) + " |")
        if len(deciding) > MOST_CELLS:
            others = ", ".join(effect.cell for effect in deciding[MOST_CELLS:])
            lines.append(f"| `{row.metric.name}` | {row.verdict} | also: {_escape(others)} "
                         "| | | | |")
    lines += _bullets(FAILED, failed)
    if exercised is not None:
        how = "ran in no recorded run" if exercised.unrecorded else "never ran"
        lines += _bullets(f"Changed lines that {how}:", exercised.ranges(exercised.never))
    lines += ["", HOW]
    return "\n".join(lines) + "\n"


def failures(finding: str, sides: Mapping[str, str], failed: Sequence[str]) -> str:
    """Return the page in Markdown of runs of which so many failed that too few can be compared.

    Args:
        finding: the verdict in a sentence.
        sides: "base" and "test" -> where the side's runs are, for readers.
        failed: lines that name the runs that failed or could not be made.
    """
    return "\n".join([*_opening("Worse", [finding], sides), *_bullets(FAILED, failed)]) + "\n"


def _opening(heading: str, paragraphs: Sequence[str], sides: Mapping[str, str] | None) -> list[str]:
    """Return the lines with which a page in Markdown begins: its heading, paragraphs, and where the
    runs of the sides are, unless that is None."""
    if sides:
        where = "; ".join(f"{side}: {place}" for side, place in sides.items())
        paragraphs = [*paragraphs, f"{where}; judged by flent-aqm {__version__}."]
    return [f"# {heading}", *(line for one in paragraphs for line in ("", _escape(one)))]


def _bullets(heading: str, items: Sequence[str]) -> list[str]:
    """Return the lines of a list in Markdown, with a blank line before its heading and one after
    it. Empty without items. heading: a line of Markdown. items: plain texts, which are escaped."""
    return ["", heading, "", *(f"- {_escape(one)}" for one in items)] if items else []


def without_escapes(text: str) -> str:
    """Return the Markdown page without the backslashes that escape characters, to be read as it
    is."""
    return re.sub(rf"\\([{re.escape(_SPECIAL)}])", r"\1", text)


def html(text: str) -> str:
    """Convert the Markdown page to an HTML page that loads no other resource."""
    return text_page("Verdict", text)


def _format_effect(effect: Effect) -> tuple[str, ...]:
    """Return an effect's texts for four columns of the table: median of the base side, that of the
    test side, mean difference with its share, interval. "-" for what isn't known, "lost" (LOST) for
    an infinite median."""
    if math.isnan(effect.base):
        return ("-",) * 4
    if math.isnan(effect.difference):  # too few pairs, or lost probes on both sides
        return (digits(effect.base), digits(effect.test), "-", "-")
    difference, *share = _difference_and_share(effect)
    return (digits(effect.base), digits(effect.test),
            f"{difference} ({share[0]})" if share else difference,
            f"{_format_signed(effect.low)} to {_format_signed(effect.high)}"
            if math.isfinite(effect.low) else "-")


def _difference_and_share(effect: Effect) -> list[str]:
    """Return the mean difference and its share of the base's median as text: "+3.20", "+40.0%". The
    difference alone if that median is 0 or infinite, or if the difference is infinite, as with lost
    probes."""
    difference = _format_signed(effect.difference)
    if not effect.base or not math.isfinite(effect.base) or not math.isfinite(effect.difference):
        return [difference]
    return [difference, f"{effect.difference / abs(effect.base):+.1%}"]


def _format_signed(value: float) -> str:
    """Return a number as text, with a + if it is above 0. "+∞" or "-∞" if it is infinite."""
    if math.isinf(value):
        return "+∞" if value > 0 else "-∞"
    return f"{'+' if value > 0 else ''}{digits(value)}"


def _escape(text: str) -> str:
    """Escape Markdown's special characters in a text, with backslashes, for a cell of a table.
    Newlines, entities such as &lt;, bare URLs and @names are not escaped."""
    return "".join("\\" + char if char in _SPECIAL else char for char in text)
