# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute everything that a report's page shows: JSON for its plots and tables, and text."""

from __future__ import annotations

import datetime
import heapq
import math
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flent_aqm.base.part import parts
from flent_aqm.results.advice.advice import advise
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.results.grouping import (
    AQM,
    LABELS,
    NOT_TOLD,
    RATE,
    collect,
    harmless,
    router_models,
    setting_text,
    shown,
)
from flent_aqm.results.metrics.settings import rebuilt_kernels
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.results.status import Status
from flent_aqm.show.looks import looks_for
from flent_aqm.show.report import findings, headline, panels, slices, statistics
from flent_aqm.show.report.commands import offered_command, sweep_command
from flent_aqm.show.report.facts import (
    Proof,
    combine_facts,
    seeds,
)
from flent_aqm.show.report.gather import ReportRow, RunGlitch
from flent_aqm.spec.kernel import STOCK

# Metrics that the table of runs shows by default.
TABLE_METRICS = ("throughput_download_mbps", "throughput_upload_mbps",
                 "latency_loaded_median_ms", "latency_loaded_p99_ms",
                 "flow_rtt_download_median_ms", "flow_rtt_upload_median_ms", "loss_loaded_pct",
                 "glitches_per_minute_30ms", "rpm_ietf_estimate")
_UNIT = " Mbit/s"
_MARKERS = {"o": "circle", "s": "square", "D": "diamond", "^": "triangle-up", "P": "cross",
            "v": "triangle-down", "X": "x", "*": "star", "h": "hexagon", "<": "triangle-left",
            ">": "triangle-right", "d": "diamond-tall"}


@dataclass(frozen=True)
class Folder:
    """A folder with data files, or in which a sweep has begun.

    Attributes:
        path: path of the folder.
        done: number of files *.flent.gz in it, without hidden ones and those in subfolders. Data
            files with other suffixes don't count.
        status: status of the sweep that wrote there last, None if there is none that can be read.
    """

    path: Path
    done: int
    status: Status | None


@dataclass(frozen=True)
class ListedGlitch:
    """A glitch in the page's list.

    Attributes:
        run: name of the run's data file without its ending.
        queue: name as which the run is compared, mostly its queue.
        glitch: the glitch.
        command: command line of `flent-aqm why` that explains it, as offered_command() returns it.
            "" if the run can't be repeated, or this installation has no such command.
        page: address of the page with its explanation, relative to the report. "" without such a
            page beside the report, and without a command.
        with_programs: whether the run can be repeated only with --run-programs. A page doesn't
            offer commands that run what a file names.
    """

    run: str
    queue: str
    glitch: RunGlitch
    command: str
    page: str
    with_programs: bool


@dataclass(frozen=True)
class Report:
    """The contents of a report's page.

    Attributes:
        data: data for the page's script: that of data_of(), and the word `side`.
        title: heading of the page.
        made_at: date and time at which it was made, in UTC, as text.
        runs: number of runs.
        virtual_s: sum of the runs' durations on the lab's clock, as far as they are recorded.
        wall_s: sum of the runs' durations on the host's clock, as far as they are recorded.
        facts: (heading, values) over all runs, see combine_facts().
        seeds: different seeds of the runs.
        failures: (name, cause) of failed runs, damaged files, and runs whose tools had errors.
        proofs: the router's settings, each with the number of its runs, faulty ones first.
        glitches: the worst glitches of the runs, the longest first, at most MOST_GLITCHES.
        more_glitches: number of the glitches that are not listed.
        commands: (description, command) of commands that repeat the sweep or a run, or make the
            page, figures and a table of the runs.
        headline: sentences with the findings, then warnings of runs of several builds of a kernel.
        notes: notes on how values were measured, each with the number of its runs, the most
            frequent first.
        advice: sentences with advice.
        side: word for the things that are compared: "queue", "configuration" or "setting".
        panels: data of the picture of the findings, see panels.panels().
        conditions: a line on the runs' settings, see _settings_line().
        has_ways: whether any queue has throughput in both directions.
        several: whether any queue has several runs in a condition.
        progress: progress of each folder's sweep, see progress().
    """

    data: Mapping[str, Any]
    title: str
    made_at: str
    runs: int
    virtual_s: float
    wall_s: float
    facts: Sequence[tuple[str, Sequence[str]]]
    seeds: Sequence[str]
    failures: Sequence[tuple[str, str]]
    proofs: Sequence[tuple[Proof, int]]
    glitches: Sequence[ListedGlitch]
    more_glitches: int
    commands: Sequence[tuple[str, str]]
    headline: Sequence[str]
    notes: Sequence[tuple[str, int]]
    advice: Sequence[str]
    side: str
    panels: Mapping[str, Any]
    conditions: str
    has_ways: bool
    several: bool
    progress: Sequence[Mapping[str, Any]]


def build(rows: Sequence[ReportRow], damaged: Sequence[tuple[Path, str]], folders: Sequence[Folder],
          title: str, now_s: float | None = None, beside: Path | None = None) -> Report:
    """Return the report on runs, which may be none. Configurations or queues are compared, see
    slices.with_sides().

    Args:
        rows: the runs.
        damaged: files that could not be read, each with the reason.
        folders: folders of the runs, with the status of their sweeps.
        title: heading of the page.
        now_s: the time in epoch seconds that the page tells as that of its making, None for the
            present.
        beside: folder in which the page is written. Pages with explanations of glitches are
            searched there. None for a page that is served.
    """
    now_s = time.time() if now_s is None else now_s
    rows, side = slices.with_sides(rows)
    dimensions = slices.dimensions(rows, side)
    conditions = findings.conditions(rows, dimensions)
    compared_word = _compared_word(rows)
    by_heading = [row.facts.by_heading for row in rows]
    proofs = collect([row.facts.proof for row in rows if row.facts.proof], lambda proof: proof)
    failures = [one for folder in folders for one in failed(folder)]
    failures += [(path.name, cause) for path, cause in damaged]
    failures += [(row.path.name, "; ".join(row.errors)) for row in rows if row.errors]
    listed = _glitches(rows, beside)
    return Report(
        data=data_of(rows, dimensions) | {"side": compared_word}, title=title, runs=len(rows),
        made_at=datetime.datetime.fromtimestamp(now_s, datetime.UTC).strftime(
            "%Y-%m-%d %H:%M UTC"),
        virtual_s=sum(row.facts.virtual_s or 0 for row in rows),
        wall_s=sum(row.facts.wall_s or 0 for row in rows),
        facts=combine_facts(by_heading), seeds=seeds(by_heading), failures=failures,
        proofs=sorted(((proof, len(same)) for proof, same in proofs.items()),
                      key=lambda pair: (not pair[0].fault, pair[0].aqm, pair[0].mbps,
                                        pair[0].requested)),
        glitches=listed, more_glitches=sum(len(row.glitches) for row in rows) - len(listed),
        commands=_commands(rows, folders),
        headline=[*headline.headline(
            conditions, compared_word, len(rows),
            slices.apart(rows, dimensions, side), slices.also_differ(rows, side),
            [row.no_latency for row in rows if row.no_latency]), *rebuilt_kernels(
                (row.facts.by_heading.get("kernel's name", STOCK), build) for row in rows
                if (build := row.facts.by_heading.get("kernel's hash")))],
        notes=list(Counter(note for row in rows for note in row.notes).most_common()),
        advice=advise({one.title: one.tried for one in conditions}), side=compared_word,
        panels=panels.panels(conditions), conditions=_settings_line(rows, dimensions),
        has_ways=any(len(line.mbps) > 1 for one in conditions for line in one.lines),
        several=any(line.runs > 1 for one in conditions for line in one.lines),
        progress=[progress(one, now_s) for one in folders])


def data_of(rows: Sequence[ReportRow], dimensions: Sequence[slices.Dimension]) -> dict[str, Any]:
    """Return the data for the page's script. All values can be written as JSON. Its keys:

    - dimensions: name, label and values of each setting that distinguishes slices.
    - queues: name, colour, dash and symbol of each queue.
    - rates: the link's rates in Mbit/s, see slices.rates().
    - cells: for each slice, queue and rate, these three and the data of slices.cell().
    - metrics: name, unit, better and about (description) of each metric that a run has.
    - shown_metrics: names of those that the table of runs shows by default.
    - statistics: comparisons of queues, see statistics.between_queues().
    - statistic_metrics: names of the metrics that these compare.
    - variance: each factor's share of the variance, see statistics.variance().
    - runs: file, queue, rate, slice and numbers of each run: its values of `metrics`, in their
      order, as slices.json_value() returns them, None without one. Runs are sorted by slice, rate,
      queue and name of the file.
    - labels: setting -> its name on the page.

    Args:
        rows: the runs.
        dimensions: settings that distinguish slices, with their values in order.
    """
    names = slices.queues(rows)
    rates = slices.rates(rows)
    rows = sorted(rows, key=lambda row: (
        [one.values.index(value) for one, value in
         zip(dimensions, slices.key_of(row, dimensions), strict=True)],
        rates.index(slices.rate_of(row)), names.index(slices.queue_of(row)), row.path.name))
    cells = collect(rows, lambda row: (slices.key_of(row, dimensions), slices.queue_of(row),
                                       slices.rate_of(row)))
    metrics = [name for name in METRICS if any(name in row.metrics for row in rows)]
    return {
        "dimensions": [{"name": one.name, "label": LABELS.get(one.name, one.name),
                        "values": one.values} for one in dimensions],
        "queues": [{"name": name, "colour": look.colour, "dash": _svg_dashes(look.line),
                    "symbol": _MARKERS.get(look.marker, "circle")}
                   for name, look in looks_for(names).items()],
        "rates": rates,
        "cells": [{"slice": list(key), "queue": queue, "rate": rate, **slices.cell(members)}
                  for (key, queue, rate), members in cells.items()],
        "metrics": [{"name": name, "unit": METRICS[name].unit, "better": METRICS[name].better,
                     "about": METRICS[name].description} for name in metrics],
        "shown_metrics": [name for name in TABLE_METRICS if name in metrics],
        "statistics": statistics.between_queues(rows, dimensions),
        "statistic_metrics": [name for name in statistics.METRICS if name in metrics],
        "variance": statistics.variance(rows, dimensions),
        "runs": [{"file": row.path.name, "queue": slices.queue_of(row),
                  "rate": slices.rate_of(row), "slice": list(slices.key_of(row, dimensions)),
                  "numbers": [slices.json_value(row.metrics[name]) if name in row.metrics else None
                              for name in metrics]} for row in rows],
        "labels": LABELS,
    }


def _compared_word(rows: Sequence[ReportRow]) -> str:
    """Return the word for the things that are compared: "configuration" if a run has a `side` (also
    if that is the user's title), "queue" if a run records one, else "setting", also without runs.
    """
    if any(row.side for row in rows):
        return "configuration"
    return "queue" if any(row.settings.get(AQM) for row in rows) else "setting"


def _settings_line(rows: Sequence[ReportRow], dimensions: Sequence[slices.Dimension]) -> str:
    """Return a line on the runs' settings, with semicolons between them: all values of the
    dimensions, and up to 12 rates in Mbit/s (then "and more") if any is recorded; then how the link
    grants its capacity if all runs have the same model of that in both directions, burst shaping,
    cross traffic, base delay, testbed and router model, each if all runs that record it have the
    same value.

    Args:
        rows: the runs.
        dimensions: settings that distinguish slices, with their values in order.
    """
    rates = slices.rates(rows)
    words = [f"{LABELS.get(one.name, one.name)} {', '.join(map(shown, one.values))}"
             for one in dimensions if one.values]
    if rates and rates != [NOT_TOLD]:
        told = [setting_text(RATE, one) for one in rates[:12]]
        # The unit once, unless a trace, which has none, is among them.
        if all(one.endswith(_UNIT) for one in told):
            told = [*(one.removesuffix(_UNIT) for one in told[:-1]), told[-1]]
        words.append(", ".join(told) + (" and more" if len(rates) > 12 else ""))
    access = {row.settings.get(f"link_{way}_access") or None for row in rows
              for way in ("down", "up")}
    if len(access) == 1 and None not in access:
        words.append(f"link access {harmless(str(access.pop()))}")
    for name in ("burst_shaping", "cross_traffic", "base_delay_ms"):
        values = {row.settings.get(name) for row in rows} - {None}
        if len(values) == 1:
            words.append(setting_text(name, values.pop()).replace("+0 ms", "no added delay"))
    testbeds = {str(row.settings["testbed"]) for row in rows if "testbed" in row.settings}
    for name, told in (("testbed", list(testbeds)),
                       ("router_model", router_models([row.settings for row in rows]))):
        if len(told) == 1:
            words.append(f"{LABELS.get(name, name)} {told[0]}")
    return "; ".join(words)


def _svg_dashes(line: object) -> str:
    """Return a line style of matplotlib as dashes for SVG.

    line: (offset, lengths), whose lengths are doubled, such as "8px,4px", and whose offset is
        ignored. Any other style, also a named one such as "--", becomes "solid".
    """
    if isinstance(line, tuple):
        return ",".join(f"{2 * part:g}px" for part in line[1])
    return "solid"


# Glitches that the page lists, those that it shows at first, and the command that explains them.
MOST_GLITCHES, GLITCHES_AT_ONCE = 200, 15
WHY = "why"


def _glitches(rows: Sequence[ReportRow], beside: Path | None) -> list[ListedGlitch]:
    """Return the worst glitches of runs, at most MOST_GLITCHES, the longest first, of equal length
    those whose bad probes were all lost, then the slowest first. Commands and pages are as
    ListedGlitch describes them. If several runs have files of the same name, their glitches have no
    page, and their commands don't name one.

    Args:
        rows: the runs.
        beside: folder of the report, in which pages of glitches are searched and the commands write
            them. None for a page that is served, whose glitches have no pages.
    """
    ranked = heapq.nsmallest(MOST_GLITCHES, (
        (-one.length_ms, -(one.slowest_ms or math.inf), at, one.number)
        for at, row in enumerate(rows) for one in row.glitches))
    # The part may have been taken out.
    has_why = any(WHY in part.commands for part in parts().values())
    names = Counter(row.path.name for row in rows)
    listed = []
    for _, _, at, number in ranked:
        row, glitch = rows[at], rows[at].glitches[number - 1]
        run = row.path.name.removesuffix(SUFFIX)
        words: list[str | Path] = ["flent-aqm", WHY, row.path, "--glitch", str(number)]
        page = ""
        # Runs of one name in several folders would have one page.
        if beside is not None and names[row.path.name] == 1:
            path = beside / f"{run}-glitch-{number}.html"
            words += ["-o", path]
            page = f"./{quote(path.name)}" if os.path.isfile(path) else ""
        repeats = has_why and row.facts.repeatable
        listed.append(ListedGlitch(run, slices.queue_of(row), glitch,
                                   offered_command(*words) if repeats else "",
                                   page if repeats else "",
                                   has_why and row.facts.with_programs))
    return listed


def _commands(rows: Sequence[ReportRow], folders: Sequence[Folder]) -> list[tuple[str, str]]:
    """Return the commands that the page offers, each as (description, command): the sweeps' own,
    each once, one that repeats a run if one can be repeated, and those that make the page, the
    study's figures and a table of the runs. These three name the folders, or without any the first
    three files. Commands that could do harm are shell comments, see sweep_command() and
    offered_command()."""
    commands = [sweep_command(command) for command in dict.fromkeys(
        tuple(command) for one in folders if one.status for command in one.status.commands)]
    # The first one is the example.
    repeatable = [row for row in rows if row.facts.repeatable]
    if repeatable:
        others = "likewise any other" + ("" if len(repeatable) == len(rows) else
                                         " of a batch in the virtual lab")
        commands.append((f"one run again, compared with its file; {others}",
                         offered_command("flent-aqm", "replay", repeatable[0].path)))
    places = [one.path for one in folders] or [row.path for row in rows[:3]]
    commands += [
        ("this page", offered_command("flent-aqm", "report", *places, "-o", "report.html")),
        ("the study's figures on paper", offered_command(
            "flent-aqm", "figures", *places, "-o", "figures")),
        ("a row per run with all metrics", offered_command(
            "flent-aqm", "export", *places, "-o", "runs.parquet"))]
    return commands


def failed(folder: Folder) -> list[tuple[str, str]]:
    """Return the failed runs of a folder's sweep that have no data file now, each as (name of its
    data file, cause), sorted by name. Empty without a sweep's status."""
    return [(name, cause) for name, cause in sorted(folder.status.failed.items())
            if not os.path.lexists(folder.path / Path(name).name)] if folder.status else []


def progress(folder: Folder, now_s: float) -> dict[str, Any]:
    """Return the progress of a folder's sweep: folder (its name), done (number
    of data files, as Folder counts them), planned (number of runs), failed (number of failed runs,
    which are not done), left_s (seconds left at the present pace; None before the first run has
    ended, after the sweep's end, and without a status), going (True if the sweep's status has no
    end: it still runs, or was killed before it could write the end). Without a sweep's status,
    planned is the same as done, and going is False.

    now_s: the time in epoch seconds.
    """
    status = folder.status
    return {"folder": folder.path.resolve().name, "done": folder.done,
            "planned": status.planned if status else folder.done,
            "failed": len(failed(folder)),
            "left_s": status.left_s(folder.done, now_s) if status else None,
            "going": status is not None and status.ended_s is None}
