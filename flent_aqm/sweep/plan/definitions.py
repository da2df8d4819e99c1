# SPDX-License-Identifier: GPL-3.0-or-later
"""Test definitions are executed once for all runs of a batch that have the same settings: finding
out how long each run takes is most of what planning does."""

from __future__ import annotations

from typing import Any

# Settings that differ from run to run and that no definition looks at.
_OF_THE_RUN = ("TIME", "TITLE", "DATA_FILENAME")
_OF_THE_BATCH = "BATCH_"


class Definitions:
    """Settings, as text -> what the definition made of them."""

    def __init__(self) -> None:
        self._made: dict[str, dict[str, Any]] = {}

    def load(self, settings: Any) -> None:
        """Give settings what the definition of their test gives them, as their load_test()."""
        before = _relevant(settings)
        key = repr(before)
        if key in self._made:
            settings.__dict__.update(self._made[key])
            return
        settings.load_test(informational=True)
        self._made[key] = {name: value for name, value in _relevant(settings).items()
                           if name not in before or before[name] is not value}


def _relevant(settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.__dict__.items()
            if name not in _OF_THE_RUN and not name.startswith(_OF_THE_BATCH)}
