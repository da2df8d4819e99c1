# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of all keys and test parameters, so that unknown names are refused.

A key itself is defined as a field in batch_keys/, or in keys.py of a part; those of the sweep are
listed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.part import parts
from flent_aqm.spec.flent_settings import SETTINGS, TEST_PARAMETERS
from flent_aqm.spec.key import Key
from flent_aqm.spec.queues.shapers import SHAPER_PARAMETERS
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import KEYS, Scenario

# Keys of the scenario. Keys without a direction set both directions.
SCENARIO_KEYS = frozenset({*KEYS, *(row.both for row in KEYS.values() if row.both)})
# Prefixes of keys for parameters. The record of the AQM, shaper or router model checks the names.
QUEUE_PREFIXES = ("aqm_", "up_aqm_", "shaper_")
PARAMETER_PREFIXES = (*QUEUE_PREFIXES, "router_")
# Keys for the parameters of this package's queues and shapers. Queues of the user have others.
PARAMETER_KEYS = frozenset({
    *(f"{prefix}{name}" for prefix in ("aqm_", "up_aqm_") for queue in QUEUES.values()
      for name in queue.parameters),
    *(f"shaper_{name}" for parameters in SHAPER_PARAMETERS.values() for name in parameters)})
# Keys that the sweep reads.
SWEEP_KEYS: Mapping[str, Key] = {
    "jobs": Key("1 to 1024", "parallel runs; in real time always 1", usual="one per core"),
    "summary_by": Key("keys", "settings by which the table at the end groups runs",
                      usual="all that differ"),
    **{name: row for part in parts().values() for name, row in part.sweep_keys.items()},
}
# Keys of Flent's batch sections other than its settings. Keys `for_…` are allowed as well.
BATCH_KEYS = frozenset({
    "test_name", "output_path", "filename_extra", "commands", "repetitions", "pause", "abstract",
    "disabled", "enabled", "inherits", "debug_log"})
# Keys that Flent overwrites for each run.
SET_BY_FLENT = frozenset({"batch_time", "repetition"})
# Keys of batches that are no keys of the scenario.
_OF_BATCHES_ALONE = frozenset({*SWEEP_KEYS, *BATCH_KEYS, *SET_BY_FLENT, "title",
                               *(name.lower() for name in SETTINGS)})
COMMAND_KEYS = frozenset({
    "exec", "type", "essential", "kill", "extra_commands", "abstract", "disabled", "enabled",
    "inherits"})
SEE = "; see docs/reference/keys.md"


def refuse_unknown_scenario_keys(where: str, names: Iterable[str]) -> None:
    """Raise ConfigError for the first name that is no key of a scenario. The message says so of
    other keys of batches, and otherwise has the most similar key, if there is one.

    Args:
        where: place of the names, such as a section of the batch, with which the message begins.
        names: names of keys. Names that begin with a prefix of parameters, such as `aqm_`, are
            accepted here, because the records check them.
    """
    for name in names:
        if name in _OF_BATCHES_ALONE - SCENARIO_KEYS:
            near = " (a line's delay is base_delay_ms)" if name == "delay" else ""
            raise ConfigError(f"{where}: {name} is a key of batches for Flent or the sweep, not "
                              f"for the lab{near}; leave it out")
        if name not in SCENARIO_KEYS and not name.startswith(PARAMETER_PREFIXES):
            raise ConfigError(f"{where}: unknown key {name!r}"
                              f"{did_you_mean(name, SCENARIO_KEYS) or SEE}")


def keys_of_directions(both: str) -> list[str]:
    """Return the batch keys of the single directions that a key for both sets, such as
    rate_down_mbps and rate_up_mbps for rate_mbps. Empty for any other key."""
    return [key for key, row in KEYS.items() if both and row.both == both]


def refuse_unused_rates(where: str, scenario: Scenario, names: Iterable[str]) -> None:
    """Raise ConfigError if one of the names is a key of the shaper's rate, and the scenario has no
    shaper, and no RED, whose thresholds follow from the rate. A batch may have such runs beside
    others, but a person who gives a rate for a single run expects it to count.

    Args:
        where: place of the names, with which the message begins.
        scenario: settings of the run.
        names: keys that the user gave.
    """
    if scenario.router.shaper != "none" or "red" in scenario.router.queues:
        return
    for name in names:
        if name in ("rate_mbps", *keys_of_directions("rate_mbps")):
            raise ConfigError(f"{where}: {name} has no effect with shaper = none, which limits "
                              f"nothing; leave {name} out"
                              + ("" if scenario.router.takes_no_shaper else
                                 ", or give shaper = htb"))


def refuse_unknown_parameters(where: str, names: Iterable[str]) -> None:
    """Raise ConfigError for the first name that is no known test parameter
    (flent_settings.TEST_PARAMETERS).

    where: place of the names, such as a section of the batch, with which the message begins.
    """
    for name in names:
        if name not in TEST_PARAMETERS:
            raise ConfigError(f"{where}: unknown test parameter {name!r}"
                              f"{did_you_mean(name, TEST_PARAMETERS) or SEE}")
