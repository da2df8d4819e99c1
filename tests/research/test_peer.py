# SPDX-License-Identifier: GPL-3.0-or-later
"""The peer of the lab's measurements: when its program is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ToolMissing
from research.bench import peer


def test_compiler_is_needed_only_where_no_cache_has_the_program(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache may come from another machine."""
    monkeypatch.setattr(peer, "find_program", lambda name: None)
    monkeypatch.setattr(peer, "find_cached", lambda *words: Path(*words))
    assert peer.peer_program().name == "peer_ns3"
    monkeypatch.setattr(peer, "find_cached", lambda *words: None)
    with pytest.raises(ToolMissing, match=r"^g\+\+ is not installed"):
        peer.peer_program()
