# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that the checks make."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from validation import run
from validation.all_checks import CHECKS
from validation.check import Check, Outcome, at_most, close_to
from validation.page import counts, number, page

DOCS = Path(run.__file__).resolve().parent.parent / "docs"


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


def test_page_shows_theory_tolerance_measurement_and_result(check: Check) -> None:
    """Each number stands in a row of its own, beside what it should be."""
    text = page([(check, outcome(measured=10.05))], {"kernel": "7.3"})
    assert "| speed, Mbit/s | 10 | 9.9 to 10.1 | 10.05 | pass |" in text
    assert "| losses |  | at most 0 | 0 | pass |" in text
    assert "1 of 1 checks passed, 2 of 2 numbers. Measured with kernel 7.3." in text
    assert "[A sample's title](#a-samples-title)" in text
    for part in (check.theory, check.source, check.set_up, check.tolerance, check.caption):
        assert part in text


def test_page_says_what_failed_and_what_did_not_run(check: Check) -> None:
    """A failed number fails its check; a check that could not run says why."""
    results: list[tuple[Check, Outcome | str]] = [
        (check, outcome(measured=10.2)), (replace(check, name="other"), "no kernel")]
    assert counts(results) == (0, 2, 1, 2)
    text = page(results, {})
    assert "| 10.2 | **fail** |" in text
    assert "**Did not run**: no kernel" in text


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
    monkeypatch.setattr(run, "tool_versions", lambda: {"lab kernel": "7.3"})
    for measured, status in ((10.0, 0), (11.0, 1)):
        one = replace(check, measure=partial(outcome, measured=measured))
        monkeypatch.setattr(run, "CHECKS", (one,))
        folder = tmp_path / str(status)
        monkeypatch.setattr("sys.argv", ["run", "--jobs", "1", "--output", str(folder)])
        assert run.main() == status
        assert (folder / "img" / "validation" / "sample.png").read_bytes().startswith(b"\x89PNG")
        assert "## A sample's title" in (folder / "validation.md").read_text()
    assert capsys.readouterr().out.splitlines()[-1].endswith("; failed: sample.")


def test_kept_page_has_all_checks_and_their_pictures() -> None:
    """docs/validation.md is of the checks that there are, and every one passed."""
    text = (DOCS / "validation.md").read_text()
    assert "**fail**" not in text
    assert "**Did not run**" not in text
    assert text.count("\n## ") == len(CHECKS)
    for check in CHECKS:
        assert f"## {check.title}\n" in text
        assert (DOCS / "img" / "validation" / f"{check.name}.png").is_file()


def test_validation_page_says_what_made_it() -> None:
    """Versions alone don't tell kernels apart that have other options or patches."""
    text = (DOCS / "validation.md").read_text(encoding="utf-8")
    assert re.search(r"Measured with flent-aqm \S+ \([0-9a-f]{8,}\), .*kernel's hash [0-9a-f]{8,}",
                     text)
