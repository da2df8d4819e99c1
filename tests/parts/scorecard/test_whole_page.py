# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole page of five tests whose numbers lie on both sides of each limit, and on it.

tests/golden/scorecard has the page as Markdown, JSON, HTML and terminal output, and all that the
figure draws, as text. Where a change is meant, this writes them again, to be read:

    python -m tests.parts.scorecard.test_whole_page
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from io import StringIO
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from rich.console import Console

from flent_aqm import __version__
from flent_aqm.parts.scorecard import figure, html, markdown, terminal, whole
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.columns import IN_DOCS, OTHER_TRUTHS, failed_lines, ranks
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading
from flent_aqm.show.plots.paper import letters
from tests.files import ROOT

GOLDEN = ROOT / "tests" / "golden" / "scorecard"
LINES = ("10mbit-40ms", "50mbit-40ms", "300-30mbit-10ms")
QUEUES = ("fifo_250ms", "fifo_1000p", "codel", "fq_codel")
# Names of cards -> the latency that the test shows, as a function of the true median and the 95th
# percentile. None: no latency.
SHOWN: dict[str, Any] = {
    "exact": lambda median, p95: p95,
    "median": lambda median, p95: median,
    "small": lambda median, p95: 20.0 if p95 == math.inf else max(0.0, 0.1 * p95 - 2.0),
    "one_number": lambda median, p95: 1.1 * median,
    "none": lambda median, p95: None,
}


def way(draw: random.Random, test: str, down: bool) -> DirectionValues:
    """A direction whose values are those at which a limit lies, or near."""
    idle = draw.choice((10.0, 20.0))
    median = idle + draw.choice((0.0, 5.0, 20.0, 40.0, 100.0))
    p95 = draw.choice((median, median + 15.0, 2 * median, idle + 100.0, 100.0, 101.0, math.inf))
    p95 = max(p95, median)
    shown = None if test == "one_number" else SHOWN[test](median, p95)
    shown = None if shown is None or math.isinf(shown) else shown
    return DirectionValues(
        shown_mbps=None if test == "median" and not down else draw.choice(
            (0.0, 40.0, 79.0, 80.0, 90.0, 95.0, 100.0, 111.0)),
        possible_mbps=draw.choice((100.0, 100.0, 100.0, None)), shown_ms=shown,
        others_median_ms=median, others_p95_ms=p95, idle_ms=idle,
        own_ms=draw.choice((None, 0.0, median, 2 * median)), queue_ms=median - idle,
        glitches_per_minute=draw.choice((0.0, 3.0, 6.0, 12.0, None)),
        others_loss_pct=draw.choice((0.0, 0.4, 0.5, 1.0)),
        qoo=draw.choice((100.0, 80.0, 60.0, 0.0, None)),
        shown_rise_ms=None if shown is None or test == "median" else shown - 20.0)


def worse(test: str, ways: dict[str, DirectionValues]) -> DirectionValues:
    """The larger value of each quantity, and the number of a test that shows one for both."""
    def most(name: str) -> float | None:
        return max((value for one in ways.values()
                    if (value := getattr(one, name)) is not None), default=None)

    median = most("others_median_ms") or 0.0
    return DirectionValues(
        shown_ms=1.1 * median if test == "one_number" else most("shown_ms"),
        qoo=min((one.qoo for one in ways.values() if one.qoo is not None), default=None),
        **{name: most(name) for name in (
            "others_median_ms", "others_p95_ms", "idle_ms", "own_ms", "queue_ms",
            "glitches_per_minute", "others_loss_pct", "shown_rise_ms")})


def readings(test: str, queues: tuple[str, ...] = QUEUES) -> Iterator[Reading]:
    """Runs on three lines, with four queues and two seeds, the second beside a bulk flow."""
    draw = random.Random(test)
    for line in LINES:
        for queue in queues:
            for seed in (1, 2):
                beside = "-beside" if seed == 2 and line == LINES[1] else ""
                ways = {"download": way(draw, test, True), "upload": way(draw, test, False)}
                ways[WORSE] = worse(test, ways)
                yield Reading(
                    f"{line}-{queue}{beside}-seed{seed}", f"{line}, {queue}, seed {seed}",
                    f"{line}{beside}-seed{seed}", f"{line}-{queue}{beside}", bool(beside), ways,
                    None if test == "exact" else draw.choice((True, False, None)),
                    draw.choice((None, 10.0, 12.5)), draw.choice((None, 10.0, 10.6)),
                    draw.choice((1.5, 2.0)), draw.choice((None, 20.0, 30.0)))


def cards() -> list[Card]:
    """Five tests; one has failed runs, one a name that Markdown and HTML must not obey."""
    return [
        Card("exact", "Exact (p95, by nobody)", [*readings("exact")], {}, "Shows p95."),
        Card("median", "median | <b>bold</b>", [*readings("median")],
             {"a-seed1": "it | failed", "b-seed1": "it | failed", "c-seed1": "it | failed",
              "d-seed1": "<i>late</i>"}, "Shows the median."),
        Card("small", "small", [*readings("small")], {}),
        Card("one_number", "one number", [*readings("one_number")], {}, testbed="netns"),
        Card("none", "throughput only", [*readings("none", QUEUES[:1])], {}),
        Card("empty", "no run", [], {"a-seed1": "it failed"})]


def rounded(value: Any) -> Any:
    """The same JSON with numbers of six digits: other processors round the last ones otherwise."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def numbers(values: Any) -> str:
    return ", ".join(f"{float(value):.5g}" for value in values)


def drawn() -> Iterator[str]:
    """All that the figure draws: lines, bars, words, limits, looks."""
    with mpl.rc_context({**letters(figure.WIDTH_INCH), "font.size": 6.5}):
        canvas = Figure((figure.WIDTH_INCH, 3), layout="constrained")
        figure._draw_rows(cards(), canvas)
        canvas.draw_without_rendering()
    axes: list[Any] = canvas.axes
    for axis in axes:
        yield (f"axis {axis.get_xlabel()!r} {axis.get_xscale()} x {numbers(axis.get_xlim())} "
               f"y {numbers(axis.get_ylim())} "
               f"of the width {axis.get_subplotspec().get_gridspec().get_width_ratios()}")
        yield f"  ticks {[one.get_text() for one in axis.get_xticklabels()]} y " + str(
            [one.get_text() for one in axis.get_yticklabels()])
        grid = axis.xaxis.get_gridlines()[0]
        yield (f"  grid {grid.get_visible()} {grid.get_alpha()} {grid.get_linewidth()} "
               f"below {axis.get_axisbelow()}")
        marks = {tick.tick1line.get_markersize() for tick in axis.yaxis.get_major_ticks()}
        yield f"  marks at the side {sorted(marks)}"
        yield f"  sides {[name for name, one in axis.spines.items() if one.get_visible()]}"
        for line in axis.lines:
            yield (f"  line {line.get_marker()} {line.get_markersize():g} "
                   f"{line.get_markeredgewidth():g} {line.get_linewidth():g} "
                   f"{to_hex(line.get_color())} {line.get_alpha()} "
                   f"x {numbers(line.get_xdata())} y {numbers(line.get_ydata())}")
        for bar in axis.patches:
            yield (f"  bar {numbers((bar.get_x(), bar.get_y(), bar.get_width()))} "
                   f"{bar.get_height():g} {to_hex(bar.get_facecolor())}")
        for text in axis.texts:
            yield f"  text {text.get_text()!r} at {text.xy} {text.get_ha()} {text.get_va()}"
        assert not [one for one in axis.collections if isinstance(one, PathCollection)]


def pages() -> dict[str, str]:
    """Each golden file's name -> its content."""
    shown = cards()
    out = StringIO()
    terminal.print_page(shown, Console(file=out, width=80))
    rank = ranks(shown)
    tables = [f"{title}\n" + "\n".join(markdown.table_lines(
        shown, {"rank": lambda card: rank[card.row]}, columns))
        for title, columns in (("in docs", IN_DOCS), ("other truths", OTHER_TRUTHS))]
    text = whole.text(shown)
    assert text.startswith('{\n "schema": 1,\n ')
    document = json.loads(text)
    assert document.pop("flent_aqm") == __version__
    return {
        "page.md": markdown.page(shown),
        "page.json": json.dumps(rounded(document), indent=1) + "\n",
        "page.html": html.page(shown, (), b"<svg/>", figure.caption(shown)),
        "terminal.txt": out.getvalue(),
        "tables.md": "\n\n".join(tables) + "\n",
        "failed.txt": "\n".join(line for card in shown for line in failed_lines(card)) + "\n",
        "figure.txt": "\n".join(drawn()) + "\n"}


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages()


@pytest.mark.parametrize("name", [
    "page.md", "page.json", "page.html", "terminal.txt", "tables.md", "failed.txt", "figure.txt"])
def test_page_is_as_it_was_read(name: str, made: dict[str, str]) -> None:
    """To the letter."""
    assert made[name] == (GOLDEN / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for file, content in pages().items():
        (GOLDEN / file).write_text(content, encoding="utf-8")
