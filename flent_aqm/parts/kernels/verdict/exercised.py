# SPDX-License-Identifier: GPL-3.0-or-later
"""Record which lines of a change ran in each cell, and decide whether the change was exercised.

A verdict on code that never ran would be false: see reach_of_change().

The kernel of the test side is built a second time, with its changed files instrumented. Each cell
is run once more with that kernel, with the settings and the seed of a recorded run. The judged runs
never have the instrumented kernel.

    TEST/coverage.json     hash of the kernel -> path of a data file below TEST -> pairs: address of
        a basic block, how often it ran
    TEST/exercised.json    which lines ran, for a verdict after one of the kernels was built again
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path

from flent_aqm.base.errors import AqmError, ConfigError, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.base.paths import cache_to_write
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.whole_file import write_text
from flent_aqm.base.words import counted
from flent_aqm.parts.kernels.own import build_recording, changes_of
from flent_aqm.parts.kernels.verdict.counters import broken as broken_rules
from flent_aqm.parts.kernels.verdict.decide import JudgedMetric, is_better, is_worse
from flent_aqm.parts.kernels.verdict.pairs import PairedSides, Pairs
from flent_aqm.results.data_file import read_data_file
from flent_aqm.setup.install import locked
from flent_aqm.setup.kernel.coverage import (
    SLEEPS,
    ChangedFile,
    Instrumented,
    counts_of_blocks,
    read_instrumented,
)
from flent_aqm.setup.kernel.locate import kernel_called
from flent_aqm.setup.kernel.named import NamedKernel, find_named
from flent_aqm.spec.kernel import STOCK
from flent_aqm.sweep.replay import recorded
from flent_aqm.sweep.sweep import Sweep

NOTE, KEPT = "coverage.json", "exercised.json"
# Address of a basic block, and how often it ran.
Blocks = list[tuple[int, int]]
# A line that ran less often than this took part in no load: thousands of packets pass in each cell.
RARELY = 20
# Ranges of lines, and cells, that a sentence names.
MOST_NAMED = 4
# Ends of a line after which a new statement begins.
_ENDS = re.compile(r"[;{}:]\s*(?:/\*.*\*/\s*|//.*)?$")
# A macro, or a variable with a value, outside of functions: those begin in the first column.
_DEFINES = re.compile(r"^\s*#\s*define\s+(\w+)|^(?=\w)(?:static\s+)?(?:const\s+)?[\w\s\*]*?(\w+)\s*"
                      r"(?:\[[^\]]*\]\s*)?(?:__\w+\s*)?=[^=]")
# A function, in the kernel's style: words from the first column on, the last of which is its name,
# parameters, and a body that ends in its first line, or else with a brace in the first column. A
# declaration has a semicolon in place of the body.
_FUNCTION = re.compile(r"^[A-Za-z_][\w\s\*]*?\b(\w+)\([^{;]*\{(?:[^\n]*\}|.*?^\})",
                       re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Recording:
    """An instrumented kernel, and the map of its code.

    Attributes:
        kernel: the kernel.
        code: its basic blocks and their lines.
    """

    kernel: NamedKernel
    code: Instrumented


@dataclass(frozen=True)
class Exercised:
    """Which changed lines ran. A line is given as (path in the source tree, number).

    Attributes:
        ran: line -> name of a cell in which the line ran -> how often.
        never: changed lines that have code and ran in no recorded cell.
        without_code: number of changed lines that have no code (declarations, braces, comments,
            data that no instrumented line names).
        changes: the changed files.
        why_unknown: reason why nothing is known, "" if something is.
        recording: the instrumented kernel. None if nothing is known, if there is a `fault`, or if
            the lines are those that an earlier verdict noted.
        fault: a call that may sleep in a context where that is forbidden, with its location. ""
            without such a call.
        unrecorded: names of the cells in which a run of the test side may have failed, or the run
            with the instrumented kernel did, as where a changed line warns. Lines of `never` may
            have run there.
    """

    ran: Mapping[tuple[str, int], Mapping[str, int]]
    never: Sequence[tuple[str, int]] = ()
    without_code: int = 0
    changes: Sequence[ChangedFile] = ()
    why_unknown: str = ""
    recording: Recording | None = None
    fault: str = ""
    unrecorded: Sequence[str] = ()

    @property
    def lines(self) -> int:
        """Number of changed lines that have code."""
        return len(self.ran) + len(self.never)

    @property
    def is_none(self) -> bool:
        """Whether the change has code, and none of it ran in any recorded cell."""
        return bool(self.never) and not self.ran

    @property
    def is_whole(self) -> bool:
        """Whether all changed lines that have code ran, each at least 20 times (RARELY) in some
        cell. False if no changed line has code, or nothing is known."""
        return bool(self.ran) and not self.never and not self.rarely

    @property
    def rarely(self) -> list[tuple[str, int]]:
        """Changed lines, as (path, number), that ran in at least one cell, but fewer than 20 times
        (RARELY) in each. Lines that never ran are in `never`."""
        return [place for place, cells in self.ran.items() if max(cells.values()) < RARELY]

    def ranges(self, places: Sequence[tuple[str, int]]) -> list[str]:
        """Return lines as texts such as "net/sched/sch_foo.c lines 10-14, in foo_enqueue()",
        without a function where the first line is in none. A range goes on over a single line
        between, unless that is a changed line that has code and isn't in `places`.

        Args:
            places: (path, number) of lines of the changed files, ascending within a file. Lines of
                other files are left out.
        """
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
        """Names of the cells in which changed lines ran, sorted."""
        return sorted({cell for cells in self.ran.values() for cell in cells})


def unknown(why: str) -> Exercised:
    """Return an Exercised about which nothing is known, for the reason `why`."""
    return Exercised({}, why_unknown=why)


def exercise(comparison: PairedSides, folder: Path | None) -> Exercised | None:
    """Return which lines of the change between the two sides' kernels ran in each cell. Builds an
    instrumented kernel unless the cache has it, and makes a run with it of each cell that has no
    note of such a run in the test side's folder. Notes the runs and the result there. If a kernel
    was built again since the runs were made, runs nothing and returns the result that was noted for
    the same kernels and cells, if there is one.

    Args:
        comparison: the paired runs.
        folder: folder of the test side, where the notes are. None: runs are not noted.

    Returns:
        None if a run of the first pair names no kernel, or both name the same build of one. An
            Exercised with `fault` if the kernel reported a call that may sleep, or with
            `why_unknown` if the lines can't be recorded: AqmErrors and OSErrors aren't raised.
    """
    cells = comparison.cells
    then = [run.kernel for run in cells[0].pairs[0] if run.kernel]
    if len(then) < 2 or then[0] == then[1]:
        return None
    if then[1][0] == STOCK:
        return unknown("the test side has set-up's own kernel, whose changes are not known; "
                       "expected one that `flent-aqm kernel build` made")
    try:
        for name, made_with in then:
            if kernel_called(name).hash != made_with:
                kept = _read_kept(folder, then, cells)
                return _with_failed(kept, comparison) if kept else unknown(
                    f"the kernel {name} on this machine is another build than that of "
                    "these runs; build it again as it was then, or give --no-coverage to judge "
                    "by the samples alone")
        kernel, cache = find_named(then[1][0]), cache_to_write()
        changes = changes_of(cache, kernel_called(then[0][0]).path.parent, kernel)
        if not changes:
            return unknown("the kernels have the same C files and headers")
        with locked(cache):
            recording = build_recording(cache, kernel, [change.path for change in changes])
        code = read_instrumented(recording.path.parent)
        blocks, unrecorded = _blocks_that_ran(cells, folder, recording)
    except _Sleeps as fault:
        return Exercised({}, fault=str(fault))
    except AqmError as fault:
        return unknown(str(fault))
    except OSError as fault:
        return unknown(f"{f'{fault.filename}: ' if fault.filename else ''}{cause_of(fault)}")
    except (ValueError, LookupError, TypeError, AttributeError) as fault:
        return unknown("a note beside one of the kernels is damaged, or of another version of "
                       f"flent-aqm ({cause_of(fault)}); build the kernels of both sides again")
    lines = replace(judge_lines(changes, code, blocks), unrecorded=unrecorded)
    if folder is not None:
        _write_kept(folder, then, cells, lines)
    return _with_failed(replace(lines, recording=Recording(recording, code)), comparison)


def _identity(kernels: Sequence[tuple[str, str]], cells: Sequence[Pairs]) -> object:
    """Return what a noted result is of, as JSON has it.

    Args:
        kernels: name and hash of the kernel of the base side, and of the test side.
        cells: the cells of the verdict.
    """
    return [[list(one) for one in kernels], sorted(cell.name for cell in cells)]


def _write_kept(folder: Path, kernels: Sequence[tuple[str, str]], cells: Sequence[Pairs],
                lines: Exercised) -> None:
    """Note which lines ran, in KEPT in the test side's folder, over an older note. If that can't be
    written, nothing is noted: it only serves later verdicts."""
    with suppress(OSError):
        write_text(folder / KEPT, json_text({
            "of": _identity(kernels, cells),
            "ran": [[*place, dict(often)] for place, often in lines.ran.items()],
            "never": lines.never, "without_code": lines.without_code,
            "changes": [asdict(change) for change in lines.changes],
            "unrecorded": lines.unrecorded}) + "\n")


def _read_kept(folder: Path | None, kernels: Sequence[tuple[str, str]], cells: Sequence[Pairs]
               ) -> Exercised | None:
    """Return which lines ran, from the note of an earlier verdict on the same kernels and cells,
    without `recording`. None without a folder, or if it has no such note or a damaged one.

    Args:
        folder: folder of the test side.
        kernels: name and hash of the kernel of the base side, and of the test side, with which the
            runs were made. They may have been built again since.
        cells: the cells of the verdict.
    """
    if folder is None:
        return None
    try:
        note = read_note(folder / KEPT)
        if note["of"] != _identity(kernels, cells):
            return None
        return Exercised(
            {(str(path), int(line)): {str(cell): int(count) for cell, count in often.items()}
             for path, line, often in note["ran"]},
            [(str(path), int(line)) for path, line in note["never"]], int(note["without_code"]),
            [ChangedFile(str(one["path"]), tuple(map(int, one["lines"])), str(one["text"]))
             for one in note["changes"]],
            unrecorded=[str(cell) for cell in note["unrecorded"]])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # missing or damaged


def _with_failed(lines: Exercised, comparison: PairedSides) -> Exercised:
    """Return which lines ran, with the cells in which a run of the test side may have failed in
    `unrecorded`, too: if some failed, those with runs of the base side that have no partner."""
    if not comparison.failed.get("test"):
        return lines
    alone = {cell for side, cell in comparison.alone if side == "base"}
    return replace(lines, unrecorded=sorted({*lines.unrecorded, *alone}))


class Reach(Enum):
    """How much of the change ran, as far as the verdict depends on it: nothing (NONE), not all of
    it, or some of it rarely (PART), otherwise ENOUGH. See reach_of_change()."""

    NONE = "none"
    PART = "part"
    ENOUGH = "enough"


def is_bad(comparison: PairedSides, judged: Sequence[JudgedMetric],
           exercised: Exercised | None) -> bool:
    """Return whether the runs are evidence against the change, whatever else of it ran: a metric
    got worse in a cell, more runs failed on the test side than chance explains, a run of the test
    side broke a rule of the counters that its partner keeps, or the instrumented kernel reported a
    call that may sleep.

    Args:
        comparison: the paired runs.
        judged: the judged metrics.
        exercised: which lines ran, None if that wasn't examined.
    """
    return (comparison.fails_more or is_worse(judged) or bool(broken_rules(comparison))
            or bool(exercised and exercised.fault))


def reach_of_change(comparison: PairedSides, judged: Sequence[JudgedMetric],
                    exercised: Exercised | None) -> Reach:
    """Return how much of the change ran: NONE, PART if a line never or rarely did, otherwise
    ENOUGH. ENOUGH also if that wasn't examined or isn't known, if no changed line has code, or if
    the runs tell something in any case: they are bad, or better although only a part ran.

    Args:
        comparison: the paired runs.
        judged: the judged metrics.
        exercised: which lines ran, None if that wasn't examined.
    """
    if exercised is None or is_bad(comparison, judged, exercised):
        return Reach.ENOUGH
    if exercised.is_none:
        return Reach.NONE
    partly = exercised.lines and not exercised.is_whole and not is_better(judged)
    return Reach.PART if partly else Reach.ENOUGH


def _blocks_that_ran(cells: Sequence[Pairs], folder: Path | None, kernel: NamedKernel
                     ) -> tuple[dict[str, dict[int, int]], list[str]]:
    """Repeat a run of each cell for which there is no note of this kernel: that of the test side
    in its first pair. If there is a folder, note which blocks ran in them, and drop the notes of
    other kernels.

    Args:
        cells: the cells of the verdict.
        folder: folder of the notes, None for none.
        kernel: the instrumented kernel.

    Returns:
        Name of a cell -> address of each basic block that ran in it -> how often, without cells in
            which no block ran. And the names of the cells whose run failed.

    Raises AqmError if one of these runs can't be repeated, such as one whose trace is missing, or
    if runs are made and none succeeds. Raises _Sleeps if a call of the change may sleep in a
    context where that is forbidden, OSError if the note can't be written.
    """
    note = {} if folder is None else _read_note(folder / NOTE).get(kernel.hash, {})
    runs = {cell.name: cell.pairs[0][1].path for cell in cells}
    # Data files of several subfolders may have one name.
    names = {cell: os.path.relpath(path, folder or os.curdir) for cell, path in runs.items()}
    todo = {names[cell]: path for cell, path in runs.items() if names[cell] not in note}
    if todo:
        with tempfile.TemporaryDirectory() as place:
            note |= _run_again(todo, Path(place), kernel)
        if folder is not None:
            # Of other kernels nothing is kept: each name stands for one at a time.
            write_text(folder / NOTE, json_text({kernel.hash: note}) + "\n")
    return ({cell: dict(blocks) for cell, name in names.items() if (blocks := note.get(name))},
            [cell for cell, name in names.items() if name not in note])


class _Sleeps(AqmError):
    """Raised if the kernel reported that a changed function may sleep in a context where that is
    forbidden."""


def _read_note(path: Path) -> dict[str, dict[str, Blocks]]:
    """Return hash of a kernel -> path of a data file in the note's folder -> its blocks. Empty if
    the file is missing or has another form."""
    try:
        note: Mapping[str, Mapping[str, Blocks]] = read_note(path)
        return {str(kernel): {str(name): [(int(address), int(count)) for address, count in blocks]
                              for name, blocks in runs.items()} for kernel, runs in note.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _run_again(runs: Mapping[str, Path], folder: Path, kernel: NamedKernel) -> dict[str, Blocks]:
    """Repeat recorded runs with this kernel. Return name of a run -> the blocks that ran. Runs that
    fail are left out.

    Args:
        runs: name of a run, any text -> its data file.
        folder: folder for the new data files, each in a subfolder of its own.
        kernel: the instrumented kernel.

    Raises AqmError if no run succeeds or a recorded run can't be repeated, _Sleeps if a call of the
    change may sleep in a context where that is forbidden.
    """
    sweep = Sweep(resumes=True)
    made: dict[Path, str] = {}
    for number, (name, path) in enumerate(runs.items()):
        model = recorded.read(path, folder / str(number)).cell
        planned = replace(model, scenario=model.scenario.but(kernel=kernel.name))
        sweep.plan(planned, {})
        made[planned.data_file] = name
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
    """Return address of each block that ran -> how often, from the data file of a run with an
    instrumented kernel. Empty if the file has no coverage. Raises BadResult if it can't be
    read."""
    aqm = read_data_file(path).metadata["AQM"]
    return {int(address): int(count) for address, count in aqm.get("coverage", ())}


def judge_lines(changes: Sequence[ChangedFile], code: Instrumented,
                blocks: Mapping[str, Mapping[int, int]]) -> Exercised:
    """Return which changed lines ran, without `recording` and `unrecorded`. A line ran as often in
    a cell as that of its basic blocks which ran most.

    Args:
        changes: the changed files.
        code: basic blocks of the instrumented kernel and their lines.
        blocks: name of a cell -> address of a block -> how often it ran.
    """
    counts = {cell: counts_of_blocks(code, there) for cell, there in sorted(blocks.items())}
    ran: dict[tuple[str, int], dict[str, int]] = {}
    never: list[tuple[str, int]] = []
    without = 0
    for change in changes:
        for line in change.lines:
            own = _blocks_of_line(change, line, code, changes)
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


def _blocks_of_line(change: ChangedFile, line: int, code: Instrumented,
                    changes: Sequence[ChangedFile]) -> set[int]:
    """Return the basic blocks whose run shows that a changed line ran: the line's own, if any, and
    of a function's head, those of the whole head. Otherwise, if defined_name() finds a name in the
    line, those of all lines of changed files with that name. Without a name, those of the line's
    statement, or else of the last line with code before it in the function. Empty for lines without
    any such block, for blank lines and lines of braces, and for comments that have none of their
    own.

    Args:
        change: the changed file.
        line: number of the line, from 1.
        code: basic blocks of the instrumented kernel and their lines.
        changes: all changed files.
    """
    of_file = code.lines.get(change.path, {})
    text = change.text.splitlines()
    if not text[line - 1].strip(" \t{}"):
        return set()
    function = next((lines for _, lines in _functions(change.text) if line in lines), range(0))
    statement = _lines_of_statement(text, line)
    # Of a function that is put into its callers, each copy may have code of another part of the
    # head, or of its braces.
    if line in of_file and function.start not in statement:
        return set(of_file[line])
    if text[line - 1].lstrip().startswith(("/*", "*", "//")):
        return set()
    if name := defined_name(text, line):
        return {block for changed in changes for number,
                words in enumerate(changed.text.splitlines(), 1)
                if re.search(rf"\b{name}\b", words)
                for block in code.lines.get(changed.path, {}).get(number, ())}
    own = {block for number in statement for block in of_file.get(number, ())}
    if own:
        return own
    # The compiler has left it out, as of `if (0)`: what comes before it decides.
    before = reversed(function[:line - function.start])
    return set(next((of_file[number] for number in before if number in of_file), ()))


def defined_name(text: Sequence[str], line: int) -> str:
    """Return the macro that a line defines, inside a function or outside, or the variable that it
    gives a value, outside of functions (from the first column on). "" if there is neither.

    Args:
        text: the lines of the file.
        line: number of the line, from 1. It may be a later line of a definition that backslashes
            continue.
    """
    first = line
    while first > 1 and text[first - 2].endswith("\\"):
        first -= 1
    match = _DEFINES.match(text[first - 1])
    return (match[1] or match[2]) if match else ""


def _lines_of_statement(text: Sequence[str], line: int) -> range:
    """Return the numbers of the lines of the statement that a line is part of.

    Args:
        text: the lines of the file.
        line: number of the line, from 1.
    """
    first = last = line
    while first > 1 and text[first - 2].strip() and not _ENDS.search(text[first - 2]):
        first -= 1
    while last < len(text) and text[last - 1].strip() and not _ENDS.search(text[last - 1]):
        last += 1
    return range(first, last + 1)


def sentence(exercised: Exercised) -> str:
    """Return the page's sentences on which lines of the change ran, which never, and which rarely,
    and in which cells that isn't known. At most four cells and ranges of each (MOST_NAMED) are
    named. If there is a `fault`, return it as a sentence. If nothing is known, or no changed line
    has code, say so."""
    if exercised.fault:
        return f"Worse: {exercised.fault}."
    if exercised.why_unknown:
        return f"Whether the change ran is not known: {exercised.why_unknown}."
    if not exercised.lines:
        return (f"None of the {counted(exercised.without_code, 'changed line')} has code of its "
                "own, so whether the change ran is not known.")
    named = _some(exercised.cells)
    text = f"Of {counted(exercised.lines, 'changed line')} with code "
    text += f"{len(exercised.ran) or 'none'} ran{f' ({named})' if named else ''}"
    if exercised.never:
        ranges = exercised.ranges(exercised.never)
        more = len(ranges) - MOST_NAMED
        never = "in no recorded run" if exercised.unrecorded else "never"
        text += f"; {never}: " + "; ".join(ranges[:MOST_NAMED]) + (
            f"; and {counted(more, 'range')} more" if more > 0 else "")
    if exercised.rarely:
        often = max(max(exercised.ran[place].values()) for place in exercised.rarely)
        text += (f"; {often} times at most: "
                 + "; ".join(exercised.ranges(exercised.rarely)[:MOST_NAMED]))
    if exercised.unrecorded:
        text += (f". What else ran in {_some(exercised.unrecorded)} is not known: runs there "
                 "failed")
    return text + "."


def _some(cells: Sequence[str]) -> str:
    """Return the names of the first four cells (MOST_NAMED), and how many more there are."""
    more = len(cells) - MOST_NAMED
    return ", ".join(cells[:MOST_NAMED]) + (f", and {more} more" if more > 0 else "")


def function_at(text: str, line: int) -> str:
    """Return the name of the function that a line is in, from the line with its name to that of its
    closing brace. "" if it is in none, also for a declaration.

    Args:
        text: content of the C file, in the kernel's style: a function that isn't in a single line
            ends with a brace in the first column.
        line: number of the line, from 1.
    """
    return next((name for name, lines in _functions(text) if line in lines), "")


@cache
def _functions(text: str) -> list[tuple[str, range]]:
    """Return the name and the numbers of the lines of each function of a C file, in their order."""
    text = "\n".join(text.splitlines())
    return [(match[1], range(text.count("\n", 0, match.start(1)) + 1,
                             text.count("\n", 0, match.end()) + 2))
            for match in _FUNCTION.finditer(text)]
