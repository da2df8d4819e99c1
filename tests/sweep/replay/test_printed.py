# SPDX-License-Identifier: GPL-3.0-or-later
"""What `replay` prints of a comparison."""

from __future__ import annotations

import pytest

from flent_aqm.commands.replay import DIFFERENT, IDENTICAL, _print_comparison
from flent_aqm.sweep.replay.compare import Difference


def test_programs_are_named_where_results_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """After an edit of the client, 62 differences were listed, and no cause. Behind the first ten,
    as the last line."""
    differing = [Difference(f"series {number}", None, "1", "2") for number in range(12)]
    note = "the programs may have changed since: client_program './client'"
    assert _print_comparison([], differing, note) == DIFFERENT
    assert capsys.readouterr().out.splitlines()[-2:] == ["      also: 2 more", f"perhaps: {note}"]
    assert _print_comparison([], differing, "") == DIFFERENT
    assert "perhaps" not in capsys.readouterr().out
    assert _print_comparison([], [], note) == IDENTICAL
    assert capsys.readouterr().out == "identical\n"
