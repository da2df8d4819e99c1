# SPDX-License-Identifier: GPL-3.0-or-later
"""All cards as one table: for terminals, and as Markdown for documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from flent_aqm.base.words import counted, plain
from flent_aqm.parts.scorecard.card import Card
from flent_aqm.parts.scorecard.scores import KIND, Score
from flent_aqm.parts.scorecard.words import sentences
from flent_aqm.results.metrics.table import digits

NONE = "none"


@dataclass(frozen=True)
class Column:
    """heading: of the table; what: in a line below it; kind: of scores.KIND; form: of a value."""

    heading: str
    kind: str
    form: str = "ratio"

    @property
    def what(self) -> str:
        """In words."""
        kind = KIND[self.kind]
        return f"{kind.words}{f' ({kind.unit})' if kind.unit else ''}"

    def value(self, score: Score | None) -> str:
        """Return the value alone."""
        return NONE if score is None else _one(score.value, self.form)

    def interval(self, score: Score | None) -> str:
        """Return its interval; "" where there is none."""
        if score is None or score.low is None or score.high is None:
            return ""
        return " to ".join(_one(each, self.form, bare=True) for each in (score.low, score.high))

    def whole(self, score: Score | None) -> str:
        """Return both."""
        between = self.interval(score)
        return f"{self.value(score)} [{between}]" if between else self.value(score)


def _one(value: float, form: str, *, bare: bool = False) -> str:
    if form == "share":
        return f"{value * 100:.0f}" + ("" if bare else " %")
    return f"{value:.0f}" if form == "count" else digits(value)


COLUMNS: Sequence[Column] = (
    Column("throughput", "throughput"),
    Column("latency ÷ median", "latency_to_median"),
    Column("÷ p95", "latency_to_p95"),
    Column("÷ own", "latency_to_own"),
    Column("tells apart", "tells_apart", "share"),
    Column("invents", "invents_difference", "share"),
    Column("bad is good", "calls_bad_good", "share"),
    Column("good is bad", "calls_good_bad", "share"),
    Column("BEAD passes", "bead_passes_bad", "share"),
    Column("BEAD fails", "bead_fails_good", "share"),
    Column("too slow", "bead_too_slow", "share"),
    Column("unseen glitches", "blind_to_tail"),
    Column("spread", "repeats_throughput"),
    Column("of latency", "repeats_latency"),
    Column("MB", "megabytes", "count"),
    Column("s", "seconds", "count"),
    Column("lab, s", "lab_wall_s"),
)
# Of a terminal, which is narrow.
_OF_TERMINAL = ("throughput", "latency_to_median", "latency_to_p95", "latency_to_own",
                "tells_apart", "calls_bad_good", "bead_passes_bad", "megabytes", "seconds")
INTERVALS = ("In brackets: 95 % intervals, of medians by the sign test, of shares by Clopper and "
             "Pearson, over cells and seeds.")


def ordered(cards: Sequence[Card]) -> list[Card]:
    """Return those first that tell queues apart best, then those whose latency is nearest the
    truth; last those that show none."""
    def key(card: Card) -> tuple[float, float, str]:
        tells, ratio = card.scores.get("tells_apart"), card.scores.get("latency_to_median")
        return (-tells.value if tells else 1.0,
                max(ratio.value, 1 / ratio.value) if ratio and ratio.value else float("inf"),
                card.label)
    return sorted(cards, key=key)


def headline(cards: Sequence[Card]) -> str:
    """Return what the page is of."""
    runs = sum(len(card.readings) for card in cards)
    beds = sorted({card.testbed for card in cards})
    where = " and ".join("virtual time" if one == "virtual" else "real time" for one in beds)
    return f"{counted(len(cards), 'test')}, {counted(runs, 'run')}, in {where}"


def failed_lines(card: Card) -> list[str]:
    """Return a line for each cell without a number."""
    return [f"{plain(card.label)}: {plain(place)}: {plain(cause)}"
            for place, cause in card.failed.items()]


def markdown(cards: Sequence[Card]) -> str:
    """Return the table with intervals, what columns mean, and what each card says in words."""
    cards = ordered(cards)
    lines = ["| test | " + " | ".join(column.heading for column in COLUMNS) + " |",
             "|---|" + "---|" * len(COLUMNS)]
    lines += [f"| {_cell(card.label)} | " + " | ".join(
        column.whole(card.scores.get(column.kind)) for column in COLUMNS) + " |"
        for card in cards]
    lines += ["", f"{headline(cards)}. {INTERVALS}", ""]
    lines += [f"- **{column.heading}**: {column.what}" for column in COLUMNS]
    for card in cards:
        lines += ["", f"**{_cell(card.label)}.** {_cell(' '.join(sentences(card)))}"]
        if card.failed:
            lines.append(f"No number in {counted(len(card.failed), 'cell')}.")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return plain(text).replace("|", "\\|")


def table(cards: Sequence[Card], console: Console) -> None:
    """Print it for a terminal."""
    columns = [column for column in COLUMNS if column.kind in _OF_TERMINAL]
    made = Table(box=None, pad_edge=False)
    made.add_column("test", no_wrap=True)
    for column in columns:
        made.add_column(column.heading.replace(" ", "\n", 1), justify="right")
    for card in ordered(cards):
        made.add_row(plain(card.label), *(column.value(card.scores.get(column.kind))
                                          for column in columns))
    console.print(made)
    for card in ordered(cards):
        console.print(f"{plain(card.label)}: {' '.join(sentences(card)) or 'no run.'}",
                      markup=False, highlight=False, soft_wrap=True)
