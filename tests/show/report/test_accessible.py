# SPDX-License-Identifier: GPL-3.0-or-later
"""The report for those who see badly, use no mouse, or have no script."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from .conftest import Browser

# What axe-core calls a fault that keeps some people out.
BAD = ("serious", "critical")
ALL_FAULTS = """
const [rules, done] = arguments;
axe.run(rules.length ? {runOnly: rules} : {}).then((found) => done(found.violations.map(
    (one) => [one.id, one.impact,
        one.nodes.map((node) => node.html.slice(0, 120)).slice(0, 3)])));
"""


@pytest.fixture
def opened(page: Path, browser: Browser) -> Iterator[Browser]:
    """The browser with the report in it, and axe-core."""
    browser.open(page)
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def faults(browser: Browser, *rules: str) -> list[Any]:
    """What axe-core finds on the page, by all rules or by these."""
    # As the tools of a browser do it: the page's policy forbids scripts that aren't its own.
    browser.driver.execute_cdp_cmd("Runtime.evaluate", {
        "expression": files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")})
    all_faults: list[Any] = browser.driver.execute_async_script(ALL_FAULTS, rules)
    return all_faults


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_fault(opened: Browser, theme: str, width: int) -> None:
    """Labels, landmarks, contrasts, keyboard."""
    opened.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": theme}]})
    opened.until(f"document.documentElement.dataset.theme === '{theme}'")
    all_faults = faults(opened)
    assert [one for one in all_faults if one[1] in BAD] == []
    assert not {"landmark-one-main", "region"} & {name for name, *_ in all_faults}


def test_axe_would_find_a_fault(opened: Browser) -> None:
    """The check can fail: a choice without a label is found."""
    opened("document.querySelector('main').append(document.createElement('select'))")
    assert "select-name" in [name for name, *_ in faults(opened, "select-name")]


def test_explanations_need_no_hover(opened: Browser) -> None:
    """Nothing is told by a title alone, and each metric has its explanation in the text."""
    assert opened("return document.querySelectorAll('main [title]').length") == 0
    explanation = opened("return document.getElementById('metrics-about').textContent")
    assert "99th percentile" in explanation
