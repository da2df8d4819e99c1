# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of the testbed for one run: a checked, frozen record of records.

Batch files, command lines and data files give text; everything past this module
works with a Scenario, so a wrong value is found before anything starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.part import parts
from flent_aqm.spec.batch_keys.hosts import Hosts
from flent_aqm.spec.batch_keys.lab import Lab
from flent_aqm.spec.batch_keys.path import DUMBBELL, Path
from flent_aqm.spec.batch_keys.router import Router
from flent_aqm.spec.key import Key, Record

# Those of parts, by name.
_OF_PARTS: Mapping[str, type[Record]] = {
    name: kind for part in parts().values() for name, kind in part.records.items()}


@dataclass(frozen=True)
class Scenario:
    """Requested settings of one run. Each field of a record is a key of a batch. of_parts: records
    of parts, in the order of their names."""

    lab: Lab = Lab()
    router: Router = Router()
    path: Path = Path()
    hosts: Hosts = Hosts()
    of_parts: tuple[Record, ...] = tuple(kind() for kind in _OF_PARTS.values())

    @property
    def behind_ssh(self) -> bool:
        """Whether the router is a real one."""
        return self.lab.testbed.startswith("ssh://")

    @property
    def replaces_modem(self) -> bool:
        """Whether a part's model stands in the modem's place."""
        return any(record.replaces_modem for record in self.of_parts)

    @property
    def router_has_cards(self) -> bool:
        """Whether the router's cards and processor take their time."""
        return any(record.router_has_cards for record in self.of_parts)

    def record(self, name: str) -> Any:
        """Return one of the records."""
        if name in _OF_PARTS:
            return self.of_parts[list(_OF_PARTS).index(name)]
        return getattr(self, name)

    def described(self) -> dict[str, object]:
        """Return what a data file says of models beside their keys."""
        return {name: value for record in self._records()
                for name, value in record.described().items()}

    def as_dict(self) -> dict[str, object]:
        """Return all settings by key, fit for JSON: complete, so that a data file keeps its meaning
        whatever later versions have for defaults."""
        return _fit_for_json({one.name: getattr(record, one.name)
                              for record in self._records() for one in fields(record)})

    def differing(self) -> dict[str, object]:
        """Return the settings that differ from their defaults, fit for JSON."""
        return _fit_for_json({name: value for record in self._records()
                              for name, value in record.differing().items()})

    def identity(self) -> dict[str, object]:
        """Return what tells this run from others: a new key leaves the seeds of runs without it as
        they are."""
        values = self.differing()
        return values | {key: os.path.basename(str(value)) for key, value in values.items()
                         if KEYS[key].is_file}

    def as_json(self) -> str:
        """Return the scenario as one line of JSON, the form in which a run's tools get it."""
        return json.dumps(self.differing())

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """Return the reverse of as_json, checked like any other input."""
        try:
            settings = json.loads(text)
        except ValueError:
            raise ConfigError(f"a scenario is expected as JSON, not as {text[:60]!r}") from None
        if not isinstance(settings, dict):
            raise ConfigError(f"a scenario is expected as a JSON object, not as {text[:60]!r}")
        return cls.from_settings(settings)

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> Scenario:
        """Check and convert what a batch or command line gives.

        Keys are those of the records, `rate_mbps` and the like for both directions, `aqm_NAME` for
        a parameter of the AQM and `router_NAME` for one of the router's model; keys of others are
        left alone. Raises ConfigError that names the key and the value.
        """
        records: dict[str, Any] = {name: kind.read(settings) for name, kind in RECORDS.items()}
        scenario = cls._of(records)
        scenario._refuse_odd_pairs()
        return scenario

    def but(self, **changes: object) -> Scenario:
        """Return the scenario with other values, by key, which are right already."""
        changed: dict[str, Any] = {}
        for name, kind in RECORDS.items():
            own: dict[str, Any] = {key: changes.pop(key) for key in kind.rows() if key in changes}
            changed[name] = replace(self.record(name), **own) if own else self.record(name)
        if changes:
            raise TypeError(f"no such key: {', '.join(changes)}")
        return self._of(changed)

    @classmethod
    def _of(cls, records: Mapping[str, Any]) -> Scenario:
        return cls(**{name: record for name, record in records.items() if name not in _OF_PARTS},
                   of_parts=tuple(records[name] for name in _OF_PARTS))

    def _records(self) -> Iterator[Record]:
        return (self.record(name) for name in RECORDS)

    def _refuse_odd_pairs(self) -> None:
        """Settings that are right alone and can't be had together."""
        for record in self._records():
            record.refuse_odd_pairs(self)
        path = self.path
        if (path.modem_down_mbps is None) != (path.modem_up_mbps is None) \
                and not self.replaces_modem:
            raise ConfigError("modem: one of modem_down_mbps and modem_up_mbps is missing; give "
                              "both, or modem_mbps", "modem")
        # What reads it needs this module.
        if path.topology != DUMBBELL:
            from flent_aqm.spec.topology.pairs import refuse_odd_pairs

            refuse_odd_pairs(self)


RECORDS: Mapping[str, type[Record]] = {
    **{one.name: type(one.default) for one in fields(Scenario)  # type: ignore[misc]
       if one.name != "of_parts"}, **_OF_PARTS}
# All keys by name, in the order of the records.
KEYS: Mapping[str, Key] = {name: row for kind in RECORDS.values()
                           for name, row in kind.rows().items()}


def _fit_for_json(values: Mapping[str, object]) -> dict[str, object]:
    """Parameters of queues are pairs in a frozen record, and a mapping in JSON."""
    return {key: dict(value) if isinstance(value, tuple) else value
            for key, value in values.items()}


def scenario_in_namespace() -> Scenario | None:
    """Return the scenario that this process measures for, if its router is a network namespace of
    this machine, so that its queues can be read, and its rate changed, while a test runs."""
    text = os.environ.get(environment.SCENARIO)
    scenario = None if text is None else Scenario.from_json(text)
    return scenario if scenario and scenario.lab.testbed in ("virtual", "netns") else None
