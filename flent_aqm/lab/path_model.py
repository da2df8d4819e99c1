# SPDX-License-Identifier: GPL-3.0-or-later
"""Models of a path that parts add to the virtual lab: a link, a channel.

A part's record has the keys (spec/key.py), and its PathModel what the guest gets and has counted.
Its script, in the part's folder guest/, is run inside as

    sh SCRIPT modem       in the modem's place, in its namespace, where the record replaces it
    sh SCRIPT topology    when a topology is set up, in the client's namespace
    sh SCRIPT begin       together with the run's command
    sh SCRIPT end         after it; what is printed is what report() gets
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from flent_aqm.base.part import load, parts
from flent_aqm.spec.scenario import Scenario

_COUNTER = re.compile(r"([a-z_]+)=([0-9]{1,20})")


class PathModel(Protocol):
    """name: of its object in a data file, and of the file with what was counted; script: of the
    guest, None for a model that is variables alone and reports nothing."""

    name: str
    script: Path | None

    def write(self, folder: Path, scenario: Scenario, in_guest: str) -> Mapping[str, str]:
        """Write files into the lab's folder, which the guest sees as in_guest, and return the
        guest's variables. Raise ConfigError for what can't be modelled."""

    def report(self, scenario: Scenario, counted: str) -> Mapping[str, object]:
        """Return what the model was, and what it did, for the data file. counted: what its script
        printed in the end; it was written inside, so anything may be in it."""

    def refuse(self, scenario: Scenario, length_s: float) -> None:
        """Raise ConfigError for a run of that length which can't be had."""

    def files(self, requested: Mapping[str, Any], reported: object
              ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each key of a data file's settings that names a file, with what the report says of
        it: `trace` (its name), `size_bytes`, `sha256`."""


def every_model() -> Iterator[PathModel]:
    """Yield those of all parts."""
    for part in parts().values():
        for place in part.path_models.values():
            yield load(place)()


def path_models(scenario: Scenario) -> Iterator[PathModel]:
    """Yield those that a scenario asks for; no other part's modules are imported."""
    for part in parts().values():
        for name, place in part.path_models.items():
            if scenario.record(name).is_there:
                yield load(place)()


def counters(words: Iterable[str]) -> dict[str, int]:
    """Return the numbers of words such as `packets=7`, and leave out any others."""
    return {pair[1]: int(pair[2]) for pair in map(_COUNTER.fullmatch, words) if pair}
