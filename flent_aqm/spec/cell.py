# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines Cell: one repetition of a batch's cell, with all that a run needs on any machine."""

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

# Name of the test that runs the key client_program.
PROGRAM = "program"
# Name of the batch in the guest. The batch's real name would influence random choices of the
# guest's Flent.
BATCH_NAME = "cell"

_UNEXPANDED = re.compile(r"\$\{[^}]*\}?")


@dataclass(frozen=True)
class Cell:
    """A run: the test, its Flent settings, the hook commands, the testbed's scenario, and how to
    store it.

    Only test_name, scenario, settings and commands decide the result of the run. The other fields
    never reach the guest, so that a run is the same under any name, in any batch, in any folder.

    Attributes:
        name: name of the data file without its suffix.
        folder: folder of the data file.
        test_name: name of Flent's test definition.
        scenario: settings of the testbed.
        settings: Flent's settings, by the names in flent_settings.SETTINGS. Defaults are left out.
        commands: name of a hook command -> those of the keys exec, type, essential and kill that
            its section in the batch has, with their values.
        metadata: metadata from the batch, such as BATCH_TIME and TITLE.
        length_s: duration of the run that Flent expects, in s.
        debug_log: True if the output of all tools is kept.
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
        """Flent's test parameters of the run, by name. Empty if it has none."""
        parameters = self.settings.get("TEST_PARAMETERS", {})
        return parameters if isinstance(parameters, Mapping) else {}

    @property
    def runs_router_hook_only(self) -> bool:
        """True if the only command of the run is the one that sets up the router, unchanged.
        Otherwise False: a data file can't hold other commands."""
        return self.commands == ROUTER_COMMAND

    @property
    def as_metadata(self) -> dict[str, object]:
        """Metadata with all that decides the run except the scenario: "test", "settings" and
        "commands". Commands are only described as "router" (the router's set-up alone) or
        "others"."""
        return {"test": self.test_name, "settings": dict(self.settings),
                "commands": "router" if self.runs_router_hook_only else "others"}

    @property
    def data_file(self) -> Path:
        """Path of the run's data file, NAME.flent.gz in its folder."""
        return self.folder / f"{self.name}.flent.gz"

    @property
    def log_file(self) -> Path:
        """Path of the log, NAME.log in the folder of the data file, to which each attempt adds the
        output of Flent, the guest, the tools' logs and the user's programs."""
        return self.folder / f"{self.name}.log"

    @property
    def capture_file(self) -> Path:
        """Path of the file with captured packet headers, NAME.pcap in the folder of the data file.
        A run writes it only with the test parameter keep_pcap."""
        return self.folder / f"{self.name}.pcap"

    @property
    def tools_log_file(self) -> Path:
        """Path of the compressed file with the output of all tools of the run, NAME.debug.log.gz in
        the folder of the data file. A run writes it only with debug_log."""
        return self.folder / f"{self.name}.debug.log.gz"


def derive_seed(test_name: str, scenario: Scenario, repetition: object) -> int:
    """Return the seed of a run whose batch gives none, a number below 2^53.

    It depends on the test, the scenario without its kernel and seed, and the repetition. The same
    run has the same seed on any machine and with any kernel, so that differences between two
    kernels are caused by the kernels alone. Over a link that plays a schedule it depends on the
    repetition only: the schedule is drawn from the seed, so runs of any queue, test or setting
    have the same link. Every JSON reader keeps a number below 2^53 exactly.

    Args:
        test_name: name of the test definition.
        scenario: settings of the testbed.
        repetition: number of the repetition in the batch.
    """
    requested = {**scenario.but(kernel=STOCK).identity(), "seed": None}
    what = ["link"] if scenario.replaces_modem else [test_name, requested]
    identity = json_text([*what, str(repetition)], sort_keys=True)
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8]) >> 11


def refuse_unexpanded(where: str, values: Mapping[str, object]) -> None:
    """Raise ConfigError if a value contains a ${name} that Flent didn't expand, or a ${ without }.

    Flent leaves unknown names in place, and a shell would replace them with nothing.

    Args:
        where: place of the values in the batch, with which the message begins.
        values: key -> value.
    """
    for key, value in values.items():
        match = _UNEXPANDED.search(str(value))
        if match:
            seen = match.group()
            raise ConfigError(f"{where}: {key} contains {seen[:60]}, which " + (
                "no argument or setting defines; add it to the batch, or correct its name, or "
                + _without_variable(key) if seen.endswith("}") else
                "has no } at its end; add it"), key)


def _without_variable(key: str) -> str:
    """Return what to do about a variable of the environment in the value of a key."""
    if key == "exec":
        return "write a shell's variable without braces"
    return ("give the value itself, because the environment's variables are not read here"
            + (", or start a shell (sh -c '…') and write its variable without braces"
               if key.endswith("_program") else ""))


def as_batch_file(cell: Cell) -> str:
    """Return the text of a batch file with the cell's test and its commands, for one run of Flent.
    The name of the batch is BATCH_NAME. The cell's settings are not in it: the caller passes
    them as options of Flent.
    """
    lines = [f"[Batch::{BATCH_NAME}]", f"test_name = {cell.test_name}", "filename_extra = cell",
             # Always on, because each line of the log reads the clock.
             "debug_log = yes"]
    if cell.commands:
        lines.append(f"commands = {', '.join(cell.commands)}")
    for name, keys in cell.commands.items():
        lines += ["", f"[Command::{name}]"]
        lines += [f"{key} = {_indent_continuation_lines(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _indent_continuation_lines(value: str) -> str:
    """Return a value, which may have several lines, for a line `key = value` of a batch file:
    continuation lines are indented, so that configparser reads them as parts of the same value."""
    # configparser appends an indented line to the value of the line before it.
    return value.replace("\n", "\n    ")
