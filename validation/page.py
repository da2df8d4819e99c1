# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of all checks, in Markdown. Without times and host names: equal numbers, equal page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from validation.check import Check, Finding, Outcome

PICTURES = Path("img") / "validation"  # relative to the page's folder

_HEAD = (
    "# Validation\n\n"
    "What the lab measures, beside what arithmetic, a standard or a paper says it should be. "
    "`make validate` runs all checks in the [virtual lab](virtual-lab.md), writes this page and "
    "its pictures, and fails if a check does. Each run has a fixed seed: with the same kernel, "
    "tools and package the page comes out the same again. The programs are in "
    "`validation/checks/`, a file each.\n\n"
    "`.venv/bin/python -m validation.run --only NAME` runs one check and prints its numbers.\n")


def page(results: Sequence[tuple[Check, Outcome | str]], versions: Mapping[str, str]) -> str:
    """Return the page's text. An outcome that is a string says why the check could not run."""
    parts = [_HEAD, _summary(results, versions)]
    parts += [_section(check, outcome) for check, outcome in results]
    return "\n".join(parts)


def counts(results: Sequence[tuple[Check, Outcome | str]]) -> tuple[int, int, int, int]:
    """Return the numbers of passed checks, of all checks, of passed findings, and of all
    findings."""
    outcomes = [outcome for _, outcome in results if isinstance(outcome, Outcome)]
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    return (sum(outcome.passed for outcome in outcomes), len(results),
            sum(finding.passed for finding in findings), len(findings))


def _summary(results: Sequence[tuple[Check, Outcome | str]], versions: Mapping[str, str]) -> str:
    passed, all_checks, numbers_passed, numbers = counts(results)
    measured_with = ", ".join(f"{name} {version}" for name, version in versions.items())
    passing = f"{passed} of {all_checks} checks passed, {numbers_passed} of {numbers} numbers."
    lines = [f"{passing} Measured with {measured_with}.", "",
             "| check | numbers | result |", "| --- | --- | --- |"]
    for check, outcome in results:
        size = len(outcome.findings) if isinstance(outcome, Outcome) else 0
        lines.append(f"| [{check.title}](#{_anchor(check.title)}) | {size} | {_verdict(outcome)} |")
    return "\n".join(lines) + "\n"


def _section(check: Check, outcome: Outcome | str) -> str:
    lines = [f"## {check.title}", "",
             f"Theory: {check.theory}", "",
             f"Source: {check.source}.", "",
             f"Measured: {check.set_up}", "",
             f"Allowed: {check.tolerance}", ""]
    if isinstance(outcome, str):
        return "\n".join([*lines, f"**Did not run**: {outcome}", ""])
    lines += ["| number | theory | allowed | measured | result |",
              "| --- | --- | --- | --- | --- |"]
    lines += [_row(finding) for finding in outcome.findings]
    lines += ["", f"![{check.caption}]({PICTURES.as_posix()}/{check.name}.png)", "",
              check.caption, ""]
    if check.discussion:
        lines += [check.discussion, ""]
    return "\n".join(lines)


def _row(finding: Finding) -> str:
    theory = "" if finding.theory is None else number(finding.theory)
    result = "pass" if finding.passed else "**fail**"
    unit = f", {finding.unit}" if finding.unit else ""
    return (f"| {finding.what}{unit} | {theory} | {allowed(finding)} | "
            f"{number(finding.measured)} | {result} |")


def allowed(finding: Finding) -> str:
    """Return the values that pass, in words."""
    low, high = finding.lowest, finding.highest
    if math.isinf(low):
        return f"at most {number(high)}"
    if math.isinf(high):
        return f"at least {number(low)}"
    return f"{number(low)} to {number(high)}"


def number(value: float) -> str:
    """Format with five digits, and without an exponent for common magnitudes."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    decimals = max(0, 4 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _verdict(outcome: Outcome | str) -> str:
    if isinstance(outcome, str):
        return "**did not run**"
    return "pass" if outcome.passed else "**fail**"


def _anchor(title: str) -> str:
    """Return the anchor that Markdown renderers make for a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")
