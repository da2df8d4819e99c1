# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that the checks make."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from research.validation import run, stamp
from research.validation.all_checks import CHECKS
from research.validation.check import Check, Outcome, at_most, close_to
from research.validation.page import counts, in_full, number, page, table
from research.validation.stamp import Made

DOCS = Path(run.__file__).resolve().parents[2] / "docs" / "results"


def outcome(*, measured: float) -> Outcome:
    """One number that should be 10, within 1 %, and one that is below its bound."""
    return Outcome((close_to("speed", "Mbit/s", 10, measured, percent=1),
                    at_most("losses", "", 0, 0)), draw)


def draw(figure: Figure) -> None:
    """A line, for a picture."""
    figure.subplots().plot([1, 2])


@pytest.fixture
def check() -> Check:
    return replace(CHECKS[0], name="sample", title="A sample's title")


MADE = Made(("0.2.0",), ("7.3 (ab)",), "2026-11-24")


def test_page_has_theory_source_and_picture_and_the_csv_each_number(check: Check) -> None:
    """A number stands in a row beside what it should be."""
    results: list[tuple[Check, Outcome | str]] = [(check, outcome(measured=10.05))]
    text = page(results, MADE)
    assert "1 of 1 checks passed, 2 of 2 numbers." in text
    assert "*Measured with flent-aqm 0.2.0 on Linux 7.3 (ab), 2026-11-24.*" in text
    for part in (check.title, check.theory, check.source, f"{check.name}.png"):
        assert part in text
    numbers = table(results)
    assert "sample,speed,Mbit/s,10,9.9,10.1,10.05,pass\n" in numbers
    assert "sample,losses,,,,0,0,pass\n" in numbers
    whole = in_full([check], numbers)
    assert "| speed | Mbit/s | 10 | 9.9 | 10.1 | 10.05 | pass |" in whole
    for part in (check.set_up, check.tolerance, check.discussion, check.caption):
        assert part in whole


def test_page_says_what_failed_and_what_did_not_run(check: Check) -> None:
    """A failed number fails its check; a check that could not run says why."""
    results: list[tuple[Check, Outcome | str]] = [
        (check, outcome(measured=10.2)), (replace(check, name="other"), "no kernel")]
    assert counts(results) == (0, 2, 1, 2)
    text = page(results, MADE)
    assert "**fail**: 1 of 2 numbers" in text
    assert "- speed: 10.2 Mbit/s, 9.9 to 10.1 expected" in text
    assert "**Did not run**: no kernel" in text
    assert table(results).count(",fail\n") == 1


@pytest.mark.parametrize(("value", "text"), [
    (0, "0"), (9564.88, "9,564.9"), (0.121083, "0.12108"), (1210.767, "1,210.8"),
    (400, "400"), (-0.0012, "-0.0012"), (1e6, "1,000,000")])
def test_page_numbers_have_five_digits(value: float, text: str) -> None:
    """Neither exponents nor digits that nobody reads."""
    assert number(value) == text


def test_run_writes_page_and_picture_and_fails_with_a_check(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The exit status tells, the page and its pictures are there either way."""
    monkeypatch.setattr(stamp, "tool_versions", lambda: {"lab kernel": "7.3"})
    for measured, status in ((10.0, 0), (11.0, 1)):
        one = replace(check, measure=partial(outcome, measured=measured))
        monkeypatch.setattr(run, "CHECKS", (one,))
        folder = tmp_path / str(status)
        monkeypatch.setattr("sys.argv", ["run", "--jobs", "1", "--output", str(folder)])
        assert run.main() == status
        assert (folder / "img" / "validation" / "sample.png").read_bytes().startswith(b"\x89PNG")
        assert "## A sample's title" in (folder / "validation.md").read_text()
        assert (folder / "validation.csv").read_text().startswith("check,number,unit,")
    assert capsys.readouterr().out.splitlines()[-1].endswith("; failed: sample.")


def test_kept_page_has_all_checks_and_their_pictures() -> None:
    """Is of the checks that there are, and every one passed."""
    text = (DOCS / "validation.md").read_text()
    assert "**fail**" not in text
    assert "**Did not run**" not in text
    assert text.count("\n## ") == len(CHECKS)
    for check in CHECKS:
        assert f"## {check.title}\n" in text
        assert (DOCS / "img" / "validation" / f"{check.name}.png").is_file()
