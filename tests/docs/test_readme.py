# SPDX-License-Identifier: GPL-3.0-or-later
"""What README shows first is of one run: its table, its picture and the site's report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.testing.compare import compare_images

from release.website.build import sample_report
from release.website.reference.demo import BATCH
from tests.files import ROOT

README = (ROOT / "README.md").read_text("utf-8")
PICTURE = ROOT / "docs" / "img" / "demo.png"
# As in tests/show/plots/test_images.py: other versions of fonts differ by less.
TOLERANCE = 2


def column(name: str) -> list[float]:
    """The numbers of a column of README's table, lost ones left out."""
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")]
                      for line in README.splitlines() if line.startswith("|"))
    cells = [row[head.index(name)] for row in rows]
    return [float(cell) for cell in cells if cell != "-"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report that the site has."""
    page = tmp_path_factory.mktemp("report") / "page.html"
    sample_report(page)
    return page.read_text("utf-8")


def test_picture_is_of_the_runs_of_the_table(tmp_path: Path) -> None:
    """Drawn again from the same files."""
    draw = ("-p", "latency_and_throughput", "-o")
    made = tmp_path / "demo.png"
    subprocess.run([sys.executable, "-P", "-m", "flent", *draw, str(made),
                    *sorted(map(str, BATCH.glob("*.flent.gz")))], check=True)
    assert compare_images(str(PICTURE), str(made), TOLERANCE) is None, (
        f"flent {' '.join(draw)} docs/img/demo.png {BATCH.relative_to(ROOT)}/*.flent.gz")


def test_sentence_below_the_table_has_its_numbers() -> None:
    """The lowest and the highest median of iperf3, and all queues carry the same."""
    medians = column("RTT, median")[:4]
    assert len(set(column("up"))) == 1
    words = re.search(r"latency under iperf3's load ranges from ([\d.]+) to ([\d.]+) ms", README)
    assert words is not None
    assert [float(one) for one in words.groups()] == [
        round(min(medians), 2), round(max(medians))]


def test_report_is_of_the_runs_of_the_table(report: str) -> None:
    """Its panels have the same medians."""
    cells = json.loads(re.search(r'id="data">(.*?)</script>', report, re.S)[1])["cells"]  # type: ignore[index]
    medians = [cell["ways"]["upload"]["box"][2] for cell in cells
               if cell["slice"] == ["iperf3_upload"]]
    assert sorted(medians) == pytest.approx(sorted(column("RTT, median")[:4]), abs=0.006)
