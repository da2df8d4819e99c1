# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of all that can be asked for, so that a name which nobody reads is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.part import parts
from flent_aqm.spec.flent_settings import TEST_PARAMETERS
from flent_aqm.spec.key import Key
from flent_aqm.spec.scenario import KEYS

# What shapes the testbed. Those without a direction are for both.
SCENARIO_KEYS = frozenset({*KEYS, *(row.both for row in KEYS.values() if row.both)})
# Each parameter of an AQM, of a shaper, or of a router's model, is checked with it.
QUEUE_PREFIXES = ("aqm_", "up_aqm_", "shaper_")
PARAMETER_PREFIXES = (*QUEUE_PREFIXES, "router_")
# Of the sweep, which reads them.
SWEEP_KEYS: Mapping[str, Key] = {
    "jobs": Key("1 to 1024", "parallel runs; in real time always 1", usual="one per core"),
    "summary_by": Key("keys", "settings by which the table at the end groups runs",
                      usual="all that differ"),
    **{name: row for part in parts().values() for name, row in part.sweep_keys.items()},
}
# Of Flent's batch sections besides its settings; `for_…` as well.
BATCH_KEYS = frozenset({
    "test_name", "output_path", "filename_extra", "commands", "repetitions", "pause", "abstract",
    "disabled", "enabled", "inherits", "debug_log"})
# Flent sets these for each run, whatever a batch says.
SET_BY_FLENT = frozenset({"batch_time", "repetition"})
COMMAND_KEYS = frozenset({
    "exec", "type", "essential", "kill", "extra_commands", "abstract", "disabled", "enabled",
    "inherits"})
SEE = "; see docs/reference/keys.md"


def refuse_unknown_scenario_keys(where: str, names: Iterable[str]) -> None:
    """Raise ConfigError for the first name that doesn't shape the testbed, where nothing else
    can stand, with the one that is most like it."""
    for name in names:
        if name not in SCENARIO_KEYS and not name.startswith(PARAMETER_PREFIXES):
            raise ConfigError(f"{where}: unknown key {name!r}"
                              f"{did_you_mean(name, SCENARIO_KEYS) or SEE}")


def refuse_unknown_parameters(where: str, names: Iterable[str]) -> None:
    """Raise ConfigError for a test parameter that none of our tests reads."""
    for name in names:
        if name not in TEST_PARAMETERS:
            raise ConfigError(f"{where}: unknown test parameter {name!r}"
                              f"{did_you_mean(name, TEST_PARAMETERS)}")
