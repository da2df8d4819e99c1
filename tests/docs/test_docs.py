# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents keep up with the code: links, subcommands, batch keys."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from flent_aqm.asked.scenario import Scenario
from flent_aqm.commands.table import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md")])
# Keys that a batch may have beside the fields of Scenario.
MORE_KEYS = ("rate_mbps", "jobs", "summary_by")

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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_link_leads_to_a_file_and_heading(document: Path) -> None:
    """Each relative link names a file that is there, and a heading that it has."""
    for link in _LINK.findall(prose(document)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_subcommand_is_described(command: str) -> None:
    """Each subcommand of flent-aqm stands in the README or in docs/."""
    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS
             if path.name == "README.md" or path.parent.name == "docs"]
    assert any(re.search(rf"flent-aqm {re.escape(command)}\b", text) for text in texts)


@pytest.mark.parametrize(
    "key", [*(field.name for field in dataclasses.fields(Scenario)), *MORE_KEYS])
def test_batch_key_is_described(key: str) -> None:
    """Each batch key has a line in the table of docs/batches.md."""
    key = {"aqm_parameters": "aqm_NAME"}.get(key, key)  # the field holds all of those keys
    text = (ROOT / "docs" / "batches.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{key}` \|", text, re.MULTILINE)
