# SPDX-License-Identifier: GPL-3.0-or-later
"""Every path that a document, docstring or comment names is one of the tree, and CONTRIBUTING's
tables of files name each by one path."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.files import ROOT

# Not the tree's own words: output of other programs and of runs, and files of others.
LEFT_OUT = ("tests/golden/", "release/upstream/", "research/bench/results/")
_BEFORE = r"(?<![\w./~$@:{}<>*-])"
# What names a file: a name with a suffix behind folders, a path from the root, a script's name.
_PATHS = re.compile(
    rf"{_BEFORE}((?:[\w.-]+/)+[\w.-]*\.(?:py|sh|pl|md|conf|batch|patch|c|config|txt|toml|cfg|html|"
    r"json|csv|j2|css|js|topology))(?![\w/*{}<])"
    rf"|{_BEFORE}((?:flent_aqm|tests|tests_defs|batches|router_hooks|docs|research|release)/"
    r"[\w./-]*[\w/])(?![\w*{}<…-])"
    rf"|{_BEFORE}([a-z_][\w-]*\.(?:py|sh|pl|conf|config))(?![\w/*{{}}<(])")
# A part of a path that stands for others: NAME, NNNN-what-it-does, gate-WHAT-DATE.
_STANDS_FOR = re.compile(r"(?:^|[/-])[A-Z]{4,}(?=$|[/.-])")
# Paths that are not of this tree.
ELSEWHERE = (
    # Linux, iproute2, ndt-server, DSLReports' page
    r"(arch|net|kernel|drivers|lib|tc|spec|client)/.*",
    # sources in the wheel of the lab's programs
    r"source/.*",
    # written for each run of the lab, or by make site
    r"(settings|command|apply)\.sh", r"build/site/index\.html",
    # a program that flent-aqm does in the same way
    r"speedtest-netperf\.sh",
    # the reader's own
    r"batches/mine\.batch", r"mine\.py", r"step\.sh", r"results/report\.html")


@cache
def known() -> frozenset[str]:
    """Every file and folder of the tree, also without the folders at the beginning of its path."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
        capture_output=True, text=True, check=True).stdout.splitlines()
    paths = {Path(one) for one in listed} | {
        above for one in listed for above in Path(one).parents}
    return frozenset("/".join(path.parts[first:])
                     for path in paths for first in range(len(path.parts)))


def files() -> Iterator[Path]:
    """Yield the files whose texts are read."""
    for name in sorted(known()):
        path = ROOT / name
        if path.is_file() and not path.is_symlink() and not name.startswith(LEFT_OUT):
            yield path


def texts(name: str, source: str) -> Iterator[str]:
    """Yield documents, docstrings and comments of a file. name: by which its language is known."""
    if name.endswith(".md"):
        yield source
    elif name.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.string
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                yield ast.get_docstring(node) or ""
    elif name.endswith((".sh", ".pl", ".conf", ".batch", ".cfg", ".toml", ".txt", "Makefile")):
        yield from re.findall(r"(?:^|\s)#.*", source)
    elif name.endswith((".c", ".js", ".css")):
        yield from re.findall(r"^\s*(?:\*|/\*|//).*", source, re.MULTILINE)


def named(text: str) -> Iterator[str]:
    """Yield the paths that a text names and that are no examples."""
    for found in _PATHS.finditer(text):
        path = next(filter(None, found.groups())).rstrip("/.").removeprefix("./")
        if not _STANDS_FOR.search(path):
            yield path


def is_there(path: str, beside: Path) -> bool:
    """Return whether the tree has a path, or the folder `beside` has it."""
    return path in known() or (beside / path).exists()


def test_named_paths_are_there() -> None:
    """Those of other programs stand in a table, of which each line is used."""
    gone: list[str] = []
    elsewhere: set[str] = set()
    for file in files():
        if file.suffix in (".gz", ".png", ".pcap", ".svg"):
            continue
        try:
            source = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        name = str(file.relative_to(ROOT))
        for text in texts(name, source):
            for path in named(text):
                # Those that make site writes are there after it.
                patterns = [one for one in ELSEWHERE if re.fullmatch(one, path)]
                elsewhere.update(patterns)
                if not patterns and not is_there(path, file.parent):
                    gone.append(f"{name}: {path}")
    assert gone == []
    assert elsewhere == set(ELSEWHERE)


def places(section: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each row of the tables of CONTRIBUTING's section "Where is it decided?", with a list
    for each path in its second cell: the files of the tree that the path may stand for. Paths are
    from the folder in the heading, or from the root."""
    folder = ""
    for line in section.splitlines():
        if line.startswith("### "):
            found = re.search(r"`(.+/)`$", line)
            folder = found[1] if found else ""
        elif line.startswith("| ") and not line.startswith("| what is decided |"):
            _, _, cell, _ = line.split("|")
            for path in re.findall(r"`([^`]+)`", cell) or [""]:
                yield line, [one for one in dict.fromkeys((folder + path, path))
                             if path and (ROOT / one).exists()]


def test_table_of_files_names_each_by_one_path() -> None:
    """None is gone, and none could be taken for another's."""
    text = (ROOT / "docs" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("\n## Where is it decided?\n")[2].partition("\n## ")[0]
    rows = [*places(section)]
    assert len({line for line, _ in rows}) > 150
    assert [line for line, found in rows if len(found) != 1] == []


def test_row_with_a_path_that_is_gone_or_that_may_be_either_is_found() -> None:
    rows = "### Tests: `tests/`\n| typed | `docs/gone.py` |\n| nothing | none |\n"
    assert [len(found) for _, found in places(rows)] == [0, 0]
    assert [len(found) for _, found in places("### A: `flent_aqm/parts/why/`\n| a | `html.py` |\n"
                                              "### B: `flent_aqm/`\n| b | `docs/lab.md` |\n"
                                              "### C: `research/`\n| c | `./` |\n")] == [1, 1, 2]


@pytest.mark.parametrize(("name", "source"), [
    ("a.py", '"""Explained in results/gone.py."""'),
    ("a.py", "x = 1  # as flent_aqm/gone does"),
    ("a.py", "def f():\n    \"\"\"Run gone_script.sh.\"\"\""),
    ("a.sh", "# read by gone.sh\n"),
    ("a.c", "/*\n * See router/gone.c\n */"),
    ("a.md", "The example is `tests/own_code/gone.py`, and docs/gone.md tells why."),
])
def test_path_that_is_not_there_is_found(name: str, source: str) -> None:
    paths = [path for text in texts(name, source) for path in named(text)]
    assert paths
    assert not any(is_there(path, ROOT) for path in paths)


def test_paths_that_are_there_and_examples_are_not_reported() -> None:
    assert [*named("tests_defs/NAME.conf, patches/NNNN-what-it-does.patch")] == []
    assert all(is_there(path, ROOT) for path in named(
        "router_hooks/ has router.sh; docs/start.md, results/grouping.py, tests/golden/"))
