# SPDX-License-Identifier: GPL-3.0-or-later
"""One picture of a batch: latency under load of each queue, beside its throughput."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.waiting import said
from flent_aqm.base.words import counted, for_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from flent_aqm.show.looks import Look

RESULTS = Path("results")
BATCH = "quick-*"
SUFFIX = ".flent.gz"
PICTURE = "demo.png"
WIDTH_INCHES = 9.6


@dataclass(frozen=True)
class Run:
    """What the picture needs of one data file: rates in Mbit/s, latencies in ms, infinite for
    a lost probe; throughput_mbps: mean of the directions that were tested."""

    test: str
    aqm: str
    link_mbps: tuple[float, float]
    throughput_mbps: float
    latencies_ms: Sequence[float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="FOLDER",
        help=f"folder of data files (default: the newest {RESULTS / BATCH})")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help=f"picture to write: .png, .svg or .pdf (default: {PICTURE} in the folder)")


def main(args: argparse.Namespace) -> int:
    folder = args.folder or newest_batch(RESULTS)
    picture = args.output or folder / PICTURE
    if picture.suffix not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"{picture}: unknown kind of picture; known: .png, .svg, .pdf")
    runs = load_runs(folder)
    import matplotlib

    from flent_aqm.show.plots.paper import letters

    try:
        with said("drawing"), matplotlib.rc_context(letters(WIDTH_INCHES)):
            draw(runs, picture)
    except OSError as error:
        raise ConfigError(f"{picture}: can't be written: {error.strerror or error}") from None
    print(f"picture of {counted(len(runs), 'run')}: {picture}")
    return 0


def newest_batch(results: Path) -> Path:
    """Return the latest folder of batch `quick` that has data files. Raises ConfigError."""
    folders = [folder for folder in results.glob(BATCH) if any(folder.glob(f"*{SUFFIX}"))]
    if not folders:
        raise ConfigError(f"no data files in {results / BATCH}; make some with 'make demo', "
                          "or name a folder that has some")
    return max(folders, key=lambda folder: folder.name)  # names end with the time


def load_runs(folder: Path) -> list[Run]:
    """Return every data file of a folder that can be drawn; the others are named on standard
    error. Raises ConfigError without a file, BadResult where none is good."""
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise ConfigError(f"{folder}: no data files (*{SUFFIX}) there")
    runs, faults = [], []
    for path in files:
        try:
            runs.append(load_run(path))
        except BadResult as error:
            faults.append(str(error))
            print(f"left out: {error}", file=sys.stderr)
    if not runs:
        raise BadResult(f"none of {len(faults)} files can be drawn: {faults[0]}")
    return runs


def load_run(path: Path) -> Run:
    """Read a data file. Raises BadResult when it is damaged, or lacks what is drawn."""
    from flent_aqm.base.errors import NotAvailable
    from flent_aqm.results.metrics import run as measured
    from flent_aqm.results.metrics.scores import scores
    from flent_aqm.results.metrics.table import Unavailable

    run = measured.load_run(path)
    found = scores(run)
    told = [mbps for mbps in (found.download_mbps, found.upload_mbps)
            if not isinstance(mbps, Unavailable)]
    rates = (run.settings.get("rate_down_mbps"), run.settings.get("rate_up_mbps"))
    try:
        latencies = run.loaded().rtt_ms
    except NotAvailable as error:
        raise BadResult(f"{path}: {error}; nothing can be drawn of it") from None
    if not told or not all(isinstance(rate, (int, float)) for rate in rates):
        raise BadResult(f"{path}: not a run of ours; expected one of a speed test in the "
                        "lab, with its queue, its throughput and a latency probe")
    return Run(for_plot(run.test), for_plot(str(run.settings.get("aqm"))),
               (float(rates[0] or 0), float(rates[1] or 0)), sum(told) / len(told),
               latencies.tolist())


def draw(runs: Sequence[Run], picture: Path) -> None:
    """Write the picture: a row per test; left latencies, right throughput. Raises OSError."""
    # Without pyplot: no window system is asked for.
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from flent_aqm.show.looks import looks_for, order

    tests = sorted({run.test for run in runs})
    looks = looks_for(order([run.aqm for run in runs]))
    figure = Figure(figsize=(WIDTH_INCHES, 1.2 + 2.6 * len(tests)), layout="constrained")
    axes = figure.subplots(len(tests), 2, squeeze=False, width_ratios=(2.6, 1), sharex="col")
    counts = []
    for test, (left, right) in zip(tests, axes, strict=True):
        grouped = {aqm: [run for run in runs if (run.test, run.aqm) == (test, aqm)]
                   for aqm in looks}
        present = {aqm: members for aqm, members in grouped.items() if members}
        draw_latencies(left, present, looks)
        draw_throughput(right, present, looks)
        left.set_title(test, loc="left", fontweight="bold")
        counts.append(f"{test} " + span([sum(len(run.latencies_ms) for run in members)
                                         for members in present.values()]))
    axes[-1][0].set_xlabel("round-trip time under load (ms, logarithmic)")
    axes[-1][1].set_xlabel("throughput (Mbit/s)")
    # A line for each, also of queues that not every test has.
    figure.legend(
        handles=[Line2D([], [], color=look.colour, linestyle=look.line, linewidth=2.6, label=aqm)
                 for aqm, look in looks.items()],
        loc="outside upper center", ncols=min(len(looks), 6), handlelength=4, frameon=False,
        title=f"Latency while a speed test loads {links(runs)}", title_fontsize="large")
    figure.supxlabel(
        f"{len(runs)} runs. Samples per line: {'; '.join(counts)}. p99: of all samples of a line.\n"
        "Bars: mean over the runs of a queue, and over a run's directions.", fontsize="small",
        color="#444444")
    figure.savefig(picture, dpi=110)


def draw_latencies(
    axis: Axes, present: Mapping[str, Sequence[Run]], looks: Mapping[str, Look]
) -> None:
    """One line per queue: the share of samples that are at most so long."""
    import numpy
    from matplotlib.ticker import PercentFormatter

    from flent_aqm.show.plots.axes import name_latency_axis

    # Each thinner than the one below: equal latencies lie on top of each other.
    for width, (aqm, members) in zip(numpy.linspace(3.6, 2, len(present)), present.items(),
                                     strict=True):
        samples = numpy.sort(numpy.concatenate([run.latencies_ms for run in members]))
        share = numpy.arange(1, samples.size + 1) / samples.size
        came = numpy.isfinite(samples)  # a line ends below 1 where probes were lost
        axis.step(samples[came], share[came], where="post", color=looks[aqm].colour,
                  linestyle=looks[aqm].line, label=aqm,
                  linewidth=width)
    axis.set_xscale("log")
    name_latency_axis(axis)
    axis.set_ylim(0, 1.02)
    axis.set_ylabel("share of samples")
    axis.yaxis.set_major_formatter(PercentFormatter(1))
    axis.grid(alpha=0.3)


def draw_throughput(
    axis: Axes, present: Mapping[str, Sequence[Run]], looks: Mapping[str, Look]
) -> None:
    """One bar per queue: the mean over its runs of what the tool reported. Beside it, where
    the line on the left ends."""
    from flent_aqm.base.errors import LostProbe, NotAvailable
    from flent_aqm.results.metrics.percentiles import percentile

    labels = []
    for place, (aqm, members) in enumerate(present.items()):
        mean = sum(run.throughput_mbps for run in members) / len(members)
        try:
            tail = percentile([ms for run in members for ms in run.latencies_ms], 99)
            labels.append(f"{aqm}\np99 {tail:.3g} ms")
        except LostProbe:
            labels.append(f"{aqm}\np99 lost")
        except NotAvailable:
            labels.append(aqm)
        axis.barh(place, mean, color=looks[aqm].colour, height=0.7)
        axis.text(mean * 0.96, place, f"{mean:.1f}", ha="right", va="center", color="white",
                  fontweight="bold", fontsize="small")
    axis.set_yticks(range(len(present)), labels, fontsize="small")
    axis.invert_yaxis()
    axis.set_xlim(left=0)
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)


def links(runs: Sequence[Run]) -> str:
    """Return the link's rates as words."""
    rates = {run.link_mbps for run in runs}
    if len(rates) > 1:
        return f"links of {min(map(min, rates)):g} to {max(map(max, rates)):g} Mbit/s"
    (down, up), = rates
    return (f"a link of {up:g} Mbit/s" if up == down
            else f"a link of {down:g} Mbit/s down, {up:g} Mbit/s up")


def span(counts: Sequence[int]) -> str:
    """Return the lowest and highest of some counts."""
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
