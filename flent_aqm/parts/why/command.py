# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm why`: repeats the run of a data file with captures on the router, and explains one
probe."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from flent_aqm.base.words import plain
from flent_aqm.sweep.replay.one_file import add_file
from flent_aqm.sweep.replay.run_programs import add_run_programs

if TYPE_CHECKING:
    from flent_aqm.parts.why.story import Story
    from flent_aqm.parts.why.what_if import RunOutcome
    from flent_aqm.results.metrics.run import Run

EXPLAINED, NOT_EXPLAINED = 0, 2
# Columns of the explanation on a terminal.
WIDTH = 80
_NONE = "none"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the description and the arguments of `flent-aqm why`."""
    parser.description = (
        "Repeat the run of a data file in the lab with captures on the router, and explain a "
        "probe: where its time went, behind whose packets it waited, since when and why the "
        "queue stood, what the queue did, and what would have been with one thing changed, "
        "executed on the same seed. Exit status: 0 explained, 2 the run can't be repeated, or "
        "repeats differently.")
    add_file(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--probe", metavar="N", type=int,
                       help="number of the probe (default: the slowest under load)")
    which.add_argument("--at", metavar="S", type=float,
                       help="the probe that was sent nearest to S seconds after the first")
    which.add_argument("--glitch", metavar="N", type=int,
                       help="the slowest probe of the N-th glitch under load, counted from 1: "
                            "probes 30 ms slower than before the load")
    parser.add_argument("--series", metavar="NAME", default="",
                        help="latency series of the probe, such as 'Ping (ms) UDP BE' (default: "
                             "the one that metrics are of; without --probe, --at and --glitch "
                             "another if its slowest probe under load takes a tenth longer)")
    parser.add_argument("--what-if", metavar="KEY=VALUE", action="append", default=[],
                        help="run again with this changed; several changes at once are separated "
                             "by commas, `none` runs nothing again; may be repeated (default: the "
                             "other queues of no_aqm, codel, sfq and fq_codel, half the buffer, "
                             "and no cross traffic; of a probe that waited in the modem, SQM at "
                             "90 %% of its rates)")
    parser.add_argument("--drop-packet", metavar="FLOW:+S",
                        help="run again, but drop one packet as it arrives at the router: the "
                             "first with data of a TCP flow (its name or port) S seconds after the "
                             "flow's first")
    parser.add_argument("--trace", metavar="FOLDER", type=Path, action="append", default=[],
                        help="file or folder with the trace that the run's link played")
    add_run_programs(parser)
    parser.add_argument("-o", "--output", metavar="PAGE", type=Path,
                        help="write an HTML page with the figure; .png, .svg or .pdf writes the "
                             "figure alone")
    parser.add_argument("--keep", metavar="KEPT.flent.gz", type=Path,
                        help="write the data file again with the packets around the probe, for "
                             "`flent -p why` and flent-gui")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def main(args: argparse.Namespace) -> int:
    """Repeat the run of a data file, and print the explanation of a probe, see _explain(). Return
    the exit status: 0 (EXPLAINED), or 2 (NOT_EXPLAINED) after an AqmError, which is printed in one
    line on standard error."""
    from flent_aqm.base.errors import AqmError

    try:
        _explain(args)
    except AqmError as error:
        print(f"flent-aqm: {error}", file=sys.stderr)
        return NOT_EXPLAINED
    return EXPLAINED


def _explain(args: argparse.Namespace) -> None:
    """Repeat the run, also with each change of --what-if (default: usual_changes()) and of
    --drop-packet, print the explanation as text or JSON, and then write the files that --output and
    --keep name. The progress goes to standard error. A change of --what-if whose run fails is told
    in the explanation. Raises AqmError if an option is wrong, the run or that of --drop-packet
    fails, the run can't be repeated or repeats differently, the probe can't be explained, or a file
    can't be read or written."""
    # Imported late, because --help needs none of these modules.
    from flent_aqm.base.errors import NotAvailable
    from flent_aqm.parts.why import html
    from flent_aqm.parts.why.figure import explained_of
    from flent_aqm.parts.why.kept import keep, refuse_names
    from flent_aqm.parts.why.settings import in_short, settings_of
    from flent_aqm.parts.why.story import explain
    from flent_aqm.parts.why.watched import run_again, watch
    from flent_aqm.parts.why.what_if import (
        UNCHANGED,
        changed,
        drop_filter,
        outcome,
        parse_packet,
        run_changed,
        usual_changes,
    )
    from flent_aqm.parts.why.words import concluding, lines
    from flent_aqm.results.data_file import read_data_file
    from flent_aqm.results.metrics.latency import idle_median_ms
    from flent_aqm.results.metrics.run import as_run
    from flent_aqm.sweep.replay import recorded

    html.refuse_other_names(args.output)
    refuse_names(args.keep, args.file)
    run = _with_series(args, as_run(read_data_file(args.file)))
    series = run.probe.name
    # Mistakes are told before the run, which takes a while.
    was = recorded.read(args.file, args.file.parent, args.trace, run_programs=args.run_programs)
    wanted = [one for one in args.what_if if one != _NONE]
    for one in wanted:
        changed(was.cell, one)
    if args.drop_packet:
        parse_packet(args.drop_packet)
    number = _number(args, run)
    _say(f"repeating {was.cell.test_name} with captures")
    watched = run_again(args.file, was, series)
    story = explain(watched, number)
    line, title = drop_filter(watched, args.drop_packet) if args.drop_packet else ("", "")
    if not args.what_if:
        wanted = list(usual_changes(watched, story.bottleneck))
    # Of the repeated run, so that all rows are made by one version.
    outcomes = [outcome(UNCHANGED, watched.data, watched.run, number)]
    for one in wanted:
        _say(f"repeating with {one}")
        outcomes.append(run_changed(watched.cell, one, number, series))
    if args.drop_packet:
        _say(f"repeating {title}")
        without = watch(watched.cell, watched.data, line, series)
        outcomes.append(outcome(title, without.data, without.run, number))
    try:
        idle_ms: float | None = idle_median_ms(run)
    except NotAvailable:
        idle_ms = None
    settings = settings_of(watched.cell, watched.run)
    if args.format == "json":
        from flent_aqm.base.json_text import json_text

        print(json_text({
            "file": str(args.file),
            "settings": dict(settings),
            **asdict(story), "what_if": [asdict(one) for one in outcomes],
            "conclusion": concluding(outcomes, idle_ms, story.bottleneck, story.standing.cause)}))
    else:
        print("\n".join(as_text(story, outcomes, idle_ms, in_short(settings))))
    if not args.output and not args.keep:
        return
    (_, heading), *sentences = lines(story, idle_ms)
    told = [sentence for _, sentence in sentences]
    explained = explained_of(watched, story, outcomes, heading, told)
    if args.output:
        html.write(args.output, args.file, watched, explained, story, outcomes, idle_ms)
    if args.keep:
        keep(args.keep, was.data, explained)


def _say(text: str) -> None:
    """Print a line on the progress on standard error."""
    print(f"flent-aqm: {text}", file=sys.stderr, flush=True)


def _with_series(args: argparse.Namespace, run: Run) -> Run:
    """Return the run with the explained latency series as its first one. It is the one that
    --series names. Without that option it is the best for metrics of those that can be explained,
    or, if --probe, --at and --glitch are missing, too, another one whose slowest answered probe
    under load took more than a tenth longer, see with_worst_series(). Raises BadResult if no series
    can be explained, or none of these has the name."""
    from flent_aqm.parts.why.probe_series import with_series, with_worst_series

    if args.series or any(one is not None for one in (args.probe, args.at, args.glitch)):
        return with_series(run, args.series)
    return with_worst_series(run)


def _number(args: argparse.Namespace, run: Run) -> int:
    """Return the number of the probe that --probe, --at or --glitch names. Without any of these
    options, return that of the slowest probe under load. Raises ConfigError if the run has no such
    probe, NotAvailable if its glitches can't be found, and BadResult if no probe was sent under
    load."""
    from flent_aqm.parts.why.chosen import at_time, of_glitch, slowest, with_number

    if args.probe is not None:
        return with_number(run, args.probe)
    if args.at is not None:
        return at_time(run, args.at)
    if args.glitch is not None:
        return of_glitch(run, args.glitch)
    return slowest(run)


def as_text(story: Story, outcomes: Sequence[RunOutcome], idle_ms: float | None, settings: str
            ) -> list[str]:
    """Return the explanation for a terminal as lines of at most 80 characters (WIDTH): settings,
    sentences, table of runs, conclusion.

    Args:
        story: the explanation.
        outcomes: the run itself, and the runs with something changed.
        idle_ms: median RTT before the load, None if it isn't known.
        settings: the run's settings.
    """
    from flent_aqm.parts.why.words import concluding, lines

    told = _wrapped("Run", settings)
    for heading, sentence in lines(story, idle_ms):
        told += _wrapped(heading, sentence)
    conclusion = concluding(outcomes, idle_ms, story.bottleneck, story.standing.cause)
    return [*told, *_table(outcomes), *(_wrapped("Result", conclusion) if conclusion else [])]


def _wrapped(heading: str, sentence: str) -> list[str]:
    """Return a sentence as lines of at most 80 characters (WIDTH), the first with its heading, the
    others indented."""
    return textwrap.wrap(f"{heading:<7} {sentence}", WIDTH, subsequent_indent=" " * 8)


def _table(outcomes: Sequence[RunOutcome]) -> list[str]:
    """Return the lines of the table of runs: a heading, the run itself, and each run with something
    changed, or the reason why it failed. Empty if there is only the run itself."""
    if len(outcomes) < 2:
        return []
    rows = [f"{'What if, executed':27}probe ms   p99 ms  glitches/min  up Mbit/s  down"]
    for one in outcomes:
        if one.fault:
            rows += textwrap.wrap(f"{one.change}: failed: {plain(one.fault)}", WIDTH,
                                  subsequent_indent=" " * 8)
            continue
        rows.append(_cut(one.change, 26).ljust(27)
                    + _cell(one.probe_ms, 8, "lost" if one.was_sent else "-")
                    + _cell(one.p99_ms, 9, "lost" if one.p99_lost else "-")
                    + _cell(one.glitches_per_minute, 14) + _cell(one.upload_mbps, 11)
                    + _cell(one.download_mbps, 6))
    return rows


def _cut(text: str, width: int) -> str:
    """Return a text unchanged if it has at most `width` characters. Otherwise return its beginning,
    with a blank and "…" at the end, of at most `width` characters in all."""
    return text if len(text) <= width else f"{text[:width - 2].rstrip()} …"


def _cell(value: float | None, width: int, nothing: str = "-") -> str:
    """Return a number with one digit behind the point, or `nothing` for None, right-aligned in
    `width` characters."""
    return f"{nothing if value is None else format(value, '.1f'):>{width}}"
