# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of docs/scorecard.md, from the results of `flent-aqm scorecard`.

    .venv/bin/python -m research.validation.scorecard table results/renew/scorecard [-o docs]
    .venv/bin/python -m research.validation.scorecard real_time results/renew/scorecard_real
    .venv/bin/python -m research.validation.scorecard worst results/renew/scorecard_worst
    .venv/bin/python -m research.validation.scorecard others results/scorecard-others
    .venv/bin/python -m research.validation.scorecard browser results/renew/scorecard_browser

table: all tests, from a folder whose 1 has the core, and 2 other seeds;
worst: what searches for worst lines found, of latency in 1, of throughput in 2;
real_time: of namespaces, 2, and whether the order of tests is that in the lab, 1, if it is there;
others: tests that were run on fewer lines, in a line each;
browser: Cloudflare's own client in Chromium beside this package's client.

Prints the text and, with -o, writes it between its marks on the page in that folder, with the
figure.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError, BadResult
from flent_aqm.base.words import counted
from flent_aqm.parts.scorecard import card as cards
from flent_aqm.parts.scorecard import figure, markdown, worst_lines
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import (
    COUNT,
    IN_DOCS,
    NONE,
    OTHER_TRUTHS,
    headline,
    ordered,
    ranks,
)
from flent_aqm.parts.scorecard.contestant import CONTESTANTS
from flent_aqm.parts.scorecard.order import Order, compare
from flent_aqm.parts.scorecard.reading import WORSE
from flent_aqm.parts.scorecard.words import stalls, stalls_of_all, typical
from flent_aqm.parts.scorecard.worst import AIMS
from flent_aqm.parts.scorecard.worst_lines import LOADING, LineError, WorstLine
from flent_aqm.results.data_file import SUFFIX, read_data_file
from flent_aqm.results.metrics.flows import DIRECTIONS
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.table import digits
from research.validation import marked
from research.validation.stamp import made_of

PAGE, PICTURE = "scorecard.md", Path("img") / "scorecard"
# So many pairs of tests that change places are named.
_MOST_NAMED = 6
# Two clients agree if their numbers are at most this share apart.
_AGREE = 0.1


def main() -> int:
    """Make the part of the page that the command line names, print it and, with -o, write it into
    the page in that folder, and below it the figure if the part is the table. Return the exit
    status, 1 if the results can't be read, or page or figure can't be written. No figure is written
    if the page can't be."""
    parser = argparse.ArgumentParser(prog="python -m research.validation.scorecard",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=_PARTS)
    parser.add_argument("results", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, metavar="DOCS")
    args = parser.parse_args()
    name, make = _PARTS[args.part]
    try:
        text = make(args.results)
        print(text)
        if args.output:
            runs = [as_run(read_data_file(path))
                    for path in sorted(args.results.rglob(f"*{SUFFIX}"))]
            marked.replace(args.output / PAGE, name, text, made_of(runs))
            if make is table:
                _save_figure(_read_cards(args.results / "1"), args.output / PICTURE)
    except (AqmError, OSError, ValueError) as error:
        print(f"scorecard: {error}", file=sys.stderr)
        return 1
    return 0


def table(results: Path) -> str:
    """Return the table of all tests in Markdown, a headline with the tests that failed in some
    runs, a table of other truths, and a comparison with other seeds if there is a folder 2.

    results: folder whose folder 1 has the cards, and 2 those of other seeds. Raises AqmError if a
    folder has no cards, a card is damaged, or the two folders have too little in common.
    """
    shown = _read_cards(results / "1")
    stalled, rank = stalls_of_all(shown), ranks(shown)
    count = len(next(iter(stalled.values()), ()))
    lines = markdown.table_lines(ordered(shown), {
        "rank": lambda card: rank[card.row], "test": markdown.test_cell,
        f"on the {counted(count, 'line')} that stall under all tests, it says": lambda card: (
            " of ".join(typical(stalled[card.row])) if stalled.get(card.row) else NONE)},
        IN_DOCS)
    none = [f"{markdown.escape_cell(card.label)} in {counted(len(card.failed), 'run')}"
            for card in ordered(shown) if card.failed]
    lines += ["", f"{headline(shown)}{'; no number: ' * bool(none)}{', '.join(none)}.", "",
              ("Other truths: the idle line's latency, the rise over it, and the share of pairs of "
               "clearly different queues that the test's latency puts in the right order:"), "",
              *markdown.table_lines(
                  [card for card in ordered(shown)
                   if any(column.kind in card.scores for column in OTHER_TRUTHS)],
                  {"test": markdown.test_cell}, OTHER_TRUTHS)]
    if (results / "2").is_dir():
        lines += ["", *_order_lines(compare(shown, _read_cards(results / "2"), "seeds"))]
    return "\n".join(lines)


def worst(results: Path) -> str:
    """Return a Markdown list, below a line with the number of lines that were tried: an item for
    each search, with the line on which its test was farthest from the truth, see _describe_worst().
    A test that was searched for both latency and throughput has two items, one that was not
    searched has none.

    results: folder of the searches, of latency in 1 and of throughput in 2. Raises BadResult if
    there is no search, or its result is damaged.
    """
    found = [(contestant, one) for name, contestant in CONTESTANTS.items()
             for aim in ("1", "2") for one in worst_lines.read_all(results / aim / name)]
    if not found:
        raise BadResult(f"{results}: no worst line; find them with flent-aqm scorecard --worst")
    runs = [one.runs for _, one in found]
    return "\n".join([f"{min(runs)} to {max(runs)} lines were tried.\n", *(
        f"- **{markdown.escape_cell(contestant.label)}**: {_describe_worst(one)}" for contestant,
        one in found)])


def _describe_worst(worst_line: WorstLine) -> str:
    """Return a search's result in few words: "right on all" and the largest error; or the worst
    line with the shown and the true value, the simpler line with most of that error, if it is
    another one, and with which changes of one setting the test is right there, or "no one change
    mends it"; without the latter if changes have no result."""
    if worst_line.is_right:
        return f"right on all; {_describe_error(worst_line, worst_line.worst)}"
    as_wrong = [worst_line.simple] if worst_line.simple != worst_line.worst else []
    right = ", or ".join(f"without {mended.before}" if mended.after == "none"
                         else f"with {mended.after}" for mended in worst_line.mended)
    mends = []
    if right:
        mends = [f"right {right}"]
    elif not worst_line.unknown:
        mends = ["no one change mends it"]
    return "; ".join([*(_describe_error(worst_line, error)
                        for error in (worst_line.worst, *as_wrong)), *mends])


def _describe_error(one: WorstLine, error: LineError) -> str:
    way = "" if error.way == WORSE else f", {LOADING[error.way]}"
    return (f"{error.line}{way}: {digits(error.shown)} of {digits(error.true)} "
            f"{AIMS[one.aim].unit}")


def real_time(results: Path) -> str:
    """Return a sentence on how well each test tells queues apart in namespaces, and a comparison
    with the order in the lab if there is a folder 1. Tests without that score are left out of the
    sentence.

    results: folder of the cards, of namespaces in 2 and of the lab in 1. Raises AqmError if a
    folder has no cards, a card is damaged, or the two have too little in common.
    """
    shown = _read_cards(results / "2")
    column = next(one for one in IN_DOCS if one.kind == "tells_apart")
    texts = [f"{markdown.escape_cell(card.label)} {column.value(score)}" for card in ordered(shown)
             if (score := card.scores.get(column.kind))]
    lines = [f"{headline(shown)}; {column.heading}: {', '.join(texts)}."]
    if (results / "1").is_dir():
        lines += ["", *_order_lines(compare(_read_cards(results / "1"), shown, "real time"))]
    return "\n".join(lines)


def others(results: Path) -> str:
    """Return a Markdown list with an item for each test: the latency that it shows on lines that
    stall beside the true one, and its scores, without those of cost and without intervals. It is
    for tests that ran on few lines.

    results: folder of the cards. Raises AqmError if there are none, or one is damaged.
    """
    shown = _read_cards(results)
    return "\n".join(
        f"- {markdown.escape_cell(card.label)}: says {_stalled_latencies(card)}, " + ", ".join(
            f"{column.heading} {column.value(score)}" for column in IN_DOCS
            if column.form != COUNT and (score := card.scores.get(column.kind)))
        for card in ordered(shown))


def browser(results: Path) -> str:
    """Return a sentence that compares this package's client of Cloudflare's method with
    Cloudflare's own client in Chromium, over the same lines and seeds. It says whether all ratios,
    ours divided by theirs, are within 10 % of 1, and gives the least and the greatest one of
    throughput and of latency, each over all lines and both directions.

    results: folder whose folder 1 has the cards of both. Raises AqmError if one of both cards is
    missing, a card is damaged, or both have no line, or no number of a line, in common.
    """
    by_test = {card.test: {one.place: one for one in card.readings}
               for card in _read_cards(results / "1")}
    missing = [name for name in ("cloudflare", "cloudflare_browser") if name not in by_test]
    ours, theirs = (by_test.get(name, {}) for name in ("cloudflare", "cloudflare_browser"))
    common = sorted(ours.keys() & theirs.keys())
    if missing or not common:
        raise BadResult(f"{results}: no line with runs of both clients"
                        f"{'; missing: ' * bool(missing)}{', '.join(missing)}; make them with "
                        "flent-aqm scorecard cloudflare cloudflare_browser --cells small")
    ratios: dict[str, list[float]] = {}
    for place in common:
        for way in DIRECTIONS:
            one, other = ours[place].ways[way], theirs[place].ways[way]
            for kind, shown, true in (("throughput", one.shown_mbps, other.shown_mbps),
                                      ("latency", one.shown_ms, other.shown_ms)):
                if shown is not None and true:
                    ratios.setdefault(kind, []).append(shown / true)
    texts = [f"{kind} {min(values):.2f} to {max(values):.2f}" for kind, values in ratios.items()]
    if not ratios:
        raise BadResult(f"{results}: no direction of a line has a number of both clients; make the "
                        "runs again")
    off = max(abs(value - 1) for values in ratios.values() for value in values)
    agree = "agree within 10 %" if off <= _AGREE else "**differ by more than 10 %**"
    return ("Cloudflare's own client in Chromium (`cloudflare_browser`, HTTP/1.1) and this "
            f"package's {agree} on {counted(len(common), 'line')}, by direction; ours divided by "
            f"Cloudflare's: {', '.join(texts)}.")


def _stalled_latencies(card: Card) -> str:
    stalled = stalls(card)
    return " of ".join(typical(stalled)) if stalled else NONE


def _read_cards(folder: Path) -> Sequence[Card]:
    shown = [*cards.read_all(folder)]
    if not shown:
        raise BadResult(f"{folder}: no scorecard files; make them with flent-aqm scorecard")
    return shown


def _order_lines(order: Order) -> list[str]:
    return [order.sentence(), *(f"- {markdown.escape_cell(line)}"
                                for line in order.exceptions()[:_MOST_NAMED])]


def _save_figure(shown: Sequence[Card], path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        figure.write(shown, Path(folder) / path.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(folder) / f"{path.name}.png", path.with_suffix(".png"))


_PARTS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "table": ("scorecard", table), "real_time": ("real time", real_time),
    "worst": ("worst", worst), "others": ("others", others), "browser": ("browser", browser)}

if __name__ == "__main__":
    sys.exit(main())
