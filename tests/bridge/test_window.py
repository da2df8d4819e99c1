# SPDX-License-Identifier: GPL-3.0-or-later
"""flent-gui's window with many files, and their definitions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from flent import testenv

from flent_aqm.bridge import window


@pytest.mark.parametrize(("time_s", "left"), [(1e9, []), (0.0, ["b", "c"])])
def test_files_are_taken_together_for_a_time(
    time_s: float, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order, at least one at a time."""
    monkeypatch.setattr(window, "_TOGETHER_S", time_s)
    taken: list[str] = []
    gui = SimpleNamespace(load_queue=["a", "b", "c"])
    window.load_one(lambda self: taken.append(self.load_queue.pop(0)))(gui)
    assert gui.load_queue == left
    assert taken + left == ["a", "b", "c"]


def test_definition_is_compiled_once_until_it_changes() -> None:
    """And as Flent compiles it: what our module imports from __future__ changes nothing."""
    compiled = testenv.compile
    code = compiled("x: spam = 1", "one.inc", "exec")
    assert compiled("x: spam = 1", "one.inc", "exec") is code
    assert compiled("x: spam = 2", "one.inc", "exec") is not code
    with pytest.raises(NameError, match="spam"):
        exec(code, {})
