# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents: links, paths that the code names, an index, and few words."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from flent_aqm.commands.table import COMMANDS
from tests.files import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob(".github/*.md"),
                    *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")])
# What people read
READ = sorted([*(ROOT / name for name in ("README.md", "CHANGELOG.md")),
               *ROOT.glob("docs/**/*.md"), *ROOT.glob("release/website/pages/**/*.md")])

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def prose(document: Path) -> str:
    """A document's text without its blocks of code."""
    return _CODE_BLOCK.sub("", document.read_text(encoding="utf-8"))


def anchors(document: Path) -> set[str]:
    """What links can name in a document: its headings, as Git hosts spell them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in _HEADING.findall(prose(document))}


def leads_somewhere(link: str, document: Path) -> bool:
    """Does a relative link name a file that is there, and a heading that it has?"""
    name, _, anchor = link.partition("#")
    target = document.parent / name if name else document
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_link_leads_to_a_file_and_heading(document: Path) -> None:
    """Links to other hosts are left alone."""
    assert [link for link in _LINK.findall(prose(document))
            if not re.match(r"[a-z]+:", link) and not leads_somewhere(link, document)] == []


def test_code_names_documents_that_there_are() -> None:
    """In messages and comments: DOCS/PAGE.md, perhaps with a heading."""
    named = subprocess.run(
        ["git", "grep", "-noE", r"docs/[a-z0-9/_-]+\.(md|html|sh|csv)(#[a-z0-9_-]+)?", "--", ".",
         ":!docs", ":!*.md", ":!research/bench/results", ":!tests/docs"],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(named) > 30
    assert [one for one in named
            if not leads_somewhere(one.rpartition(":")[2], ROOT / "README.md")] == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/results/*.md")), ids=lambda path: path.name)
def test_result_page_begins_with_what_was_found_and_how(page: Path) -> None:
    """A table, a list of numbers or a picture before the first section, and a command that makes
    it."""
    text = page.read_text(encoding="utf-8")
    beginning = text.partition("\n## ")[0]
    if page.name == "validation.md":  # a picture for each check
        beginning = text
    assert re.search(r"^\||^!\[|^- .*: \d", beginning, re.MULTILINE)
    assert re.search(r"```\n\S|`make \w+`", beginning)


def test_newest_result_of_each_bench_is_kept_and_no_other() -> None:
    """Older ones are in the history."""
    names = subprocess.run(["git", "ls-files", "research/bench/results"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = [re.sub(r"\d{4}-\d\d-\d\dT\d+Z", "DATE", name) for name in names]
    assert sorted(set(kinds)) == sorted(kinds)


def test_index_leads_to_each_page() -> None:
    """In one click, from INDEX.md."""
    index = ROOT / "docs" / "INDEX.md"
    linked = {(index.parent / link.partition("#")[0]).resolve()
              for link in _LINK.findall(index.read_text(encoding="utf-8"))}
    assert {*ROOT.glob("docs/**/*.md")} - {index} - linked == set()


def test_readme_asks_five_questions_and_leads_to_the_index() -> None:
    """Each job is two clicks away at most."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition(
        "## What do you want?\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"^- \[\*\*", section, re.MULTILINE)) == 5
    assert "docs/INDEX.md" in _LINK.findall(section)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_subcommand_is_described(command: str) -> None:
    """Each subcommand of flent-aqm stands in a page besides the table of commands."""
    texts = [path.read_text(encoding="utf-8") for path in READ if path.name != "CHANGELOG.md"]
    assert any(re.search(rf"flent-aqm {re.escape(command)}\b", text) for text in texts)
