# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/papers.md has a table for each batch of papers.batch, with a row for each of its cells."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir
from validation import papers

DOCS = Path(__file__).parents[2] / "docs"


def _rows(part: str) -> list[list[str]]:
    found = re.search(rf"^<!-- {part}: made by .*\n((?:\|.*\n)+)<!-- end of {part} -->$",
                      (DOCS / papers.PAGE).read_text(), re.MULTILINE)
    assert found, part
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in found[1].splitlines()[2:]]


def test_each_batch_of_a_paper_has_its_table() -> None:
    """And each table its batch."""
    text = (resource_dir("batches") / "papers.batch").read_text()
    assert set(papers.PAPERS) == set(re.findall(r"^\[Batch::(\w+)\]\ninherits = paper$", text,
                                                re.MULTILINE))


def test_ware2019_has_a_row_for_each_number_of_flows_and_says_what_follows() -> None:
    """The verdict is that of the numbers beside it."""
    rows = _rows("ware2019")
    text = (resource_dir("batches") / "papers.batch").read_text()
    assert [row[0] for row in rows] == [
        f"{count} Cubic" for count in sorted(map(int, re.findall(
            r"^\[Arg::against_(\d+)\]$", text, re.MULTILINE)))]
    for _, published, here, agrees in rows:
        share, own = (float(one.rstrip("%")) for one in (published, here))
        assert share == pytest.approx(100 * papers.BBR_SHARE)
        assert (agrees == "yes") == (abs(own - share) <= 100 * papers.BBR_ERROR)
