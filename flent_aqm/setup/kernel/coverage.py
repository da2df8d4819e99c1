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
from flent_aqm.setup.kernel.tree import KernelTree

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
class ChangedFile:
    """The change of one file between two kernels.

    Attributes:
        path: path in the kernel's source.
        lines: numbers, from 1 and ascending, of the lines of `text` that are new or changed, or
            that are the nearest lines of code around removed ones. It may be empty.
        text: text of the whole file after the change.
    """

    path: str
    lines: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Instrumented:
    """Blocks and lines of an instrumented kernel.

    Attributes:
        blocks: for each basic block the address after its call of the callback (0 without a call),
            the numbers of the blocks that may follow, True if a function begins with the block, and
            True if the function may be left at its end. A block's number is its index.
        lines: path in the kernel's source -> line number -> numbers of the blocks that have code of
            this line.
    """

    blocks: Sequence[tuple[int, Sequence[int], bool, bool]]
    lines: Mapping[str, Mapping[int, Sequence[int]]]


def keep_own(folder: Path, before: Mapping[str, bytes | None], tree: KernelTree) -> None:
    """Copy each file that the user changed to a finished kernel's folder: as it was to
    own/before/PATH, as it is in the tree to own/after/PATH. A new file has no copy before it, a
    deleted file none after it.

    Args:
        folder: folder of the finished kernel.
        before: path in the source tree -> content before the change, None for a new file. These
            files are copied.
        tree: the source tree after the change.
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
    """Return the files that the user changed in a kernel, and Makefiles and Kconfig files that
    set-up changed for that: path in the source tree -> content. They are read from the copies in
    the kernel's folder. A new file is missing from BEFORE, a deleted file from AFTER. Empty for a
    kernel without changes, and for an instrumented one.

    Args:
        kernel: the kernel's folder.
        state: BEFORE or AFTER the change.
    """
    folder = kernel / OWN / state
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def changes_between(base: Path, test: Path,
                    of_source: Mapping[str, tuple[bytes | None, bytes | None]]
                    ) -> list[ChangedFile]:
    """Return the changes of C files and headers from one kernel to another, sorted by path. Files
    without a difference are left out, and so are files that the test kernel doesn't have.

    Args:
        base: folder of the kernel before the change.
        test: folder of the kernel after the change.
        of_source: path -> (content in base, content in test) of files in which their sources
            differ, None for a source without the file. Empty for kernels of the same source.
    """
    before, after = ([own_files(kernel, state) for kernel in (base, test)]
                     for state in (BEFORE, AFTER))
    plain = {**before[0], **before[1]}
    changes = []
    for path in sorted({*plain, *after[0], *after[1], *of_source}):
        if path.endswith(_CODE):
            # A file that a kernel's change deletes is before it alone.
            old, new = (after[side].get(path) if path in before[side] or path in after[side]
                        else of_source[path][side] if path in of_source else plain.get(path)
                        for side in (0, 1))
            if new is not None and new != old:
                changes.append(ChangedFile(path, changed_lines(_decode(old or b""), _decode(new)),
                                      _decode(new)))
    return changes


def _decode(content: bytes) -> str:
    """Return a file's content as text. Bytes that aren't UTF-8 are replaced."""
    return content.decode("utf-8", "replace")


def changed_lines(old: str, new: str) -> tuple[int, ...]:
    """Return the numbers, from 1 and in ascending order, of the lines in `new` that differ from
    `old`. Where lines were only removed, return the nearest lines of code before and after them."""
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
    """Return whether a line of C may have code: without blanks and braces at its ends it isn't
    empty, and doesn't begin with /*, * or //."""
    text = line.strip(" \t{}")
    return bool(text) and not text.startswith(("/*", "*", "//"))


def files_to_instrument(tree: Path, paths: Iterable[str]) -> list[str]:
    """Return the paths of the C files to instrument: those of `paths` that are compiled, and the
    compiled files in net/ that include a header of `paths`, directly or through other headers.
    Files of `paths` come first, and both are in the order of _FOLDERS: queues first, then TCP, and
    files outside of net/ last. Of more than MOST_FILES, the last are left out.

    Args:
        tree: folder of the compiled source.
        paths: paths of changed files in the kernel's source, of which only C files and headers
            count.
    """
    wanted = set(paths)
    headers = {path for path in wanted if path.endswith(".h")}
    found = {path for path in wanted if path.endswith(".c") and object_of(tree, path).is_file()}
    if headers:
        for source, made_of in _object_dependencies(tree):
            if source.endswith(".c") and headers & made_of:
                found.add(source)
    rank = {path: (path not in wanted, next(at for at, start in enumerate(_FOLDERS)
                                            if path.startswith(start)), path) for path in found}
    return sorted(found, key=rank.__getitem__)[:MOST_FILES]


def object_of(tree: Path, path: str) -> Path:
    """Return the path of the object that is compiled from a C file. It need not exist.

    Args:
        tree: folder of the source.
        path: path of the C file in the source.
    """
    return (tree / path).with_suffix(".o")


def _object_dependencies(tree: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield, for each object in net/ on which kbuild has a note, the path of the C file with the
    object's name, and the paths of all files of which the object is made, relative to the tree for
    files in it. For an object that is linked from others, there may be no such C file.

    tree: folder of the compiled source.
    """
    common: set[str] = set()
    for folder in ("linux", "net"):
        note = tree / f"include/{folder}/.common_headers.h.gch.cmd"
        if note.is_file():
            common |= _files_in_note(note)
    for folder, _, names in os.walk(tree / "net"):
        for name in names:
            if name.startswith(".") and name.endswith(".o.cmd"):
                note = Path(folder, name)
                made_of = _files_in_note(note)
                # An object that is compiled with the common headers has this file (patch 0015).
                with_common = note.with_suffix(".names.h").is_file()
                source = (Path(folder) / name[1:].removesuffix(".o.cmd")).with_suffix(".c")
                yield (str(source.relative_to(tree)), made_of | (common if with_common else set()))


def _files_in_note(note: Path) -> set[str]:
    """Return the paths of the files of which an object or precompiled header is made, its source
    and headers, as a note of kbuild names them: normalised, and relative to the source tree for
    files in it.

    note: path of the note, such as .NAME.o.cmd.
    """
    text = note.read_text(encoding="utf-8", errors="replace")
    return {os.path.normpath(name) for name in _DEPENDS.findall(text)}


def instrument(tree: KernelTree, files: Iterable[str]) -> None:
    """Make these C files be compiled with calls of the recorder, and add coverage.c to the kernel.
    In files of net/sched/ and net/ipv4/tcp_*, calls that may sleep are reported in the kernel's
    log, too. Makefiles of the tree are changed. Raises SetupError if one is missing.

    Args:
        tree: the source tree.
        files: paths of the C files in the source.
    """
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

    Args:
        folder: folder of the finished kernel.
        program: the kernel with debug information, at the top of its source tree.

    Raises SetupError if it has no instrumented code or no line numbers, CommandFailed if objdump or
    nm fails or takes too long, ToolMissing if one isn't installed.
    """
    rows = _parse_line_table(run(["objdump", "--wide", "--dwarf=decodedline", program],
                                 timeout_s=300),
                             program.parent)
    if not rows:
        raise SetupError(f"{program}: objdump finds no line numbers in the instrumented kernel, so "
                         "executed lines can't be recorded; install binutils as new as gcc, or "
                         "give --no-coverage to judge by the samples alone")
    starts = sorted(int(start, 16) for start in _FUNCTION.findall(run(["nm", program])))
    graph = _Graph()
    for first, last in _function_ranges(sorted({address for _, _, address, _ in rows}), starts):
        graph.read(run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={first:#x}",
                        f"--stop-address={last:#x}", program], timeout_s=300))
    if not any(block.call for block in graph.blocks):
        raise SetupError(f"{program}: gcc has instrumented no function of the changed files, so "
                         "executed lines can't be recorded: the files have none, or gcc leaves out "
                         "theirs; give --no-coverage to judge by the samples alone")
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
    """A basic block: instructions that are all executed or none.

    Attributes:
        first, last: addresses of the first and the last instruction.
        call: address after the call of the callback, 0 without a call.
        next: numbers of the blocks that may follow, in the same function and in ascending order.
        enters: True if a function begins with the block.
        leaves: True if the block ends with a return, a trap, or a jump out of the function.
    """

    first: int
    last: int
    call: int
    next: list[int]
    enters: bool
    leaves: bool


class _Graph:
    """Basic blocks of disassembled functions, in the order in which read() gets them. read() adds
    them.

    A block begins with each function, at each call of CALLBACK, at the target of each jump within
    the function, and after each jump, return and trap.

    Attributes:
        blocks: the blocks so far. A block's number is its index.
    """

    def __init__(self) -> None:
        self.blocks: list[_Block] = []

    def read(self, listing: str) -> None:
        """Append the basic blocks of all functions in a listing to `blocks`.

        listing: output of objdump -d --no-show-raw-insn.
        """
        for text in _FUNCTION_LISTING.split(listing)[1:]:
            self._add_function([(int(at, 16), name, operands) for at, name, operands
                                in _INSTRUCTION.findall(text)])

    def _add_function(self, code: Sequence[tuple[int, str, str]]) -> None:
        """Split a disassembled function into basic blocks, and append them to `blocks`. Nothing is
        added for a function without instructions.

        code: address, name and operands of each instruction, as objdump writes them, in ascending
        order of addresses.
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


def _parse_line_table(listing: str, top: Path) -> list[tuple[str, int, int, bool]]:
    """Return the rows of a line table: path, line number, address, and True if a statement begins
    there.

    Args:
        listing: output of objdump --dwarf=decodedline.
        top: folder of the source, to which the paths of its files are returned relative.
    """
    rows, path = [], ""
    for text in listing.splitlines():
        if unit := _UNIT.match(text.strip()):
            path = os.path.normpath(unit[1]).removeprefix(f"{top}/")
        elif (row := _ROW.match(text)) and path:
            rows.append((path, int(row[1]), int(row[2], 16), bool(row[3])))
    return rows


def _function_ranges(addresses: Sequence[int], starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ranges of addresses, (first, end), end excluded, of the functions that contain
    `addresses`, in ascending order. Adjacent functions are merged into one range.

    Where the last function ends isn't known, so its range ends after the last of `addresses`. An
    address before all functions begins a range itself.

    Args:
        addresses: addresses in ascending order.
        starts: start addresses of all functions, in ascending order.
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
    """Return blocks and lines of an instrumented kernel, from its NOTE. Raises OSError if the note
    is missing, and ValueError, KeyError, TypeError or AttributeError if it is damaged.

    kernel: the kernel's folder.
    """
    note = read_note(kernel / NOTE)
    return Instrumented(
        [(call, tuple(following), enters, leaves)
         for call, following, enters, leaves in note["blocks"]],
        {path: {int(line): tuple(blocks) for line, blocks in lines.items()}
         for path, lines in note["lines"].items()})


def counts_of_blocks(code: Instrumented, recorded: Mapping[int, int]) -> list[int]:
    """Return how often each block was executed, by the block's number.

    The compiler leaves blocks without a call if they only select a value. Their counts are derived
    from those of their neighbours, because executions that enter a block also leave it. A count
    that can't be derived is 0.

    Args:
        code: blocks of the kernel.
        recorded: address after a call of the callback -> number of executions.
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
