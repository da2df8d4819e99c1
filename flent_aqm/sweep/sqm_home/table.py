# SPDX-License-Identifier: GPL-3.0-or-later
"""The document's table, with the grade of every rule that gives one."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.score.shown import wide_console

# Heading -> metric. Those with a word show the word, which is the grade.
COLUMNS = {
    "download\nMbit/s": "throughput_download_mbps",
    "upload\nMbit/s": "throughput_upload_mbps",
    "idle\nmedian ms": "latency_idle_median_ms",
    "loaded\nmedian ms": "latency_loaded_median_ms",
    "loaded\nmean ms": "latency_loaded_mean_ms",
    "DSLReports": "dslreports_rise_ms",
    "LibreQoS": "libreqos_total",
    "AIM\nstreaming": "aim_streaming",
    "AIM\ngaming": "aim_gaming",
    "AIM\nRTC": "aim_rtc",
    "RPM": "rpm_ietf_estimate",
}


def show(runs: Sequence[Run]) -> None:
    """Print a line for each run."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("setting", vertical="bottom", no_wrap=True)
    for heading in COLUMNS:
        shown.add_column(heading, justify="right", vertical="bottom", no_wrap=True)
    for run in runs:
        shown.add_row(label(run), *(cell(run, name) for name in COLUMNS.values()))
    wide_console().print(shown)


def label(run: Run) -> str:
    """Return a run's setting, from its title: `3-85percent cake` is `85 % cake`."""
    setting = run.title.partition("-")[2].removesuffix(" none")
    return setting.replace("percent", " %").replace("_again", " again")


def cell(run: Run, name: str) -> str:
    """Return the grade that a rule gives, or the number; a dash where there is none."""
    metric = METRICS[name]
    value = metric.of(run)
    if isinstance(value, Unavailable) or metric.word is None:
        return metric.text(value)
    return metric.word(value)
