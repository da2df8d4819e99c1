# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a row for each run of the recipe: its features, the class of its queue, and what that did.

    .venv/bin/python -m research.infer.table FOLDER -o TABLE.parquet
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from flent_aqm.base.errors import AqmError, BadResult
from flent_aqm.parts.infer.classes import CANT_TELL, DROP_TAIL, FLOW_QUEUEING
from flent_aqm.parts.infer.features import features
from flent_aqm.parts.infer.reading import downloads_of_data_file
from flent_aqm.results.data_file import DataFile
from flent_aqm.results.many_files import each_file, find_files
from flent_aqm.results.metrics.queue_samples import queues
from research.infer.recipe import PLAIN, SLOW_ROUTER, TWO_BOTTLENECKS, WIFI, Line, line

# CoDel's interval: any AQM acts within it, so a queue that stood so high without a loss has none.
_LONG_MS = 100.0
# Two bottlenecks whose rates differ by no more than this share hold queues by turns.
_ALIKE = 0.05


def row(data: DataFile) -> dict[str, Any] | None:
    """Return a run's row: name of a column -> value. None if it is no run of the recipe or has no
    download."""
    download = next(downloads_of_data_file(data), None)
    number = data.path.name.split("-")[0]
    if download is None or not number.isdigit():
        return None
    one = line(int(number))
    requested, values = data.metadata["AQM"]["requested"], features(download)
    queue = queues(data.raw_values).get("download")
    drops, delay_ms = math.nan, math.nan
    if queue is not None and queue.sent_bytes.size:
        drops, delay_ms = float(queue.drops.sum()), float(queue.delay_ms.max())
    return {
        "number": one.number, "world": one.world, "queue": one.queue, "aqm": requested["aqm"],
        "cc": requested["ndt7_cc"], "cross_traffic": str(requested["cross_traffic"]),
        "kernel": requested["kernel"], "testbed": requested["testbed"],
        "line_mbps": one.rate_mbps, "line_rtt_ms": one.rtt_ms,
        "depth_ms": math.nan if one.depth_ms is None else one.depth_ms,
        "drops": drops, "delay_ms": delay_ms,
        # A router behind ssh isn't sampled: there the sender's losses have to do.
        "truth": truth(one, download.loses if math.isnan(drops) else drops > 0, download.loses,
                       max(values["rise_max_ms"], 0 if math.isnan(delay_ms) else delay_ms)),
        "throughput_mbps": download.throughput_mbps, **values}


def truth(run: Line, dropped: bool, lost: bool, stood_ms: float) -> str:
    """Return the class that a run is an example of: that of the queue at its bottleneck, or
    CANT_TELL if that queue had no effect.

    Args:
        run: the run.
        dropped: whether the router's queue dropped packets.
        lost: whether any queue dropped packets, as the sender knows.
        stood_ms: longest wait of a packet.
    """
    queue, acted = _bottleneck(run), lost
    if run.world in (PLAIN, SLOW_ROUTER):
        acted = dropped
    # A long queue shows itself without a loss; of any other nothing was seen.
    return queue if acted or (queue == DROP_TAIL and stood_ms > _LONG_MS) else CANT_TELL


def _bottleneck(run: Line) -> str:
    """Return the class of the queue at the run's bottleneck, CANT_TELL if two bottlenecks hold
    queues by turns."""
    if run.world == WIFI:  # a driver's FIFO, or mac80211's FQ-CoDel
        return DROP_TAIL if run.settings["wifi_ap"] == "fifo" else FLOW_QUEUEING
    if run.world == TWO_BOTTLENECKS:
        modem = float(str(run.settings["modem_down_mbps"])) / run.rate_mbps
        return DROP_TAIL if modem < 1 - _ALIKE else run.queue if modem > 1 + _ALIKE else CANT_TELL
    return run.queue


def rows(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the rows of all runs in these files and folders, sorted by number, kernel and testbed.
    Damaged files are reported on standard error and left out."""
    made = []
    for path, result in each_file(find_files(paths), row):
        if isinstance(result, BadResult) or result is None:
            print(f"infer: {path.name}: {result or 'no download'}", file=sys.stderr)
        else:
            made.append(result)
    return sorted(made, key=lambda one: (one["number"], one["kernel"], one["testbed"]))


def main() -> int:
    """Write the table. Return the exit status, 1 if a path has no data files."""
    parser = argparse.ArgumentParser(prog="python -m research.infer.table",
                                     description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    try:
        table = pyarrow.Table.from_pylist(rows(args.folders))
    except AqmError as error:
        print(f"infer: {error}", file=sys.stderr)
        return 1
    pyarrow.parquet.write_table(table, args.output)
    print(f"{table.num_rows} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
