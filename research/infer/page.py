# SPDX-License-Identifier: GPL-3.0-or-later
"""Write how good `flent-aqm infer` is on lines that its model hasn't seen: tables of docs/infer.md.

    .venv/bin/python -m research.infer.page TABLE.parquet [-o docs] [--archive FILE.tgz]

Held out are whole bands of rates and of round trips, congestion
controls and the worlds of the recipe; never rows at random. FILE.tgz is a file of M-Lab's archive,
whose lines nobody knows: the page says only how many answers it gets.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy
from matplotlib import pyplot

from flent_aqm.base.errors import AqmError
from flent_aqm.parts.infer.classes import AQM, CANT_TELL, CLASSES, DROP_TAIL, SHORT, answer_of
from flent_aqm.parts.infer.features import BASELINE, FEATURES
from flent_aqm.parts.infer.model import DEPTH_SHARE, judge_all
from flent_aqm.parts.infer.reading import read_downloads
from flent_aqm.results.data_file import Numbers
from research.infer.recipe import (
    BURSTS,
    JITTER,
    LOSS,
    PARALLEL,
    PLAIN,
    SLOW_ROUTER,
    TWO_BOTTLENECKS,
    WIFI,
    WINDOW,
)
from research.infer.table import ARCHIVED, FULL, ONE_LOST, SPARSE
from research.infer.train import (
    OF_RUN,
    Rows,
    fit,
    for_training,
    known_rates_mbps,
    quantile_masks,
    read,
    usual_runs,
    world_masks,
)
from research.validation import marked
from research.validation.stamp import Made

matplotlib.use("agg")

PAGE, PICTURE = "infer.md", Path("img") / "infer.png"
_BINS = 5
# A share of fewer says nothing.
_LEAST_IN_BIN = 5
NONE = "none"
_OURS, _BASELINE = list(FEATURES), list(BASELINE)
# Fewer than the shipped model has: there are many models, and they are no better for it.
_TREES = 50
# Least probability that counts in a log loss, so that one run can't decide it.
_LEAST_PROBABILITY = 0.001
_CC = {"bbr": "BBR", "cubic": "Cubic", "reno": "Reno"}
# World -> its name on the page.
_WORLDS = {
    PLAIN: "the queue alone", LOSS: "random loss, 0.001 to 2 %", BURSTS: "bursty loss, the same",
    JITTER: "jitter, 0.5 to 20 ms", WINDOW: "sender limited by a window",
    PARALLEL: "another download beside it", TWO_BOTTLENECKS: "two bottlenecks", WIFI: "Wi-Fi",
    SLOW_ROUTER: "slow routers"}
# Share of lines with an AQM for which the page judges --prior.
_FEW_AQMS = 0.1


def main() -> int:
    """Print the tables and sentences on the table of runs and, with -o DOCS, write them to the page
    DOCS/infer.md and draw the figure DOCS/img/infer.png. With --archive, the table of an archive's
    file is one of them.

    Return the exit status, 1 if that file can't be read, before anything is printed, or if the page
    can't be changed. Raises OSError or ValueError if the table of runs can't be read, OSError if
    the figure can't be written.
    """
    parser = argparse.ArgumentParser(prog="python -m research.infer.page",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("-o", "--output", type=Path, metavar="DOCS")
    parser.add_argument("--archive", type=Path, metavar="FILE",
                        help="a file of M-Lab's archive to count the answers of")
    args = parser.parse_args()
    rows = usual_runs(read(args.table))
    by_rate = Unseen(rows, quantile_masks(rows["line_mbps"]), _OURS)
    parts = {"held out": _held_out_table(by_rate), "prior": _prior_sentence(rows),
             "by world": _world_table(by_rate), "by class": _class_table(by_rate),
             "by queue": _queue_table(by_rate), "one lost": _one_lost_sentence(by_rate),
             "depth": _depth_sentence(by_rate)}
    try:
        if args.archive:
            parts["archive"] = _archive_table(args.archive)
        for name, text in parts.items():
            print(f"\n{name}\n\n{text}")
        if not args.output:
            return 0
        for name, text in parts.items():  # all of the same runs, which are counted once
            marked.replace(args.output / PAGE, name, text,
                           _made(rows) if name == "held out" else None)
    except (AqmError, ValueError) as error:
        print(f"infer: {error}", file=sys.stderr)
        return 1
    _draw_reliability(by_rate, args.output / PICTURE)
    return 0


def _made(rows: Rows) -> Made:
    """Return the stamp of a table's runs: what they were measured with, the day of the newest, and
    their number, in which a run with several rows counts once. Raises ValueError for a table
    without rows."""
    runs = rows.drop_duplicates(list(OF_RUN))
    return Made(tuple(sorted(set(runs["made_by"]))), tuple(sorted(set(runs["made_with"]))),
                max(runs["made_on"]), len(runs))


class Unseen:
    """Runs, some of which are judged by a model that hasn't seen any run of their band. Creating
    one trains a model for each band, on the rows outside of it. If bands overlap, the last one's
    model judges.

    Attributes:
        rows: all runs, a row for each cadence.
        judged: boolean mask of the rows that are in a band.
    """

    def __init__(self, rows: Rows, bands: Iterable[Any], names: list[str]) -> None:
        """Train a model for each band, on the rows outside of it.

        Args:
            rows: all runs, a row for each cadence.
            bands: boolean masks of the rows to hold out, for each band.
            names: names of the features.
        """
        self.rows = rows
        self.judged = numpy.zeros(len(rows), dtype=bool)
        self._models = []
        for apart in bands:
            self._models.append((apart, fit(for_training(rows[~apart]), names, _TREES)))
            self.judged |= apart

    def of(self, mask: Any, prior: float | None = None) -> tuple[Rows, Numbers]:
        """Return the rows of a mask that are in a band, numbered from 0 again, and the
        probabilities of their classes: a row for each, columns in the order of CLASSES.

        Args:
            mask: boolean mask of the rows.
            prior: share of lines with an AQM that the probabilities rest on. None for that among
                the runs that each model is made of.
        """
        mask = mask & self.judged
        found = numpy.zeros((len(self.rows), len(CLASSES)))
        for apart, model in self._models:
            some = self.rows[apart & mask]
            if len(some):
                found[apart & mask] = (model.probabilities(some) if prior is None
                                       else model.reweighted(some, prior))
        return self.rows[mask].reset_index(drop=True), found[mask]

    def archived(self, mask: Any = True) -> tuple[Rows, Numbers]:
        """Return the rows of M-Lab's cadence that are in a mask and in a band, numbered from 0
        again, and the probabilities of their classes: a row for each, columns in the order of
        CLASSES.

        Args:
            mask: boolean mask of the rows, True for all rows.
        """
        return self.of(mask & (self.rows["cadence"] == ARCHIVED).to_numpy())


def log_loss(truth: Any, probabilities: Numbers, weights: Any = None) -> float:
    """Return the weighted mean of -ln(probability of the true class). A probability counts as
    _LEAST_PROBABILITY or more.

    Args:
        truth: true class of each row, of which there is at least one.
        probabilities: a row of probabilities for each, columns in the order of CLASSES.
        weights: weight of each row, equal by default.
    """
    columns = [CLASSES.index(name) for name in truth]
    of_truth = probabilities[numpy.arange(len(probabilities)), columns]
    losses = numpy.log(1 / numpy.maximum(of_truth, _LEAST_PROBABILITY))
    return float(numpy.average(losses, weights=weights))


def _shares_of_classes(rows: Rows) -> Numbers:
    """Return the share of each class among the rows, from 0 to 1, in the order of CLASSES. NaN if
    there are no rows."""
    return numpy.array([(rows["truth"] == name).mean() for name in CLASSES])


def _cells(test: Rows, ours: Numbers, shares: Numbers, weights: Any = None) -> tuple[str, ...]:
    """Return the four last cells of a table's row: number of runs, log loss, log loss of somebody
    who doesn't look at the runs, and the percentages "answered, right".

    Args:
        test: the runs that are judged, at least one.
        ours: probabilities of their classes.
        shares: shares of the classes among the runs that the model is made of, which are the
            probabilities of somebody who doesn't look at the run.
        weights: weight of each run in the log losses, equal by default.
    """
    nothing = numpy.tile(shares, (len(test), 1))
    return (f"{len(test)}", f"{log_loss(test['truth'], ours, weights):.2f}",
            f"{log_loss(test['truth'], nothing, weights):.2f}",
            ", ".join(_answer_shares(test["truth"], ours)))


def _held_out_cases(rows: Rows) -> Iterator[tuple[str, list[Any]]]:
    """Yield (description of what is held out, boolean masks of the rows, which are held out one by
    one) for each case of the table except the fifths of the rates, which the caller adds. A mask
    may have no row."""
    yield "a fifth of the round trips", list(quantile_masks(rows["line_rtt_ms"]))
    for name, words in _CC.items():
        yield f"{words} as sender", [(rows["cc"] == name).to_numpy()]
    for apart in world_masks(rows):
        yield _WORLDS[rows[apart]["world"].iloc[0]], [apart]
    yield "buffers of 2 to 20 ms", [_is_shallow(rows)]
    yield "rates above 200 Mbit/s", [(rows["line_mbps"] > 200).to_numpy()]
    yield "round trips above 200 ms", [(rows["line_rtt_ms"] > 200).to_numpy()]


def _is_shallow(rows: Rows) -> Any:
    """Return a mask of the runs with a drop-tail buffer below 20 ms (of the line, or of one flow)
    that dropped something. Policers don't count."""
    return ((rows["truth"] == SHORT) & rows["depth_ms"].notna()).to_numpy()


_HEAD = "| runs | log loss | without looking | answered, right, % |"


def _held_out_table(by_rate: Unseen) -> str:
    """Return a Markdown table of how well runs at M-Lab's cadence are judged by models that have
    seen no run like them: a row for each kind of run that is held out from training, and one for
    the bands of rates by the features of IMC'17. Models other than those of `by_rate` are trained
    for it. Kinds without a run are left out.

    Args:
        by_rate: the runs, judged by models that haven't seen their band of rates.
    """
    rows = by_rate.rows
    lines = [f"| held out {_HEAD}", "|---" * 5 + "|"]

    def add(words: str, unseen: Unseen) -> None:
        """Add a row to the table: how well the runs of `unseen` at M-Lab's cadence that are in a
        band are judged. Who doesn't look at them knows the shares of the classes outside of the
        bands, or of all runs if every run is in one.

        words: the row's description.
        """
        known = rows if unseen.judged.all() else rows[~unseen.judged]
        cells = _cells(*unseen.archived(), _shares_of_classes(for_training(known)))
        lines.append(f"| {words} | {' | '.join(cells)} |")

    rates = list(quantile_masks(rows["line_mbps"]))
    add("a fifth of the rates", by_rate)
    add("the same, by the features of IMC'17", Unseen(rows, rates, _BASELINE))
    for words, bands in _held_out_cases(rows):
        if any(band.any() for band in bands):
            add(words, Unseen(rows, bands, _OURS))
    return "\n".join(lines)


def _world_table(unseen: Unseen) -> str:
    """Return a Markdown table of how well runs are judged by models that haven't seen their band of
    rates. Rows without a run are left out.

    It has a row for each world of the recipe and for shallow buffers, for all runs at M-Lab's
    cadence, with every sample, and with half as many samples as M-Lab's. Two rows judge all runs
    with a prior of 50 % and of 10 %; only their log losses are weighted as if 10 % of the runs had
    an AQM. Runs have M-Lab's cadence unless the row says otherwise.

    Raises ZeroDivisionError if none or all of the runs judged have an AQM.
    """
    rows = unseen.rows
    shares = _shares_of_classes(for_training(rows))
    lines = [f"| kind of run {_HEAD}", "|---" * 5 + "|"]

    def add(words: str, test: Rows, found: Numbers, weights: Any = None) -> None:
        """Add a row to the table, if there are runs for it.

        Args:
            words: its description.
            test: the runs.
            found: probabilities of their classes.
            weights: weight of each run in the log losses, equal by default.
        """
        if len(test):
            cells = _cells(test, found, shares, weights)
            lines.append(f"| {words} | {' | '.join(cells)} |")

    for world, words in _WORLDS.items():
        add(words, *unseen.archived((rows["world"] == world).to_numpy()))
    add("buffers of 2 to 20 ms", *unseen.archived(_is_shallow(rows)))
    add("all, at M-Lab's cadence", *unseen.archived())
    add("all, every sample", *unseen.of((rows["cadence"] == FULL).to_numpy()))
    add("all, half as many samples", *unseen.of((rows["cadence"] == SPARSE).to_numpy()))
    archived = (rows["cadence"] == ARCHIVED).to_numpy()
    for prior in (0.5, _FEW_AQMS):
        test, found = unseen.of(archived, prior)
        share = float(test["has_aqm"].mean())
        weights = numpy.where(test["has_aqm"], _FEW_AQMS / share, (1 - _FEW_AQMS) / (1 - share))
        add(f"if {_FEW_AQMS:.0%} had an AQM, `--prior {prior:g}`".replace("%", " %"), test, found,
            weights)
    return "\n".join(lines)


def answers(probabilities: Numbers) -> list[str]:
    """Return the answer for each row of probabilities, by answer_of(): the class that is likely
    enough, otherwise CANT_TELL. Columns are in the order of CLASSES."""
    return [answer_of(dict(zip(CLASSES, map(float, row), strict=True))) for row in probabilities]


def _answer_shares(truth: Any, probabilities: Numbers) -> tuple[str, str]:
    """Return the percentage of rows with an answer other than CANT_TELL, and the percentage of
    these answers that are right, as texts. The latter is "none" if no row has such an answer. In a
    row whose true class is CANT_TELL, any such answer is wrong.

    Args:
        truth: true class of each row, of which there is at least one.
        probabilities: a row of probabilities for each, columns in the order of CLASSES.
    """
    pairs = [(answer, true) for answer, true in zip(answers(probabilities), truth, strict=True)
             if answer != CANT_TELL]
    right = sum(true == answer for answer, true in pairs)
    return (f"{100 * len(pairs) / len(truth):.0f}",
            f"{100 * right / len(pairs):.0f}" if pairs else NONE)


def _class_table(unseen: Unseen) -> str:
    """Return a Markdown table of the answers for each true queue: the share of its runs, in %, with
    each answer, "none" for a queue without a run. Only runs of M-Lab's cadence count. `unseen`
    holds out the bands of rates."""
    test, probabilities = unseen.archived()
    answered = answers(probabilities)
    lines = [f"| queue, runs | {' | '.join(CLASSES)} |", "|---" * (1 + len(CLASSES)) + "|"]
    for queue in CLASSES:
        of = [answer for answer, true in zip(answered, test["truth"], strict=True) if true == queue]
        shares = [f"{100 * of.count(answer) / len(of):.0f}" if of else NONE for answer in CLASSES]
        lines.append(f"| {queue}, {len(of)} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _queue_table(unseen: Unseen) -> str:
    """Return a Markdown table: number of runs, log loss, the percentage of runs with an answer
    other than CANT_TELL and that of right ones among these, for each kind of queue in the router
    that has a run at M-Lab's cadence. Wi-Fi and lines with two bottlenecks are left out, as their
    queue may be another one. `unseen` holds out the bands of rates."""
    own = ~unseen.rows["world"].isin((WIFI, TWO_BOTTLENECKS)).to_numpy()
    test, probabilities = unseen.archived(own)
    kinds = numpy.array([_queue_kind(row) for row in test.to_dict("records")])
    lines = ["| queue | runs | log loss | answered, right, % |", "|---" * 4 + "|"]
    drop_tail = [_depth_name(bounds) for bounds in _DEPTHS_MS]
    for kind in (*drop_tail, *sorted(set(kinds) - set(drop_tail))):
        is_kind = kinds == kind
        if not is_kind.any():
            continue
        truth = test["truth"][is_kind]
        lines.append(f"| {kind} | {is_kind.sum()} | {log_loss(truth, probabilities[is_kind]):.2f} "
                     f"| {', '.join(_answer_shares(truth, probabilities[is_kind]))} |")
    return "\n".join(lines)


# Bounds of the kinds of drop-tail queues, by depth in ms.
_DEPTHS_MS = ((2, 20), (20, 60), (60, 200), (200, 1500))


def _queue_kind(row: Mapping[str, Any]) -> str:
    """Return the name of the queue in a row's router, for a table's rows: for bfifo "policer" if
    its depth is NaN, otherwise _depth_name() of the range of _DEPTHS_MS that its depth is in; for
    any other, the name of the AQM or queue, such as "fq_codel".

    row: name of a column -> value. `aqm` and `depth_ms` count.
    """
    if row["aqm"] != "bfifo":
        return str(row["aqm"])
    if math.isnan(row["depth_ms"]):
        return "policer"
    return _depth_name(next(bounds for bounds in _DEPTHS_MS if row["depth_ms"] <= bounds[1]))


def _depth_name(bounds: tuple[int, int]) -> str:
    """Return the name of drop-tail queues whose depth in ms is within these bounds, such as
    "drop-tail, 2 to 20 ms"."""
    return f"drop-tail, {bounds[0]} to {bounds[1]} ms"


def _prior_sentence(rows: Rows) -> str:
    """Return a sentence on the runs that the model is made of: the share with an AQM, and the rates
    that it knows."""
    runs = for_training(rows).drop_duplicates(list(OF_RUN))
    low, high = known_rates_mbps(for_training(rows))
    share = 100 * runs["has_aqm"].mean()
    return (f"Of the {len(runs)} runs that the model is made of, {share:.0f} % have an AQM at the "
            f"bottleneck. It knows downloads of {low:g} to {high:g} Mbit/s.")


def _one_lost_sentence(unseen: Unseen) -> str:
    """Return a sentence on how many answers change in downloads without a loss at M-Lab's cadence,
    and how many of them to "AQM", if one lost segment is added to each. `unseen` holds out the
    bands of rates."""
    cadence, loses = unseen.rows["cadence"].to_numpy(), unseen.rows["loses"].to_numpy(dtype=bool)
    pairs = [answers(unseen.of((cadence == name) & ~loses)[1]) for name in (ARCHIVED, ONE_LOST)]
    changed = [(before, after) for before, after in zip(*pairs, strict=True) if before != after]
    into = sum(after == AQM for _, after in changed)
    return (f"One lost segment, added to each of {len(pairs[0])} downloads without a loss, changes "
            f"{len(changed)} answers, {into} of them to `{AQM}`.")


def _depth_sentence(unseen: Unseen) -> str:
    """Return a sentence on drop-tail queues that are recognized at M-Lab's cadence: median and
    quartiles of the depth that is said relative to the true depth, and in how many runs it is not
    above the true one; or that none was recognized. Wi-Fi and lines with two bottlenecks are left
    out. `unseen` holds out the bands of rates."""
    test, probabilities = unseen.archived()
    is_told = numpy.array([answer == DROP_TAIL for answer in answers(probabilities)])
    # Wi-Fi and a modem have queues of their own.
    known = (test["truth"] == DROP_TAIL) & test["depth_ms"].notna() & ~test["world"].isin(
        (WIFI, TWO_BOTTLENECKS))
    ratios = (DEPTH_SHARE * test["rise_max_ms"] / test["depth_ms"])[is_told & known.to_numpy()]
    if not len(ratios):
        return "No drop-tail queue of known depth was recognized."
    low, middle, high = numpy.quantile(ratios, (0.25, 0.5, 0.75))
    return (f"The depth that is said, by the true depth: median {middle:.2f}, quartiles {low:.2f} "
            f"to {high:.2f}; not above it in {(ratios <= 1).sum()} of {len(ratios)} runs.")


def _archive_table(path: Path) -> str:
    """Return a Markdown table: how many downloads of a file of M-Lab's archive get which answer of
    the package's model, or no answer for which reason. Numbers in reasons are replaced by "N".
    Downloads that read_downloads() leaves out aren't counted. Raises BadResult if the file can't be
    read, or no download in it is usable."""
    downloads = read_downloads(path)
    counts = Counter(re.sub(r"\d[\d.]*", "N", verdict.reason) or verdict.answer
                     for verdict in judge_all(downloads))
    return "\n".join(["| answer, or reason for none | downloads |", "|---|---|",
                      *(f"| {words} | {count} |" for words, count in counts.most_common())])


def reliability_by_bin(truth: Any, probabilities: Numbers) -> Mapping[float, tuple[float, int]]:
    """Return for each of five bins of equal width, from 0 to 1, of the highest probability: its
    mean in the bin -> (share of rows in which the likeliest class is right, number of rows). Bins
    with fewer than five rows are left out.

    Args:
        truth: true class of each row.
        probabilities: a row of probabilities for each row of `truth`, columns in the order of
            CLASSES.
    """
    highest = probabilities.max(axis=1)
    right = numpy.array([CLASSES[at] for at in probabilities.argmax(axis=1)]) == numpy.array(truth)
    bins = numpy.minimum((highest * _BINS).astype(int), _BINS - 1)
    return {float(highest[bins == one].mean()): (float(right[bins == one].mean()),
                                                 int((bins == one).sum()))
            for one in range(_BINS) if (bins == one).sum() >= _LEAST_IN_BIN}


def _draw_reliability(unseen: Unseen, path: Path) -> None:
    """Draw a reliability diagram of all runs at M-Lab's cadence and one of each world, and save
    them as one picture to `path`. That of a world without runs is empty. `unseen` holds out the
    bands of rates. Raises OSError if the picture can't be written."""
    shown = {"all": unseen.archived(), **{
        words.split(",")[0]: unseen.archived((unseen.rows["world"] == world).to_numpy())
        for world, words in _WORLDS.items()}}
    figure, panels = pyplot.subplots(2, 5, figsize=(7.0, 3.1), layout="constrained", sharex=True,
                                     sharey=True)
    for axes, (words, (test, probabilities)) in zip(panels.flat, shown.items(), strict=False):
        bins = reliability_by_bin(test["truth"], probabilities)
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        axes.plot(list(bins), [right for right, _ in bins.values()], "o-", markersize=3,
                  linewidth=1)
        for probability, (right, count) in bins.items():
            axes.annotate(f"{count}", (probability, right), xytext=(3, -8),
                          textcoords="offset points", fontsize=6)
        axes.set_title(words, fontsize=6)
        axes.set(xlim=(0.25, 1.05), ylim=(0, 1.05))
        axes.tick_params(labelsize=6)
    figure.supxlabel("probability of the likeliest class", fontsize=7)
    figure.supylabel("share that was right", fontsize=7)
    figure.savefig(path, dpi=200, metadata={"Software": None})
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
