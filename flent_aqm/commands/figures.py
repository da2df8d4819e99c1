# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm figures`: draws the study's figures, and writes their values as CSV."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.base.paths import resource_dir
from flent_aqm.base.waiting import with_progress
from flent_aqm.base.words import counted, plain
from flent_aqm.results.jobs_option import add_jobs

KINDS = ("svg", "png", "pdf")
VERDICT_RATE_MBPS = 100.0
MOST_NAMED = 10
DPI = 150
# Least height of a narrow figure, as a share of its width: letters don't shrink with the figure.
LEAST_HEIGHT_BY_WIDTH = {"throughput": 0.85, "latency": 0.85, "instant": 1.1, "verdicts": 1.35}
SIZES_INCH = {"throughput": (11, 6), "latency": (11, 6), "instant": (8, 8), "verdicts": (9, 8)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm figures`."""
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS",
                        help="data files, or folders of them")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", required=True,
                        help="folder for the figures; it is created if it does not exist")
    parser.add_argument("--set", choices=("study", "speedtests"), default="study", dest="which",
                        help="study: figures 1 to 10; speedtests: what each speed test shows, a "
                             "page for each rate, delay and cross traffic (default: study)")
    parser.add_argument("--figure", action="append", type=int, metavar="N",
                        help="draw only this figure, 1 to 10; may be repeated")
    parser.add_argument("--test", default="ndt7", metavar="NAME",
                        help="draw the runs of this test (default: ndt7, as in the study)")
    parser.add_argument("--where", action="append", default=[], metavar="KEY=VALUE",
                        help="draw only runs with this setting, such as router_model=omnia; may "
                             "be repeated")
    parser.add_argument("--verdict-rate", type=float, default=VERDICT_RATE_MBPS, metavar="MBPS",
                        help="link rate of figure 10, or the nearest one that runs have "
                             "(default: 100)")
    parser.add_argument("--width", metavar="WIDTH",
                        help="width of each figure with its unit, such as 3.33in, 8.5cm or "
                             "240pt; fonts are scaled to it (default: as wide as a page)")
    parser.add_argument("--no-title", action="store_true", help="no title over the figures")
    parser.add_argument("--caption-apart", action="store_true",
                        help="write each caption into a text file of its own")
    add_jobs(parser)


def main(args: argparse.Namespace) -> int:
    """Draw the figures that the user requests from the runs of --test, and write them with their
    values to --output, which is made if necessary. Return 0. With --set speedtests, draw what each
    speed test shows, a page for each rate, delay and cross traffic.

    Files that can't be used are left out with a message. For the study's figures, runs with the
    same samples and settings count once, those that don't record a queue or whose two rates differ
    are left out, and so are runs without the smallest base delay of the others, unless --where
    names the base delay. Raises ConfigError if an option is wrong, no run is left to draw,
    runs for the study's figures are of several testbeds or router models, or a file can't be
    written.
    """
    # Imported late, because --help needs none of these modules.

    from flent_aqm.results.grouping import ALIASES, setting
    from flent_aqm.results.many_files import counted_once, find_files
    from flent_aqm.show.figures.gather import BASE_DELAY, gather
    from flent_aqm.show.figures.study import FIGURES, grid, of_least_delay, on_grid
    from flent_aqm.show.figures.verdicts import VERDICTS
    from flent_aqm.show.plots.paper import parse_inches

    if args.which == "speedtests":
        return _draw_speedtests(args)
    width = None if args.width is None else parse_inches(args.width)
    wanted = args.figure or [figure.number for figure in FIGURES]
    unknown = [number for number in wanted if not 1 <= number <= len(FIGURES)]
    if unknown:
        raise ConfigError(f"--figure: {unknown[0]}; expected a number from 1 to {len(FIGURES)}")
    filters = [_split_filter(text) for text in args.where]
    paths = find_files(args.results)
    rows, faults = gather(paths, args.jobs)
    rows, repeated = counted_once(rows)
    if repeated:
        print(f"flent-aqm: {repeated}", file=sys.stderr)
    _print_left_out(faults)
    filters = [(ALIASES.get(key, key), value) for key, value in filters]
    if rows:
        _refuse_unknown_keys(rows, filters)
    usable = len(rows)
    rows = [row for row in rows if all(_matches(setting(row.settings, key), value)
                                       for key, value in filters)]
    if not rows:
        reasons = [f"{len(faults)} can't be used"] if faults else []
        advice = ""
        if usable:
            reasons.append(f"--where excludes {usable}")
            advice = f"; give {_of_filters(filters)}"
        raise ConfigError(f"none of {counted(len(paths), 'file')} has a run to draw: "
                          f"{', '.join(reasons)}{advice}")
    if not any(row.has(test=args.test) for row in rows):
        tests = ", ".join(sorted({str(row.settings["test"]) for row in rows}))
        what, or_another = ("what --where leaves is of", ", or another --where") \
            if usable > len(rows) else (
                "the file has" if len(paths) == 1 else "the files have", "")
        unknown_tests = f" ({len(faults)} can't be used)" if faults else ""
        raise ConfigError(f"no run of test {args.test!r}; {what}: {tests}{unknown_tests}; choose "
                          f"one with --test{or_another}")
    rows = on_grid(rows)
    if not any(key == BASE_DELAY for key, _ in filters):
        rows = of_least_delay(rows)
    common = grid(rows)
    _make_output(args.output)
    try:
        drawn = ((number, _draw_in_size(FIGURES[number - 1], rows, common, args, width))
                 for number in wanted)
        empty = [number for number, has_run in with_progress(drawn, len(wanted), "drawing figures")
                 if not has_run]
    except BrokenPipeError:  # of standard output
        raise
    except OSError as error:
        raise ConfigError(f"the figures can't be made: {error.filename or args.output}: "
                          f"{cause_of(error)}; mend that, or give another folder with -o"
                          ) from None
    # Figure 10 also shows the verdicts of other tests' runs.
    tests_shown = {args.test, *(test for _, test, _ in VERDICTS if test and 10 in wanted)}
    shown = sum(str(row.settings["test"]) in tests_shown for row in rows)
    print(f"{counted(len(wanted), 'figure')} of {counted(shown, 'run')} in {args.output}"
          + (f"; without a run: {', '.join(map(str, empty))}" if empty else "")
          + (f"; {len(faults)} left out" if faults else ""))
    return 0


def _make_output(folder: Path) -> None:
    """Make the folder of --output, and those above, unless it is there. Raises ConfigError if it
    can't be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ConfigError(f"-o: {error.filename or folder} is there and is no folder, or a link to "
                          "one that is gone; give another name") from None
    except OSError as error:
        raise ConfigError(f"-o: the folder {folder} can't be made: {cause_of(error)}; give another "
                          "name") from None


def _print_left_out(faults: Sequence[str]) -> None:
    """Print a line on standard error for each of the first MOST_NAMED files that can't be used, and
    the number of the others."""
    for fault in faults[:MOST_NAMED]:
        print(f"left out: {fault}", file=sys.stderr)
    if len(faults) > MOST_NAMED:
        print(f"left out: {len(faults) - MOST_NAMED} more", file=sys.stderr)


def _draw_speedtests(args: argparse.Namespace) -> int:
    """Draw a page of the speed tests' figure for each combination of rates, delay and cross
    traffic, and write each as SVG, PNG, PDF and CSV into the folder --output, which is created if
    necessary. Files that can't be used are left out with a message, those of other tests and those
    that --where excludes without one. Return 0.

    Raises ConfigError if a path in `results` doesn't exist or has no data files, if no usable file
    is of a speed test that the figure shows, if --where has another form than KEY=VALUE or excludes
    all, or if a file can't be written.
    """
    import matplotlib

    from flent_aqm.results.grouping import ALIASES, setting
    from flent_aqm.results.many_files import each_file, find_files
    from flent_aqm.show.figures.speedtests import SpeedtestRow, in_order, page_of, row_of

    paths = find_files(args.results)
    filters = [(ALIASES.get(key, key), value) for key, value in map(_split_filter, args.where)]
    pages: dict[tuple[Any, ...], list[SpeedtestRow]] = {}
    faults: list[str] = []
    excluded: list[SpeedtestRow] = []
    for path, row in each_file(paths, row_of, args.jobs):
        if isinstance(row, SpeedtestRow):
            if all(_matches(setting(row.settings, key), value) for key, value in filters):
                pages.setdefault(page_of(row), []).append(row)
            else:
                excluded.append(row)
        elif row is not None:
            text = str(row)
            faults.append(text if plain(path) in text else f"{plain(path)}: {text}")
    _print_left_out(faults)
    if excluded and not pages:
        _refuse_unknown_keys(excluded, filters)
        raise ConfigError(f"--where excludes all runs of speed tests ({len(excluded)}) in "
                          f"{counted(len(paths), 'file')}; give {_of_filters(filters)}")
    if not pages:
        damaged = f" ({len(faults)} can't be used)" if faults else ""
        batch = Path("batches", "speedtests.batch")
        if not os.path.isfile(batch):  # outside of a checkout
            batch = resource_dir("batches") / batch.name
        raise ConfigError(f"no run of a speed test in {counted(len(paths), 'file')} that "
                          f"this figure shows{damaged}; make some: flent -B {batch}")
    _make_output(args.output)
    try:
        for page in sorted(pages, key=in_order):
            # The same data gives the same bytes. Dollar signs in text from files begin no formulas.
            with matplotlib.rc_context({"svg.hashsalt": "flent-aqm", "text.parse_math": False}):
                _draw_page(args, page, pages[page])
    except BrokenPipeError:  # of standard output
        raise
    except OSError as error:
        raise ConfigError(f"the figures can't be made: {error.filename or args.output}: "
                          f"{cause_of(error)}; mend that, or give another folder with -o"
                          ) from None
    return 0


def _draw_page(args: argparse.Namespace, page: Sequence[Any], rows: Sequence[Any]) -> None:
    """Draw a page of the speed tests' figure, write it as SVG, PNG, PDF and CSV, and print a line
    with the names of these files. Raises OSError if a file can't be written.

    Args:
        args: options of the command.
        page: download rate and upload rate in Mbit/s, base delay in ms (None is drawn as 0), cross
            traffic (False, True or its kinds as text).
        rows: runs of the page.
    """
    from matplotlib.figure import Figure as Canvas

    from flent_aqm.show.figures.speedtests import SIZE_INCH, TITLE, draw
    from flent_aqm.show.looks import caption

    down, up, delay, cross = page
    rate = f"{down:g}" if down == up else f"{down:g} down, {up:g} up"
    canvas = Canvas(figsize=SIZE_INCH, layout="constrained")
    word = cross if isinstance(cross, str) else ""
    heading = (f"{TITLE}: {rate} Mbit/s, {float(delay or 0):g} ms, "
               f"{'with' if cross else 'without'} cross traffic" + (f" ({word})" if word else ""))
    table, words = draw(rows, canvas, "" if args.no_title else heading)
    caption(canvas, words)
    # A word from a data file must not name a folder.
    harmless = re.sub(r"\W", "_", word[:60], flags=re.ASCII)
    rates = f"{down:g}" if down == up else f"{down:g}-{up:g}"
    stem = args.output / (f"speedtests-{rates}mbit-{float(delay or 0):g}ms"
                          + ("-cross" if cross else "")
                          + (f"-{harmless}" if word else ""))
    for kind in KINDS:
        canvas.savefig(f"{stem}.{kind}", dpi=DPI, metadata=_DATES[kind])
    table.write(Path(f"{stem}.csv"))
    print(f"{table.counts_text}: {stem}.{{svg,png,pdf,csv}}")


def _draw_in_size(figure: Any, rows: Sequence[Any], grid: Any, args: argparse.Namespace,
                  width: float | None) -> int:
    """Draw and write one figure of the study in the size that --width requests. Return its number
    of runs. Raises OSError if a file can't be written, BadResult if a figure reads a data file
    again and can't.

    Args:
        figure: the row of FIGURES.
        rows: all runs, of which those of the figure are drawn.
        grid: rates and queues that all figures share, and router model (Grid).
        args: options of the command.
        width: width in inches, None for the figure's usual size (SIZES_INCH). The height follows
            from it.
    """
    import matplotlib

    from flent_aqm.show.plots.paper import letters

    size: tuple[float, float] = SIZES_INCH[figure.kind]
    if width:
        size = width, width * max(size[1] / size[0], LEAST_HEIGHT_BY_WIDTH[figure.kind]
                                  if width < size[0] / 2 else 0)
    # The same data gives the same bytes. Dollar signs in text from files don't begin formulas.
    with matplotlib.rc_context({"svg.hashsalt": "flent-aqm", "text.parse_math": False}
                               | letters(size[0])):
        return _draw(figure, rows, grid, args, size)


def _draw(figure: Any, rows: Sequence[Any], grid: Any, args: argparse.Namespace,
          size: tuple[float, float]) -> int:
    """Draw one figure of the study, and write it as SVG, PNG, PDF and CSV. With --caption-apart,
    write its caption as a text, too, instead of below the figure. Print a line with the names of
    the files. Return the figure's number of runs. Raises OSError if a file can't be written.

    Args:
        figure: the row of FIGURES.
        rows: all runs, of which those of the figure are drawn.
        grid: rates and queues that all figures share, and router model (Grid).
        args: options of the command.
        size: width and height in inches.
    """
    # pyplot is not used, because it would need a window system.
    from matplotlib.figure import Figure as Canvas

    from flent_aqm.results.grouping import pooled_over
    from flent_aqm.show.figures import boxes, instant, verdicts
    from flent_aqm.show.figures.study import nearest, rows_of
    from flent_aqm.show.looks import LARGE_PER_INCH, caption, wrapped
    from flent_aqm.show.plots.paper import write_caption

    canvas = Canvas(figsize=size, layout="constrained")
    rate = nearest(grid.rates_mbps, args.verdict_rate)
    heading = figure.heading
    if figure.kind == "verdicts":
        heading += f", {rate:g} Mbit/s"
    title = "" if args.no_title else wrapped(heading, size[0], LARGE_PER_INCH)
    if figure.kind == "verdicts":
        table, words = verdicts.draw(figure, rows, grid, canvas, title, rate, args.test)
    else:
        draw = instant.draw if figure.kind == "instant" else boxes.draw
        table, words = draw(figure, rows_of(figure, rows, args.test), grid, canvas, title)
    rest = pooled_over([row.settings for row in rows_of(figure, rows, args.test)],
                       ("aqm", "rate_mbps", "test", "burst_shaping", "cross_traffic"))
    words = [f"test {args.test}", *words, *([f"pooled over {', '.join(rest)}"] if rest else []),
             grid.model]
    if not args.caption_apart:
        caption(canvas, words)
    stem = args.output / f"figure{figure.number:02}-{figure.kind}"
    for kind in KINDS:
        canvas.savefig(stem.with_suffix(f".{kind}"), dpi=DPI, metadata=_DATES[kind])
    if args.caption_apart:
        write_caption(stem.with_suffix(".txt"), [heading, *words])
    table.write(stem.with_suffix(".csv"))
    print(f"figure {figure.number:2}: {table.counts_text}: {stem}.{{svg,png,pdf,csv}}")
    return table.runs


# Files have no date, so that the same data gives the same bytes.
_DATES: dict[str, dict[str, None]] = {
    "svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}


def _split_filter(text: str) -> tuple[str, str]:
    """Split "KEY=VALUE" of --where at its first "=" into key and value. Raises ConfigError if it
    has no "=" or no key. The value may be empty."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"--where: {text!r}; expected KEY=VALUE, such as router_model=omnia")
    return key, value


def _refuse_unknown_keys(rows: Sequence[Any], filters: Sequence[tuple[str, str]]) -> None:
    """Raise ConfigError if --where names a setting that no run records.

    Args:
        rows: the runs, with `settings`.
        filters: keys and values of --where.
    """
    from flent_aqm.results.grouping import check_keys

    try:
        check_keys([row.settings for row in rows], [key for key, _ in filters])
    except ConfigError as fault:
        raise ConfigError(f"--where: {fault}") from None


def _of_filters(filters: Sequence[tuple[str, str]]) -> str:
    """Return what --where should name, for a message that it excludes all runs. filters: keys and
    values of --where, at least one."""
    return ("settings and values that some of them have together" if len(filters) > 1 else
            "a setting and value that some of them have")


def _matches(value: object, wanted: str) -> bool:
    """Return whether a run's setting has the value that --where names. Numbers are compared as
    numbers. True matches true, 1, yes and on, and False matches false, 0, no and off, in upper or
    lower case. Any other value is compared as text, exactly.

    Args:
        value: the setting's value. None if the run doesn't record it, and it has no default in
            UNRECORDED_DEFAULTS, which matches only "None".
        wanted: the text of --where.
    """
    if isinstance(value, bool):
        return wanted.lower() in (("true", "1", "yes", "on") if value
                                  else ("false", "0", "no", "off"))
    if isinstance(value, (int, float)):
        try:
            return float(wanted) == value
        except ValueError:
            return False
    return str(value) == wanted
