# SPDX-License-Identifier: GPL-3.0-or-later
"""Write how good `flent-aqm infer` is on lines that its model hasn't seen: tables of docs/infer.md.

    .venv/bin/python -m research.infer.page TABLE.parquet FOLDER… [-o docs]

FOLDERs have the runs of the table. Held out are whole bands of rates and of round trips, congestion
controls, the worlds of the recipe, another kernel, and real time; never rows at random.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy
from matplotlib import pyplot

from flent_aqm.base.errors import AqmError
from flent_aqm.parts.infer.classes import (
    ANSWERS,
    CANT_TELL,
    CLASSES,
    DROP_TAIL,
    answer_of,
)
from flent_aqm.parts.infer.features import BASELINE, FEATURES
from flent_aqm.results.data_file import Numbers, read_data_file
from flent_aqm.results.many_files import find_files
from flent_aqm.results.metrics.run import as_run
from research.infer.recipe import SLOW_ROUTER, TWO_BOTTLENECKS, WIFI
from research.infer.train import Rows, fit, quantile_masks, read, usual_runs
from research.validation import marked
from research.validation.stamp import made_of

matplotlib.use("agg")

PAGE, PICTURE = "infer.md", Path("img") / "infer.png"
_BINS = 10
# A share of fewer says nothing.
_LEAST_IN_BIN = 4
NONE = "none"
_OURS, _BASELINE = list(FEATURES), list(BASELINE)


def main() -> int:
    """Print the tables and, with -o, write them and the figure to the page. Return the exit status,
    1 if a file can't be read."""
    parser = argparse.ArgumentParser(prog="python -m research.infer.page",
                                     description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, metavar="DOCS")
    args = parser.parse_args()
    rows = read(args.table)
    by_rate = _probabilities_by_band(usual_runs(rows), "line_mbps", _OURS)
    parts = {"held out": _held_out_table(rows), "by class": _class_table(usual_runs(rows), by_rate),
             "depth": _depth_sentence(usual_runs(rows), by_rate)}
    for name, text in parts.items():
        print(f"\n{name}\n\n{text}")
    if not args.output:
        return 0
    try:
        runs = [as_run(read_data_file(path)) for path in find_files(args.folders)]
        for name, text in parts.items():  # all of the same runs, which are counted once
            marked.replace(args.output / PAGE, name, text,
                           made_of(runs) if name == "held out" else None)
    except (AqmError, ValueError) as error:
        print(f"infer: {error}", file=sys.stderr)
        return 1
    _draw_reliability(usual_runs(rows), by_rate, args.output / PICTURE)
    return 0


def _probabilities_by_band(rows: Rows, column: str, names: list[str]) -> Numbers:
    """Return the probabilities of the classes for all rows. Each row is judged by a model that was
    trained without the row's band.

    Args:
        rows: the runs.
        column: name of the column whose values are divided into bands.
        names: names of the features.
    """
    held_out = numpy.zeros((len(rows), len(CLASSES)))
    for apart in quantile_masks(rows[column]):
        held_out[apart] = fit(rows[~apart].reset_index(drop=True), names).probabilities(rows[apart])
    return held_out


def _judge_held_out(rows: Rows, apart: Any, names: list[str]) -> tuple[Rows, Numbers]:
    """Return the held-out rows, and the probabilities that a model of the other rows gives them.

    Args:
        rows: the runs.
        apart: boolean mask of the rows to hold out.
        names: names of the features.
    """
    test = rows[apart].reset_index(drop=True)
    return test, fit(rows[~apart].reset_index(drop=True), names).probabilities(test)


def _held_out_cases(rows: Rows, names: list[str]) -> Iterator[tuple[str, Rows, Numbers]]:
    """Yield (description of what is held out, its rows, the probabilities of a model without it)
    for each case."""
    own = usual_runs(rows)
    yield "a fifth of the rates", own, _probabilities_by_band(own, "line_mbps", names)
    yield "a fifth of the round trips", own, _probabilities_by_band(own, "line_rtt_ms", names)
    for name in ("bbr", "cubic", "reno"):
        yield f"{_CC[name]} as sender", *_judge_held_out(own, own["cc"] == name, names)
    for world, words in _WORLDS.items():
        yield words, *_judge_held_out(own, own["world"] == world, names)
    model = fit(own, names)
    for words, other in (
            ("Linux 6.12 and 7.2", rows[rows["kernel"] != "stock"]),
            ("namespaces", rows[rows["testbed"] == "netns"]),
            ("a router in qemu", rows[rows["testbed"].str.startswith("ssh:")])):
        if len(other):
            yield words, other, model.probabilities(other)


_CC = {"bbr": "BBR", "cubic": "Cubic", "reno": "Reno"}
_WORLDS = {SLOW_ROUTER: "slow routers", TWO_BOTTLENECKS: "two bottlenecks", WIFI: "Wi-Fi"}


def _held_out_table(rows: Rows) -> str:
    """Return a Markdown table: how often a model answers for runs that it has not seen, and is
    right then, beside the baseline's."""
    lines = ["| held out | runs | answered, right, % | IMC'17's features |", "|---|---|---|---|"]
    for (words, test, ours), (_, _, theirs) in zip(
            _held_out_cases(rows, _OURS), _held_out_cases(rows, _BASELINE), strict=True):
        cells = [", ".join(_answer_shares(test["truth"], one)) for one in (ours, theirs)]
        lines.append(f"| {words} | {len(test)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def answers(probabilities: Numbers) -> list[str]:
    """Return the answer for each row of probabilities."""
    return [answer_of(dict(zip(CLASSES, map(float, row), strict=True))) for row in probabilities]


def _answer_shares(truth: Any, probabilities: Numbers) -> tuple[str, str]:
    """Return the percentage of rows with an answer, and the percentage of these answers that are
    right, as texts. If no queue can be told, any answer is wrong. NONE without an answer.

    Args:
        truth: true class of each row.
        probabilities: probabilities of the classes, in rows.
    """
    pairs = [(answer, true) for answer, true in zip(answers(probabilities), truth, strict=True)
             if answer != CANT_TELL]
    right = sum(true in ANSWERS[answer] for answer, true in pairs)
    return (f"{100 * len(pairs) / len(truth):.0f}",
            f"{100 * right / len(pairs):.0f}" if pairs else NONE)


def _class_table(rows: Rows, probabilities: Numbers) -> str:
    """Return a Markdown table of the answers for each true queue, with the rates held out."""
    answered = answers(probabilities)
    lines = [f"| queue, runs | {' | '.join(ANSWERS)} |", "|---|" + "---|" * len(ANSWERS)]
    for queue in CLASSES:
        of = [answer for answer, true in zip(answered, rows["truth"], strict=True) if true == queue]
        shares = [f"{100 * of.count(answer) / len(of):.0f}" if of else NONE for answer in ANSWERS]
        lines.append(f"| {queue}, {len(of)} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _depth_sentence(rows: Rows, probabilities: Numbers) -> str:
    """Return a sentence on drop-tail queues that are recognized: the highest rise relative to the
    true depth, with and without losses."""
    is_told = numpy.array([answer == DROP_TAIL for answer in answers(probabilities)])
    drop_tail = is_told & ((rows["truth"] == DROP_TAIL) & rows["depth_ms"].notna()).to_numpy()
    lost = (rows["loss_start"] + rows["loss_late"]).to_numpy() > 0
    parts = []
    for words, apart in (("about", lost), ("at least", ~lost)):
        ratios = (rows["rise_max_ms"] / rows["depth_ms"])[drop_tail & apart]
        if len(ratios):
            low, middle, high = numpy.quantile(ratios, (0.25, 0.5, 0.75))
            parts.append(f'"{words}" {middle:.2f} ({low:.2f} to {high:.2f}, {len(ratios)} runs)')
    return f"Depth said by true depth, median and quartiles: {'; '.join(parts)}."


def reliability_by_bin(truth: Any, probabilities: Numbers) -> Mapping[float, tuple[float, int]]:
    """Return for each bin of the highest probability: its mean -> (share of rows in which the
    likeliest class is right, number of rows). Bins with fewer than _LEAST_IN_BIN rows are left out.

    Args:
        truth: true class of each row.
        probabilities: probabilities of the classes, in rows.
    """
    highest = probabilities.max(axis=1)
    right = numpy.array([CLASSES[at] for at in probabilities.argmax(axis=1)]) == numpy.array(truth)
    bins = numpy.minimum((highest * _BINS).astype(int), _BINS - 1)
    return {float(highest[bins == one].mean()): (float(right[bins == one].mean()),
                                                 int((bins == one).sum()))
            for one in range(_BINS) if (bins == one).sum() >= _LEAST_IN_BIN}


def _draw_reliability(rows: Rows, probabilities: Numbers, path: Path) -> None:
    """Draw the reliability diagram, for a paper's column, and save it to `path`."""
    bins = reliability_by_bin(rows["truth"], probabilities)
    figure, axes = pyplot.subplots(figsize=(3.33, 2.6), layout="constrained")
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    axes.plot(list(bins), [right for right, _ in bins.values()], "o-", markersize=3.5,
              linewidth=1)
    for probability, (right, count) in bins.items():
        axes.annotate(f"{count}", (probability, right), xytext=(3, -9), textcoords="offset points",
                      fontsize=6)
    axes.set(xlabel="probability of the likeliest class", ylabel="share that was right",
             xlim=(0.15, 1.02), ylim=(0, 1.04))
    axes.tick_params(labelsize=7)
    figure.savefig(path, dpi=200, metadata={"Software": None})
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
