# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the numbers in docs/ and write them into their pages.

    make docs                                              all of them, and validation.md
    .venv/bin/python -m research.validation.numbers --only scores   one part
    .venv/bin/python -m research.validation.numbers --from DIR      from existing runs in DIR/PART

A part is a table between two comments on a page; the first comment and the page's stamp name the
package, the kernel, the day and the number of runs. Rows that a page has no room for stand in a CSV
beside it.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from flent_aqm.base.errors import AqmError, BadResult, ConfigError
from flent_aqm.base.words import counted, end_of
from flent_aqm.results.advice.measured import measured
from flent_aqm.results.data_file import SUFFIX, read_data_file
from flent_aqm.results.grouping import collect, shown
from flent_aqm.results.metrics.delay_parts import ELSEWHERE, GROUPS, delay_parts
from flent_aqm.results.metrics.flows import span
from flent_aqm.results.metrics.percentiles import of_any
from flent_aqm.results.metrics.probes import Probe
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.table import (
    LOST,
    METRICS,
    Metric,
    Unavailable,
    digits,
    middle,
    ranked,
)
from flent_aqm.show.looks import DASH
from research.validation import marked, rfc7928, study_router
from research.validation.stamp import made_of

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BIN = Path(sys.executable).parent
Lines = Iterator[str]


@dataclass(frozen=True)
class Part:
    """A table on a page.

    Attributes:
        page: path of the page in docs/.
        command: the words that make its runs, where "{folder}" is their folder. The first one is
            the name of a program beside this Python.
        lines: function that yields the table's lines.
        picture: function that takes the runs and the page's folder, and writes the table's picture
            there, None for none.
        beside: function that yields the lines of Markdown tables for the file PART.csv in that
            folder, None for none.
    """

    page: str
    command: tuple[str, ...]
    lines: Callable[[Sequence[Run]], Lines]
    picture: Callable[[Sequence[Run], Path], None] | None = None
    beside: Callable[[Sequence[Run]], Lines] | None = None


def _batch(name: str) -> tuple[str, ...]:
    return ("flent", "-B", f"batches/{name}.batch", "--batch-override", "output_path={folder}")


def main() -> int:
    """Make the runs, in place of earlier ones in results/docs/PART, or with --from take existing
    ones, and write the tables of all parts, or of those of --only, one by one. Return the exit
    status, 1, with a line on standard error, if runs fail, are missing or differ in their versions,
    a page can't be used or lacks the part's marks or its stamp, or a file beside it can't be
    written. Parts before the faulty one are written then."""
    parser = argparse.ArgumentParser(prog="python -m research.validation.numbers",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="PART", choices=sorted(PARTS))
    parser.add_argument("--from", dest="source", type=Path, metavar="DIR",
                        help="take the runs in DIR/PART, and run nothing")
    parser.add_argument("--output", type=Path, metavar="DOCS", default=DOCS)
    args = parser.parse_args()
    try:
        for name in args.only or PARTS:
            folder = (args.source or ROOT / "results" / "docs") / name
            if args.source is None:
                make(PARTS[name], folder)
            part, runs = PARTS[name], load(folder)
            page = args.output / part.page
            refuse_mixed(runs)
            marked.replace(page, name, "\n".join(part.lines(runs)), made_of(runs))
            if part.beside:
                (page.parent / f"{name}.csv").write_text(as_csv(part.beside(runs)))
            if part.picture:
                part.picture(runs, page.parent)
            print(f"{part.page}: {name}, {len(runs)} runs")
    except LookupError as error:
        print(f"numbers: {name}: a run, or a value in one, is missing: {error}; make all its runs "
              "again", file=sys.stderr)
        return 1
    except (AqmError, OSError, ValueError) as error:
        print(f"numbers: {error}", file=sys.stderr)
        return 1
    return 0


def make(part: Part, folder: Path) -> None:
    """Delete a part's old runs, the data files directly in `folder`, and make them again there.
    Raises ConfigError if the part's command ends with another status than 0."""
    for old in folder.glob(f"*{SUFFIX}"):
        old.unlink()
    program, *words = (word.format(folder=folder) for word in part.command)
    status = subprocess.run([BIN / program, *words], cwd=ROOT, check=False).returncode
    if status:
        raise ConfigError(f"{' '.join([program, *words])} ended with {end_of(status)}; the reason "
                          "is above")


def load(folder: Path) -> list[Run]:
    """Return the runs in the data files *.flent.gz directly in a folder, sorted by the file's name.
    Raises ConfigError if there are none, BadResult for a damaged file."""
    runs = [load_run(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    if not runs:
        raise ConfigError(f"{folder}: no data files (*{SUFFIX}) there; make them without --from")
    return runs


def refuse_mixed(runs: Sequence[Run]) -> None:
    """Raise ConfigError if the runs have different kernels, or different versions of iperf3, irtt,
    ndt7-client or tc. A tool that only some of the runs name is a difference, too."""
    stories = {_versions_of(run.aqm) for run in runs}
    if len(stories) > 1:
        raise ConfigError(f"{runs[0].path.parent}: runs of different versions, of which one page "
                          f"can't be made: {'; '.join(sorted(stories))}; make all again")


def as_csv(lines: Iterable[str]) -> str:
    """Return tables of Markdown as the text of one CSV: rows below their heads, any other line as a
    row of its own. Blank lines and the lines of dashes below heads are left out, and so are all
    asterisks and backquotes."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for line in lines:
        cells = [re.sub(r"[*`]", "", cell).strip() for cell in line.strip("|").split("|")]
        if any(cells) and not all(re.fullmatch("-+", cell) for cell in cells):
            writer.writerow(cells)
    return file.getvalue()


def _versions_of(aqm: Mapping[str, object]) -> str:
    kernel, tools = aqm.get("kernel"), aqm.get("tools")
    kernel = kernel if isinstance(kernel, dict) else {}
    tools = tools if isinstance(tools, dict) else {}
    return ", ".join([f"kernel {kernel.get('version')} ({kernel.get('hash')})",
                      *(f"{name} {tools[name]}" for name in TOOLS if tools.get(name))])


# The tools in a data file that affect the numbers.
TOOLS = ("iperf3", "irtt", "ndt7-client", "tc")

# Columns of a run, and their metrics.
SCORES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("NDT7: download, upload", ("ndt7_throughput_download_mbps", "ndt7_throughput_upload_mbps")),
    ("NDT7: latency of the download, upload", (
        "ndt7_latency_download_ms", "ndt7_latency_upload_ms")),
    ("NDT7: retransmission, download", ("ndt7_retransmission_download_pct",)),
    ("median under load", ("latency_loaded_median_ms",)),
    ("mean under load", ("latency_loaded_mean_ms",)),
    ("p99 under load", ("latency_loaded_p99_ms",)),
    ("jitter under load", ("jitter_loaded_ms",)),
    ("loss under load", ("loss_loaded_pct",)),
    ("Ookla-style: download, upload", (
        "ookla_style_iqm_download_ms", "ookla_style_iqm_upload_ms")),
    ("RPM estimate (IETF)", ("rpm_ietf_estimate",)),
    ("RPM estimate (goresponsiveness)", ("rpm_goresponsiveness_estimate",)),
    ("AIM streaming, gaming, RTC", ("aim_streaming", "aim_gaming", "aim_rtc")),
    ("DSLReports", ("dslreports_rise_ms",)),
    ("LibreQoS: download, upload, total", (
        "libreqos_rise_download_ms", "libreqos_rise_upload_ms", "libreqos_total")),
    ("QoO at p99", ("qoo_p99",)),
    ("glitches per minute at 100 ms", ("glitches_per_minute_100ms",)),
    ("longest glitch at 100 ms", ("longest_glitch_100ms_ms",)),
    ("time in glitches at 100 ms", ("glitch_time_100ms_pct",)),
)
_SCORE_COLUMNS = {"no_aqm": "pfifo", "fq_codel": "fq_codel"}


def scores(runs: Sequence[Run]) -> Lines:
    """Yield the lines of a Markdown table: its head, and a row for each line of SCORES, with a
    column for each of the queues no_aqm and fq_codel. If a queue has several runs, the last one
    counts. Raises KeyError if one of them has no run."""
    by_queue = {str(run.settings["aqm"]): run for run in runs}
    yield f"| | {' | '.join(_SCORE_COLUMNS.values())} |"
    yield "|---|---|---|"
    for label, names in SCORES:
        cells = [", ".join(_score(by_queue[queue], name) for name in names)
                 for queue in _SCORE_COLUMNS]
        yield f"| {label} | {_with_unit(cells[0], names)} | {_with_unit(cells[1], names)} |"


def _score(run: Run, name: str) -> str:
    """Return a metric of a run as text. For a metric with grades it is the word alone, which is
    clearer than the number, also if the value is a lost probe. RPM, metrics without words, and
    values that aren't available are written as Metric.text() does."""
    metric = METRICS[name]
    value = metric.of(run)
    number = ranked(value)
    if number is not None and metric.word and not name.startswith("rpm_"):
        return metric.word(number)
    return metric.text(value)


def _with_unit(cell: str, names: Sequence[str]) -> str:
    unit = METRICS[names[0]].unit
    return cell if METRICS[names[0]].word or unit in ("", "points") else f"{cell} {unit}"


PING_CONFIGURATIONS = {"defaults": "defaults", "small_buffers": "small buffers", "sfb": "SFB",
                       "sfq": "SFQ"}
PING_LOADS = ("empty", "upload", "download", "both")


def ping_exp(runs: Sequence[Run]) -> Lines:
    """Yield the lines of a Markdown table: its head, and a row for each load and configuration,
    with median, range and jitter of the pings to `dest1`, and the losses of both destinations. In
    the median, a lost ping counts as slower than any other. Range and jitter are of the pings that
    came back. Raises BadResult if a load and configuration has no run, if no ping to a destination
    came back, or only one to `dest1`, which has no jitter."""
    by_title = {tuple(run.title.rsplit(" ", 1)): run for run in runs}
    yield ("| load | configuration | `dest1`: median, range in ms | mean jitter, ms | lost, "
           "`dest1` and `dest2` |")
    yield "|---|---|---|---|---|"
    for load_name in PING_LOADS:
        for configuration, name in PING_CONFIGURATIONS.items():
            run = by_title.get((configuration, load_name))
            if run is None:
                raise BadResult(f"no run has the title '{configuration} {load_name}'; make the "
                                "missing runs of batches/ping_exp.batch")
            first, second = _ping(run, "dest1"), _ping(run, "dest2")
            came = first.rtt_ms[~first.lost]
            if came.size < 2:
                raise BadResult(f"{run.path}: {counted(came.size, 'ping')} to dest1 came back; "
                                "expected two or more, which have a jitter; make the run again")
            median = of_any(first.rtt_ms, 50)
            jitter = numpy.abs(numpy.diff(came)).mean()
            lost = ", ".join(f"{100 * one.lost.mean():.1f} %" for one in (first, second))
            yield (f"| {load_name} | {name} | "
                   f"{LOST if numpy.isinf(median) else f'{median:,.0f}'}, "
                   f"{came.min():,.0f}{DASH}{came.max():,.0f} | {jitter:.1f} | {lost} |")


def _ping(run: Run, place: str) -> Probe:
    for one in run.probes:
        if place in one.name:
            return one
    why = next((why for name, why in run.silent_probes.items() if place in name),
               f"it has no pings to {place}")
    raise BadResult(f"{run.path}: {why}; expected pings to dest1 and dest2 that came back")


SQM_COLUMNS = {
    "download": "throughput_download_mbps", "upload": "throughput_upload_mbps",
    "idle, median": "latency_idle_median_ms", "loaded, mean": "latency_loaded_mean_ms",
    "DSLReports": "dslreports_rise_ms",
    "LibreQoS": "libreqos_total", "AIM streaming": "aim_streaming", "gaming": "aim_gaming",
    "RTC": "aim_rtc", "RPM estimate": "rpm_ietf_estimate"}


def sqm(runs: Sequence[Run]) -> Lines:
    """Yield the lines of a Markdown table: its head, and a row for each run, the unshaped ones
    first, then the highest rate first. The first columns after the run's title are the latency in
    ms that busy downloads and uploads add to the idle median, as advice takes it. Metrics with a
    grade show the grade alone. Raises ConfigError if a run allows no advice, KeyError if it doesn't
    load each direction by itself."""
    yield ("| setting | added by downloads, median | added by uploads, median | "
           f"{' | '.join(SQM_COLUMNS)} |")
    yield "|" + "---|" * (len(SQM_COLUMNS) + 3)
    for run in sorted(runs, key=lambda run: (
            run.settings["shaper"] != "none", -float(str(run.settings["rate_down_mbps"])),
            run.title)):
        one = measured(run)
        if isinstance(one, Unavailable):
            raise ConfigError(f"{run.path}: {one.because}; make the run again")
        cells = [digits(one.added_ms("downloads")), digits(one.added_ms("uploads")),
                 *(_grade(run, METRICS[name]) for name in SQM_COLUMNS.values())]
        yield f"| {run.title} | {' | '.join(cells)} |"


def _grade(run: Run, metric: Metric) -> str:
    value = metric.of(run)
    if isinstance(value, Unavailable) or metric.word is None:
        return metric.text(value)
    return metric.word(value)


SPREAD = ("throughput_{way}_mbps", "latency_loaded_median_ms", "latency_loaded_p99_ms",
          "queue_drops_{way}")


def spread(runs: Sequence[Run]) -> Lines:
    """Yield the lines of a Markdown table: its head, and a row for each test and queue, sorted. It
    has, for each metric of SPREAD, the median, the lowest and the highest of the seeds that have a
    value. A percentile that is a lost probe counts as higher than any number. DASH if no seed has a
    value."""
    yield ("| test | queue | throughput, Mbit/s | loaded RTT, median ms | p99, ms | "
           "packets dropped |")
    yield "|---|---|---|---|---|---|"
    groups = collect(runs, lambda run: (run.test, str(run.settings["aqm"])))
    for (test, queue), members in sorted(groups.items()):
        way = "download" if "download" in test else "upload"
        cells = [_spread([METRICS[name.format(way=way)].of(run) for run in members])
                 for name in SPREAD]
        yield f"| `{test}` | `{queue}` | {' | '.join(cells)} |"


def _spread(values: Sequence[float | Unavailable]) -> str:
    ranks = sorted(one for value in values if (one := ranked(value)) is not None)
    if not ranks:
        return DASH
    center = middle(values)
    of = "" if len(ranks) == len(values) else f" in {len(ranks)} of {len(values)}"
    return (f"{LOST if isinstance(center, Unavailable) else digits(center)} "
            f"({digits(ranks[0])}{DASH}{digits(ranks[-1])}){of}")


GALLERY = ("rrul_line", "rrul_search", "rrul_two", "rrul_ipv6", "rrul_fibre",
           "rrul_synchronisation", "rrul_cc", "rrul_dctcp", "rrul_two_rtts")
GALLERY_COLUMNS = {
    "down": "throughput_download_mbps", "up": "throughput_upload_mbps",
    "latency": "latency_loaded_median_ms", "Jain": "fairness_download",
    "synchronisation": "synchronisation_download"}


def rrul_gallery(runs: Sequence[Run]) -> Lines:
    """Yield the lines of a Markdown table: its head, and a row for each case, in the order of the
    page's batches (GALLERY), then by the run's title. Of several runs with the same batch and
    title, the last one counts. Raises BadResult if a run is of another batch."""
    yield f"| batch | case | {' | '.join(GALLERY_COLUMNS)} |"
    yield "|" + "---|" * (len(GALLERY_COLUMNS) + 2)
    if odd := next((run for run in runs if run.settings.get("batch") not in GALLERY), None):
        raise BadResult(f"{odd.path}: its batch is {odd.settings.get('batch')!r}; expected a run "
                        f"of batches/rrul_gallery.batch: {', '.join(GALLERY)}")
    by_place = {(GALLERY.index(str(run.settings["batch"])), run.title): run for run in runs}
    for (place, case), run in sorted(by_place.items()):
        cells = [METRICS[name].text(METRICS[name].of(run)) for name in GALLERY_COLUMNS.values()]
        yield f"| `{GALLERY[place]}` | `{case}` | {' | '.join(cells)} |"


def delay_part_means(runs: Sequence[Run]) -> Lines:
    """Yield the lines of a Markdown table: a row for each run and phase of NDT7 (download, upload),
    with the mean in ms that the phase's probes spent in each part of their way (GROUPS, and
    ELSEWHERE), and the throughput that NDT7 reports. Sorted by rate, those without AQM first.
    Raises NotAvailable if a run has no flow in a phase, or doesn't record the parts, BadResult if
    it is damaged."""
    yield (f"| line | router | AQM | phase | {' | '.join(GROUPS)} | {ELSEWHERE} | "
           "NDT7 reports, Mbit/s |")
    yield "|" + "---|" * (len(GROUPS) + 6)
    for run in sorted(runs, key=lambda run: (run.settings["rate_down_mbps"],
                                             str(run.settings["aqm"]) != "no_aqm")):
        parts = delay_parts(read_data_file(run.path).raw_values)
        crossed = ", cross traffic both ways" if run.settings["cross_traffic"] else ""
        for phase in ("download", "upload"):
            window = span(run.flows_of(phase))
            assert window is not None  # there are flows, or way() refuses
            means = parts.subset(window.holds(parts.sent_s)).means_ms()
            speed = METRICS[f"ndt7_throughput_{phase}_mbps"]
            yield (f"| {shown(run.settings['rate_mbps'])} Mbit/s{crossed} | "
                   f"`{run.settings['router_model']}` | `{run.settings['aqm']}` | {phase} | "
                   f"{' | '.join(digits(ms) for ms in means.values())} | "
                   f"{speed.text(speed.of(run))} |")


PARTS: Mapping[str, Part] = {
    "scores": Part("results/scores.md", _batch("scores"), scores),
    "ping_exp": Part("results/ping-exp.md", _batch("ping_exp"), ping_exp),
    "sqm_home": Part("results/sqm-home.md", _batch("sqm_home"), sqm),
    "rfc7928": Part("results/rfc7928.md", (*_batch("rfc7928"), "-b", "rfc7928"), rfc7928.lines,
                    rfc7928.picture, rfc7928.every_number),
    "study_router": Part("results/study.md", _batch("study_router"), study_router.lines,
                         beside=study_router.other_tables),
    "rrul_gallery": Part("results/rrul-gallery.md", _batch("rrul_gallery"), rrul_gallery),
    "delay_parts": Part("results/delay-parts.md", _batch("delay_parts"), delay_part_means),
    "spread": Part("repeatable-runs.md", _batch("spread"), spread),
}


if __name__ == "__main__":
    sys.exit(main())
