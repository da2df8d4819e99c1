# SPDX-License-Identifier: GPL-3.0-or-later
"""The record Cell: a cell of a batch's matrix in one repetition, with all that is needed to run it
on any machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.json_text import json_text
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import Scenario

# Flent's command that puts the scenario's queue on the router, and starts the scenario's program
# there. The testbed writes its script (lab/guest_files.py). It runs before a batch's own commands,
# unless the batch's key `commands` gives it another place.
ROUTER_HOOK = "router"
ROUTER_COMMAND: Mapping[str, Mapping[str, str]] = {ROUTER_HOOK: {
    "exec": f'. "${environment.APPLY}"', "type": "pre", "essential": "True"}}

# Name of the batch in the guest. The batch's real name would influence random choices of the
# guest's Flent.
BATCH_NAME = "cell"

_UNEXPANDED = re.compile(r"\$\{[^}]*\}?")


@dataclass(frozen=True)
class Cell:
    """A run: the test, its Flent settings, the hook commands, the testbed's scenario, and how to
    store it.

    Only the first four decide the result of the run. The other fields never reach the guest, so
    that a run is the same under any name, in any batch, in any folder.
    """

    # Name of the data file without suffix.
    name: str
    # Folder of the data file.
    folder: Path
    test_name: str
    scenario: Scenario
    # Flent's settings, by the names in flent_settings.SETTINGS. Defaults are left out.
    settings: Mapping[str, object]
    # Name of a hook command -> the keys of its section: exec, type, essential.
    commands: Mapping[str, Mapping[str, str]]
    # Metadata from the batch, such as BATCH_TIME and TITLE.
    metadata: Mapping[str, object]
    # Duration of the run that Flent expects.
    length_s: float
    # True: the output of all tools is kept.
    debug_log: bool = False

    @property
    def test_parameters(self) -> Mapping[str, object]:
        """Flent's test parameters of the run."""
        parameters = self.settings.get("TEST_PARAMETERS", {})
        return parameters if isinstance(parameters, Mapping) else {}

    @property
    def runs_router_hook_only(self) -> bool:
        """True if the batch has no commands of its own. A data file can't hold such commands."""
        return self.commands == ROUTER_COMMAND

    @property
    def as_metadata(self) -> dict[str, object]:
        """Everything that decides the run except the scenario, for the data file. Commands are only
        described as "router" or "others"."""
        return {"test": self.test_name, "settings": dict(self.settings),
                "commands": "router" if self.runs_router_hook_only else "others"}

    @property
    def data_file(self) -> Path:
        """Path of the run's data file."""
        return self.folder / f"{self.name}.flent.gz"

    @property
    def log_file(self) -> Path:
        """Path of the output of Flent and of the guest."""
        return self.folder / f"{self.name}.log"

    @property
    def capture_file(self) -> Path:
        """Path of the captured packet headers, which exists for a test with keep_pcap."""
        return self.folder / f"{self.name}.pcap"

    @property
    def tools_log_file(self) -> Path:
        """Path of the output of all tools of the run, which exists with debug_log."""
        return self.folder / f"{self.name}.debug.log.gz"


def derive_seed(test_name: str, scenario: Scenario, repetition: object) -> int:
    """Return the seed of a run whose batch gives none.

    The same run has the same seed on any machine and with any kernel, so that differences between
    two kernels are caused by the kernels alone. The seed is below 2^53, so that every JSON reader
    keeps it exactly.
    """
    requested = {**scenario.but(kernel=STOCK).identity(), "seed": None}
    identity = json_text([test_name, requested, str(repetition)], sort_keys=True)
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8]) >> 11


def refuse_unexpanded(where: str, values: Mapping[str, object]) -> None:
    """Raise ConfigError if a value contains a ${name} that Flent didn't expand.

    Flent leaves unknown names in place, and a shell would replace them with nothing.

    where: place of the values in the batch, for the message.
    """
    for key, value in values.items():
        match = _UNEXPANDED.search(str(value))
        if match:
            raise ConfigError(f"{where}: {key} contains {match.group()}, which no argument or "
                              "setting defines; add it to the batch, or correct its name", key)


def as_batch_file(cell: Cell) -> str:
    """Return the text of a batch file that contains this run only."""
    lines = [f"[Batch::{BATCH_NAME}]", f"test_name = {cell.test_name}", "filename_extra = cell",
             # Always on, because each line of the log reads the clock.
             "debug_log = yes"]
    if cell.commands:
        lines.append(f"commands = {', '.join(cell.commands)}")
    for name, keys in cell.commands.items():
        lines += ["", f"[Command::{name}]"]
        lines += [f"{key} = {_one_line(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _one_line(value: str) -> str:
    """Return the value with indented continuation lines, which configparser reads as the same
    value."""
    # configparser appends an indented line to the value of the line before it.
    return value.replace("\n", "\n    ")
