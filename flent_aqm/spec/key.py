# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines Key and Record: all that is known about a key of a batch, in one place.

A record of settings is a frozen dataclass whose fields are keys. The field has the key's name, type
and default. Its metadata is a Key, which says how the value is read, and has texts for the
documents. The check of a batch, the options of `flent-aqm lab`, the columns of exports and
docs/reference/keys.md are derived from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self

from flent_aqm.base.errors import ConfigError, about
from flent_aqm.base.switch import switch

Settings = Mapping[str, object]


@dataclass(frozen=True)
class Key:
    """Properties of a key of a batch: how its value is read, and its texts for the documents.

    Attributes:
        values: possible values of the key, as text for the documents.
        help: effect of the key, as text for the documents.
        check: function (name of the key, given value) -> converted value. It raises ConfigError for
            a wrong value, and isn't called if no value is given.
        reader: function (name of the key, all given settings) -> converted value, in place of
            `check`, for a key whose value depends on other keys.
        unit: unit of the value, "" for none.
        both: name of the key that sets both directions, such as "rate_mbps". "" for none.
        is_paired: True if a key for one direction needs that of the other direction.
        shown: name in the documents of a field that stands for several keys, such as "aqm_NAME". ""
            for the key's own name.
        usual: text for the documents that says what holds if the key isn't given. "none" for
            nothing. None if `default` shows it.
        default: value if the key isn't given. With a `reader`, the reader decides that.
        is_file: True if the value is the path of a file. Only the file's name is part of a run's
            identity.
        label: name of the setting in pages of results. "" for the key's name.
        heading: heading of the setting's column in the table after a sweep, which has to be narrow.
            "" for the key's name with blanks.
        format: function (value as text) -> text that names the setting and its value, such as "100
            Mbit/s". None for the key's name and the value.
    """

    values: str
    help: str
    check: Callable[[str, object], object] | None = None
    reader: Callable[[str, Settings], object] | None = None
    unit: str = ""
    both: str = ""
    is_paired: bool = False
    shown: str = ""
    usual: str | None = None
    default: object = None
    is_file: bool = False
    label: str = ""
    heading: str = ""
    format: Callable[[str], str] | None = None

    @property
    def default_words(self) -> str:
        """What holds if the key isn't given, as text for the documents: `usual` if it is told, else
        `default`, as a number ("1" and "0" for a switch) or with backquotes around. "" if there is
        none."""
        if self.usual is not None:
            return "" if self.usual == "none" else self.usual
        if isinstance(self.default, (bool, int, float)):
            return f"{self.default:g}"
        return f"`{self.default}`" if self.default else ""


def key(default: object, values: str, help_: str,
        check: Callable[[str, object], object] | None = None, **more: Any) -> Any:
    """Return a field of a dataclass that is a key of a batch. Its Key is in the field's metadata,
    under "key".

    Args:
        default: value if the key isn't given.
        values: possible values, as text for the documents.
        help_: effect of the key, as text for the documents.
        check: function (name of the key, given value) -> converted value. None with a `reader`.
        more: other fields of Key, by name.
    """
    row = Key(values, help_, check, default=default, **more)
    return field(default=default, metadata={"key": row})


def with_or_without(name: str) -> Callable[[str], str]:
    """Return a function for Key.format: it turns the value of a switch into "with NAME" or "no
    NAME". A value that is neither on nor off becomes "NAME VALUE".

    name: name of the switch for readers.
    """
    def text(value: str) -> str:
        """Return "with NAME" or "no NAME" for a value of the switch, "NAME VALUE" if it is neither
        on nor off. NAME is the `name` given to with_or_without()."""
        on = switch(value)
        return f"{name} {value}" if on is None else f"{'with' if on else 'no'} {name}"

    return text


@dataclass(frozen=True)
class Record:
    """Base class of records of settings, whose fields are keys. The parts in flent_aqm/parts define
    records of their own.

    Attributes:
        heading: heading of the record's table in the documents.
    """

    heading: ClassVar[str]

    @classmethod
    def rows(cls) -> Mapping[str, Key]:
        """Return a Key for each field of the record, by the field's name."""
        return {record_field.name: record_field.metadata["key"] for record_field in fields(cls)}

    @classmethod
    def read(cls, settings: Settings) -> Self:
        """Check and convert settings of a batch or command line into this record. Combinations of
        values are left to refuse_odd_pairs(), unless a reader of the record checks them.

        settings: all given settings, key -> value, text or already converted. Keys of other records
        are ignored, except those that a reader needs. None and "" count as not given.

        Raises ConfigError that names the key.
        """
        return cls(**dict(_checked_values(cls, settings)))

    @property
    def is_there(self) -> bool:
        """True if any field differs from its default, which means that the user uses what the
        record describes."""
        return bool(self.differing())

    @property
    def replaces_modem(self) -> bool:
        """True if the record's model takes the modem's place in the path. False unless a subclass
        overrides it."""
        return False

    @property
    def only_in_lab(self) -> str:
        """The message for the user of a testbed in real time that can't have the record's settings,
        with {testbed} in place of the testbed's name. "" if it can, or if none of them is set.
        Always "" unless a subclass overrides it."""
        return ""

    @property
    def timer_latency_ns(self) -> int:
        """Extra delay in ns of the timers of qdiscs, with which the lab's kernel is booted. 0
        unless a subclass overrides it."""
        return 0

    @property
    def router_has_cards(self) -> bool:
        """True if the router has modelled network cards and a processor, whose counters are
        sampled. False unless a subclass overrides it."""
        return False

    def not_with_topology(self) -> Mapping[str, bool]:
        """Return a mapping for the settings of this record that can't be combined with a topology:
        name of the setting for the message -> True if it has a value that excludes a topology.
        Empty unless a subclass overrides it."""
        return {}

    def described(self) -> Mapping[str, object]:
        """Return the metadata that a data file has in addition to the record's keys, by name:
        descriptions of the record's models. Empty unless a subclass overrides it."""
        return {}

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError if the record's values can't be combined, with each other or with other
        records. The default accepts everything.

        scenario: the Scenario of which this record is a part.
        """

    def differing(self) -> dict[str, object]:
        """Return the values of the fields that differ from their defaults, by key."""
        return {record_field.name: value for record_field in fields(self)
                if (value := getattr(self, record_field.name)) != record_field.default}


def _checked_values(cls: type[Record], settings: Settings) -> Iterator[tuple[str, object]]:
    """Yield the name and the checked value of each field of a record, as _checked_value() returns
    it.

    Raises ConfigError that names the key.
    """
    for record_field in fields(cls):
        row: Key = record_field.metadata["key"]
        with about(record_field.name):
            yield record_field.name, _checked_value(row, record_field, settings)


def _checked_value(row: Key, record_field: Field[Any], settings: Settings) -> object:
    """Return the checked and converted value of a key: what its reader returns if it has one, else
    what its check makes of the value given for the key, or for the one for both directions, else
    the field's default. Raises ConfigError that names the key by which the value is given, and for
    0 or no says how to have none, if that is what holds without the key.

    Args:
        row: the properties of the key.
        record_field: the field of the record.
        settings: all given settings, by key.
    """
    if row.reader:
        return row.reader(record_field.name, settings)
    assert row.check, f"{record_field.name} has neither check nor reader"
    given_name, value = named_value(record_field.name, row.both, settings)
    if value is None:
        return record_field.default
    try:
        return row.check(record_field.name, value)
    except ConfigError as fault:
        # The check gets the key of the direction. The user has to see the key that was given.
        text = str(fault)
        if given_name != record_field.name and text.startswith(f"{record_field.name}: "):
            text = f"{given_name}{text.removeprefix(record_field.name)}"
        if row.usual == "none" and switch(value) is False:
            text += ("; both directions have one, or neither: for none, leave out the keys of both "
                     f"and {row.both}" if row.is_paired and given_name != row.both else
                     f"; for none in this direction, give the other direction's key, and not "
                     f"{row.both}" if given_name != row.both and settings.get(row.both) else
                     "; leave the key out or empty for none")
        raise ConfigError(text, fault.key) from None


def named_value(name: str, both: str, settings: Settings) -> tuple[str, object]:
    """Return the key by which a value is given, and the value.

    Args:
        name: the key for one direction, which has precedence.
        both: the key for both directions, "" if there is none.
        settings: all given settings, by key.

    If neither key is given, or both are empty, the result is `name` and None.
    """
    for given_name in (name, both):
        if settings.get(given_name) not in (None, ""):
            return given_name, settings[given_name]
    return name, None
