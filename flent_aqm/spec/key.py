# SPDX-License-Identifier: GPL-3.0-or-later
"""A key of a batch: one row for all that is known of it.

A record of settings is a frozen dataclass whose fields are keys: the field has the key's name, type
and default, its row how it is read and what the documents say. The check of a batch, the options of
`flent-aqm lab`, the columns of exports and docs/reference/keys.md follow from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self

from flent_aqm.base.errors import about

Settings = Mapping[str, object]


@dataclass(frozen=True)
class Key:
    """values, help: what it takes and does, for the documents; unit: of its number.

    check: from its name and what was given to its value, raises ConfigError; reader: the same from
    all that was given, for a key that depends on others. both: the key that sets both directions.
    shown: its name in the documents, where it stands for several; usual: what its absence means,
    where the default doesn't tell; is_file: it is a path, and the same wherever the file lies.
    """

    values: str
    help: str
    check: Callable[[str, object], object] | None = None
    reader: Callable[[str, Settings], object] | None = None
    unit: str = ""
    both: str = ""
    shown: str = ""
    usual: str | None = None
    default: object = None
    is_file: bool = False

    @property
    def default_words(self) -> str:
        """What holds where the key is not given; "" for none."""
        if self.usual is not None:
            return "" if self.usual == "none" else self.usual
        if isinstance(self.default, (bool, int, float)):
            return f"{self.default:g}"
        return f"`{self.default}`" if self.default else ""


def key(default: object, values: str, help_: str,
        check: Callable[[str, object], object] | None = None, **more: Any) -> Any:
    """Return a dataclass's field that is a key; more: of Key."""
    row = Key(values, help_, check, default=default, **more)
    return field(default=default, metadata={"key": row})


@dataclass(frozen=True)
class Record:
    """Some settings of a run; each field is a key. heading: of their table in the documents."""

    heading: ClassVar[str]

    @classmethod
    def rows(cls) -> Mapping[str, Key]:
        """Return the keys by name."""
        return {one.name: one.metadata["key"] for one in fields(cls)}

    @classmethod
    def read(cls, settings: Settings) -> Self:
        """Check and convert what a batch or command line gives; keys of others are left alone.
        Raises ConfigError that names the key and the value."""
        return cls(**dict(_values(cls, settings)))

    @property
    def is_there(self) -> bool:
        """Whether any of its keys is given."""
        return bool(self.differing())

    @property
    def replaces_modem(self) -> bool:
        """Whether something stands in the modem's place."""
        return False

    @property
    def only_in_lab(self) -> str:
        """Why a testbed in real time can't have what is asked for, {testbed} for its name; "" where
        it can."""
        return ""

    @property
    def timer_latency_ns(self) -> int:
        """How late the lab's kernel fires timers of qdiscs."""
        return 0

    @property
    def router_has_cards(self) -> bool:
        """Whether the router has cards and a processor that take their time, which are sampled."""
        return False

    def not_with_topology(self) -> Mapping[str, bool]:
        """Return settings that a network of other form has no place for -> whether they are given.
        """
        return {}

    def described(self) -> Mapping[str, object]:
        """Return what a data file says of it beside its keys."""
        return {}

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError where values don't go with other records'."""

    def differing(self) -> dict[str, object]:
        """Return the fields that differ from their defaults."""
        return {one.name: value for one in fields(self)
                if (value := getattr(self, one.name)) != one.default}


def _values(cls: type[Record], settings: Settings) -> Iterator[tuple[str, object]]:
    for one in fields(cls):
        row: Key = one.metadata["key"]
        with about(one.name):
            yield one.name, _value(row, one, settings)


def _value(row: Key, one: Field[Any], settings: Settings) -> object:
    if row.reader:
        return row.reader(one.name, settings)
    assert row.check, f"{one.name} has neither check nor reader"
    _, value = named_value(one.name, row.both, settings)
    return one.default if value is None else row.check(one.name, value)


def named_value(name: str, both: str, settings: Settings) -> tuple[str, object]:
    """Return by which of two names a key is given, its own or that for both directions, and the
    value; None for nothing, or for what a batch leaves empty."""
    for one in (name, both):
        if settings.get(one) not in (None, ""):
            return one, settings[one]
    return name, None
