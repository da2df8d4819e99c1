# SPDX-License-Identifier: GPL-3.0-or-later
"""What a search for a test's worst line found: kept as JSON beside its card, and in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.regular_file import read_note
from flent_aqm.parts.scorecard.output import write_output
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.parts.scorecard.reading import Reading
from flent_aqm.parts.scorecard.shrink import Change, changes, is_right, simplified
from flent_aqm.parts.scorecard.worst import AIMS, SHRINK_SHARE, Lines, Point, search
from flent_aqm.results.metrics.table import digits

_NAME = "worst-{}.json"
LOADING = {"download": "down", "upload": "up", "worse": "in the worse direction"}


@dataclass(frozen=True)
class LineError:
    """line, way: in words; shown: by the test; true: what was."""

    line: str
    way: str
    shown: float
    true: float


@dataclass(frozen=True)
class Mended:
    """A change that makes the error vanish, in words, and what the test shows then."""

    before: str
    after: str
    shown: float
    true: float


@dataclass(frozen=True)
class WorstLine:
    """aim: of worst.AIMS; runs: that were made; worst: line; simple: where all that doesn't matter
    is as usual; mended: by changing one setting of that."""

    aim: str
    runs: int
    worst: LineError
    simple: LineError
    mended: Sequence[Mended]

    @property
    def is_right(self) -> bool:
        """Whether the test isn't wrong on any line."""
        return is_right(self.worst.shown, self.worst.true)

    def as_dict(self) -> dict[str, Any]:
        """Return it fit for JSON."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """Return it in words."""
        unit = AIMS[self.aim].unit
        lines = [(f"Its worst {self.aim}, of {self.runs} lines that a search tried: "
                  f"{_of(self.worst, unit)}.")]
        if self.is_right:
            return [*lines, "That is right."]
        if self.simple != self.worst:
            lines.append(f"As wrong on a simpler line: {_of(self.simple, unit)}.")
        if not self.mended:
            return [*lines, "No change of one setting makes it right."]
        return [*lines, "It is right with " + ", or ".join(
            f"{one.after} in place of {one.before} ({digits(one.shown)} of "
            f"{digits(one.true)} {unit})" for one in self.mended) + "."]


def _of(error: LineError, unit: str) -> str:
    return (f"{error.line}, {LOADING[error.way]}: it says {digits(error.shown)} of "
            f"{digits(error.true)} {unit}")


def seek(aim: str, runs: int, measure: Callable[[Sequence[Place]], Sequence[Reading | None]]
         ) -> WorstLine:
    """Search and shrink by no more than so many runs. Raises ToolMissing, BadResult."""
    lines = Lines(AIMS[aim], measure, runs)
    worst = search(lines, runs - round(runs * SHRINK_SHARE))
    if is_right(worst.shown, worst.true):
        return WorstLine(aim, lines.runs, _line_error(worst), _line_error(worst), [])
    simple = simplified(lines, worst)
    # What doesn't matter may have hidden the error.
    worst = max(worst, simple, key=lambda point: point.error)
    mended = changes(lines, simple)
    return WorstLine(aim, lines.runs, _line_error(worst), _line_error(simple),
                     [_mended(one) for one in mended])


def _line_error(point: Point) -> LineError:
    return LineError(point.place.words, point.way, point.shown, point.true)


def _mended(change: Change) -> Mended:
    return Mended(change.before, change.after, change.point.shown, change.point.true)


def write(worst_line: WorstLine, folder: Path) -> None:
    """Keep it, in place of an earlier one with the same aim. Raises ConfigError."""
    write_output(folder / _NAME.format(worst_line.aim),
                 json.dumps(worst_line.as_dict(), indent=1, allow_nan=False) + "\n")


def read_all(folder: Path) -> list[WorstLine]:
    """Return what searches found of a test. Raises BadResult for a damaged file."""
    return [_read(path) for aim in AIMS
            if (path := folder / _NAME.format(aim)).is_file()]


def _read(path: Path) -> WorstLine:
    try:
        note: Mapping[str, Any] = read_note(path)
        mended: Iterable[Mapping[str, Any]] = note["mended"]
        worst_line = WorstLine(note["aim"], note["runs"], LineError(**note["worst"]),
                               LineError(**note["simple"]), [Mended(**one) for one in mended])
        if not all(line.isprintable() for line in worst_line.sentences()):
            raise ValueError("it has text that can't be shown")
        return worst_line
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
        raise BadResult(f"{path}: not what a search found ({fault!r}); remove it and search again"
                        ) from None
