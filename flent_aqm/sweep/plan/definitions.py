# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads each test definition once for all runs of a batch that have the same settings.

Computing the duration of each run takes most of the time of planning.
"""

from __future__ import annotations

from typing import Any

# Settings that differ from run to run and that no definition uses.
_OF_THE_RUN = ("TIME", "TITLE", "DATA_FILENAME")
_OF_THE_BATCH = "BATCH_"


class Definitions:
    """Caches the effects of test definitions: settings before, as text -> settings that the
    definition changed."""

    def __init__(self) -> None:
        self._made: dict[str, dict[str, Any]] = {}

    def load(self, settings: Any) -> None:
        """Load the definition of the settings' test into the settings, as Flent's load_test()
        does."""
        before = _relevant(settings)
        key = repr(before)
        if key in self._made:
            settings.__dict__.update(self._made[key])
            return
        settings.load_test(informational=True)
        self._made[key] = {name: value for name, value in _relevant(settings).items()
                           if name not in before or before[name] is not value}


def _relevant(settings: Any) -> dict[str, Any]:
    """Return the settings that a definition may use."""
    return {name: value for name, value in settings.__dict__.items()
            if name not in _OF_THE_RUN and not name.startswith(_OF_THE_BATCH)}
