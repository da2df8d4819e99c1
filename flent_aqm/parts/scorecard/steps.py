# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps from a test to its row on the page: runs, card, search for the worst line, page."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from flent_aqm.base.errors import BadResult, ConfigError, cause_of
from flent_aqm.base.words import counted, plain
from flent_aqm.parts.scorecard import card as cards
from flent_aqm.parts.scorecard import figure, html, markdown, order, terminal, whole, worst_lines
from flent_aqm.parts.scorecard.columns import failed_lines
from flent_aqm.parts.scorecard.contestant import Contestant, check_programs
from flent_aqm.parts.scorecard.output import write_output
from flent_aqm.parts.scorecard.places import Place
from flent_aqm.parts.scorecard.reading import Reading
from flent_aqm.parts.scorecard.runs import cell_of, failures
from flent_aqm.parts.scorecard.worst_lines import seek
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.testbeds import VIRTUAL
from flent_aqm.sweep.missing import make_missing
from flent_aqm.tools.own import NAME

PAGE = "scorecard"
# Folder for runs of earlier versions of the user's own tests. The page leaves them out.
EARLIER = "earlier"


def own_folder(output: Path, label: str, file: Path) -> tuple[Path, Path | None]:
    """Make the folder own-LABEL in `output` for runs of the user's own test, with a copy of its
    file in it, tool.py. Return its path, and the path of the folder to which the runs of an earlier
    version of the test were moved, None if none were moved.

    If the file differs from the copy of an earlier call, and the folder has data files, in
    subfolders too, the folder is moved to earlier/own-LABEL-N in `output` first, N being the first
    free number, and a message on standard error says so. Without data files only the copy is
    replaced.

    Args:
        output: folder of the option -o.
        label: the test's name for readers. In the folder's name, each sequence of characters other
            than ASCII letters, digits, _ and - becomes one -, and then it is cut to 60 characters.
        file: the test's file.

    Raises ConfigError if a file can't be read or written, or a folder can't be made or moved.
    """
    folder = output / f"own-{re.sub(r'[^A-Za-z0-9_-]+', '-', label)[:60]}"
    kept = folder / "tool.py"
    earlier = None
    try:
        text = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: can't be read: {cause_of(error)}; make it readable") from None
    try:
        if kept.is_file() and kept.read_bytes() != text:
            earlier = _move_earlier(folder, label)
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(text)
    except OSError as error:
        what = (f"move {error.filename} to {error.filename2}" if error.filename2 else
                f"read or write {error.filename or kept}")
        raise ConfigError(f"-o: can't {what}: {cause_of(error)}; choose another folder with -o"
                          ) from None
    return folder, earlier


def _move_earlier(folder: Path, label: str) -> Path | None:
    """Move a folder with the runs of an earlier version of a test to earlier/NAME-N beside it, NAME
    being its name and N the first free number, say so on standard error, and return the new path.
    None, and nothing is moved or said, if neither the folder nor its subfolders have a data file,
    because no run succeeded or none was made.

    Args:
        folder: folder of the runs. It doesn't exist any more once it is moved.
        label: the test's name for readers, for the message. Its file may be one that is made of
            the command's options, which the user doesn't know.

    Raises OSError if the folder can't be moved.
    """
    if not any(folder.rglob(f"*{SUFFIX}")):
        return None
    aside = folder.parent / EARLIER
    aside.mkdir(exist_ok=True)
    number = 1
    while (aside / f"{folder.name}-{number}").exists():
        number += 1
    target = aside / f"{folder.name}-{number}"
    folder.rename(target)
    print(f"flent-aqm: the test {plain(label)!r} has changed: the runs of its earlier version are "
          f"in {plain(target)}", file=sys.stderr)
    return target


def keep_earlier(folder: Path, earlier: Path) -> None:
    """Move the runs of a test's earlier version back to `folder`, unless the new version has a data
    file, and say so on standard error: a test none of whose runs succeeds, such as after a typing
    error in --reads, does not replace one that was measured. The new version's folder, with its
    logs, gets the path of `earlier` with "-failed" appended, in place of an earlier one there.

    Args:
        folder: folder with the runs of the new version, in it or in subfolders.
        earlier: folder to which the runs of the earlier version were moved.

    Raises ConfigError if a folder can't be moved.
    """
    if any(folder.rglob(f"*{SUFFIX}")):
        return
    failed = earlier.with_name(f"{earlier.name}-failed")
    try:
        shutil.rmtree(failed, ignore_errors=True)
        folder.rename(failed)
        earlier.rename(folder)
    except OSError as error:
        raise ConfigError(f"-o: can't move {error.filename} to {error.filename2}: "
                          f"{cause_of(error)}; the runs of the earlier version are in {earlier}: "
                          f"to keep its row, put this folder in the place of {folder}") from None
    print(f"flent-aqm: no run of the changed test succeeded: its row stays that of the earlier "
          f"version, whose runs are back, and the logs of the new one are in {plain(failed)}",
          file=sys.stderr)


def refuse_missing_programs(pairs: Sequence[tuple[Contestant, Path]], places: Sequence[Place],
                            testbed: str) -> None:
    """Raise ToolMissing if a program that a test needs for runs that are missing isn't installed,
    so that the command ends before the first test's runs, and not between two tests.

    Args:
        pairs: each test, with the folder for its card.
        places: the places of the runs.
        testbed: `virtual` or `netns`.
    """
    for contestant, folder in pairs:
        runs = _runs_folder(contestant, folder)
        if not all(cell_of(contestant, place, runs, testbed).data_file.exists()
                   for place in places):
            check_programs(contestant)


def score(contestant: Contestant, places: Sequence[Place], folder: Path, testbed: str,
          keys: Mapping[str, object]) -> bool:
    """Make the runs that are missing in the folder, and write the test's card. Print to standard
    error why runs have no reading, a line for each reason. Return whether all runs have a reading.

    Of a user's own test without a data file of any of these runs, the first and the last run are
    made first, if there are three or more. If neither gives a data file, no more are made, and the
    card has only these two.

    Args:
        contestant: the test.
        places: the places of the runs.
        folder: folder for the card, and for the runs unless they are those of another row.
        testbed: `virtual` or `netns`.
        keys: batch keys `jobs` and `scheduler` -> value, each only if it is set.

    Raises AqmError if the runs can't be made, or the card not written.
    """
    runs = _runs_folder(contestant, folder)
    cells = [cell_of(contestant, place, runs, testbed) for place in places]
    if _fails_at_both_ends(contestant, cells, keys):
        places, cells = [places[0], places[-1]], [cells[0], cells[-1]]
    else:
        make_missing(cells, keys)
    card = cards.make_card(contestant, places, runs, failures(runs, cells), testbed)
    cards.write(card, folder)
    for line in failed_lines(card):
        print(f"flent-aqm: {line}", file=sys.stderr)
    return not card.failed


def _fails_at_both_ends(contestant: Contestant, cells: Sequence[Cell],
                        keys: Mapping[str, object]) -> bool:
    """Make the first and the last run of a user's own test, and return whether both fail, that is,
    give no data file: most likely --reads or a command is wrong, and all would fail alike. If so,
    say on standard error that the other runs are not made. False, and no run is made, for other
    tests, for fewer than three runs, or if one of the runs has a data file already.

    Args:
        contestant: the test.
        cells: all its runs.
        keys: batch keys `jobs` and `scheduler` -> value, each only if it is set.

    Raises AqmError if the runs can't be made.
    """
    if contestant.test != NAME or len(cells) <= 2 or any(
            cell.data_file.exists() for cell in cells):
        return False
    ends = [cells[0], cells[-1]]
    make_missing(ends, keys)
    if any(cell.data_file.exists() for cell in ends):
        return False
    others = counted(len(cells) - 2, "run")
    print(f"flent-aqm: {plain(contestant.label)}: no number on the first line and none on the "
          f"last, so the other {others} {'is' if len(cells) == 3 else 'are'} not made; mend the "
          "test, and give the same command again", file=sys.stderr)
    return True


def _runs_folder(contestant: Contestant, folder: Path) -> Path:
    """Return the folder with a row's runs: if it uses those of another row, that row's folder,
    beside `folder`, otherwise `folder`, which is its own."""
    return folder.with_name(contestant.runs_of) if contestant.runs_of else folder


def search(contestant: Contestant, aim: str, runs: int, folder: Path,
           keys: Mapping[str, object]) -> None:
    """Search the test's worst line, write the result to the folder, as worst_lines.write() does,
    and print its sentences. Runs of an earlier search that are there are not repeated.

    Args:
        contestant: the test.
        aim: "latency" or "throughput".
        runs: greatest number of lines on which the test is run.
        folder: the test's folder. The runs are in its subfolder "worst", or in that of the row
            whose runs the test uses.
        keys: batch keys `jobs` and `scheduler` -> value, each only if it is set.

    Raises ToolMissing without Optuna, BadResult if no line has a result, with the cause of the
    first failed run, if any, other AqmErrors if the runs can't be made, or the result not written.
    """
    place_folder = _runs_folder(contestant, folder) / "worst"
    causes: list[str] = []

    def measure(places: Sequence[Place]) -> list[Reading | None]:
        """Make the missing runs of the test on these places in the virtual lab. Return their
        readings in the same order, None for a run that failed or has no reading, see
        cards.make_card(). Raises AqmError if the runs can't be made."""
        cells = [cell_of(contestant, place, place_folder, VIRTUAL) for place in places]
        make_missing(cells, keys)
        card = cards.make_card(contestant, places, place_folder, failures(place_folder, cells),
                               VIRTUAL)
        causes.extend(card.failed.values())
        readings = {reading.place: reading for reading in card.readings}
        return [readings.get(place.name) for place in places]

    try:
        worst_line = seek(aim, runs, measure)
    except BadResult as none:
        raise BadResult(f"{none}; its first failure: {causes[0]}" if causes else str(none)
                        ) from None
    worst_lines.write(worst_line, folder)
    print(f"{plain(contestant.label)}: {' '.join(worst_line.sentences())}")


def print_and_write_page(output: Path) -> None:
    """Print the table and sentences of all tests that have a card, and the comparisons with other
    runs. Write the page to OUTPUT/scorecard.html, .md and .json, its figure to .pdf, .png and .svg,
    and the figure's caption to .txt. If no card has a reading or a result of a search, this is only
    done to replace an earlier scorecard.html; without any card, or without such a page, nothing is
    printed or written.

    Args:
        output: folder of the option -o, with a folder for each test.

    Raises BadResult if a card, a result of --worst or a comparison can't be read, ConfigError if a
    file can't be written.
    """
    shown, page = list(cards.read_all(output)), output / PAGE
    if not (any(card.readings or card.worst for card in shown)
            or (shown and page.with_suffix(".html").exists())):
        return
    orders = order.read_all(output)
    write_output(page.with_suffix(".json"), whole.text(shown, orders))
    write_output(page.with_suffix(".md"), markdown.page(shown, orders))
    figure.write(shown, page)
    write_output(page.with_suffix(".html"), html.page(
        shown, orders, page.with_suffix(".svg").read_bytes(), figure.caption(shown)))
    terminal.print_page(shown, Console())
    for one in orders:
        print("", *textwrap.wrap(plain("; ".join([one.sentence(), *one.exceptions()])), 79),
              sep="\n")
    print(f"\nThe page: {page.with_suffix('.html')}, and beside it .md, .json, .pdf, .png, .svg")
