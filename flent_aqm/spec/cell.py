# SPDX-License-Identifier: GPL-3.0-or-later
"""One cell of a batch's matrix in one repetition: all that is needed to run it anywhere."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import Scenario

# Puts the scenario's queue onto the router, and starts the scenario's program there; the testbed
# has written it (lab/guest_files.py). Before a batch's own commands, where the batch's
# `commands` don't name it.
ROUTER_HOOK = "router"
ROUTER_COMMAND: Mapping[str, Mapping[str, str]] = {ROUTER_HOOK: {
    "exec": f'. "${environment.APPLY}"', "type": "pre", "essential": "True"}}

# In the guest; the batch's own would get into random choices of its Flent.
BATCH_NAME = "cell"

_UNEXPANDED = re.compile(r"\$\{[^}]*\}?")


@dataclass(frozen=True)
class Cell:
    """What runs: the test, its Flent settings, the hook commands, the testbed's scenario.

    Those four decide the run. What else there is never reaches the guest, so that the run
    is the same under any name, in any batch, in any folder.

    settings: by the names in flent_settings.SETTINGS, without defaults; commands: name ->
    the section's keys (exec, type, essential); name: the data file's name without suffix;
    folder: where it goes; metadata: what the batch says of the run (BATCH_TIME, TITLE and
    the like); length_s: how long Flent expects it to last; debug_log: whether the output of
    all tools is kept.
    """

    name: str
    folder: Path
    test_name: str
    scenario: Scenario
    settings: Mapping[str, object]
    commands: Mapping[str, Mapping[str, str]]
    metadata: Mapping[str, object]
    length_s: float
    debug_log: bool = False

    @property
    def test_parameters(self) -> Mapping[str, object]:
        """Flent's test parameters of the run."""
        parameters = self.settings.get("TEST_PARAMETERS", {})
        return parameters if isinstance(parameters, Mapping) else {}

    @property
    def runs_router_hook_only(self) -> bool:
        """Whether the batch has no commands of its own, which no data file could hold."""
        return self.commands == ROUTER_COMMAND

    @property
    def as_metadata(self) -> dict[str, object]:
        """All that decides the run, but for the scenario; commands by their kind alone."""
        return {"test": self.test_name, "settings": dict(self.settings),
                "commands": "router" if self.runs_router_hook_only else "others"}

    @property
    def data_file(self) -> Path:
        """Where the finished run is found."""
        return self.folder / f"{self.name}.flent.gz"

    @property
    def log_file(self) -> Path:
        """What Flent and the guest had to say."""
        return self.folder / f"{self.name}.log"

    @property
    def capture_file(self) -> Path:
        """Headers of packets, of a test with keep_pcap."""
        return self.folder / f"{self.name}.pcap"

    @property
    def tools_log_file(self) -> Path:
        """All that the run's tools have printed."""
        return self.folder / f"{self.name}.debug.log.gz"


def derive_seed(test_name: str, scenario: Scenario, repetition: object) -> int:
    """Return a seed for a run that was given none: the same for the same run anywhere, and on any
    kernel, so that what differs between two kernels is their doing alone.

    Below 2^53, so that every JSON reader keeps it exactly.
    """
    requested = {**scenario.but(kernel=STOCK).identity(), "seed": None}
    identity = json.dumps([test_name, requested, str(repetition)], sort_keys=True)
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8]) >> 11


def refuse_unexpanded(where: str, values: Mapping[str, object]) -> None:
    """Flent leaves an unknown ${name} in place, and a shell would make it empty.

    Raises ConfigError that names the place and the variable.
    """
    for key, value in values.items():
        match = _UNEXPANDED.search(str(value))
        if match:
            raise ConfigError(f"{where}: {key} contains {match.group()}, which no argument or "
                              "setting defines; add it to the batch, or correct its name", key)


def as_batch_file(cell: Cell) -> str:
    """Return the cell as a batch file of its own, with one batch of one run."""
    lines = [f"[Batch::{BATCH_NAME}]", f"test_name = {cell.test_name}", "filename_extra = cell",
             # Always: each line of the log is a look at the clock.
             "debug_log = yes"]
    if cell.commands:
        lines.append(f"commands = {', '.join(cell.commands)}")
    for name, keys in cell.commands.items():
        lines += ["", f"[Command::{name}]"]
        lines += [f"{key} = {_one_line(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _one_line(value: str) -> str:
    # An indented line goes on with the value of the line before it (configparser).
    return value.replace("\n", "\n    ")
