# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines Scenario: all requested settings of the testbed for one run, checked and immutable.

Batch files, command lines and data files contain text. All other modules work with a Scenario, so a
wrong value is found before anything starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.json_text import json_text
from flent_aqm.base.part import parts
from flent_aqm.spec.batch_keys.hosts import Hosts
from flent_aqm.spec.batch_keys.lab import TestbedSettings
from flent_aqm.spec.batch_keys.path import DUMBBELL, Path
from flent_aqm.spec.batch_keys.programs import Programs
from flent_aqm.spec.batch_keys.router import Router
from flent_aqm.spec.key import Key, Record

# Records that parts add, by name.
_OF_PARTS: Mapping[str, type[Record]] = {
    name: kind for part in parts().values() for name, kind in part.records.items()}


@dataclass(frozen=True)
class Scenario:
    """Requested settings of the testbed for one run, grouped in records. Each field of a record is
    a key of a batch, or stands for several, as aqm_parameters for the keys aqm_NAME.

    Attributes:
        of_parts: records that parts of the package add (base/part.py), in the order of the parts'
            names.
    """

    lab: TestbedSettings = TestbedSettings()
    router: Router = Router()
    path: Path = Path()
    hosts: Hosts = Hosts()
    programs: Programs = Programs()
    of_parts: tuple[Record, ...] = tuple(kind() for kind in _OF_PARTS.values())

    @property
    def behind_ssh(self) -> bool:
        """True if the router is a real one, reached by ssh."""
        return self.lab.testbed.startswith("ssh://")

    @property
    def replaces_modem(self) -> bool:
        """True if the model of a part, such as a cellular link, takes the modem's place."""
        return any(record.replaces_modem for record in self.of_parts)

    @property
    def router_has_cards(self) -> bool:
        """True if the router has modelled network cards and a processor, whose counters are
        sampled."""
        return any(record.router_has_cards for record in self.of_parts)

    def record(self, name: str) -> Any:
        """Return a record of the scenario. Raises AttributeError for an unknown name.

        name: "lab", "router", "path", "hosts", "programs", or the name of a record that a part
            adds.
        """
        if name in _OF_PARTS:
            return self.of_parts[list(_OF_PARTS).index(name)]
        return getattr(self, name)

    def described(self) -> dict[str, object]:
        """Return the descriptions of models that a data file has in addition to the requested
        settings: name of the entry -> description, from all records. Empty if no record has any."""
        return {name: value for record in self._records()
                for name, value in record.described().items()}

    def as_dict(self) -> dict[str, object]:
        """Return all settings, by the names of the records' fields, in a form that JSON can hold.
        Given parameters of queues and of the shaper are mappings, name -> text. Defaults of fields
        are included, so that a data file keeps its meaning when a later version changes them."""
        return _fit_for_json({record_field.name: getattr(record, record_field.name)
                              for record in self._records() for record_field in fields(record)})

    def differing(self) -> dict[str, object]:
        """Return the settings that differ from their defaults, by key, in the form of as_dict()."""
        return _fit_for_json({name: value for record in self._records()
                              for name, value in record.differing().items()})

    def identity(self) -> dict[str, object]:
        """Return the settings that differ from their defaults, by key, in the form of as_dict(), to
        tell runs apart. Of a value that is a file's path, only the file's name counts, not the
        folder.

        The seed of a run that is given none is derived from the result without seed and kernel, and
        from test and repetition (spec/cell.py). Defaults are left out, so that a new key doesn't
        change the seeds of runs without it.
        """
        values = self.differing()
        return values | {key: os.path.basename(str(value)) for key, value in values.items()
                         if KEYS[key].is_file}

    def as_json(self) -> str:
        """Return the settings that differ from their defaults as one line of JSON. Programs of the
        run get the scenario in this form."""
        return json_text(self.differing())

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """Return the scenario from the result of as_json(), the value of the environment variable
        for it. Raises ConfigError if the text isn't a JSON object, if a value in it isn't valid, or
        if values can't be combined. Unknown keys are ignored."""
        try:
            settings = json.loads(text)
        except ValueError:
            settings = None
        if not isinstance(settings, dict):
            raise ConfigError(f"{environment.SCENARIO}: {text[:60]!r} is not a JSON object; leave "
                              "the variable as flent-aqm sets it, and unset outside of a run")
        return cls.from_settings(settings)

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> Scenario:
        """Return the scenario of settings from a batch, command line or data file, checked and
        converted.

        settings: key -> given value. Keys are those of the records, keys for both directions such
        as `rate_mbps`, `aqm_NAME` and `up_aqm_NAME` for a parameter of the AQM, `shaper_NAME` for
        one of the shaper, and `router_NAME` for one of the router's model. Other keys are ignored.
        None and "" count as not given.

        Raises ConfigError that names the key, for a value that isn't valid and for values that
        can't be combined.
        """
        records: dict[str, Any] = {name: kind.read(settings) for name, kind in RECORDS.items()}
        scenario = cls._from_records(records)
        scenario._refuse_odd_pairs()
        return scenario

    def but(self, **changes: object) -> Scenario:
        """Return a copy of the scenario with some values changed. They aren't checked. Raises
        TypeError for an unknown key.

        changes: new values by the records' fields, in the form that these have. Keys for both
            directions, such as rate_mbps, are unknown here.
        """
        changed: dict[str, Any] = {}
        for name, kind in RECORDS.items():
            own: dict[str, Any] = {key: changes.pop(key) for key in kind.rows() if key in changes}
            changed[name] = replace(self.record(name), **own) if own else self.record(name)
        if changes:
            raise TypeError(f"no such key: {', '.join(changes)}")
        return self._from_records(changed)

    @classmethod
    def _from_records(cls, records: Mapping[str, Any]) -> Scenario:
        """Return the scenario that consists of these records.

        records: all names of RECORDS -> record.
        """
        return cls(**{name: record for name, record in records.items() if name not in _OF_PARTS},
                   of_parts=tuple(records[name] for name in _OF_PARTS))

    def _records(self) -> Iterator[Record]:
        """Return an iterator over all records, those of parts last."""
        return (self.record(name) for name in RECORDS)

    def _refuse_odd_pairs(self) -> None:
        """Raise ConfigError for settings that are valid alone but can't be combined: those that a
        record refuses, a modem in one direction only (unless a part's model takes its place), and
        those that the topology excludes."""
        for record in self._records():
            record.refuse_odd_pairs(self)
        path = self.path
        if (path.modem_down_mbps is None) != (path.modem_up_mbps is None) \
                and not self.replaces_modem:
            there, missing = ("modem_up_mbps", "modem_down_mbps") \
                if path.modem_down_mbps is None else ("modem_down_mbps", "modem_up_mbps")
            raise ConfigError(f"{there}: {missing} is missing beside it; give both, or modem_mbps",
                              there)
        # Imported here, because topology/pairs.py imports this module.
        if path.topology != DUMBBELL:
            from flent_aqm.spec.topology.pairs import refuse_odd_pairs

            refuse_odd_pairs(self)


# Name -> class of all records.
RECORDS: Mapping[str, type[Record]] = {
    **{one.name: type(one.default) for one in fields(Scenario)  # type: ignore[misc]
       if one.name != "of_parts"}, **_OF_PARTS}
# All keys by name, in the order of the records.
KEYS: Mapping[str, Key] = {name: row for kind in RECORDS.values()
                           for name, row in kind.rows().items()}


def _fit_for_json(values: Mapping[str, object]) -> dict[str, object]:
    """Return a copy of settings in a form that JSON can hold: parameters of queues and of the
    shaper, which are tuples of pairs, become mappings."""
    return {key: dict(value) if isinstance(value, tuple) else value
            for key, value in values.items()}


def scenario_in_namespace() -> Scenario | None:
    """Return the scenario of the run that this process belongs to, if its router is a network
    namespace of this machine (testbed virtual or netns). Otherwise, and outside of a run, return
    None.

    In such a namespace, tools can read the router's queues and change its rate during a test.
    Raises ConfigError if the environment variable with the scenario isn't valid.
    """
    text = os.environ.get(environment.SCENARIO)
    scenario = None if text is None else Scenario.from_json(text)
    return scenario if scenario and not scenario.behind_ssh else None
