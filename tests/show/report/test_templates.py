# SPDX-License-Identifier: GPL-3.0-or-later
"""All pages have one head and one style: dark, narrow, printed, without requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flent_aqm.show.templates import text_page
from tests.files import ROOT

from .conftest import Browser

TEXT = """# Worse: `latency`

| metric | """ + "a rather wide column | " * 8 + """
|""" + " --- |" * 9 + """
| <script>window.hacked=1</script> |""" + " 1.0 |" * 8 + """

<img src=x onerror=window.hacked=1>
"""
BACKGROUND = "return getComputedStyle(document.body).backgroundColor"


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Browser]:
    """The browser with a converted text in it."""
    page = tmp_path / "text.html"
    page.write_text(text_page("Text", TEXT))
    browser.requests()
    browser.open(page, "table")
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_only_the_base_template_has_a_head() -> None:
    """Policy, viewport and styles of a page can't be forgotten."""
    whole = [path for path in (ROOT / "flent_aqm").rglob("*.html")
             if "<!doctype" in path.read_text().lower()]
    assert [path.relative_to(ROOT).as_posix() for path in whole] == [
        "flent_aqm/show/page/base.html"]
    # Besides the pages that Chromium runs during a test, which nobody looks at.
    made = [path.name for path in (ROOT / "flent_aqm").rglob("*.py")
            if "<!doctype html" in path.read_text().lower()]
    assert all(name.endswith("_browser.py") for name in made), made


def test_text_is_shown_and_nothing_in_it_runs(opened: Browser) -> None:
    """Markup in a text stays text, and only the page itself is loaded."""
    assert opened("return window.hacked") is None
    assert "<script>" in opened("return document.querySelector('td').textContent")
    assert len(opened.requests()) == 1
    assert opened.complaints() == []


def test_wide_table_scrolls_within_a_phones_page(opened: Browser) -> None:
    opened.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 390, "height": 780, "deviceScaleFactor": 1, "mobile": True})
    opened.driver.refresh()
    assert opened("return document.documentElement.scrollWidth") <= 390
    assert opened("return document.querySelector('.scroll').scrollWidth") > 390


def test_page_is_dark_on_dark_screens_and_light_on_paper(opened: Browser) -> None:
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    light = opened(BACKGROUND)
    assert light == "rgb(255, 255, 255)"
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                  {"media": "screen", "features": dark})
    assert opened(BACKGROUND) == "rgb(20, 23, 27)"
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                  {"media": "print", "features": dark})
    assert opened(BACKGROUND) == light
