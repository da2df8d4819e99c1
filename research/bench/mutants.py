# SPDX-License-Identifier: GPL-3.0-or-later
"""Which defects the tests would let through: puts small ones in, one at a time, and counts.

    make mutants                                              every 10th defect of all modules
    make mutants MUTANTS_ARGUMENTS='--every 1 metrics/rpm'    all of one module
    make mutants MUTANTS_ARGUMENTS='--every 40 --keep'        and keep the list of survivors

Each defect is one change of one place: a comparison turned, a sign, a number one more, a
condition negated, a returned switch. The module's tests that need no lab run against a copy
of the source tree; a defect with which they all pass is printed as survived. Those that change
nothing that anybody could see stand in EQUIVALENT, with the reason. Of the folders in STRICT at
most MOST_SURVIVING of the defects tried may survive; SURVIVORS keeps what survived, by folder.

Tests run in forks of this process, which has libraries in memory and none of the package: most
of what a run of few tests takes is imports.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

import pytest

HERE = Path(__file__).resolve().parents[2]
PACKAGE = Path("flent_aqm")
# Folder or module -> the tests that state its rules, the quickest first. Of two that a module is
# in, the former counts.
TESTS = {
    "results/metrics": ("tests/results/metrics/test_worked_values.py",
                        "tests/results/metrics/test_edges.py", "tests/results/metrics",
                        "tests/results/score"),
    "results/status.py": ("tests/results/test_status.py",),
    "results/score": ("tests/results/score",),
    "results/share/archive.py": ("tests/sweep/replay/test_archive.py",
                                 "tests/results/share/test_batch_text.py"),
    "results/share": ("tests/results/share/test_allowed.py", "tests/results/share/test_secrets.py",
                      "tests/results/share/test_batch_text.py"),
    "results/advice": ("tests/results/advice",),
    "results/reading": ("tests/results/reading", "tests/results/test_words.py",
                        "tests/results/test_find_files.py"),
    "results/many_files.py": ("tests/results/test_find_files.py",),
    "results/export": ("tests/results/export",),
    "results": ("tests/results/metrics", "tests/results/reading", "tests/results/test_loaded.py",
                "tests/results/score", "tests/show/test_grouping.py"),
    "sweep/resumed.py": ("tests/sweep/test_resumed.py",),
    "sweep/run.py": ("tests/sweep/test_resumed.py", "tests/sweep/test_in_brief.py"),
    "sweep/replay/archive.py": ("tests/sweep/replay/test_archive.py",),
    "sweep/replay": ("tests/sweep/replay",),
    "sweep/speedtest.py": ("tests/sweep/test_speedtest.py",),
    "sweep/plan": ("tests/sweep/plan",),
    "sweep": ("tests/sweep/test_resumed.py", "tests/sweep/test_summary.py",
              "tests/sweep/test_in_brief.py", "tests/sweep/test_pool.py",
              "tests/sweep/test_time_left.py"),
    "parts/infer": ("tests/parts/infer",),
    "parts/scorecard": ("tests/parts/scorecard",),
    "parts/ssh/restore": ("tests/parts/ssh/test_restore.py", "tests/parts/ssh/test_answers.py"),
    "router": ("tests/router/test_expected.py", "tests/router/test_proof.py",
               "tests/router/test_metadata.py", "tests/router/test_dump.py", "tests/router"),
    "measure/parsers": ("tests/measure/parsers",),
    "base/whole_file.py": ("tests/base/test_whole_file.py", "tests/base"),
    "base": ("tests/base",),
    "spec": ("tests/spec", "tests/sweep/plan"),
    "show": ("tests/show/report/test_curves.py", "tests/show/report/test_findings.py",
             "tests/show/report/test_headline.py", "tests/show/test_grouping.py"),
    "measure/serve": ("tests/measure/serve",),
}
# Of these folders' defects at most that share may survive.
STRICT = ("results", "router", "sweep", "results/share", "parts/infer", "parts/scorecard")
MOST_SURVIVING = 0.05
SURVIVORS = HERE / "research" / "bench" / "results" / "mutants-survivors.txt"
# Module, line and change -> why no test can tell the defect from the code.
_LIMIT = "a limit with room to spare, by whose name tests go"
_EITHER_WAY = "sends more captures through the way for records of any size: the result is the same"
_EMPTY = "nothing is counted: the range is empty from any smaller number on, too"
_NARROW = "how columns share a terminal that is too narrow for them"
_WAIT = "how long and how often is tried again: only time tells"
EQUIVALENT = {
    "measure/parsers/cross.py: if took_ns is not None and (fastest_ns is None or took_ns < "
    "fastest_ns):: took_ns < fastest_ns -> took_ns <= fastest_ns": "the same number again",
    "measure/parsers/cross.py: for step in range(max(counted, default=-1) + 1)]: 1 -> 2": _EMPTY,
    "measure/parsers/pcap.py: first, last = min(counts, default=0), max(counts, default=-1): "
    "1 -> 2": _EMPTY,
    "measure/parsers/pcap.py: PIECE_BYTES = 4 << 20: 4 -> 5": _LIMIT,
    "measure/parsers/pcap.py: PIECE_BYTES = 4 << 20: 20 -> 21": _LIMIT,
    "measure/parsers/pcap.py: self.cut = False: False -> True": "the end of the file sets it",
    "measure/parsers/pcap.py: if len(data) < RECORD_HEADER_BYTES:: len(data) < "
    "RECORD_HEADER_BYTES -> len(data) <= RECORD_HEADER_BYTES": _EITHER_WAY,
    "measure/parsers/pcap.py: size = RECORD_HEADER_BYTES + captured: RECORD_HEADER_BYTES + "
    "captured -> RECORD_HEADER_BYTES - captured": _EITHER_WAY,
    "measure/parsers/pcap.py: if size < self.needed_bytes or not whole:: size < "
    "self.needed_bytes -> size <= self.needed_bytes": _EITHER_WAY,
    "measure/parsers/pcap.py: if size < self.needed_bytes or not whole:: not whole -> not not "
    "whole": _EITHER_WAY,
    "measure/parsers/pcap.py: if any(_lengths(key)[0] != captured for keys in counted.values() "
    "for key in keys):: _lengths(key)[0] != captured -> _lengths(key)[0] == captured":
        _EITHER_WAY,
    "measure/parsers/pcap.py: if any(_lengths(key)[0] != captured for keys in counted.values() "
    "for key in keys):: 0 -> 1": _EITHER_WAY,
    "measure/parsers/pcap.py: if payload > segment:: payload > segment -> payload >= segment":
        "a single segment is as long as what was on the wire",
    "results/status.py: MAX_BYTES = 8 << 20: 8 -> 9": _LIMIT,
    "results/status.py: MAX_BYTES = 8 << 20: 20 -> 21": _LIMIT,
    'results/status.py: "ended_s": status.ended_s, "failed": dict(status.failed)}, indent=1) + '
    '"\\n"): 1 -> 2': "how far the file's lines are indented",
    'results/score/shown.py: NARROWEST, NO_TERMINAL = 120, 250: 120 -> 121':
        _LIMIT,
    'results/score/shown.py: NARROWEST, NO_TERMINAL = 120, 250: 250 -> 251':
        _LIMIT,
    'results/score/shown.py: table = Table(box=None, pad_edge=False, header_style="bold"): '
    'False -> True':
        "a blank before each line",
    'results/score/shown.py: table.add_column("metric", no_wrap=True): True -> False':
        _NARROW,
    'results/score/shown.py: table.add_column("value", justify="right", no_wrap=True): True '
    '-> False':
        _NARROW,
    'results/score/shown.py: table.add_column("unit", no_wrap=True): True -> False':
        _NARROW,
    'results/score/shown.py: table.add_column(heading, justify="left" if place < left else '
    '"right", no_wrap=True,: True -> False':
        _NARROW,
    'results/score/shown.py: table.add_column(heading, overflow="fold", no_wrap=heading == '
    '"metric"): heading == \'metric\' -> heading != \'metric\'':
        _NARROW,
    'results/score/shown.py: } for one in scored], console.file, indent=1, allow_nan=False): '
    '1 -> 2':
        "how far the lines are indented",
    'results/score/shown.py: return "\\n".join(textwrap.wrap(metric.name.replace("_", " "), '
    '10)): 10 -> 11':
        _LIMIT,
    'results/score/shown.py: if max(map(len, groups.values()), default=0) < 2:: 0 -> 1':
        _EMPTY,
    "parts/infer/command.py: _TOGETHER = 256: 256 -> 257": "how many are judged at a time: the "
    "verdicts are the same",
    "parts/infer/features.py: if first.size < 3 or first.std() < 1e-6 or second.std() < 1e-6:: "
    "first.std() < 1e-06 -> first.std() <= 1e-06": "only rounding makes them equal",
    "parts/infer/reading.py: if counts.max() > 1e15 or table[1:3].max() * ms > 1e7:: "
    "counts.max() > 1000000000000000.0 -> counts.max() >= 1000000000000000.0": _LIMIT,
    "base/whole_file.py: _TRIES, _AGAIN_S = 50, 0.01: 50 -> 51": _WAIT,
    "base/whole_file.py: _TRIES, _AGAIN_S = 50, 0.01: 0.01 -> 1.01": _WAIT,
    "router/printed.py: if rate < 1000 or (rate % 1000 and rate < 1_000_000):: 1000000 -> 1000001":
        "a million has no remainder, so its branch isn't asked for it",
    "results/metrics/latency.py: breaks = numpy.flatnonzero(numpy.diff(bad_s) >= pause_s): "
    "numpy.diff(bad_s) >= pause_s -> numpy.diff(bad_s) > pause_s":
        "times and 0.1 s are no binary fractions: only rounding makes them equal",
}
# Arguments that only forbid: what they would catch isn't done.
FORBIDDING = {"frozen", "eq", "strict", "allow_nan"}
# So many times longer than without a defect is endless, and thereby found.
ENDLESS = 5
# What tests and modules import of others.
LIBRARIES = ("numpy", "scipy.stats", "orjson", "pytest", "pyarrow", "rich.table")

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is}
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
JOINED: dict[type[ast.boolop], type[ast.boolop]] = {ast.And: ast.Or, ast.Or: ast.And}


@dataclass(frozen=True)
class Mutant:
    """A module with one defect. number: of the line; change: module, line and what, in words."""

    module: Path
    number: int
    change: str
    source: str


def main() -> int:
    """Exit status 1 when a defect survived that isn't known as equivalent."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="PART",
                        help="only modules whose path has this part, such as metrics/rpm")
    parser.add_argument("--every", type=int, default=10, metavar="N",
                        help="only each N-th defect of a module (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="N",
                        help="how many defects of a module to leave out before the first "
                             "(default: %(default)s)")
    parser.add_argument("--keep", action="store_true",
                        help=f"write the survivors of the folders tried to {SURVIVORS.name}")
    args = parser.parse_args()
    if args.every < 1:
        parser.error(f"--every {args.every}: expected 1 or more")
    tests_of: dict[Path, Sequence[str]] = {}
    for place, its_tests in TESTS.items():
        for module in modules_of(place):
            tests_of.setdefault(module, its_tests)
    selected = [(module, tests) for module, tests in tests_of.items()
                if not args.modules or any(part in str(module) for part in args.modules)]
    if not selected:
        parser.error(f"no module of {', '.join(TESTS)} has {' or '.join(args.modules)} in its path")
    for library in LIBRARIES:
        importlib.import_module(library)
    count = 0
    tried: dict[str, int] = {}
    survivors: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="flent-aqm-mutants-") as folder:
        tree = copy_of_tree(Path(folder))
        limits_s: dict[Sequence[str], float] = {}
        for module, tests in selected:
            if tests not in limits_s:
                began = time.monotonic()
                if not passes(tree, tests):
                    print(f"{' '.join(tests)}: fail without any defect", file=sys.stderr)
                    return 1
                limits_s[tests] = ENDLESS * (time.monotonic() - began) + 5
            before = count
            folder_name = folder_of(module)
            for mutant in islice(mutants(module), args.first, None, args.every):
                if mutant.change in EQUIVALENT:
                    continue
                count += 1
                tried[folder_name] = tried.get(folder_name, 0) + 1
                if passes_with(tree, mutant, tests, limits_s[tests]):
                    survivors.setdefault(folder_name, []).append(mutant.change)
                    print(f"survived: {mutant.number} of {mutant.change}", flush=True)
            print(f"{module.relative_to(PACKAGE)}: {count - before} defects", flush=True)
    print(f"{count} defects, {sum(map(len, survivors.values()))} survived")
    too_many = []
    for name, of_folder in sorted(tried.items()):
        left = len(survivors.get(name, ()))
        print(f"{name}: {left} of {of_folder} survived ({left / of_folder:.0%})")
        if name in STRICT and left > MOST_SURVIVING * of_folder:
            too_many.append(name)
    if args.keep:
        keep(tried, survivors, f"--every {args.every} --first {args.first}")
    if too_many:
        print(f"more than {MOST_SURVIVING:.0%} survived in {', '.join(too_many)}", file=sys.stderr)
    return 1 if too_many else 0


def folder_of(module: Path) -> str:
    """Return the folder that a module's defects are counted for: the innermost of STRICT, else the
    first below the package."""
    place = str(module.relative_to(PACKAGE))
    strict = [name for name in STRICT if place.startswith(f"{name}/")]
    return max(strict, key=len) if strict else place.partition("/")[0]


def keep(tried: Mapping[str, int], survivors: Mapping[str, Sequence[str]], how: str) -> None:
    """Write the survivors of the folders tried in place of what the file had of them."""
    sections: dict[str, str] = {}
    if SURVIVORS.is_file():
        for part in SURVIVORS.read_text().split("\n## ")[1:]:
            sections[part.partition(":")[0]] = part.rstrip("\n")
    for name, count in tried.items():
        lines = sorted(survivors.get(name, ()))
        sections[name] = "\n".join([
            f"{name}: {len(lines)} of {count} defects survived ({how})", *lines])
    SURVIVORS.write_text("# Defects that no quick test sees, by folder: module, line and change\n"
                         + "".join(f"\n## {sections[name]}\n" for name in sorted(sections)))


def modules_of(place: str) -> list[Path]:
    """The modules of a folder or of one file, from the source tree's top."""
    path = HERE / PACKAGE / place
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [file.relative_to(HERE) for file in files]


def mutants(module: Path) -> Iterator[Mutant]:
    """All defects of a module, one at a time."""
    text = (HERE / module).read_text()
    tree, lines = ast.parse(text), text.splitlines()
    left_out = [node.value for node in ast.walk(tree)
                if isinstance(node, ast.keyword) and node.arg in FORBIDDING]
    # How much of what was read a message quotes.
    left_out += [node for output in ast.walk(tree) if isinstance(output, ast.FormattedValue)
                 for part in ast.walk(output) if isinstance(part, ast.Slice)
                 for node in ast.walk(part) if isinstance(node, ast.expr)]
    for node in ast.walk(tree):
        for attribute, defect in () if node in left_out else defects_of(node):
            right, before = getattr(node, attribute), ast.unparse(node)
            setattr(node, attribute, defect)
            number: int = node.lineno  # type: ignore[attr-defined]
            change = (f"{module.relative_to(PACKAGE)}: {lines[number - 1].strip()}: "
                      f"{before} -> {ast.unparse(node)}")
            yield Mutant(module, number, change, ast.unparse(tree))
            setattr(node, attribute, right)


def defects_of(node: ast.AST) -> Iterator[tuple[str, object]]:
    """An attribute of the node, and what is wrong for it."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            yield "ops", [*node.ops[:place], COMPARED[type(operator)](), *node.ops[place + 1:]]
    elif isinstance(node, ast.BinOp) and type(node.op) in CALCULATED:
        yield "op", CALCULATED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        yield "op", JOINED[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "operand", ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield "value", not node.value if isinstance(node.value, bool) else node.value + 1


def copy_of_tree(folder: Path) -> Path:
    """What the tests need, with a package whose modules can be replaced."""
    for entry in HERE.iterdir():
        if entry.name == PACKAGE.name:
            shutil.copytree(entry, folder / entry.name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.name not in (".git", ".venv", "results"):
            (folder / entry.name).symlink_to(entry)
    return folder


def passes_with(tree: Path, mutant: Mutant, tests: Sequence[str], limit_s: float) -> bool:
    """Whether the tests pass with the defect; the module is as before afterwards."""
    file = tree / mutant.module
    before = file.read_text()
    file.write_text(mutant.source)
    try:
        return passes(tree, tests, limit_s)
    finally:
        file.write_text(before)


def passes(tree: Path, tests: Sequence[str], limit_s: float = 600) -> bool:
    """Whether all tests that need no lab pass in that tree, within the limit."""
    child = os.fork()
    if child == 0:
        os.setsid()
        run_tests(tree, tests)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def run_tests(tree: Path, tests: Sequence[str]) -> NoReturn:
    """Run them in this process, and end it with pytest's status."""
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.chdir(tree)
        # What tests start looks there, too; and the same second's two modules of the same length
        # would have one name among compiled ones.
        os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path[:] = [str(tree), *(place for place in sys.path if place not in ("", str(HERE)))]
        for name in [each for each in sys.modules if each.split(".")[0] == PACKAGE.name]:
            del sys.modules[name]
        status = int(pytest.main([
            "-q", "-x", "-p", "no:cacheprovider", "-m", "not lab and not netns",
            f"--basetemp={tree / 'basetemp'}", *tests]))
    finally:
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
