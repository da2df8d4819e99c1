# SPDX-License-Identifier: GPL-3.0-or-later
"""The document's chart, download speed by setting, with upload and latency beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.sweep.sqm_home.table import cell, label

# What a panel has: metric, axis, colour of Okabe and Ito's. The last one's bars have grades.
PANELS = (("throughput_download_mbps", "download (Mbit/s)", "#0072B2"),
          ("throughput_upload_mbps", "upload (Mbit/s)", "#56B4E9"),
          ("latency_loaded_mean_ms", "loaded latency, mean (ms)", "#D55E00"))
GRADE = "dslreports_rise_ms"


def draw(runs: Sequence[Run], picture: Path) -> None:
    """Write the chart: a bar for each run, in their order. Raises OSError."""
    # Without pyplot: no window system is asked for.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 1.6 + 0.34 * len(runs)), layout="constrained")
    places = list(range(len(runs)))
    for axis, (name, axis_label, colour) in zip(
            figure.subplots(1, len(PANELS), sharey=True), PANELS, strict=True):
        values = [METRICS[name].of(run) for run in runs]
        widths = [0.0 if isinstance(value, Unavailable) else value for value in values]
        bars = axis.barh(places, widths, color=colour)
        texts = [METRICS[name].text(value) for value in values]
        if name == PANELS[-1][0]:
            texts = [f"{text}  {cell(run, GRADE)}" for text, run in zip(texts, runs, strict=True)]
        axis.bar_label(bars, texts, padding=3, fontsize="small")
        axis.set_xlim(0, max(*widths, 1.0) * 1.3)
        axis.set_xlabel(axis_label)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_yticks(places, [label(run) for run in runs])
    axis.invert_yaxis()
    figure.suptitle("SQM at home: NDT7 by setting; letters are DSLReports' grades",
                    fontsize="medium")
    figure.savefig(picture, dpi=130)
