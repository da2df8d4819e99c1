# SPDX-License-Identifier: GPL-3.0-or-later
"""The scorecard of a test: its readings, failed runs and scores, stored as JSON beside the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from flent_aqm import __version__
from flent_aqm.base.errors import BadResult
from flent_aqm.base.json_text import json_text
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.words import plain
from flent_aqm.parts.scorecard import worst_lines
from flent_aqm.parts.scorecard.contestant import Contestant
from flent_aqm.parts.scorecard.output import do_again, refusal, write_output
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.parts.scorecard.reading import Reading, read
from flent_aqm.parts.scorecard.scores import Score, scores
from flent_aqm.parts.scorecard.worst_lines import WorstLine
from flent_aqm.results.data_file import SUFFIX, read_data_file
from flent_aqm.spec.testbeds import VIRTUAL
from flent_aqm.tools.own import NAME as OWN_TEST

NAME = "card.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Card:
    """The scorecard of one row of the table of tests.

    Attributes:
        test: name of the row, Contestant.name.
        label: label for readers.
        readings: shown and true values of each run that didn't fail.
        failed: Place.name of a run without a reading -> why there is none.
        method: description of how the test measures, "" for none.
        testbed: testbed of the runs, `virtual` or `netns`.
        worst: results of searches for its worst line.
    """

    test: str
    label: str
    readings: Sequence[Reading]
    failed: Mapping[str, str]
    method: str = ""
    testbed: str = VIRTUAL
    worst: Sequence[WorstLine] = ()

    @property
    def row(self) -> str:
        """Identity of the card among those of a page: the test's name. All tests of users' own have
        the same name, so their label follows it."""
        return row_of(self.test, self.label)

    @cached_property
    def scores(self) -> Mapping[str, Score]:
        """Name of a kind of score -> score. Kinds without a score are left out."""
        return scores(self.readings)


def row_of(test: str, label: str) -> str:
    """Return Card.row of a card with this name and label of a test."""
    return f"{test} {label}" if test == OWN_TEST else test


def make_card(contestant: Contestant, places: Sequence[Place], folder: Path,
              failed: Mapping[str, str], testbed: str) -> Card:
    """Return the card of the runs in a folder, with an empty `worst`. A run whose data file can't
    be read, or that read() refuses, gets no reading and counts as failed.

    Args:
        contestant: the test.
        places: places of the runs.
        folder: folder with the runs' data files.
        failed: Place.name -> why its run failed. The data files of these places aren't read.
        testbed: testbed of the runs.
    """
    readings, faults = [], dict(failed)
    for place in places:
        if place.name in faults:
            continue
        try:
            readings.append(read(contestant, place,
                                 read_data_file(folder / f"{place.name}{SUFFIX}")))
        except BadResult as fault:
            faults[place.name] = str(fault)
    return Card(contestant.name, contestant.label, readings, faults, contestant.method, testbed)


def write(card: Card, folder: Path) -> None:
    """Write the card to `folder` as card.json, without `worst`: worst_lines.write() stores these
    results beside it. Raises ConfigError if that fails."""
    content = {"schema": SCHEMA_VERSION, "flent_aqm": __version__, **_as_dict(card)}
    write_output(folder / NAME, json_text(content, indent=1) + "\n")


def _as_dict(card: Card) -> dict[str, Any]:
    """Return the card without `worst`, and with its scores, in a form that JSON can hold, with the
    keys test, label, method, testbed, scores, failed and readings."""
    return {"test": card.test, "label": card.label, "method": card.method, "testbed": card.testbed,
            "scores": {name: asdict(score) for name, score in card.scores.items()},
            "failed": dict(card.failed),
            "readings": [one.as_dict() for one in card.readings]}


def read_all(folder: Path) -> Iterator[Card]:
    """Yield the cards of all tests in the folders directly below `folder`, sorted by folder, each
    with the results of its searches in `worst`. Folders without a card are skipped. Raises
    BadResult if a card or a result can't be read or is damaged, or a card has another schema."""
    for path in sorted(folder.glob(f"*/{NAME}")):
        try:
            note = read_note(path)
            if note["schema"] != SCHEMA_VERSION:
                raise BadResult(f"{path}: its schema is {note['schema']!r:.40}; expected "
                                f"{SCHEMA_VERSION}; {do_again('score the test again')}")
            test, label, method, testbed = (
                plain(note[name]) for name in ("test", "label", "method", "testbed"))
            failed = {plain(name): plain(cause) for name, cause in note["failed"].items()}
            card = Card(test, label, [Reading.from_dict(one) for one in note["readings"]], failed,
                        method, testbed, worst_lines.read_all(path.parent))
            _ = card.scores  # fails if a reading lacks a direction
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
            raise refusal(path, fault, "a scorecard file", "score the test again") from None
        yield card
