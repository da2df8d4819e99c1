# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads each test definition once for all runs of a batch that have the same settings.

Otherwise loading the definitions, which compute the duration of each run, would take most of the
time of planning.
"""

from __future__ import annotations

from glob import glob
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.spec.definitions import SUFFIX, our_tests

# Settings that differ from run to run and that no definition uses.
_OF_THE_RUN = ("TIME", "TITLE", "DATA_FILENAME")
_OF_THE_BATCH = "BATCH_"


class Definitions:
    """Caches the effects of test definitions on Flent's settings, so that load() executes a
    definition only once for all runs with the same settings. Times, names and keys of the batch
    (BATCH_…) may differ between them."""

    def __init__(self) -> None:
        # Settings before, as text -> settings that the definition changed.
        self._changes_by_settings: dict[str, dict[str, Any]] = {}

    def load(self, settings: Any) -> None:
        """Change Flent's settings in place as the definition of their test does, like Flent's
        load_test(informational=True): hosts and programs aren't looked up, and missing hosts or
        test parameters are no error. The values that it sets are shared by all settings that were
        the same before, as _relevant() compares them. Raises RuntimeError if the test is unknown or
        its definition raises an exception.

        settings: Flent's settings, with the test's name in NAME.
        """
        before = _relevant(settings)
        key = repr(before)
        if key in self._changes_by_settings:
            settings.__dict__.update(self._changes_by_settings[key])
            return
        settings.load_test(informational=True)
        self._changes_by_settings[key] = {name: value for name, value in _relevant(settings).items()
                                          if name not in before or before[name] is not value}


def _relevant(settings: Any) -> dict[str, Any]:
    """Return the settings that a definition may use, by name: all but those of the single run
    (TIME, TITLE, DATA_FILENAME) and of the batch (BATCH_…). The values are not copied."""
    return {name: value for name, value in settings.__dict__.items()
            if name not in _OF_THE_RUN and not name.startswith(_OF_THE_BATCH)}


def refuse_unknown_test(name: str) -> None:
    """Raise ConfigError about the key test_name if neither Flent nor this package has a definition
    of this name. A path is accepted here: Flent's load_test() refuses it."""
    from flent import testenv

    folders = testenv.test_paths() if hasattr(testenv, "test_paths") else [testenv.TEST_PATH]
    known = {*our_tests(), *(Path(file).stem for folder in folders
                             for file in glob(f"{folder}/*{SUFFIX}"))}
    if name not in known and name == Path(name).name:
        raise ConfigError(f"test_name: unknown test {name[:60]!r}{did_you_mean(name, known)}; "
                          "flent --list-tests lists all", "test_name")
