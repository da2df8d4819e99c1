# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of a crash, of which a bug report is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base import crash_log


def test_argument_that_is_no_text_is_in_the_log(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's name may have any bytes, which Python keeps as surrogates."""
    monkeypatch.setattr(crash_log, "user_cache", lambda: tmp_path)
    path = crash_log.write_crash_log(["flent-aqm", "score", "a\udcff.flent"], ValueError("x"))
    assert path.parent == tmp_path / "crashes"
    text = path.read_text()
    assert "command: flent-aqm score a\\udcff.flent\n" in text
    assert text.endswith("ValueError: x\n")
