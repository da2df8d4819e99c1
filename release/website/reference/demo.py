# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the table of README.md: the runs of the golden batch.

README's picture and the site's sample report show the same batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.spec.queues.table import QUEUES
from release.website.reference.rows import table

BATCH = Path(__file__).resolve().parents[3] / "tests" / "golden" / "batches" / "quick"
COLUMNS = {"down, Mbit/s": "throughput_download_mbps", "up": "throughput_upload_mbps",
           "RTT, median": "latency_loaded_median_ms", "p99": "latency_loaded_p99_ms"}


def demo() -> Iterator[str]:
    """Yield the lines of the Markdown table: its head, and a row for each run of BATCH, sorted by
    test, then in the order of QUEUES. It has the throughput of both directions, and median and p99
    of the round-trip time under load."""
    order = list(QUEUES)
    runs = sorted(map(load_run, BATCH.glob("*.flent.gz")),
                  key=lambda run: (run.test, order.index(str(run.settings["aqm"]))))
    yield from table(("test", "queue", *COLUMNS), (
        (f"`{run.test}`", f"`{run.settings['aqm']}`",
         *(METRICS[name].text(METRICS[name].of(run)) for name in COLUMNS.values()))
        for run in runs))
