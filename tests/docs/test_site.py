# SPDX-License-Identifier: GPL-3.0-or-later
"""The site has every document and every plot.

Whether it builds without a warning and asks no other host: make site, which takes longer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flent_aqm.commands.table import COMMANDS
from release.website.build import SAMPLE_REPORT, gather, requests_of
from release.website.gallery import FIRST, drawings
from research.validation.all_checks import CHECKS
from tests.files import ROOT
from tests.show.plots.pictures import PICTURES

NAVIGATION = set(re.findall(r": ([\w/-]+\.md)$",
                            (ROOT / "release/website/mkdocs.yml").read_text(), re.MULTILINE))
DOCUMENTS = (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")),
             *sorted(ROOT.glob("release/website/pages/**/*.md")))
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
            if not re.match(rf"[a-z]+:|gallery/|{SAMPLE_REPORT}", link):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_pages_have_what_the_sources_lack(pages: Path) -> None:
    """Every option of every command, and every check with all its words and numbers."""
    options = (pages / "reference" / "options.md").read_text(encoding="utf-8")
    assert all(f"usage: flent-aqm {name} " in options for name in COMMANDS)
    whole = (pages / "results" / "validation-in-full.md").read_text(encoding="utf-8")
    numbers = (ROOT / "docs" / "results" / "validation.csv").read_text(encoding="utf-8")
    assert whole.count("| pass |") == numbers.count(",pass\n") > 100
    assert all(check.tolerance in whole for check in CHECKS)


def test_gallery_has_each_plot_once(pages: Path) -> None:
    """By files that are there, and the page shows what is drawn."""
    shown = list(drawings())
    assert re.findall(r"!\[\w+\]\(gallery/(\S+)\)", (pages / "gallery.md").read_text()) == [
        one.picture for one in shown]
    assert tuple(one.plot for one in shown)[:len(FIRST)] == FIRST
    # Of the processors' load no golden run has data: flent ends with an error.
    assert sorted(one.plot for one in shown) == sorted({one.plot for one in PICTURES} - {"cpu"})
    assert all((ROOT / word).is_file() for one in shown for word in one.words[5:])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_list_in_a_list_is_indented_by_four(document: Path) -> None:
    """MkDocs takes fewer spaces for the same list."""
    text = _BLOCK.sub("", document.read_text(encoding="utf-8"))
    text = re.sub(r"\A---\n.*?^---$", "", text, flags=re.MULTILINE | re.DOTALL)  # YAML
    assert re.findall(r"^ {1,3}(?:[-*]|\d+\.) .*", text, re.MULTILINE) == []


@pytest.mark.parametrize(("tag", "is_seen"), [
    ('<script src="https://a.test/x.js">', True), ('<link href=//a.test/x.css>', True),
    ('<a href="https://a.test">', False), ('<img src="img/demo.png">', False)])
def test_request_of_another_host_is_seen(tag: str, is_seen: bool) -> None:
    """What loads by itself, not what readers follow."""
    assert bool(requests_of(tag)) == is_seen


def test_long_lines_of_code_are_not_cut() -> None:
    """A reader can't copy what isn't shown."""
    css = (ROOT / "release/website/pages/assets/wide.css").read_text(encoding="utf-8")
    assert re.search(r"pre > code \{[^}]*white-space: pre-wrap", css)
