# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes a run in a few words: settings in which the sweep's runs differ, and results."""

from __future__ import annotations

from collections.abc import Sequence

from flent_aqm.results.grouping import AQM, RATE, factors, setting_text
from flent_aqm.results.metrics.scores import Scores
from flent_aqm.results.metrics.settings import Setting, settings_of
from flent_aqm.results.metrics.table import LOST, Unavailable, digits
from flent_aqm.spec.cell import Cell

# Settings that are shown first, because their values are clear without a name.
_FIRST = ("test", AQM)


def cell_settings(cell: Cell) -> dict[str, Setting]:
    """Return a cell's settings by name, computed from its batch. No file is read.

    They are those that settings_of() of results/metrics/settings.py returns for the run's data
    file, except that `title` and `batch` are "".
    """
    parameters = cell.settings.get("TEST_PARAMETERS")
    return settings_of(cell.test_name, "", "", parameters if isinstance(parameters, dict) else {},
                       cell.scenario.as_dict())


def differing_words(cells: Sequence[Cell]) -> dict[str, str]:
    """Return a text for each cell, by the cell's name: its test, queue and rate, and the other
    settings that are needed to tell the cells apart, joined by spaces: "iperf3_upload sfq 20 Mbit/s
    tiers 3". A setting that a cell lacks is left out. Repetitions have the same text."""
    settings = {cell.name: cell_settings(cell) for cell in cells}
    differing = factors(list(settings.values()))
    order = dict.fromkeys((*_FIRST, RATE, *differing))
    return {name: " ".join(setting_text(key, of_cell[key]) for key in order if key in of_cell)
            for name, of_cell in settings.items()}


def brief(run_scores: Scores) -> str:
    """Return the throughput in each direction and the 99th percentile of latency under load as
    text: "down 95.60, up 9.41 Mbit/s, p99 0.13 ms".

    Unavailable values, such as the throughput of a direction that the test doesn't load, are left
    out, so the text may be empty. A percentile that is a lost probe is shown as "p99 lost".
    """
    mbps = {"down": run_scores.download_mbps, "up": run_scores.upload_mbps}
    parts = [f"{direction} {digits(value)}" for direction, value in mbps.items()
             if not isinstance(value, Unavailable)]
    words = [f"{', '.join(parts)} Mbit/s"] if parts else []
    p99 = run_scores.latency_p99_ms
    if not isinstance(p99, Unavailable):
        words.append(f"p99 {digits(p99)}" + (" ms" if digits(p99) != LOST else ""))
    elif p99.lost:
        words.append(f"p99 {LOST}")
    return ", ".join(words)
