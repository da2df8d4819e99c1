# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines of a change ran in each cell: a verdict on code that never ran would be false.

The kernel of the test side is built a second time, with its changed files instrumented. Each cell
is run once more with that kernel, with the settings and the seed of a recorded run. The judged runs
never have the instrumented kernel.

    TEST/coverage.json     kernel -> data file -> pairs: address of a basic block, how often it ran
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flent_aqm.base.errors import AqmError, ConfigError
from flent_aqm.base.json_text import json_text
from flent_aqm.base.paths import cache_to_write
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.whole_file import write_text
from flent_aqm.base.words import counted
from flent_aqm.parts.kernels.own import build_recording, changes_of
from flent_aqm.parts.kernels.verdict.pairs import Cell as Pairs
from flent_aqm.results.data_file import read_data_file
from flent_aqm.setup.install import locked
from flent_aqm.setup.kernel.coverage import (
    SLEEPS,
    Change,
    Instrumented,
    counts_of_blocks,
    read_instrumented,
)
from flent_aqm.setup.kernel.locate import kernel_called
from flent_aqm.setup.kernel.named import NamedKernel, find_named
from flent_aqm.spec.kernel import STOCK
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.sweep import Sweep

NOTE = "coverage.json"
# Address of a basic block, and how often it ran.
Blocks = list[tuple[int, int]]
# A line that ran less often than this took part in no load: thousands of packets pass in each cell.
RARELY = 20
# Ranges of lines, and cells, that a sentence names.
MOST_NAMED = 4
# Ends of a line after which a new statement begins.
_ENDS = re.compile(r"[;{}:]\s*(?:/\*.*\*/\s*|//.*)?$")
_DEFINES = re.compile(r"^\s*#\s*define\s+(\w+)|^(?:static\s+)?(?:const\s+)?[\w\s\*]*?(\w+)\s*"
                      r"(?:\[[^\]]*\]\s*)?(?:__\w+\s*)?=[^=]")
_FUNCTION = re.compile(r"^[A-Za-z_][\w\s\*]*?\b(\w+)\(", re.MULTILINE)


@dataclass(frozen=True)
class Recording:
    """An instrumented kernel, and what is known of its code."""

    kernel: NamedKernel
    code: Instrumented


@dataclass(frozen=True)
class Exercised:
    """Which lines of a change ran.

    ran: (path, line) -> name of a cell in which the line ran -> how often; never: changed lines
    that have code and ran in no cell; without_code: number of changed lines that have none
    (declarations, comments, data that no instrumented line names); changes: the changed files;
    why_unknown: why nothing is known, "" where it is; recording: the instrumented kernel; fault: a
    call that may sleep where the change must not, with its place, "" if there is none.
    """

    ran: Mapping[tuple[str, int], Mapping[str, int]]
    never: Sequence[tuple[str, int]] = ()
    without_code: int = 0
    changes: Sequence[Change] = ()
    why_unknown: str = ""
    recording: Recording | None = None
    fault: str = ""

    @property
    def lines(self) -> int:
        """Return the number of changed lines that have code."""
        return len(self.ran) + len(self.never)

    @property
    def is_none(self) -> bool:
        """Return whether the change has code and none of it ran in any cell."""
        return bool(self.never) and not self.ran

    @property
    def is_whole(self) -> bool:
        """Return whether all of the change that has code ran, and not just a few times."""
        return bool(self.ran) and not self.never and not self.rarely

    @property
    def rarely(self) -> list[tuple[str, int]]:
        """Return the lines that ran less often than RARELY in every cell."""
        return [place for place, cells in self.ran.items() if max(cells.values()) < RARELY]

    def ranges(self, places: Sequence[tuple[str, int]]) -> list[str]:
        """Return lines as ranges with file and function. A range goes on over a line that is no
        changed code."""
        others = {*self.ran, *self.never} - set(places)
        ranges = []
        for change in self.changes:
            lines = [line for path, line in places if path == change.path]
            while lines:
                first = last = lines.pop(0)
                while lines and lines[0] - last <= 2 and not any(
                        (change.path, between) in others for between in range(last, lines[0])):
                    last = lines.pop(0)
                where = f"line {first}" if first == last else f"lines {first}-{last}"
                function = function_at(change.text, first)
                ranges.append(f"{change.path} {where}"
                              + (f", in {function}()" if function else ""))
        return ranges

    @property
    def cells(self) -> list[str]:
        """Return the names of the cells in which changed lines ran."""
        return sorted({cell for cells in self.ran.values() for cell in cells})


def unknown(why: str) -> Exercised:
    """Return that nothing is known, with the reason."""
    return Exercised({}, why_unknown=why)


def exercise(cells: Sequence[Pairs], folder: Path | None) -> Exercised | None:
    """Return which lines of the change between the two sides' kernels ran in each cell, None where
    the sides have one kernel. Builds an instrumented kernel and makes a run of each cell, unless
    the test side's folder, if it is one, has a note of the runs already."""
    base_run, test_run = cells[0].pairs[0]
    base_file, test_file = (read_data_file(run.path) for run in (base_run, test_run))
    # Files of other testbeds, and of early versions, name no kernel.
    then = [told for file in (base_file, test_file) if (told := _kernel_of(file.metadata))]
    if len(then) < 2 or then[0] == then[1]:
        return None
    if then[1][0] == STOCK:
        return unknown("the test side has set-up's own kernel, whose changes are not known")
    try:
        for name, made_with in then:
            if kernel_called(name).hash != made_with:
                return unknown(f"the kernel {name} was built again since these runs were made")
        kernel, cache = find_named(then[1][0]), cache_to_write()
        changes = changes_of(cache, kernel_called(then[0][0]).path.parent, kernel)
        if not changes:
            return unknown("the kernels have the same C files and headers")
        with locked(cache):
            recording = build_recording(cache, kernel, [change.path for change in changes])
        code = read_instrumented(recording.path.parent)
        blocks = _blocks_that_ran(cells, folder, recording)
    except _Sleeps as fault:
        return Exercised({}, fault=str(fault))
    except (AqmError, OSError, ValueError) as fault:
        return unknown(str(fault))
    return replace(judge_lines(changes, code, blocks), recording=Recording(recording, code))


def _kernel_of(metadata: Mapping[str, object]) -> tuple[str, str] | None:
    """Return name and hash of a run's kernel, None where the file doesn't tell."""
    aqm = metadata.get("AQM")
    kernel = aqm.get("kernel") if isinstance(aqm, dict) else None
    if not isinstance(kernel, dict) or not kernel.get("hash"):
        return None
    return str(kernel.get("name", STOCK)), str(kernel["hash"])


def _blocks_that_ran(cells: Sequence[Pairs], folder: Path | None, kernel: NamedKernel
                     ) -> dict[str, dict[int, int]]:
    """Return name of a cell -> address of each block that ran in it -> how often."""
    note = {} if folder is None else _read_note(folder / NOTE).get(kernel.hash, {})
    todo = [cell for cell in cells if cell.pairs[0][1].path.name not in note]
    if todo:
        with tempfile.TemporaryDirectory() as place:
            note |= _run(todo, Path(place), kernel)
        if folder is not None:
            # Of other kernels nothing is kept: each name stands for one at a time.
            write_text(folder / NOTE, json_text({kernel.hash: note}) + "\n")
    return {cell.name: dict(blocks) for cell in cells
            if (blocks := note.get(cell.pairs[0][1].path.name))}


class _Sleeps(AqmError):
    """A call of the change may sleep where it must not."""


def _read_note(path: Path) -> dict[str, dict[str, Blocks]]:
    try:
        note: dict[str, dict[str, Blocks]] = read_note(path)
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _run(cells: Sequence[Pairs], place: Path, kernel: NamedKernel) -> dict[str, Blocks]:
    """Make a run of each cell with this kernel. Return name of the recorded run's data file ->
    the blocks that ran. Raises AqmError if no run succeeds, _Sleeps if a call of the change may
    sleep where it must not."""
    sweep = Sweep(resumes=True)
    made: dict[Path, str] = {}
    for cell in cells:
        path = cell.pairs[0][1].path
        model = recorded.read(path, place).cell
        planned = replace(model, scenario=model.scenario.but(kernel=kernel.name))
        sweep.plan(planned, {})
        made[planned.data_file] = path.name
    with sweep:
        sweep.start()
        for planned in sweep.planned.values():
            sweep.submit(planned)
        sweep.drain()
    for _, cause in sweep.failed:
        if SLEEPS in cause:
            raise _Sleeps(cause.replace(kernel.name, kernel.records))
    blocks = {name: list(recorded_blocks(path).items())
              for path, name in made.items() if path.exists()}
    if not blocks:
        raise ConfigError(f"no run with the instrumented kernel succeeded: {sweep.failed[0][1]}")
    return blocks


def recorded_blocks(path: Path) -> dict[int, int]:
    """Return address of each block that ran in a run with an instrumented kernel -> how often."""
    aqm = read_data_file(path).metadata["AQM"]
    return {int(address): int(count) for address, count in aqm.get("coverage", ())}


def judge_lines(changes: Sequence[Change], code: Instrumented,
                blocks: Mapping[str, Mapping[int, int]]) -> Exercised:
    """Return which lines ran. blocks: name of a cell -> address of a block -> how often it ran."""
    counts = {cell: counts_of_blocks(code, there) for cell, there in sorted(blocks.items())}
    ran: dict[tuple[str, int], dict[str, int]] = {}
    never: list[tuple[str, int]] = []
    without = 0
    for change in changes:
        for line in change.lines:
            own = _blocks_of(change, line, code, changes)
            if not own:
                without += 1
                continue
            cells = {cell: most for cell, of_cell in counts.items()
                     if (most := max(of_cell[block] for block in own))}
            if cells:
                ran[change.path, line] = cells
            else:
                never.append((change.path, line))
    return Exercised(ran, never, without, changes)


def _blocks_of(change: Change, line: int, code: Instrumented, changes: Sequence[Change]
               ) -> set[int]:
    """Return the blocks that have code of a line. A line without code of its own may be part of a
    statement that has, or define what other lines name."""
    of_file = code.lines.get(change.path, {})
    if line in of_file:
        return set(of_file[line])
    text = change.text.splitlines()
    if not text[line - 1].strip(" \t{}") or text[line - 1].lstrip().startswith(("/*", "*", "//")):
        return set()
    if name := defined_name(text, line):
        return {block for each in changes for number, words in enumerate(each.text.splitlines(), 1)
                if re.search(rf"\b{name}\b", words)
                for block in code.lines.get(each.path, {}).get(number, ())}
    own = {block for number in _statement(text, line) for block in of_file.get(number, ())}
    if own:
        return own
    # The compiler has left it out, as of `if (0)`: what comes before it decides.
    for number in range(line - 1, 0, -1):
        if text[number - 1].startswith("}"):
            break
        if number in of_file:
            return set(of_file[number])
    return set()


def defined_name(text: Sequence[str], line: int) -> str:
    """Return the name that a line defines outside of functions, a macro or data; "" for none."""
    first = line
    while first > 1 and text[first - 2].endswith("\\"):
        first -= 1
    match = _DEFINES.match(text[first - 1])
    return (match[1] or match[2]) if match else ""


def _statement(text: Sequence[str], line: int) -> range:
    """Return the numbers of the lines of the statement that a line is part of."""
    first = last = line
    while first > 1 and text[first - 2].strip() and not _ENDS.search(text[first - 2]):
        first -= 1
    while last < len(text) and text[last - 1].strip() and not _ENDS.search(text[last - 1]):
        last += 1
    return range(first, last + 1)


def sentence(exercised: Exercised) -> str:
    """Return which lines of the change ran, and which never."""
    if exercised.fault:
        return f"Worse: {exercised.fault}."
    if exercised.why_unknown:
        return f"Whether the change ran is not known: {exercised.why_unknown}."
    if not exercised.lines:
        return (f"None of the {counted(exercised.without_code, 'changed line')} has code of its "
                "own, so whether the change ran is not known.")
    cells = exercised.cells
    named = ", ".join(cells[:MOST_NAMED]) + (
        f", and {len(cells) - MOST_NAMED} more" if len(cells) > MOST_NAMED else "")
    text = f"Of {counted(exercised.lines, 'changed line')} with code "
    text += f"{len(exercised.ran) or 'none'} ran{f' ({named})' if named else ''}"
    if exercised.never:
        ranges = exercised.ranges(exercised.never)
        more = len(ranges) - MOST_NAMED
        text += "; never: " + "; ".join(ranges[:MOST_NAMED]) + (
            f"; and {counted(more, 'range')} more" if more > 0 else "")
    if exercised.rarely:
        often = max(max(exercised.ran[place].values()) for place in exercised.rarely)
        text += (f"; {often} times at most: "
                 + "; ".join(exercised.ranges(exercised.rarely)[:MOST_NAMED]))
    return text + "."


def lines_by_file(exercised: Exercised) -> list[str]:
    """Return the rows of a table: a range of lines that never ran in each."""
    return exercised.ranges(exercised.never)


def function_at(text: str, line: int) -> str:
    """Return the name of the function that a line is in, "" for none."""
    before = "\n".join(text.splitlines()[:line])
    names = _FUNCTION.findall(before)
    return str(names[-1]) if names else ""
