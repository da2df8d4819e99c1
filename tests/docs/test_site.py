# SPDX-License-Identifier: GPL-3.0-or-later
"""The site has every document and every plot, and its commands are ones that there are.

Whether it builds without a warning and asks no other host: make site, which takes longer.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from flent import settings

from flent_aqm.asked.keys import BATCH_KEYS, PARAMETER_PREFIXES, SCENARIO_KEYS, SWEEP_KEYS
from flent_aqm.commands.table import COMMANDS, fill
from tests.show.plots.pictures import PICTURES
from website.build import gather, requests_of
from website.gallery import drawings

ROOT = Path(__file__).resolve().parents[2]
NAVIGATION = set(re.findall(r": ([\w/-]+\.md)$",
                            (ROOT / "website" / "mkdocs.yml").read_text(), re.MULTILINE))
DOCUMENTS = (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")),
             *sorted(ROOT.glob("website/pages/**/*.md")))
FLENT_SETTINGS = frozenset(action.dest.lower() for action in settings.parser._actions)
_BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gathered pages."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    gather(folder)
    return folder


def test_each_page_has_a_place_in_the_navigation(pages: Path) -> None:
    """And each place has a page."""
    assert {str(path.relative_to(pages)) for path in pages.rglob("*.md")} == NAVIGATION


def test_each_link_inside_leads_to_a_page(pages: Path) -> None:
    """Also those that led to the source tree's root, which the site doesn't have."""
    for page in pages.rglob("*.md"):
        for link in re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", link) and not link.startswith("gallery/"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_gallery_has_each_plot_once(pages: Path) -> None:
    """By files that are there, and the page shows what is drawn."""
    shown = list(drawings())
    assert re.findall(r"!\[\w+\]\(gallery/(\S+)\)", (pages / "gallery.md").read_text()) == [
        one.picture for one in shown]
    assert sorted(one.plot for one in shown) == sorted({one.plot for one in PICTURES})
    assert all((ROOT / word).is_file() for one in shown for word in one.words[5:])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_list_in_a_list_is_indented_by_four(document: Path) -> None:
    """MkDocs takes fewer spaces for the same list."""
    text = _BLOCK.sub("", document.read_text(encoding="utf-8"))
    assert re.findall(r"^ {1,3}(?:[-*]|\d+\.) .*", text, re.MULTILINE) == []


def commands() -> Iterator[tuple[str, str]]:
    """Every line of a block that calls flent-aqm, with the name of its document."""
    for page in DOCUMENTS:
        for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(r"\s*(sudo )?(\S*/bin/)?flent-aqm \w", line):
                    yield page.name, line.strip()


def sweeps() -> Iterator[tuple[str, str]]:
    """Every line of a block that calls Flent with a batch of ours, with its document's name."""
    for page in DOCUMENTS:
        for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(r"\s*(sudo )?(\S*/bin/)?flent -B batches/", line):
                    yield page.name, line.strip()


@pytest.mark.parametrize(("document", "line"), [*sweeps()])
def test_batch_and_keys_in_a_document_are_ones_that_there_are(document: str, line: str) -> None:
    """The file, its batches, and each override: a key of ours, or one that the file has."""
    words = shlex.split(line, comments=True)
    options = [*itertools.pairwise(words)]
    files = [ROOT / "batches" / "base.batch",
             *(ROOT / word for option, word in options if option == "-B")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    for option, word in options:
        if option == "-b":
            assert re.search(rf"^\[Batch::{re.escape(word)}\]$", text, re.MULTILINE), document
        if option == "--batch-override":
            key = word.partition("=")[0]
            assert (key in SCENARIO_KEYS | SWEEP_KEYS | BATCH_KEYS | FLENT_SETTINGS
                    or key.startswith(PARAMETER_PREFIXES)
                    or re.search(rf"^{re.escape(key)} *=", text, re.MULTILINE)), document


@pytest.mark.parametrize(("document", "line"), [*commands()])
def test_command_in_a_document_is_one_that_there_is(document: str, line: str) -> None:
    """Its parser takes its words; what they do is for the tests of each command."""
    split = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    split.whitespace_split = True
    words = [*itertools.takewhile(lambda word: word[0] not in "|&;<>", split)]
    words = words[[word.endswith("flent-aqm") for word in words].index(True) + 1:]
    assert words[0] in COMMANDS, document
    parser = fill(argparse.ArgumentParser(prog=words[0], exit_on_error=False), words[0])
    if "--help" not in words:
        parser.parse_args(words[1:])


@pytest.mark.parametrize(("tag", "found"), [
    ('<script src="https://a.test/x.js">', True), ('<link href=//a.test/x.css>', True),
    ('<a href="https://a.test">', False), ('<img src="img/demo.png">', False)])
def test_request_of_another_host_is_seen(tag: str, found: bool) -> None:
    """What loads by itself, not what readers follow."""
    assert bool(requests_of(tag)) == found
