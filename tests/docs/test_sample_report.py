# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample report in docs/ is what today's version makes of the golden batch."""

from __future__ import annotations

import json
import re
from pathlib import Path

from flent_aqm.cli import main

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "docs" / "sample-report.html"
# As it was made, in the tree's top folder.
BATCH, TITLE = "tests/golden/batches/quick", "Sample: four queues at 100 Mbit/s"


def told(page: str) -> list[str]:
    """What a page says first, and the numbers of its plots and tables; its looks may differ."""
    return re.findall(r'<section id="findings".*?</section>|<script[^>]* id="data">.*?</script>',
                      page, re.S)


def test_sample_report_is_that_of_this_version(tmp_path: Path) -> None:
    """Sentences, panels and numbers; make it anew with the command below."""
    page = tmp_path / "sample-report.html"
    command = ["report", str(ROOT / BATCH), "-o", str(page), "--title", TITLE, "--jobs", "1"]
    assert main(command) == 0
    made = page.read_text("utf-8").replace(f"{ROOT}/", "")
    assert len(told(made)) == 2
    assert told(made) == told(SAMPLE.read_text("utf-8")), (
        f"flent-aqm report {BATCH} -o docs/sample-report.html --title {TITLE!r}")


def test_readme_tells_what_the_sample_report_says_first() -> None:
    """The numbers in the README's first paragraph are the batch's own."""
    sample = SAMPLE.read_text("utf-8")
    cells = json.loads(re.search(r'id="data">(.*?)</script>', sample, re.S)[1])["cells"]  # type: ignore[index]
    medians = [cell["ways"]["upload"]["box"][2] for cell in cells
               if cell["slice"] == ["iperf3_upload"]]
    readme = (ROOT / "README.md").read_text("utf-8")
    words = re.search(r"latency under iperf3's load goes from ([\d.]+) to ([\d.]+) ms", readme)
    assert words is not None
    assert [float(one) for one in words.groups()] == [
        round(min(medians), 2), round(max(medians))]
