# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds kernels that record which lines of a user's change were executed.

For a user's kernel a second one is built, whose changed files call a function of coverage.c at the
beginning of each basic block (-fsanitize-coverage=trace-pc). Files that include a changed header
are instrumented, too. Runs that are judged never use the second kernel.

    CACHE/kernels/HASH/own/before/PATH   a file that the user changed, before the change
    CACHE/kernels/HASH/own/after/PATH    the same file as it was built
    CACHE/kernels/HASH/coverage.json     of an instrumented kernel: its blocks and lines
"""

from __future__ import annotations

import difflib
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from flent_aqm.base.errors import SetupError
from flent_aqm.base.json_text import json_text
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.shell import run
from flent_aqm.setup.kernel.tree import Tree

HERE = Path(__file__).resolve().parent
OWN, BEFORE, AFTER = "own", "before", "after"
# File with the blocks and lines of an instrumented kernel.
NOTE = "coverage.json"
# Path of coverage.c in the kernel's source.
RECORDER = "net/sched/lab_coverage.c"
# Function that the compiler calls at the beginning of each block.
CALLBACK = "__sanitizer_cov_trace_pc"
# Flags of the compiler for instrumented files. The kernel lies below 2 GiB. With the large code
# model, which User-Mode Linux uses, calls would go through registers, so calls of the callback
# could not be found.
FLAGS = ("-fsanitize-coverage=trace-pc -mcmodel=small "
         # Branches aren't optimized away, so that a line in a branch doesn't seem to be executed
         # with its neighbours.
         "-fno-if-conversion -fno-if-conversion2 -fno-ssa-phiopt -fno-tree-cselim -fno-jump-tables "
         "-fno-tree-switch-conversion -fno-code-hoisting -fno-tree-tail-merge -fno-crossjumping "
         "-fno-reorder-blocks-and-partition")
# Calls that may sleep -> the functions of coverage.c that report them. Only in files of the folders
# that queue packets: others may define these functions.
_MAY_SLEEP = {
    "__kmalloc_cache_noprof": "report_kmalloc_cache", "__kmalloc_noprof": "report_kmalloc",
    "__alloc_skb": "report_alloc_skb", "msleep": "report_msleep"}
_MUST_NOT_SLEEP = ("net/sched/", "net/ipv4/tcp_")
# Part of the message of coverage.c on a call that may sleep.
SLEEPS = "may sleep where it must not"
# Largest number of instrumented files. If a changed header affects more, files that queue and send
# packets are preferred, in the order of _FOLDERS.
MOST_FILES = 60
_FOLDERS = ("net/sched/", "net/ipv4/tcp", "net/ipv4/", "net/ipv6/", "net/core/", "net/", "")
_CODE = (".c", ".h")
# A line of kbuild's note on an object that names a file of which the object is made.
_DEPENDS = re.compile(r"^(?:source_\S+ := |  )([^\s$(]+)", re.MULTILINE)
# Lines of objdump: a file's name before its rows, and a row.
_UNIT = re.compile(r"^(?:CU: )?(\S+\.[chS]):(?:\[\+\+\])?$")
_ROW = re.compile(r"^\S+\s+(\d+)\s+0x([0-9a-f]+)\b(?:\s+\d+)?\s*(x?)\s*$")
_FUNCTION_LISTING = re.compile(r"^[0-9a-f]+ <[^>\n]+>:\n", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(?:(?:lock|rep|repz|repnz|notrack|bnd)\s+)?(\S+)"
                          r"[ \t]*(.*)$", re.MULTILINE)
_TARGET = re.compile(r"([0-9a-f]+) <")
# Length of a call instruction.
_CALL_BYTES = 5
_FUNCTION = re.compile(r"^([0-9a-f]+) [tTwW] \S+$", re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """The change of one file between two kernels."""

    # Path in the kernel's source.
    path: str
    # Numbers of new lines, and of the nearest lines of code around removed lines.
    lines: tuple[int, ...]
    # Text of the whole file.
    text: str


@dataclass(frozen=True)
class Instrumented:
    """Blocks and lines of an instrumented kernel."""

    # For each basic block: address after its call of the callback (0 without a call), numbers of
    # the blocks that may follow, whether a function begins with it, whether a function ends with
    # it.
    blocks: Sequence[tuple[int, Sequence[int], bool, bool]]
    # Path -> line -> numbers of the blocks that have code of this line.
    lines: Mapping[str, Mapping[int, Sequence[int]]]


def keep_own(folder: Path, before: Mapping[str, bytes | None], tree: Tree) -> None:
    """Write each file that the user changed to a finished kernel's folder, before and after the
    change.

    before: path -> content before the change, None for a new file.
    """
    for path, content in before.items():
        after = tree.path / path
        for state, text in ((BEFORE, content),
                            (AFTER, after.read_bytes() if after.is_file() else None)):
            if text is not None:
                place = folder / OWN / state / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(text)


def own_files(kernel: Path, state: str) -> dict[str, bytes]:
    """Return path -> content of the files that a kernel's user changed. state: BEFORE or AFTER the
    change. kernel: the kernel's folder."""
    folder = kernel / OWN / state
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def changes_between(base: Path, test: Path, of_source: Mapping[str, tuple[bytes, bytes]]
                    ) -> list[Change]:
    """Return the changes of C files and headers from kernel `base` to kernel `test`.

    Args:
        base, test: the kernels' folders.
        of_source: path -> (content in base, content in test) of files in which their sources
            differ.
    """
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
    """Return a file's text. Bytes that aren't UTF-8 are replaced."""
    return content.decode("utf-8", "replace")


def changed_lines(old: str, new: str) -> tuple[int, ...]:
    """Return the numbers of the lines in `new` that differ from `old`. For each place where lines
    were removed, these include the nearest lines of code before and after it."""
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
    """Return whether a line of C may have code: it isn't blank, only a brace, or part of a
    comment."""
    text = line.strip(" \t{}")
    return bool(text) and not text.startswith(("/*", "*", "//"))


def files_to_instrument(tree: Path, paths: Iterable[str]) -> list[str]:
    """Return the C files to instrument: those of `paths` that are compiled, and those that include
    a header of `paths`. At most MOST_FILES.

    tree: the compiled source.
    """
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
    """Return the path of a C file's object."""
    return (tree / path).with_suffix(".o")


def _objects(tree: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield the source of each object in net/, and all files of which the object is made."""
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
                # An object that is compiled with the common headers has this file (patch 0015).
                with_common = note.with_suffix(".names.h").is_file()
                source = (Path(folder) / name[1:].removesuffix(".o.cmd")).with_suffix(".c")
                yield (str(source.relative_to(tree)), made_of | (common if with_common else set()))


def _made_of(note: Path) -> set[str]:
    """Return the files that kbuild's note names."""
    text = note.read_text(encoding="utf-8", errors="replace")
    return {os.path.normpath(name) for name in _DEPENDS.findall(text)}


def instrument(tree: Tree, files: Iterable[str]) -> None:
    """Instrument these C files, and add coverage.c to the kernel."""
    for path in files:
        folder, _, name = path.rpartition("/")
        stem = name.removesuffix(".c")
        renamed = "".join(f" -D{name}={ours}" for name, ours in _MAY_SLEEP.items()) \
            if path.startswith(_MUST_NOT_SLEEP) else ""
        tree.append(f"{folder}/Makefile",
                    f"\nCFLAGS_{stem}.o += -g {FLAGS}{renamed}\nPCH_{stem}.o := n\n")
    tree.write(RECORDER, (HERE / "coverage.c").read_bytes())
    tree.append("net/sched/Makefile", "\nobj-y += lab_coverage.o\n")


def write_note(folder: Path, program: Path) -> None:
    """Write NOTE to a finished kernel's folder: the blocks of instrumented code, and the blocks of
    each line.

    program: the kernel with debug information. Raises SetupError if it has no instrumented code.
    """
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
        # The line of a callback's call is that of the code before it, or of the block's statement,
        # so it counts only if a statement begins there.
        if at >= 0 and address <= graph.blocks[at].last and (
                begins_statement or not graph.blocks[at].call or address > begins[at]):
            lines.setdefault(path, {}).setdefault(line, set()).add(at)
    (folder / NOTE).write_text(json_text({
        "blocks": [[block.call, block.next, block.enters, block.leaves]
                   for block in graph.blocks],
        "lines": {path: {str(line): sorted(of_line) for line, of_line in sorted(of_path.items())}
                  for path, of_path in sorted(lines.items())}}) + "\n", encoding="utf-8")


@dataclass
class _Block:
    """Instructions that are all executed or none: a basic block."""

    # Addresses of the first and the last instruction.
    first: int
    last: int
    # Address after the call of the callback, 0 without a call.
    call: int
    # Numbers of the blocks that may follow.
    next: list[int]
    # Whether a function begins with the block, and whether a function ends with it.
    enters: bool
    leaves: bool


class _Graph:
    """Blocks of disassembled functions, in the order of addresses.

    A block begins at each call of the callback, at the target of each jump, and after each jump.
    """

    def __init__(self) -> None:
        self.blocks: list[_Block] = []

    def read(self, listing: str) -> None:
        """Add the blocks of all functions in a listing by objdump -d."""
        for text in _FUNCTION_LISTING.split(listing)[1:]:
            self._add([(int(at, 16), name, operands) for at, name, operands
                       in _INSTRUCTION.findall(text)])

    def _add(self, code: Sequence[tuple[int, str, str]]) -> None:
        """Split one disassembled function into basic blocks, and append them to `blocks`.

        code: address, name and operands of each instruction.
        """
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
    """Return the rows of the line table that objdump has decoded: path, line, address, and whether
    a statement begins there. top: folder of the source, to which paths are relative."""
    rows, path = [], ""
    for text in listing.splitlines():
        if unit := _UNIT.match(text.strip()):
            path = os.path.normpath(unit[1]).removeprefix(f"{top}/")
        elif (row := _ROW.match(text)) and path:
            rows.append((path, int(row[1]), int(row[2], 16), bool(row[3])))
    return rows


def _ranges(addresses: Sequence[int], starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges of addresses of the functions that contain these addresses. Adjacent
    functions are merged.

    starts: start addresses of all functions.
    """
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
    """Return blocks and lines of the kernel in this folder. Raises OSError or ValueError if the
    note is missing or damaged."""
    note = read_note(kernel / NOTE)
    return Instrumented(
        [(call, tuple(following), enters, leaves)
         for call, following, enters, leaves in note["blocks"]],
        {path: {int(line): tuple(blocks) for line, blocks in lines.items()}
         for path, lines in note["lines"].items()})


def counts_of_blocks(code: Instrumented, recorded: Mapping[int, int]) -> list[int]:
    """Return how often each block was executed.

    The compiler leaves blocks without a call if they only select a value. Their counts are derived
    from those of their neighbours, because executions that enter a block also leave it. A count
    that can't be derived is 0.

    recorded: address after a call of the callback -> count.
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
