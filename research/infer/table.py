# SPDX-License-Identifier: GPL-3.0-or-later
"""Write rows for each run of the recipe: its features, the class of its queue, and what that did.

    .venv/bin/python -m research.infer.table FOLDER -o TABLE.parquet

A run has a row for each cadence of its samples: see CADENCES.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet

from flent_aqm.base.errors import AqmError, BadResult, ConfigError
from flent_aqm.parts.infer.cadence import MEAN_GAP_S, as_archived, thin
from flent_aqm.parts.infer.classes import AQM, CANT_TELL, DROP_TAIL
from flent_aqm.parts.infer.features import features
from flent_aqm.parts.infer.reading import Download, downloads_of_data_file
from flent_aqm.results.data_file import DataFile
from flent_aqm.results.many_files import each_file, find_files
from flent_aqm.results.metrics.queue_samples import queues
from flent_aqm.results.metrics.run import as_run
from research.infer.recipe import TWO_BOTTLENECKS, WIFI, Line, line
from research.validation.stamp import made_of

# CoDel's interval: any AQM acts within it, so a queue that stood so high without a loss has none.
_LONG_MS = 100.0
# Two bottlenecks whose rates differ by no more than this share hold queues by turns.
_ALIKE = 0.05


# What a lost segment has: payload of a TCP segment with time stamps over Ethernet.
_SEGMENT_BYTES = 1448


def with_losses(download: Download, lost: Sequence[int]) -> Download:
    """Return the download as if more segments had been lost and sent again. Each loss adds a
    segment of _SEGMENT_BYTES to the counts of sent and of retransmitted bytes, in the first sample
    after the segment was sent and in all later ones. Numbers beyond the last segment have no
    effect.

    Args:
        download: the download.
        lost: number of a segment, from 0 in the order of sending, for each loss. A number that is
            there twice is lost twice.
    """
    ends = download.sent_bytes / _SEGMENT_BYTES
    at = numpy.searchsorted(ends, numpy.array(lost, dtype=float), side="right")
    more = _SEGMENT_BYTES * numpy.bincount(at, minlength=ends.size)[:ends.size].cumsum()
    return replace(download, sent_bytes=download.sent_bytes + more,
                   retransmitted_bytes=download.retransmitted_bytes + more)


def _some_segments(download: Download, draw: random.Random, most: int) -> list[int]:
    """Return the numbers of 1 to `most` random segments of a download, from 0. A number may be
    there more than once."""
    sent = download.sent_bytes[-1] / _SEGMENT_BYTES
    return [int(draw.random() * sent) for _ in range(1 + int(draw.random() * most))]


def _share_of_segments(download: Download, draw: random.Random, share: float) -> list[int]:
    """Return the numbers, from 0 and ascending, of the segments of a download that are lost if each
    is lost with the probability `share`, which is above 0 and below 1. May be empty."""
    sent, at = download.sent_bytes[-1] / _SEGMENT_BYTES, -1
    lost: list[int] = []
    while True:
        at += 1 + int(math.log(1 - draw.random()) / math.log(1 - share))
        if at >= sent:
            return lost
        lost.append(at)


def _at_random(download: Download, draw: random.Random) -> Download:
    """Return the download, thinned at a random cadence such as M-Lab's. In about half of all calls,
    losses are added, too. Without BBR these are one to three segments. With BBR they are one to
    three segments, so that a single one means little, or a random share of 0.001 to 2 % of the
    segments, because BBR hardly slows down at losses."""
    one = thin(download, draw, MEAN_GAP_S * (0.3 + 0.7 * draw.random()))
    kind, share = draw.random(), 1e-5 * 2000 ** draw.random()
    if kind < 0.5:
        return one
    if kind < 0.7 or not one.bbr:
        return with_losses(one, _some_segments(one, draw, 3))
    return with_losses(one, _share_of_segments(one, draw, share))


# How the samples of a run are thinned -> the download that a row describes. The model is made of
# ARCHIVED and AT_RANDOM, and the page judges it by ARCHIVED unless it says otherwise. Only
# downloads without a loss have a row ONE_LOST.
ARCHIVED, FULL, SPARSE, ONE_LOST = "archived", "full", "sparse", "one lost"
AT_RANDOM = ("at random 1", "at random 2")
CADENCES: Mapping[str, Callable[[Download, random.Random], Download]] = {
    ARCHIVED: lambda download, draw: as_archived(download),
    **dict.fromkeys(AT_RANDOM, _at_random),
    FULL: lambda download, draw: download,
    SPARSE: lambda download, draw: thin(download, draw, 2 * MEAN_GAP_S),
    ONE_LOST: lambda download, draw: with_losses(download := as_archived(download),
                                                 _some_segments(download, draw, 1))}


def rows_of(data: DataFile) -> list[dict[str, Any]] | None:
    """Return the rows of a run's first usable download, one for each cadence of CADENCES, each row
    a dict with name of a column -> value. Only downloads without a loss have the row "one lost".
    None if there is no download, or if the file's name doesn't begin with a number and "-". The
    number is taken for the run's number in the recipe.

    Columns are the features, and made_by (versions that made the run, as text), made_with (kernels
    on which it ran, as text), made_on (its day), number and world (of the run in the recipe), aqm,
    cc (the key ndt7_cc), kernel and testbed (as the batch requested them), line_mbps, line_rtt_ms
    and depth_ms (drawn for the router and its queue, which Wi-Fi runs don't use, and which may not
    be the narrower one of two bottlenecks; depth_ms is NaN if the queue has no depth), has_aqm
    (whether the queue at the bottleneck is an AQM), drops (packets dropped by the router's queue,
    NaN if it wasn't sampled), loses (whether the download lost anything, before losses are added
    for a cadence), truth (the class), cadence, samples (their number) and gap_s (median time
    between two samples).

    Raises BadResult if downloads are there and none is usable, or if values are damaged. Raises
    KeyError if it is no run of the lab.
    """
    reasons: list[str] = []
    download = next(downloads_of_data_file(data, reasons), None)
    if download is None and reasons:
        raise BadResult(f"{data.path}: {reasons[0]}")
    number = data.path.name.split("-")[0]
    if download is None or not number.isdigit():
        return None
    one = line(int(number))
    requested = data.metadata["AQM"]["requested"]
    queue = queues(data.raw_values).get("download")
    drops, stood_ms = math.nan, features(download)["rise_max_ms"]
    if queue is not None and queue.sent_bytes.size:
        drops = float(queue.drops.sum())
        if one.world not in (WIFI, TWO_BOTTLENECKS):  # there, packets wait elsewhere
            stood_ms = float(queue.delay_ms.max())
    made = made_of([as_run(data)])
    run = {
        "made_by": ", ".join(made.versions), "made_with": ", ".join(made.kernels),
        "made_on": made.date, "number": one.number, "world": one.world, "aqm": requested["aqm"],
        "cc": requested["ndt7_cc"], "kernel": requested["kernel"], "testbed": requested["testbed"],
        "line_mbps": one.rate_mbps, "line_rtt_ms": one.rtt_ms,
        "depth_ms": math.nan if one.depth_ms is None else one.depth_ms,
        "has_aqm": _bottleneck(one) == AQM, "drops": drops, "loses": download.loses,
        # A router behind ssh isn't sampled: there the sender's losses have to do.
        "truth": truth(one, download.loses if math.isnan(drops) else drops > 0, download.loses,
                       stood_ms)}
    rows = []
    for name, change in CADENCES.items():
        if name == ONE_LOST and download.loses:
            continue
        seen = change(download, random.Random(f"{name} {one.number}"))
        rows.append({**run, "cadence": name, "samples": seen.at_s.size,
                     "gap_s": float(numpy.median(numpy.diff(seen.at_s))), **features(seen)})
    return rows


def truth(run: Line, dropped: bool, lost: bool, stood_ms: float) -> str:
    """Return the class that a run is an example of: that of the queue at its bottleneck. CANT_TELL
    if that queue dropped nothing (and, if it is drop-tail, no packet waited longer than _LONG_MS),
    or if two bottlenecks hold queues by turns.

    Args:
        run: the run.
        dropped: whether the router's queue dropped packets.
        lost: whether any packet was lost, as the sender knows. Counts in place of `dropped` if the
            bottleneck may be another one than the router's queue.
        stood_ms: longest wait of a packet.
    """
    queue = _bottleneck(run)
    # There, the queue is not the router's, and nothing else loses packets.
    acted = lost if run.world in (WIFI, TWO_BOTTLENECKS) else dropped
    # A long queue shows itself without a loss; of any other nothing was seen.
    return queue if acted or (queue == DROP_TAIL and stood_ms > _LONG_MS) else CANT_TELL


def _bottleneck(run: Line) -> str:
    """Return the class of the queue at the run's bottleneck, CANT_TELL if two bottlenecks hold
    queues by turns, because their rates differ by at most _ALIKE."""
    if run.world == WIFI:  # a driver's FIFO, or mac80211's FQ-CoDel
        return DROP_TAIL if run.settings["wifi_ap"] == "fifo" else AQM
    if run.world == TWO_BOTTLENECKS:
        modem = float(str(run.settings["modem_down_mbps"])) / run.rate_mbps
        return DROP_TAIL if modem < 1 - _ALIKE else run.queue if modem > 1 + _ALIKE else CANT_TELL
    return run.queue


_NO_RUN = ("no run of the recipe, whose file names begin with a number and -, or no NDT7 download "
           "in it")


def rows(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the rows of all runs in these files and folders, sorted by number, kernel, testbed and
    name of the cadence. Files that can't be read, and those for which rows_of() raises an error or
    returns None, are reported on standard error and left out. Raises ConfigError if a path doesn't
    exist, a folder has no data files, or all files are left out."""
    made = []
    for path, result in each_file(find_files(paths), rows_of):
        if isinstance(result, BadResult) or result is None:
            print(f"infer: left out: {result or f'{path.name}: {_NO_RUN}'}", file=sys.stderr)
        else:
            made += result
    if not made:
        raise ConfigError("none of these files is a usable run; expected runs that "
                          "`python -m research.infer.recipe make` makes")
    return sorted(made, key=lambda one: (one["number"], one["kernel"], one["testbed"],
                                         one["cadence"]))


def main() -> int:
    """Write the table of the runs in the command line's folders to the Parquet file of -o, and
    print the number of its rows. Return the exit status. It is 1, and nothing is written, if a path
    doesn't exist, a folder has no data files, or all files are left out. Raises OSError if the
    table can't be written."""
    parser = argparse.ArgumentParser(prog="python -m research.infer.table",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    try:
        table = pyarrow.Table.from_pylist(rows(args.folders))
    except AqmError as error:
        print(f"infer: {error}", file=sys.stderr)
        return 1
    pyarrow.parquet.write_table(table, args.output)
    print(f"{table.num_rows} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
