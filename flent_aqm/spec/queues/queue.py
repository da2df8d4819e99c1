# SPDX-License-Identifier: GPL-3.0-or-later
"""The records that a row of the table of queues consists of: a queue, its parameters, its look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from flent_aqm.spec.queues.units import Clock, Scalar
from flent_aqm.spec.queues.values import (
    Choice,
    Expected,
    Graded,
    NamedTime,
    Overhead,
    Reader,
    as_requested,
    flag,
    rate_bytes_per_s,
    size_bytes,
    time_ns,
    time_or_packets,
    time_us,
)

Unit = Literal["", "packets", "packets_per_s", "bytes", "bytes_per_s", "ns", "us", "s", "percent"]

LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a queue: how it is read, sent to tc, and reported by the kernel."""

    # Function that converts the user's text to the number that tc sends. Raises ConfigError.
    read: Reader
    # Unit of the value that the kernel reports, because tc's JSON has none.
    unit: Unit = ""
    # The kernel's default as read() returns it. None: the report then leaves the parameter out.
    default: Scalar | None = None
    # Function that converts that number to the value that the kernel reports.
    kernel: Callable[[Scalar], Expected] = as_requested
    # Name in tc's JSON, "" for the same name. None: tc doesn't report the parameter.
    reported: str | None = ""
    # The report leaves out a value of 0 or False.
    only_if_set: bool = False
    # tc accepts 0 for this parameter. Otherwise tc or the kernel refuses 0, or takes it for the
    # default.
    zero: bool = False
    # Older versions of tc print the time in ms, whatever its size.
    also_ms: bool = False
    # tc's words, with {} for the value. "": the name and the value. For a switch: its words for yes
    # and no, separated by /.
    words: str = ""
    # The default is always sent to tc, because it differs from the kernel's.
    sent: bool = False

    def tc_words(self, name: str, text: str) -> str:
        """Return tc's words for a checked text, with times in a unit and sizes in bytes."""
        value = self.read(text)
        if isinstance(self.read, Graded):
            return self.read.tc_word(value)
        if isinstance(value, bool):
            return self.words.split("/")[0 if value else 1]
        if isinstance(self.read, Overhead) and isinstance(value, str):
            return value
        return (self.words or f"{name} {{}}").format(self._sent_text(value, text))

    def _sent_text(self, value: Scalar, text: str) -> str:
        """Return a value as text that tc reads in the intended unit."""
        if self.read is time_us or isinstance(self.read, NamedTime):
            return f"{value}us"
        if self.read is time_or_packets and not isinstance(value, str):
            return f"{value}us"
        if self.read is time_ns:
            return f"{value}ns"
        if self.read is rate_bytes_per_s:
            return f"{int(value) * 8}bit"
        return str(value) if self.read is size_bytes else text

    def tc_switches(self) -> dict[str, str]:
        """Return tc's words that need no value -> the user's text for each."""
        if self.read is flag:
            return {word: text for word, text in zip(self.words.split("/"), ("yes", "no"),
                                                     strict=True) if word}
        if isinstance(self.read, Graded):
            return dict(zip(self.read.words, ("no", "yes", self.read.degree), strict=True))
        if isinstance(self.read, (NamedTime, Overhead)) or self._is_only_words:
            assert isinstance(self.read, (Choice, NamedTime, Overhead))
            return {word: word for word in self.read.words}
        return {}

    def tc_name(self, name: str) -> str:
        """Return tc's word before the value, "" if the words for the values need none."""
        if self.read is flag or isinstance(self.read, Graded) or self._is_only_words:
            return ""
        return (self.words or name).split()[0]

    @property
    def _is_only_words(self) -> bool:
        """True if tc has a word for each value, and none for the parameter."""
        return isinstance(self.read, Choice) and self.words == "{}"


@dataclass(frozen=True)
class Attachment:
    """The place of a queue, on which its report depends."""

    # Rate at the queue.
    rate_bit_s: int
    # The queue itself shapes to this rate.
    shapes: bool
    clock: Clock
    # Transmit queue length of its device, in packets.
    txqueuelen: int


@dataclass(frozen=True)
class Look:
    """Look of a queue in plots."""

    # Colour in the form #rrggbb.
    colour: str
    # Marker, line style and hatch as matplotlib names them.
    marker: str
    line: LineStyle
    hatch: str

    def lined(self, line: LineStyle) -> Look:
        """Return the same look with another line style."""
        return replace(self, line=line)


# Name in tc's JSON -> value that the kernel has to report.
Report = dict[str, Expected]


def _as_is(report: Report, requested: Mapping[str, Scalar], place: Attachment) -> Report:
    """Return the report unchanged."""
    return report


def _nothing_more(requested: Mapping[str, str], rate_bit_s: int, shapes: bool) -> Mapping[str, str]:
    """Return the requested parameters unchanged."""
    return requested


@dataclass(frozen=True)
class Queue:
    """A queue. Everything that differs between queues is in this record."""

    # Name of the qdisc.
    kind: str
    # Name -> parameter.
    parameters: Mapping[str, Parameter]
    look: Look
    # Requirements of kernel and tc, for people.
    requires: str
    # Function (requested parameters, rate in bit/s, whether the queue itself shapes) -> all
    # parameters for tc, by name.
    complete: Callable[[Mapping[str, str], int, bool], Mapping[str, str]] = _nothing_more
    # Function (report, requested values, place) -> report, for values that depend on the place or
    # on each other.
    adapt: Callable[[Report, Mapping[str, Scalar], Attachment], Report] = _as_is
    # Packets wait in classes, which router/tc/words.py creates.
    classes: bool = False
    # The qdisc has classes of its own, which come and go with it.
    shows_classes: bool = False
    # Other features of the kernel that it needs, by their names in router_hooks/probe.sh.
    parts: tuple[str, ...] = ()
    # Word in tc's text output -> name and value of the parameter in tc's JSON.
    switches: Mapping[str, tuple[str, Scalar]] | None = None
    # Regular expression for a further line that old versions of tc print. Its named groups are
    # parameters.
    old_text: str = ""
    # Name -> unit of reported values that can't be requested.
    derived: Mapping[str, Unit] | None = None
    # Names of reported values that don't depend on the request.
    ignored: frozenset[str] = frozenset()
    # Offsets, in bytes, of the counters of ECN marks in the kernel's statistics.
    marks_at: tuple[int, ...] = ()
    # tc of Debian 12 doesn't know this queue.
    needs_new_tc: bool = False
    # For a queue for devices with several transmit queues: the kind of qdisc on each of them, which
    # has settings of its own.
    per_queue: str = ""
    # The queue is of a user's own kernel, and may report more than was requested.
    external: bool = False

    def tc_words(self, requested: Mapping[str, str], rate_bit_s: int, shapes: bool) -> str:
        """Return tc's words after device, parent and handle.

        Args:
            requested: requested parameters as text.
            rate_bit_s: rate at the queue.
            shapes: the queue itself shapes to this rate.
        """
        sent = {name: str(parameter.default) for name, parameter in self.parameters.items()
                if parameter.sent and name not in requested}
        words = [self.kind]
        for name, text in self.complete({**requested, **sent}, rate_bit_s, shapes).items():
            parameter = self.parameters.get(name)
            words.append(parameter.tc_words(name, text) if parameter else f"{name} {text}".strip())
        return " ".join(filter(None, words))

    def values(self, requested: Mapping[str, str]) -> dict[str, Scalar]:
        """Return the numbers of all parameters, requested or default. Parameters without a default
        are left out."""
        values = {name: parameter.read(requested[name]) if name in requested else parameter.default
                  for name, parameter in self.parameters.items()}
        return {name: value for name, value in values.items() if value is not None}

    def report(self, requested: Mapping[str, str], place: Attachment) -> Report:
        """Return the values that the kernel has to report, by their names in tc's JSON."""
        values = self.values(requested)
        report: Report = {}
        for name, value in values.items():
            parameter = self.parameters[name]
            if parameter.reported is not None and (value or not parameter.only_if_set):
                report[parameter.reported or name] = parameter.kernel(value)
        return self.adapt(report, values, place)
