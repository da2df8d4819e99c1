# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm score`: shows every metric of data files on a terminal, as JSON or as CSV."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.words import counted
from flent_aqm.results.grouping import parse_keys
from flent_aqm.results.many_files import counted_once, each_run, find_files
from flent_aqm.results.metrics.table import METRICS, Unavailable, unknown_metric
from flent_aqm.results.score.group_formats import GROUP_FORMATS
from flent_aqm.results.score.shown import (
    FORMATS,
    ScoredFile,
    score,
    show_groups,
    show_list,
    wide_console,
)

# Metrics that are shown by default for several files: they fit beside a file's name.
USUAL = (
    "throughput_download_mbps", "throughput_upload_mbps", "latency_loaded_median_ms",
    "latency_loaded_p99_ms", "flow_rtt_download_median_ms", "flow_rtt_upload_median_ms",
    "glitches_per_minute_100ms", "loss_loaded_pct", "rpm_ietf_estimate", "libreqos_rise_ms")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm score`."""
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE",
                        help="data file, or folder of data files")
    parser.add_argument("--format", choices=sorted(FORMATS), default="table",
                        help="table for people (default); csv and json have every metric; with "
                             "--by, medians, quartiles and intervals of groups")
    parser.add_argument("--metrics", metavar="NAME,...",
                        help="show these metrics; 'all' for all of them (default: of one file, "
                             "those that it has; of several files, ten)")
    parser.add_argument("--by", metavar="SETTING,...",
                        help="show groups of runs instead of files: medians, quartiles, and "
                             "statistics between groups; for example aqm,rate")
    parser.add_argument("--pool", metavar="SETTING,...",
                        help="with --by: put runs that differ in these settings into one line; "
                             "'all' for any setting (default: keep them apart)")
    parser.add_argument("--list", action="store_true", help="list all metrics and exit")


def main(args: argparse.Namespace) -> int:
    """Print metrics of files or groups, or with --list the list of all metrics. Files that can't be
    read or are damaged are skipped with a message. Return 1 if any was skipped, else 0. Raises
    ConfigError if an option is wrong or no data file is found."""
    console = wide_console()
    if args.list:
        show_list(console)
        return 0
    if not args.files:
        raise ConfigError("no files given; name data files or folders, such as: flent-aqm score "
                          "results/")
    names = _parse_metrics(args.metrics)
    if args.by is not None and not parse_keys(args.by):
        raise ConfigError(f"--by: {args.by!r} names no setting; give one or more, such as "
                          "--by aqm,rate")
    if args.pool and not args.by:
        raise ConfigError("--pool: needs --by, which groups the runs, such as --by aqm --pool "
                          "seed")
    scored: list[ScoredFile] = []
    damaged = 0
    for _, result in each_run(find_files(args.files), score):
        if isinstance(result, BadResult):
            damaged += 1
            print(f"flent-aqm: skipped: {result}", file=sys.stderr)
        else:
            scored.append(result)
    files = damaged + len(scored)  # also those that count once
    if scored and args.by:
        scored, copies = counted_once(scored)
        if copies:
            print(f"flent-aqm: {copies}", file=sys.stderr)
        write = GROUP_FORMATS.get(args.format, show_groups)
        write(console, scored, parse_keys(args.by), parse_keys(args.pool or ""), names or USUAL)
    elif scored:
        FORMATS[args.format](console, scored, names or _default_metrics(args.format, scored))
    if damaged:
        print(f"flent-aqm: skipped {damaged} of {counted(files, 'file')}, for the reasons above",
              file=sys.stderr)
    return 1 if damaged else 0


def _default_metrics(form: str, scored: Sequence[ScoredFile]) -> tuple[str, ...]:
    """Return the names of the metrics that are shown by default: USUAL in a table of several files,
    those that have a value in a table of one file, else all. USUAL, too, if the one file has no
    value, so that the reasons are shown.

    Args:
        form: output format, a key of FORMATS.
        scored: the files, at least one.
    """
    if form != "table":
        return tuple(METRICS)
    if len(scored) > 1:
        return USUAL
    return tuple(name for name in METRICS
                 if not isinstance(scored[0].values[name], Unavailable)) or USUAL


def _parse_metrics(text: str | None) -> tuple[str, ...]:
    """Parse the value of --metrics: names separated by commas. Return them in their order, or all
    metrics in the order of METRICS if "all" is among them, or () without the option or without a
    name in it. Raises ConfigError if a metric is unknown."""
    if text is None:
        return ()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in METRICS and name != "all":
            raise ConfigError(f"--metrics: {unknown_metric(name)}")
    return tuple(METRICS) if "all" in names else names
