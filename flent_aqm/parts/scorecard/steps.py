# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps from a test to its place on the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.scorecard import card as cards
from flent_aqm.parts.scorecard.contestant import Contestant
from flent_aqm.parts.scorecard.output import write_output
from flent_aqm.parts.scorecard.page import failed_lines, markdown, table
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.parts.scorecard.runs import cell_of, failures, make

PAGE = "scorecard.md"


def own_folder(output: Path, label: str, file: Path) -> Path:
    """Return where the runs of a test of the user's go, with a copy of its file: runs of another
    version are none of this one. Raises ConfigError."""
    folder = output / f"own-{re.sub(r'[^A-Za-z0-9_-]+', '-', label)[:60]}"
    kept, text = folder / "tool.py", file.read_bytes()
    try:
        if kept.is_file() and kept.read_bytes() != text:
            raise ConfigError(f"{folder} has runs of another version of {file}; remove the folder, "
                              "or choose another -o")
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(text)
    except OSError as error:
        raise ConfigError(f"-o: can't write {kept}: {error.strerror}") from None
    return folder


def score(one: Contestant, places: Sequence[Place], folder: Path, testbed: str,
          keys: Mapping[str, object]) -> bool:
    """Make the runs that aren't in the folder, and the test's card. Return whether all cells have a
    number. Raises AqmError."""
    cells = [cell_of(one, place, folder, testbed) for place in places]
    make(cells, keys)
    card = cards.made(one, places, folder, failures(folder, cells), testbed)
    cards.write(card, folder)
    for line in failed_lines(card):
        print(f"flent-aqm: {line}", file=sys.stderr)
    return not card.failed


def show(output: Path) -> None:
    """Print the table of all tests that have a card, and write the page. Raises AqmError."""
    found = list(cards.read_all(output))
    write_output(output / PAGE, markdown(found))
    table(found, Console(soft_wrap=False))
    print(f"The page: {output / PAGE}")
