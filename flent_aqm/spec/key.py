# SPDX-License-Identifier: GPL-3.0-or-later
"""The records Key and Record: everything that is known about a key of a batch, in one place.

A record of settings is a frozen dataclass whose fields are keys. The field has the key's name, type
and default. Its metadata is a Key, which says how the value is read, and has texts for the
documents. The check of a batch, the options of `flent-aqm lab`, the columns of exports and
docs/reference/keys.md are derived from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self

from flent_aqm.base.errors import about
from flent_aqm.base.switch import switch

Settings = Mapping[str, object]


@dataclass(frozen=True)
class Key:
    """Properties of a key of a batch: how its value is read, and its texts for the documents."""

    # Possible values and effect of the key, for the documents.
    values: str
    help: str
    # Function (name, given value) -> value, which raises ConfigError. Not called if no value is
    # given.
    check: Callable[[str, object], object] | None = None
    # Function (name, all given settings) -> value, in place of `check`, for a key that depends on
    # others.
    reader: Callable[[str, Settings], object] | None = None
    # Unit of the value.
    unit: str = ""
    # The key that sets both directions.
    both: str = ""
    # Name in the documents, for a key that stands for several.
    shown: str = ""
    # Meaning of the key's absence, if the default doesn't show it.
    usual: str | None = None
    default: object = None
    # The value is a file's path. Only the file's name is part of a run's identity.
    is_file: bool = False
    # Name of the setting in pages of results. "" for the key's name.
    label: str = ""
    # Heading of the setting's column in the table after a sweep, which has to be narrow. "" for the
    # key's name with blanks.
    heading: str = ""
    # Function (value as text) -> text that names the setting and its value, such as "100 Mbit/s".
    # None for the key's name and the value.
    format: Callable[[str], str] | None = None

    @property
    def default_words(self) -> str:
        """Value that holds if the key isn't given, for the documents. "" for none."""
        if self.usual is not None:
            return "" if self.usual == "none" else self.usual
        if isinstance(self.default, (bool, int, float)):
            return f"{self.default:g}"
        return f"`{self.default}`" if self.default else ""


def key(default: object, values: str, help_: str,
        check: Callable[[str, object], object] | None = None, **more: Any) -> Any:
    """Return a field of a dataclass that is a key.

    Args:
        default: value if the key isn't given.
        values: Key.values.
        help_: Key.help.
        check: Key.check.
        more: other fields of Key.
    """
    row = Key(values, help_, check, default=default, **more)
    return field(default=default, metadata={"key": row})


def with_or_without(name: str) -> Callable[[str], str]:
    """Return a Key.format for a switch called `name`: "with NAME", "no NAME", or the name and the
    value if the value is neither on nor off."""
    def text(value: str) -> str:
        on = switch(value)
        return f"{name} {value}" if on is None else f"{'with' if on else 'no'} {name}"

    return text


@dataclass(frozen=True)
class Record:
    """Base class of records of settings, whose fields are keys. Parts add their own."""

    # Heading of the record's table in the documents.
    heading: ClassVar[str]

    @classmethod
    def rows(cls) -> Mapping[str, Key]:
        """Return name -> Key of the record's fields."""
        return {one.name: one.metadata["key"] for one in fields(cls)}

    @classmethod
    def read(cls, settings: Settings) -> Self:
        """Check and convert settings of a batch or command line into this record. Keys of other
        records are ignored.

        Raises ConfigError that names the key and the value.
        """
        return cls(**dict(_values(cls, settings)))

    @property
    def is_there(self) -> bool:
        """True if any field differs from its default."""
        return bool(self.differing())

    @property
    def replaces_modem(self) -> bool:
        """True if the record's model replaces the modem."""
        return False

    @property
    def only_in_lab(self) -> str:
        """Why a testbed in real time can't have these settings, with {testbed} in place of its
        name. "" if it can."""
        return ""

    @property
    def timer_latency_ns(self) -> int:
        """Delay in ns of the timers of qdiscs, with which the lab's kernel is booted."""
        return 0

    @property
    def router_has_cards(self) -> bool:
        """True if the router has modelled network cards and a processor, whose counters are
        sampled."""
        return False

    def not_with_topology(self) -> Mapping[str, bool]:
        """Return setting -> whether it is given, for settings that can't be combined with a
        topology."""
        return {}

    def described(self) -> Mapping[str, object]:
        """Return a description of the record for the data file, in addition to its keys."""
        return {}

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError if the record's values can't be combined, with each other or with other
        records of `scenario`."""

    def differing(self) -> dict[str, object]:
        """Return name -> value of the fields that differ from their defaults."""
        return {one.name: value for one in fields(self)
                if (value := getattr(self, one.name)) != one.default}


def _values(cls: type[Record], settings: Settings) -> Iterator[tuple[str, object]]:
    """Yield name and checked value of each field of a record. Raises ConfigError."""
    for one in fields(cls):
        row: Key = one.metadata["key"]
        with about(one.name):
            yield one.name, _value(row, one, settings)


def _value(row: Key, one: Field[Any], settings: Settings) -> object:
    """Return the checked value of a key, its default if it isn't given. Raises ConfigError."""
    if row.reader:
        return row.reader(one.name, settings)
    assert row.check, f"{one.name} has neither check nor reader"
    _, value = named_value(one.name, row.both, settings)
    return one.default if value is None else row.check(one.name, value)


def named_value(name: str, both: str, settings: Settings) -> tuple[str, object]:
    """Return the name by which a key is given, `name` or `both` (for both directions), and its
    value. The value is None if it isn't given or empty."""
    for one in (name, both):
        if settings.get(one) not in (None, ""):
            return one, settings[one]
    return name, None
