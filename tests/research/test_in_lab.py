# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks in the booted lab, those that take little time."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import BadResult
from research.validation.checks import codel_law, waits
from research.validation.experiment import experiment

pytestmark = pytest.mark.lab


def test_codel_drops_when_its_law_says() -> None:
    """The check of CoDel's drop times passes."""
    outcome = codel_law.measure()
    assert [finding for finding in outcome.findings if not finding.passed] == []


def test_waits_that_linux_counts_in_ticks_are_their_formulas() -> None:
    """TCP's timers, a socket's timeout, ping's interval."""
    outcome = waits.measure()
    assert [finding for finding in outcome.findings if not finding.passed] == []


def test_experiment_script_that_fails_is_an_error() -> None:
    """A script's failure comes out with its words, not as an empty measurement."""
    with pytest.raises(BadResult, match=r"status 3: .*it went wrong"), \
            experiment("echo it went wrong >&2; exit 3"):
        pass
