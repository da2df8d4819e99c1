# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels that note which lines of a change have run.

Of a user's kernel a second one is built, whose changed files call a function of coverage.c at the
beginning of each basic block (-fsanitize-coverage=trace-pc). Files that include a changed header
are instrumented, too. Runs that are judged never have this kernel.

    CACHE/kernels/HASH/own/before/PATH   a file that the user's patches or files change, as it was
    CACHE/kernels/HASH/own/after/PATH    the same file as it was built
    CACHE/kernels/HASH/coverage.json     of an instrumented kernel: its blocks and lines
"""

from __future__ import annotations

import difflib
import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from flent_aqm.base.errors import SetupError
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.shell import run
from flent_aqm.setup.kernel.tree import Tree

HERE = Path(__file__).resolve().parent
OWN, BEFORE, AFTER = "own", "before", "after"
NOTE = "coverage.json"
# Of the kernel's source, where coverage.c goes.
RECORDER = "net/sched/lab_coverage.c"
CALLBACK = "__sanitizer_cov_trace_pc"
# The kernel lies below 2 GiB. By the large code model, which User-Mode Linux has, calls would go
# through registers, and nobody could tell which of them are the callback's.
FLAGS = ("-fsanitize-coverage=trace-pc -mcmodel=small "
         # Each branch stays one, so that a line in it doesn't seem to run with its neighbours.
         "-fno-if-conversion -fno-if-conversion2 -fno-ssa-phiopt -fno-tree-cselim -fno-jump-tables "
         "-fno-tree-switch-conversion -fno-code-hoisting -fno-tree-tail-merge -fno-crossjumping "
         "-fno-reorder-blocks-and-partition")
# Files that a changed header has instrumented. Of more, those that queue and send packets.
MOST_FILES = 60
_FOLDERS = ("net/sched/", "net/ipv4/tcp", "net/ipv4/", "net/ipv6/", "net/core/", "net/", "")
_CODE = (".c", ".h")
# A line of an object's note by kbuild that names a file of which the object is made.
_DEPENDS = re.compile(r"^(?:source_\S+ := |  )([^\s$(]+)", re.MULTILINE)
# objdump's lines: a file's name before its rows, a row, and a call of the callback.
_UNIT = re.compile(r"^(?:CU: )?(\S+\.[chS]):(?:\[\+\+\])?$")
_ROW = re.compile(r"^\S+\s+(\d+)\s+0x([0-9a-f]+)\b(?:\s+\d+)?\s*(x?)\s*$")
_FUNCTION_LISTING = re.compile(r"^[0-9a-f]+ <[^>\n]+>:\n", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(?:(?:lock|rep|repz|repnz|notrack|bnd)\s+)?(\S+)"
                          r"[ \t]*(.*)$", re.MULTILINE)
_TARGET = re.compile(r"([0-9a-f]+) <")
_CALL_BYTES = 5
_FUNCTION = re.compile(r"^([0-9a-f]+) [tTwW] \S+$", re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """What a kernel's source has that another one's has not, in one file.

    path: in the kernel's source; lines: numbers of new lines, and of the lines around removed
    ones; text: of the whole file.
    """

    path: str
    lines: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Instrumented:
    """What an instrumented kernel knows of its code.

    blocks: of each basic block the address after its call of the callback (0 without one), the
    numbers of the blocks that may follow, and whether a function begins and ends with it; lines:
    path -> line -> the numbers of the blocks that have code of this line.
    """

    blocks: Sequence[tuple[int, Sequence[int], bool, bool]]
    lines: Mapping[str, Mapping[int, Sequence[int]]]


def keep_own(folder: Path, before: Mapping[str, bytes | None], tree: Tree) -> None:
    """Write into a finished kernel's folder each file that its user's patches have changed, as it
    was and as it is. before: path -> content, None for a file that wasn't there."""
    for path, content in before.items():
        after = tree.path / path
        for state, text in ((BEFORE, content),
                            (AFTER, after.read_bytes() if after.is_file() else None)):
            if text is not None:
                place = folder / OWN / state / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(text)


def own_files(kernel: Path, state: str) -> dict[str, bytes]:
    """Return path -> content of a kernel's own files, BEFORE or AFTER. kernel: its folder."""
    folder = kernel / OWN / state
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def changes_between(base: Path, test: Path, of_source: Mapping[str, tuple[bytes, bytes]]
                    ) -> list[Change]:
    """Return what the kernel in the folder `test` has in C files and headers that the one in
    `base` has not. of_source: path -> (base's, test's content) of files in which their sources
    differ."""
    of_base, of_test = own_files(base, AFTER), own_files(test, AFTER)
    plain = {**own_files(base, BEFORE), **own_files(test, BEFORE)}
    changes = []
    for path in sorted({*of_base, *of_test, *of_source}):
        if path.endswith(_CODE):
            old, new = (of_side.get(path, of_source[path][number] if path in of_source
                                    else plain.get(path))
                        for number, of_side in enumerate((of_base, of_test)))
            if new is not None and new != old:
                changes.append(Change(path, changed_lines(_text(old or b""), _text(new)),
                                      _text(new)))
    return changes


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def changed_lines(old: str, new: str) -> tuple[int, ...]:
    """Return the numbers of the lines in `new` that `old` has not, and of the nearest line before
    and after each place where lines were removed, without blank lines, braces and comments."""
    before, after = old.splitlines(), new.splitlines()
    lines: set[int] = set()
    for what, _, _, first, last in difflib.SequenceMatcher(
            None, before, after, autojunk=False).get_opcodes():
        if what == "delete":
            lines |= {*islice((number for number in range(first, 0, -1)
                               if _may_be_code(after[number - 1])), 1),
                      *islice((number for number in range(first + 1, len(after) + 1)
                               if _may_be_code(after[number - 1])), 1)}
        elif what != "equal":
            lines |= set(range(first + 1, last + 1))
    return tuple(sorted(lines))


def _may_be_code(line: str) -> bool:
    """Return whether a line of C is not blank, a brace or a comment's."""
    text = line.strip(" \t{}")
    return bool(text) and not text.startswith(("/*", "*", "//"))


def files_to_instrument(tree: Path, paths: Iterable[str]) -> list[str]:
    """Return the C files among paths that the tree has an object of, and those whose objects are
    made of a header among them. The tree was compiled before."""
    wanted = set(paths)
    headers = {path for path in wanted if path.endswith(".h")}
    found = {path for path in wanted if path.endswith(".c") and object_of(tree, path).is_file()}
    if headers:
        for source, made_of in _objects(tree):
            if source.endswith(".c") and headers & made_of:
                found.add(source)
    rank = {path: (path not in wanted, next(at for at, start in enumerate(_FOLDERS)
                                            if path.startswith(start)), path) for path in found}
    return sorted(found, key=rank.__getitem__)[:MOST_FILES]


def object_of(tree: Path, path: str) -> Path:
    """Return where make puts the object of a C file."""
    return (tree / path).with_suffix(".o")


def _objects(tree: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield the source of each object, and all the files that the object is made of."""
    common: set[str] = set()
    for folder in ("linux", "net"):
        note = tree / f"include/{folder}/.common_headers.h.gch.cmd"
        if note.is_file():
            common |= _made_of(note)
    for folder, _, names in os.walk(tree / "net"):
        for name in names:
            if name.startswith(".") and name.endswith(".o.cmd"):
                note = Path(folder, name)
                made_of = _made_of(note)
                # An object that starts with the compiled headers has this file (patch 0015).
                with_common = note.with_suffix(".names.h").is_file()
                source = (Path(folder) / name[1:].removesuffix(".o.cmd")).with_suffix(".c")
                yield (str(source.relative_to(tree)), made_of | (common if with_common else set()))


def _made_of(note: Path) -> set[str]:
    text = note.read_text(encoding="utf-8", errors="replace")
    return {os.path.normpath(name) for name in _DEPENDS.findall(text)}


def instrument(tree: Tree, files: Iterable[str]) -> None:
    """Have these C files call the callback, and coverage.c compiled with the rest."""
    for path in files:
        folder, _, name = path.rpartition("/")
        stem = name.removesuffix(".c")
        tree.append(f"{folder}/Makefile",
                    f"\nCFLAGS_{stem}.o += -g {FLAGS}\nPCH_{stem}.o := n\n")
    tree.write(RECORDER, (HERE / "coverage.c").read_bytes())
    tree.append("net/sched/Makefile", "\nobj-y += lab_coverage.o\n")


def write_note(folder: Path, program: Path) -> None:
    """Write the blocks of instrumented code, and which of them have code of which line, into a
    finished kernel's folder. program: the kernel with its line numbers and code. Raises SetupError
    where it has no instrumented code."""
    rows = _rows(run(["objdump", "--wide", "--dwarf=decodedline", program], timeout_s=300),
                 program.parent)
    if not rows:
        raise SetupError("the instrumented kernel has no line numbers")
    starts = sorted(int(start, 16) for start in _FUNCTION.findall(run(["nm", program])))
    graph = _Graph()
    for first, last in _ranges(sorted({address for _, _, address, _ in rows}), starts):
        graph.read(run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={first:#x}",
                        f"--stop-address={last:#x}", program], timeout_s=300))
    if not any(block.call for block in graph.blocks):
        raise SetupError("the instrumented kernel calls its recorder nowhere")
    lines: dict[str, dict[int, set[int]]] = {}
    begins = [block.first for block in graph.blocks]
    for path, line, address, begins_statement in rows:
        at = bisect_right(begins, address) - 1
        # The call of the callback has the line of what was before it, or of its block's statement.
        if at >= 0 and address <= graph.blocks[at].last and (
                begins_statement or not graph.blocks[at].call or address > begins[at]):
            lines.setdefault(path, {}).setdefault(line, set()).add(at)
    (folder / NOTE).write_text(json.dumps({
        "blocks": [[block.call, block.next, block.enters, block.leaves]
                   for block in graph.blocks],
        "lines": {path: {str(line): sorted(of_line) for line, of_line in sorted(of_path.items())}
                  for path, of_path in sorted(lines.items())}}) + "\n", encoding="utf-8")


@dataclass
class _Block:
    """Instructions of which all run or none. first, last: addresses of instructions; call: the
    address after the call of the callback, 0 without one; next: numbers of blocks that may follow;
    enters, leaves: whether a function begins or ends with it."""

    first: int
    last: int
    call: int
    next: list[int]
    enters: bool
    leaves: bool


class _Graph:
    """Blocks of disassembled functions, in the order of addresses. Each call of the callback begins
    a block, and so does the target of a jump and what follows a jump."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []

    def read(self, listing: str) -> None:
        """Add the functions of a listing by objdump."""
        for text in _FUNCTION_LISTING.split(listing)[1:]:
            self._add([(int(at, 16), name, operands) for at, name, operands
                       in _INSTRUCTION.findall(text)])

    def _add(self, code: Sequence[tuple[int, str, str]]) -> None:
        if not code:
            return
        first, last = code[0][0], code[-1][0]
        targets = {at: int(target[1], 16) for at, name, operands in code
                   if name.startswith("j") and (target := _TARGET.match(operands))}
        leaders = {first, *(target for target in targets.values() if first <= target <= last)}
        for (_, name, _), (after, _, _) in pairwise(code):
            if name.startswith(("j", "ret", "ud")):
                leaders.add(after)
        leaders |= {at for at, _, operands in code if f"<{CALLBACK}>" in operands}
        begins = sorted(leaders & {at for at, _, _ in code})
        number = {at: len(self.blocks) + place for place, at in enumerate(begins)}
        ends = {}
        for at, name, operands in code:
            ends[begins[bisect_right(begins, at) - 1]] = (at, name, operands)
        calls = {at for at, _, operands in code if f"<{CALLBACK}>" in operands}
        for place, at in enumerate(begins):
            end, name, _ = ends[at]
            follows = [number[targets[end]]] if targets.get(end) in number else []
            leaves = name.startswith(("ret", "ud")) or (name.startswith("j") and not follows)
            if not name.startswith(("jmp", "ret", "ud")) and place + 1 < len(begins):
                follows.append(number[begins[place + 1]])
            self.blocks.append(_Block(at, end, at + _CALL_BYTES if at in calls else 0,
                                      sorted(set(follows)), at == first, leaves))


def _rows(listing: str, top: Path) -> list[tuple[str, int, int, bool]]:
    """Return path, line, address, and whether a statement begins there, of each row of the line
    table that objdump has decoded. top: folder of the source, to which paths are relative."""
    rows, path = [], ""
    for text in listing.splitlines():
        if unit := _UNIT.match(text.strip()):
            path = os.path.normpath(unit[1]).removeprefix(f"{top}/")
        elif (row := _ROW.match(text)) and path:
            rows.append((path, int(row[1]), int(row[2], 16), bool(row[3])))
    return rows


def _ranges(addresses: Sequence[int], starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return first and last address of the functions that have these addresses, in ranges as long
    as they can be."""
    ranges: list[tuple[int, int]] = []
    for address in addresses:
        at = bisect_right(starts, address)
        first = starts[at - 1] if at else address
        last = starts[at] if at < len(starts) else address + 1
        if ranges and first <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(last, ranges[-1][1]))
        else:
            ranges.append((first, last))
    return ranges


def read_instrumented(kernel: Path) -> Instrumented:
    """Return what the kernel in this folder knows of its code. Raises OSError and ValueError where
    the note is missing or damaged."""
    note = read_note(kernel / NOTE)
    return Instrumented(
        [(call, tuple(following), enters, leaves)
         for call, following, enters, leaves in note["blocks"]],
        {path: {int(line): tuple(blocks) for line, blocks in lines.items()}
         for path, lines in note["lines"].items()})


def counts_of_blocks(code: Instrumented, recorded: Mapping[int, int]) -> list[int]:
    """Return how often each block ran. recorded: address after a call of the callback -> count.

    The compiler leaves a block without a call if all that it does is to choose a value. Its count
    follows from those of its neighbours: what enters a block leaves it. A count that does not
    follow is 0.
    """
    counts = [recorded.get(call, 0) if call else None for call, _, _, _ in code.blocks]
    into: dict[int, list[tuple[int, int]]] = {}
    out: dict[int, list[tuple[int, int]]] = {}
    for block, (_, following, _, _) in enumerate(code.blocks):
        for after in following:
            into.setdefault(after, []).append((block, after))
            out.setdefault(block, []).append((block, after))
    flows: dict[tuple[int, int], int] = {}
    changed = True
    while changed:
        changed = False
        for block, (_, _, enters, leaves) in enumerate(code.blocks):
            for edges, is_open in ((into.get(block, []), enters), (out.get(block, []), leaves)):
                unknown = [edge for edge in edges if edge not in flows]
                known = sum(flows[edge] for edge in edges if edge in flows)
                count = counts[block]
                if count is None:
                    if edges and not unknown and not is_open:
                        counts[block], changed = known, True
                elif count == 0 or (len(unknown) == 1 and not is_open):
                    for edge in unknown:
                        flows[edge], changed = max(0, count - known), True
    return [count or 0 for count in counts]
