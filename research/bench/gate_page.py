# SPDX-License-Identifier: GPL-3.0-or-later
"""Write docs/results/gate.md from the results of research/bench/gate.py.

    python -m research.bench.gate_page     of the kept results
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flent_aqm.base.words import counted
from research.validation import marked
from research.validation.stamp import Made

PAGE = Path(__file__).parents[2] / "docs" / "results" / "gate.md"
RESULTS = Path(__file__).parent / "results"


def keep(what: str, results: Mapping[str, Any]) -> None:
    """Write results to research/bench/results/gate-WHAT-DATE.json, and delete older ones of WHAT.

    Args:
        what: key of _PARTS, such as `power`.
        results: the results, in the form that write_part() takes.
    """
    RESULTS.mkdir(exist_ok=True)
    for old in _kept(what):
        old.unlink()
    now = datetime.datetime.now(datetime.UTC)
    (RESULTS / f"gate-{what}-{now:%Y-%m-%dT%H%M%SZ}.json").write_text(
        json.dumps(results, indent=1) + "\n")


def _kept(what: str) -> list[Path]:
    """Return the files with results of one kind, oldest first. `blind-later` is not of `blind`."""
    return sorted(RESULTS.glob(f"gate-{what}-20*.json"))


def write_part(what: str, results: Mapping[str, Any], page: Path = PAGE) -> None:
    """Write one part of the page. If the page doesn't have the part yet, it is put in front of that
    of the false alarms. Raises ConfigError if the page can't be changed, or has neither, OSError if
    it can't be read, or lacks the part and can't be written.

    Args:
        what: key of _PARTS, such as `power`.
        results: content of a JSON file of keep(): "made", the fields of a Made, and "comparisons",
            those of each Comparison. For "coverage", the keys of summary() and "queues" in place of
            "comparisons". For "false-alarms" there may also be "drawn", the result of
            compare_drawn_seeds().
        page: the page.
    """
    part, lines = _PARTS[what]
    made = results["made"]
    text = page.read_text(encoding="utf-8")
    if f"<!-- {part}: " not in text:
        empty = f"<!-- {part}: -->\n<!-- end of {part} -->\n\n<!-- alarms: "
        page.write_text(text.replace("<!-- alarms: ", empty, 1), encoding="utf-8")
    marked.replace(page, part, "\n".join(lines(results)), Made(
        tuple(made["versions"]), tuple(made["kernels"]), made["date"], made["runs"]))


def changes_table(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a Markdown table (header, a row per planted change in the order given), an empty line,
    and a sentence that counts what was found. A row has the first metric that was seen to differ
    and how many more, or else "can't tell" or "the same", bold if that is not as it should be.

    results: the content of the JSON file.
    """
    yield "| change | queue | seen by |"
    yield "|---|---|---|"
    for one in results["comparisons"]:
        nothing = "can't tell" if "can't tell" in one["said"].lower() else "the same"
        names = [f"`{name}`" for name in one["seen"]]
        by = "".join(names[:1]) + (f" +{len(names) - 1}" if len(names) > 1 else "") or nothing
        name = one["name"] if one["has_effect"] else f"{one['name']} (no effect)"
        yield f"| {name} | {one['aqm']} | {by if one['right'] else f'**{by}**'} |"
    real = [one for one in results["comparisons"] if one["has_effect"]]
    none = [one for one in results["comparisons"] if not one["has_effect"]]
    yield ""
    yield (f"Of {len(real)} changes with an effect {sum(bool(one['seen']) for one in real)} are "
           f"found; of {len(none)} without, {sum(bool(one['seen']) for one in none)}.")


def defects_table(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a Markdown table (header, a row per defect in the order given), an empty line, and a
    sentence that counts the verdicts. A row has the verdict's word, such as "no verdict", or for a
    defect without one "can't tell" if that is what the verdict says, else "the same". A verdict
    that is not as it should be is bold.

    results: the content of the JSON file.
    """
    yield "| change | queue | verdict |"
    yield "|---|---|---|"
    counts = Counter[str]()
    for one in results["comparisons"]:
        verdict = next(iter(one["seen"]), "can't tell" if "can't tell" in one["said"].lower()
                       else "the same")
        counts[verdict] += 1
        yield f"| {one['name']} | {one['aqm']} | {verdict if one['right'] else f'**{verdict}**'} |"
    yield ""
    yield (f"Of {counted(counts.total(), 'change')}: " + ", ".join(
        f"{verdict} {count}" for verdict, count in counts.most_common()) + ".")


def coverage_table(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a Markdown table of cells in the order given, one of files, and a sentence with the sum
    of these files, with an empty line between them. Files without an executed line are left out of
    the latter two.

    results: the content of the JSON file.
    """
    yield "| cell | lines that it executes | adds | only it | where only it goes |"
    yield "|---|---|---|---|---|"
    for cell in results["cells"]:
        where = ", ".join(f"`{name}`" for name in cell["functions"]) or "-"
        yield (f"| {cell['cell']} | {cell['lines']} | {cell['adds']} | {cell['only']} | {where} |")
    yield ""
    yield "| file | lines with code | executed | share |"
    yield "|---|---|---|---|"
    files = {path: counts for path, counts in results["files"].items() if counts[0]}
    for path, (ran, lines) in files.items():
        yield f"| {path} | {lines} | {ran} | {ran / lines:.0%} |"
    ran, lines = (sum(counts[at] for counts in files.values()) for at in (0, 1))
    yield ""
    yield (f"{ran} of {lines} lines of these files with {results['queues'].replace(',', ', ')}. A "
           "line counts if a run executes it 20 times or more. Many of the rest set a queue up, "
           "dump it, or are for options that these runs don't give.")


def alarm_lines(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the comparisons of set-up's kernel with itself, a list item for each that
    was an alarm, and a sentence on drawn seeds, if there are any.

    results: the content of the JSON file.
    """
    pairs = results["comparisons"]
    good = sum(one["right"] for one in pairs)
    yield (f"{good} of {len(pairs)} comparisons of set-up's kernel with itself, with other seeds "
           "on either side (each set of five with the next two), found no difference.")
    yield from (f"- {one['name']}: {one['said']}" for one in pairs if not one["right"])
    if drawn := results.get("drawn"):
        yield (f"So did {drawn['draws'] - drawn['alarms']} of {drawn['draws']} with seeds "
               "drawn "
               "from all.")


_PARTS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Iterator[str]]]] = {
    "power": ("changes", changes_table), "others": ("others", defects_table),
    "further": ("further", defects_table), "blind": ("blind", defects_table),
    "blind-later": ("blind later", defects_table), "harmless": ("harmless", defects_table),
    "coverage": ("coverage", coverage_table), "false-alarms": ("alarms", alarm_lines)}


if __name__ == "__main__":
    for each in _PARTS:
        for kept in _kept(each)[-1:]:
            write_part(each, json.loads(kept.read_text()))
