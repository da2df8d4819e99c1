# SPDX-License-Identifier: GPL-3.0-or-later
"""Interface by which parts add models of a path to the virtual lab, such as a link or a channel.

The settings of a model are in the part's record of batch keys (spec/key.py). The PathModel writes
the files for the guest and reads the model's counters. The model's script is in the part's folder
guest/, and is run inside as

    sh SCRIPT modem       in the modem's namespace, if the record replaces the modem
    sh SCRIPT topology    after a topology is set up, in the client's namespace
    sh SCRIPT begin       up to a second before the run's command or test, see full_second.pl
    sh SCRIPT end         after the command; report() gets the text that it prints
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from flent_aqm.base.part import load, parts
from flent_aqm.spec.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COUNTER = re.compile(r"([a-z_]+)=([0-9]{1,20})")


class PathModel(Protocol):
    """A model of a part of the path, such as a link or a channel.

    Attributes:
        name: name of the model's object in a data file, and of the file with the script's output.
        script: script for the guest. None for a model that only sets variables and reports nothing.
    """

    name: str
    script: Path | None

    def write(self, folder: Path, scenario: Scenario, in_guest: str) -> Mapping[str, str]:
        """Write the model's files to the lab's folder, and return shell variables for the guest.

        Args:
            folder: the lab's folder on the host.
            scenario: the settings of the run.
            in_guest: path of that folder inside the guest.

        Raises:
            ConfigError: if the settings can't be modelled.
        """

    def report(self, scenario: Scenario, counted: str) -> Mapping[str, object]:
        """Return the model's settings and counters for the data file. It is called after the run,
        for models with a script.

        Args:
            scenario: the settings of the run.
            counted: text that the model's script printed in the steps begin and end, without white
                space at its ends, "" if it printed nothing. It was written inside the guest, so it
                may be any text.

        Raises ConfigError if the model can't be computed any more, such as from a trace that was
        moved during the run.
        """

    def refuse(self, scenario: Scenario, length_s: float) -> None:
        """Raise ConfigError if the model can't be used for a run of this length in seconds."""

    def files(self, requested: Mapping[str, Any], reported: object
              ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each batch key that names a file, with the report on that file.

        Args:
            requested: the settings of a data file.
            reported: the model's object of the data file, None if there is none.

        Yields:
            Key and report, as the data file has it: `trace` (name of the file), `size_bytes` and
                `sha256`, and others. Any of them may be missing or wrong.
        """

    def own_delays_ns(self, scenario: Scenario, reported: object, direction: str,
                      arrived_ns: NDArray[Any], left_ns: NDArray[Any]) -> NDArray[Any] | None:
        """Return how much of each packet's time in the modem's place is the model's own delay,
        which packets have without any queue, too, in ns. None if the model isn't in the modem's
        place, or its counters are missing.

        Args:
            scenario: the settings of the run.
            reported: the model's object of the data file, None if there is none.
            direction: "down" or "up".
            arrived_ns, left_ns: when each packet arrived and left, in ns since the epoch.
        """


def every_model() -> Iterator[PathModel]:
    """Yield a new path model of each kind that parts have."""
    for part in parts().values():
        for locator in part.path_models.values():
            yield load(locator)()


def path_models(scenario: Scenario) -> Iterator[PathModel]:
    """Yield a new path model of each kind that the scenario uses. The modules of other models are
    not imported."""
    for part in parts().values():
        for name, locator in part.path_models.items():
            if scenario.record(name).is_there:
                yield load(locator)()


def counters(words: Iterable[str]) -> dict[str, int]:
    """Return the counters in words such as `packets=7`, by name. Words of another form are
    ignored."""
    return {pair[1]: int(pair[2]) for pair in map(_COUNTER.fullmatch, words) if pair}
