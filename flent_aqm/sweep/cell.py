# SPDX-License-Identifier: GPL-3.0-or-later
"""One cell of a batch's matrix in one repetition: all that is needed to run it anywhere."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.errors import ConfigError
from flent_aqm.scenario import Scenario

# Keys of a batch section that shape the matrix or the files, and say nothing of the run.
_OF_THE_MATRIX = {
    "abstract", "disabled", "enabled", "inherits", "filename_extra", "output_path", "pause",
    "repetitions", "repetition", "batch_time", "commands", "test_name",
}
_UNEXPANDED = re.compile(r"\$\{[^}]*\}?")


@dataclass(frozen=True)
class Cell:
    """What runs: the test, its Flent settings, the hook commands, the testbed's scenario.

    name: the data file's name without suffix; folder: where it goes; keys: the batch
    section's Flent settings; commands: name -> the section's keys (exec, type, essential);
    options: words for Flent's command line; metadata: what the batch as a whole
    says of the run (BATCH_TIME and the like); length_s: how long Flent expects it to last.
    """

    name: str
    folder: Path
    batch_name: str
    test_name: str
    scenario: Scenario
    keys: Mapping[str, str]
    commands: Mapping[str, Mapping[str, str]]
    options: Sequence[str]
    metadata: Mapping[str, object]
    length_s: float

    @property
    def data_file(self) -> Path:
        """Where the finished run is found."""
        return self.folder / f"{self.name}.flent.gz"

    @property
    def log_file(self) -> Path:
        """What Flent and the guest had to say."""
        return self.folder / f"{self.name}.log"

    @property
    def tools_log_file(self) -> Path:
        """All that the run's tools have printed."""
        return self.folder / f"{self.name}.debug.log.gz"


def flent_keys(section: Mapping[str, object]) -> dict[str, str]:
    """The keys of an expanded batch section that the run itself needs, as text."""
    return {key: str(value) for key, value in section.items()
            if key not in _OF_THE_MATRIX and not key.startswith("for_")}


def derive_seed(test_name: str, scenario: Scenario, repetition: object) -> int:
    """A seed for a run that was given none: the same for the same run anywhere.

    Below 2^53, so that every JSON reader keeps it exactly.
    """
    identity = json.dumps([test_name, {**scenario.identity(), "seed": None}, str(repetition)],
                          sort_keys=True)
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8]) >> 11


def refuse_unexpanded(where: str, values: Mapping[str, object]) -> None:
    """Flent leaves an unknown ${name} in place, and a shell would make it empty.

    Raises ConfigError that names the place and the variable.
    """
    for key, value in values.items():
        found = _UNEXPANDED.search(str(value))
        if found:
            raise ConfigError(f"{where}: {key} contains {found.group()}, which no argument or "
                              "setting defines; add it to the batch, or correct its name")


def as_batch_file(cell: Cell) -> str:
    """The cell as a batch file of its own, with one batch of one run."""
    lines = [f"[Batch::{cell.batch_name}]", f"test_name = {cell.test_name}",
             "filename_extra = cell"]
    lines += [f"{key} = {_one_line(value)}" for key, value in cell.keys.items()]
    if cell.commands:
        lines.append(f"commands = {', '.join(cell.commands)}")
    for name, keys in cell.commands.items():
        lines += ["", f"[Command::{name}]"]
        lines += [f"{key} = {_one_line(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _one_line(value: str) -> str:
    # An indented line goes on with the value of the line before it (configparser).
    return value.replace("\n", "\n    ")
