# SPDX-License-Identifier: GPL-3.0-or-later
"""Real runs with other settings said, and a browser that tells what it did."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from flent_aqm.cli import main
from tests.files import RUNS, load, save

GOLDEN = RUNS
Change = Callable[[dict[str, Any]], None]


def write_run(path: Path, name: str = "ndt7", change: Change = lambda whole: None,
              **requested: Any) -> Path:
    """A golden run in which other settings were asked for."""
    whole = load(GOLDEN / f"{name}.flent.gz")
    whole = copy.deepcopy(whole)
    wanted = whole["metadata"]["AQM"]["requested"]
    if "rate_mbps" in requested:
        wanted["rate_down_mbps"] = wanted["rate_up_mbps"] = requested.pop("rate_mbps")
    wanted |= requested
    change(whole)
    path.parent.mkdir(parents=True, exist_ok=True)
    return save(path, whole)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 18 runs: two tests, three queues, two rates, and more of one kind."""
    folder = tmp_path_factory.mktemp("report") / "small-2026-01-01T000000"
    for test in ("ndt7", "iperf3_upload"):
        for aqm in ("no_aqm", "fq_codel", "dualpi2"):
            for rate in (10, 100):
                write_run(folder / f"{test}-{aqm}-{rate}.flent.gz", test, aqm=aqm,
                          rate_mbps=rate)
    for number in range(6):
        write_run(folder / f"more-{number}.flent.gz", "ndt7", _slower(number), aqm="no_aqm",
                  rate_mbps=10)
    return folder


def _slower(number: int) -> Change:
    def change(whole: dict[str, Any]) -> None:
        for sample in whole["raw_values"]["Ping (ms) UDP irtt"]:
            if "val" in sample:
                sample["val"] += 5 + number
        whole["metadata"]["AQM"]["seed"] = number
    return change


@dataclass(frozen=True)
class Browser:
    """driver: Selenium's."""

    driver: Any

    def open(self, page: Path | str, selector: str = "#table-runs tbody tr") -> None:
        """Load a page and wait until it shows what the selector names."""
        self.complaints()
        self.driver.get(page if isinstance(page, str) else page.as_uri())
        self.until(f"document.querySelector({selector!r})")

    def until(self, expression: str) -> None:
        """Wait until an expression is true on the page."""
        WebDriverWait(self.driver, 60).until(
            lambda driver: driver.execute_script(f"return Boolean({expression})"))

    def __call__(self, script: str, *arguments: Any) -> Any:
        """What a script's return gives."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """What the console said since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses asked for since it was last asked."""
        messages = [json.loads(entry["message"])["message"]
                    for entry in self.driver.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]


@pytest.fixture(scope="session")
def page(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on all runs."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert main(["report", str(runs), "-o", str(path), "--jobs", "1"]) == 0
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    chromedriver = shutil.which("chromedriver")
    assert chromium, "no Chromium: make packages"
    assert chromedriver, "no chromedriver: make packages"
    options = ChromeOptions()
    options.binary_location = chromium
    # Root has no sandbox of its own; shared memory may be small in a container.
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                 "--window-size=1280,900", "--lang=en"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(chromedriver))
    yield Browser(driver)
    driver.quit()
