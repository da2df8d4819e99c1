# SPDX-License-Identifier: GPL-3.0-or-later
"""Result of a search for a test's worst line, stored as JSON beside the card, and as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flent_aqm.base.json_text import json_text
from flent_aqm.base.regular_file import read_note
from flent_aqm.parts.scorecard.output import refusal, write_output
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.parts.scorecard.reading import Reading
from flent_aqm.parts.scorecard.shrink import Change, changes, is_right, simplified
from flent_aqm.parts.scorecard.worst import AIMS, SHRINK_SHARE, Lines, Point, search
from flent_aqm.results.metrics.table import digits

_NAME = "worst-{}.json"
LOADING = {"download": "down", "upload": "up", "worse": "in the worse direction"}


@dataclass(frozen=True)
class LineError:
    """The error of a test on a line.

    Attributes:
        line: description of the line.
        way: the direction, a key of LOADING, such as "download".
        shown: value that the test shows, in ms for latency or Mbit/s for throughput.
        true: the true value, in the same unit.
    """

    line: str
    way: str
    shown: float
    true: float


@dataclass(frozen=True)
class Mended:
    """A change of one setting that makes the error vanish, see is_right().

    Attributes:
        before: the setting in words.
        after: the changed setting in words.
        shown: value that the test shows after the change, in ms or Mbit/s as in LineError.
        true: the true value after the change, in the same unit.
    """

    before: str
    after: str
    shown: float
    true: float


@dataclass(frozen=True)
class WorstLine:
    """Result of a search.

    Attributes:
        aim: key of worst.AIMS.
        runs: number of lines on which the test was run, with those for `simple` and `mended`.
        worst: the error on the worst line that was found.
        simple: the error on a line without the bulk flow, and with usual rate and round trip, as
            far as at least 80 % of the error stays. Equal to `worst` if nothing could be changed,
            if the test is right, or if the simple line's own error is the largest one.
        mended: changes of one setting of the simple line that make the error vanish. Empty if none
            is known, or if the test is right.
        unknown: changes of one setting of the simple line in words, of which it is not known
            whether they make the error vanish, because no runs were left or there was no result.
            Empty if the test is right.
    """

    aim: str
    runs: int
    worst: LineError
    simple: LineError
    mended: Sequence[Mended]
    unknown: Sequence[str]

    @property
    def is_right(self) -> bool:
        """Whether the test is right even on the worst line found: shown and true value differ by a
        factor of at most NONE_FACTOR (1.25)."""
        return is_right(self.worst.shown, self.worst.true)

    def as_dict(self) -> dict[str, Any]:
        """Return the result in a form that JSON can hold."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """Return the result in sentences: first the error on the worst line. If the test is right
        there, the only other sentence says so. Otherwise the error on the simpler line, if it is
        another one, and the changes of one setting that make the test right, or that there is none;
        if there may be one, because not all changes have a result, those without one.
        """
        unit = AIMS[self.aim].unit
        lines = [(f"Its worst {self.aim}, of {self.runs} lines that a search tried: "
                  f"{_describe_error(self.worst, unit)}.")]
        if self.is_right:
            return [*lines, "That is right."]
        if self.simple != self.worst:
            lines.append(f"As wrong on a simpler line: {_describe_error(self.simple, unit)}.")
        if not self.mended and self.unknown:
            return [*lines, ("Whether a change of one setting makes it right is not known: no runs "
                             "were left, or there was no result, with "
                             f"{', '.join(self.unknown)}.")]
        if not self.mended:
            return [*lines, "No change of one setting makes it right."]
        return [*lines, "It is right with " + ", or ".join(
            f"{one.after} in place of {one.before} ({digits(one.shown)} of "
            f"{digits(one.true)} {unit})" for one in self.mended) + "."]


def _describe_error(error: LineError, unit: str) -> str:
    """Return an error in words: line, direction, shown and true value."""
    return (f"{error.line}, {LOADING[error.way]}: it says {digits(error.shown)} of "
            f"{digits(error.true)} {unit}")


def seek(aim: str, runs: int, measure: Callable[[Sequence[Place]], Sequence[Reading | None]]
         ) -> WorstLine:
    """Search the worst line, and unless the test is right there (WorstLine.is_right), find the
    settings that cause its error.

    Args:
        aim: "latency" or "throughput".
        runs: greatest number of runs, of which a quarter is kept for finding the settings.
        measure: function that makes the runs of places and returns their readings in the same
            order, None for a failed run.

    Raises ToolMissing without Optuna, BadResult if no line has a result, and errors of `measure`.
    """
    lines = Lines(AIMS[aim], measure, runs)
    worst = search(lines, runs - round(runs * SHRINK_SHARE))
    if is_right(worst.shown, worst.true):
        return WorstLine(aim, lines.runs, _to_line_error(worst), _to_line_error(worst), [], [])
    simple = simplified(lines, worst)
    # The simpler line may have a larger error.
    worst = max(worst, simple, key=lambda point: point.error)
    mended, unknown = changes(lines, simple)
    return WorstLine(aim, lines.runs, _to_line_error(worst), _to_line_error(simple),
                     [_to_mended(one) for one in mended], unknown)


def _to_line_error(point: Point) -> LineError:
    """Return a result as the record that is stored."""
    return LineError(point.place.words, point.way, point.shown, point.true)


def _to_mended(change: Change) -> Mended:
    """Return a change as the record that is stored."""
    return Mended(change.before, change.after, change.point.shown, change.point.true)


def write(worst_line: WorstLine, folder: Path) -> None:
    """Write the result to worst-AIM.json in `folder`, AIM being its aim. The folder is made if
    necessary, and an earlier result with the same aim is replaced. Raises ConfigError if that
    fails."""
    write_output(folder / _NAME.format(worst_line.aim),
                 json_text(worst_line.as_dict(), indent=1) + "\n")


def read_all(folder: Path) -> list[WorstLine]:
    """Return the results of searches that are stored in a test's folder, at most one for each aim,
    in the order of worst.AIMS. Empty if there is none. Raises BadResult if a file can't be read or
    is damaged."""
    return [_read_result(path) for aim in AIMS
            if (path := folder / _NAME.format(aim)).is_file()]


def _read_result(path: Path) -> WorstLine:
    """Return the result stored in a file. Raises BadResult if it can't be read or is damaged."""
    try:
        note: Mapping[str, Any] = read_note(path)
        mended: Iterable[Mapping[str, Any]] = note["mended"]
        worst_line = WorstLine(note["aim"], note["runs"], LineError(**note["worst"]),
                               LineError(**note["simple"]), [Mended(**one) for one in mended],
                               note["unknown"])
        for sentence in worst_line.sentences():
            if not sentence.isprintable():
                raise ValueError(f"its sentence {ascii(sentence)[:60]} has characters that can't "
                                 "be printed")
        return worst_line
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as fault:
        raise refusal(path, fault, "a result of --worst", "search again") from None
