# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the page of all checks, in Markdown, and every number of them as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

from research.validation.check import Check, Finding, Outcome
from research.validation.stamp import LINE, Made, renewed

PICTURES = Path("img") / "validation"  # relative to the page's folder
PART = "checks"
COLUMNS = ("check", "number", "unit", "theory", "lowest", "highest", "measured", "result")

_HEAD = (
    "# Validation\n\n"
    "The lab's numbers beside those of arithmetic, a standard or a paper. `make validate` makes "
    "the runs in the [lab](../lab.md), writes this page, and fails if a number is out of bounds. "
    "[validation.csv](validation.csv) has every number with its bounds. A check's program, in "
    "`research/validation/checks/`, has its set-up, the reason for its bounds, and where theory "
    "and kernel differ. `.venv/bin/python -m research.validation.run --only NAME` runs one.\n")


def page(results: Sequence[tuple[Check, Outcome | str]], made: Made) -> str:
    """Return the page's text, in Markdown: how many checks and numbers passed, the stamp, and a
    section for each check. A section has theory, source, picture, and only those numbers that
    failed, or the reason why the check could not run.

    Args:
        results: each check and its outcome. A string says why the check could not run.
        made: what the checks were measured with.
    """
    passed, all_checks, numbers_passed, numbers = counts(results)
    summary = f"{passed} of {all_checks} checks passed, {numbers_passed} of {numbers} numbers.\n"
    parts = [_HEAD, summary, LINE + "\n", made.comment(PART)]
    parts += [_section(check, outcome) for check, outcome in results]
    return renewed("\n".join([*parts, f"<!-- end of {PART} -->\n"]))


def table(results: Sequence[tuple[Check, Outcome | str]]) -> str:
    """Return every number as CSV, below a row of COLUMNS: a row for each with the name of its
    check, the number's description and unit, theory, lowest and highest value that pass (each of
    the three empty if there is none), the measured value, and "pass" or "fail". Values are rounded
    as number() does it. Checks that could not run have no rows."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for check, outcome in results:
        for one in outcome.findings if isinstance(outcome, Outcome) else ():
            writer.writerow([
                check.name, one.what, one.unit, "" if one.theory is None else number(one.theory),
                *("" if math.isinf(bound) else number(bound)
                  for bound in (one.lowest, one.highest)),
                number(one.measured), _result(one.passed)])
    return file.getvalue()


def in_full(checks: Sequence[Check], numbers: str) -> str:
    """Return a page in Markdown with all texts of these checks, their numbers as tables, and links
    to their pictures. A check without numbers gets a table without rows.

    Args:
        checks: the checks.
        numbers: the CSV of table(). Rows of other checks are left out.
    """
    rows = list(csv.DictReader(io.StringIO(numbers)))
    lines = ["# Lab and theory, in full", "", "[Validation](validation.md) in short.", ""]
    for check in checks:
        lines += [f"## {check.title}", "", f"Theory: {check.theory}", "",
                  f"Source: {check.source}.", "", f"Measured: {check.set_up}", "",
                  f"Allowed: {check.tolerance}", "", f"| {' | '.join(COLUMNS[1:])} |",
                  "|" + "---|" * len(COLUMNS[1:])]
        lines += [f"| {' | '.join(row[column] for column in COLUMNS[1:])} |"
                  for row in rows if row["check"] == check.name]
        lines += ["", f"![{check.caption}]({PICTURES.as_posix()}/{check.name}.png)", "",
                  check.caption, "", check.discussion, ""]
    return "\n".join(lines)


def counts(results: Sequence[tuple[Check, Outcome | str]]) -> tuple[int, int, int, int]:
    """Return the numbers of passed checks, of all checks, of passed findings, and of all findings.
    A check that could not run (a text in place of its outcome) has not passed, and has no
    findings."""
    outcomes = [outcome for _, outcome in results if isinstance(outcome, Outcome)]
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    return (sum(outcome.passed for outcome in outcomes), len(results),
            sum(finding.passed for finding in findings), len(findings))


def _section(check: Check, outcome: Outcome | str) -> str:
    lines = [f"## {check.title}", "", check.theory, "", f"Source: {check.source}.", ""]
    if isinstance(outcome, str):
        return "\n".join([*lines, f"**Did not run**: {outcome}", ""])
    failed = [one for one in outcome.findings if not one.passed]
    lines += [f"![{check.name}]({PICTURES.as_posix()}/{check.name}.png)", ""]
    if failed:
        lines += [f"**fail**: {len(failed)} of {len(outcome.findings)} numbers", ""]
    lines += [f"- {one.what}: {number(one.measured)} {one.unit}, {allowed(one)} expected"
              for one in failed]
    return "\n".join(lines)


def allowed(finding: Finding) -> str:
    """Return the values that pass, without unit, in words such as "at most 5", "at least 2" or "1
    to 3"."""
    low, high = finding.lowest, finding.highest
    if math.isinf(low):
        return f"at most {number(high)}"
    if math.isinf(high):
        return f"at least {number(low)}"
    return f"{number(low)} to {number(high)}"


def number(value: float) -> str:
    """Return a number as text with five significant digits, commas between thousands, and no
    exponent. Zeros at the end of its decimals are left out; from 100,000 on it is rounded to a
    whole number. "nan", "inf" or "-inf" if it isn't finite."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    decimals = max(0, 4 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _result(passed: bool) -> str:
    return "pass" if passed else "fail"
