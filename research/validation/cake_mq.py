# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the table of docs/results/cake-mq.md, from runs of batches/cake_mq.batch.

    .venv/bin/flent -B batches/cake_mq.batch
    .venv/bin/python -m research.validation.cake_mq results/cake_mq-… [-o docs]

Prints the table and, with -o, writes it between its marks on the page in that folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from flent_aqm.base.errors import BadResult
from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.throughput import mean_mbps
from flent_aqm.results.metrics.window import Window
from research.validation import from_runs

PAGE, PART = "results/cake-mq.md", "two shares"
WAY = "upload"
# Seconds left out of 10 s of load, in which the flows reach the rate.
SETTLED_S = 2.0
# Queue -> Mbit/s of the two groups, as reported for a router.
REPORTED: Mapping[str, tuple[float, float]] = {"cake": (550, 1669), "cake_mq": (135, 2072)}


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the Markdown table: its head, and a row for each queue of REPORTED, with
    the mean rates over its runs, their deviation from the reported ones, and the marked upload's
    part of all. Raises BadResult if a queue has no run, or a run is of another
    test."""
    yield ("| queue | EF, Mbit/s | the 16 others, Mbit/s | reported, Mbit/s | EF's part of all | "
           "runs |")
    yield "|" + "---|" * 6
    for aqm, reported in REPORTED.items():
        measured = [rates(run) for run in runs if run.settings.get("aqm") == aqm]
        if not measured:
            raise BadResult(f"there is no run with aqm {aqm}; expected the runs of "
                            "batches/cake_mq.batch")
        marked, others = (fmean(each) for each in zip(*measured, strict=True))
        cells = [f"{got:.0f} ({got / wanted - 1:+.1%})".replace("%", " %")
                 for got, wanted in zip((marked, others), reported, strict=True)]
        yield (f"| {aqm} | {' | '.join(cells)} | {reported[0]:.0f} and {reported[1]:.0f} | "
               f"1/{(marked + others) / marked:.1f} | {len(measured)} |")


def rates(run: Run) -> tuple[float, float]:
    """Return the mean rate in Mbit/s of the upload that is marked EF, which is the first one, and
    the sum of those of all other uploads, from SETTLED_S after the first one's first sample to its
    last one. Raises NotAvailable without uploads, or if they are too short for that. Raises
    BadResult if none has the number 1."""
    flows = {flow.name.rpartition("::")[2]: flow for flow in run.flows_of(WAY)}
    if "1" not in flows:
        raise BadResult(f"{run.path}: none of its uploads is number 1; expected a run of "
                        "batches/cake_mq.batch")
    marked = flows.pop("1")
    window = Window(float(marked.at_s.min()) + SETTLED_S, float(marked.at_s.max()))
    return (mean_mbps(marked, window),
            sum(mean_mbps(flow, window) for flow in flows.values()))


if __name__ == "__main__":
    sys.exit(from_runs.main(__doc__, PAGE, PART, lines))
