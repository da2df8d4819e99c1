# SPDX-License-Identifier: GPL-3.0-or-later
"""Test definitions are executed once for all runs of a batch that have the same settings.

Flent executes a run's definition, with all that it includes, to find out how long the run
takes: twice for each run. It was three quarters of the time that planning took.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

# Settings that differ from run to run and that no definition looks at.
_OF_THE_RUN = ("TIME", "TITLE", "DATA_FILENAME")
_OF_THE_BATCH = "BATCH_"
_MEMORY = "AQM_DEFINITIONS"


class _Memory(dict[str, dict[str, Any]]):
    """Settings, as text -> what the definition made of them. Copies of settings share it."""

    def __deepcopy__(self, memo: object) -> _Memory:
        return self


def remember(settings: Any) -> None:
    """From now on, copies of these settings share what their definitions give."""
    if not hasattr(settings, _MEMORY):
        setattr(settings, _MEMORY, _Memory())


def patch(settings_class: Any) -> None:
    """Patch flent.settings.Settings; without remember(), nothing changes."""
    stock = settings_class.load_test

    @wraps(stock)
    def load_test(self: Any, test_name: str | None = None, informational: bool = False) -> None:
        memory: _Memory | None = getattr(self, _MEMORY, None)
        if memory is None or test_name is not None or not informational:
            stock(self, test_name, informational)
            return
        before = _relevant(self)
        key = repr(before)
        if key not in memory:
            stock(self, test_name, informational)
            memory[key] = {name: value for name, value in _relevant(self).items()
                           if name not in before or before[name] is not value}
        else:
            self.__dict__.update(memory[key])

    settings_class.load_test = load_test


def _relevant(settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.__dict__.items()
            if name not in _OF_THE_RUN and name != _MEMORY and not name.startswith(_OF_THE_BATCH)}
