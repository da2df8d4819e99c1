# SPDX-License-Identifier: GPL-3.0-or-later
"""What a row of the table of queues tells: a queue, its parameters, its look."""

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
    """One parameter of a queue.

    read: from text to the number that tc sends; unit: of what the kernel reports, as tc's
    JSON has none; default: that number, None for what is left out; kernel: from that number
    to what the kernel reports; reported: tc's name in its JSON, "" for the same one, None for
    what isn't reported; only_if_set: the report leaves out a switch that is off; zero: 0 is a
    value, which for most it isn't: tc leaves it out, and the default holds, or tc or the
    kernel refuses it; also_ms: older versions of tc print the time in ms, whatever its size;
    words: what tc takes, with {} for the value, "" for name and value, and of a switch its words
    for yes and no, with / between; sent: tc always gets the default, as it isn't the kernel's.
    """

    read: Reader
    unit: Unit = ""
    default: Scalar | None = None
    kernel: Callable[[Scalar], Expected] = as_requested
    reported: str | None = ""
    only_if_set: bool = False
    zero: bool = False
    also_ms: bool = False
    words: str = ""
    sent: bool = False

    def tc_words(self, name: str, text: str) -> str:
        """Return what tc takes for a checked text: times with their unit, sizes in bytes."""
        value = self.read(text)
        if isinstance(self.read, Graded):
            return self.read.tc_word(value)
        if isinstance(value, bool):
            return self.words.split("/")[0 if value else 1]
        if isinstance(self.read, Overhead) and isinstance(value, str):
            return value
        return (self.words or f"{name} {{}}").format(self._sent_text(value, text))

    def _sent_text(self, value: Scalar, text: str) -> str:
        """Return a value as tc reads it without a doubt of its unit."""
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
        """Return the words of tc that need no value, with what a key has for each."""
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
        """Return the word of tc before the value, "" for a parameter whose words need none."""
        if self.read is flag or isinstance(self.read, Graded) or self._is_only_words:
            return ""
        return (self.words or name).split()[0]

    @property
    def _is_only_words(self) -> bool:
        """Whether tc has a word for each value, and none for the parameter."""
        return isinstance(self.read, Choice) and self.words == "{}"


@dataclass(frozen=True)
class Attachment:
    """What a queue's report follows from besides its own parameters. txqueuelen: packets, of
    the device that it is on."""

    rate_bit_s: int
    shapes: bool
    clock: Clock
    txqueuelen: int


@dataclass(frozen=True)
class Look:
    """How a queue looks in every plot. colour: #rrggbb; marker, line and hatch as matplotlib
    names them."""

    colour: str
    marker: str
    line: LineStyle
    hatch: str

    def lined(self, line: LineStyle) -> Look:
        """Return the same with another line."""
        return replace(self, line=line)


Report = dict[str, Expected]


def _as_is(report: Report, requested: Mapping[str, Scalar], place: Attachment) -> Report:
    return report


def _nothing_more(requested: Mapping[str, str], rate_bit_s: int, shapes: bool) -> Mapping[str, str]:
    return requested


@dataclass(frozen=True)
class Queue:
    """One queue: everything that depends on which one it is.

    kind: the qdisc; parameters: by name; look: in plots; requires: of kernel and tc, for people;
    complete: from the asked parameters, the rate at its place and whether it shapes itself to
    all that tc gets, by name; adapt: changes the report by place and asked
    values; classes: packets are held by classes, which router/tc/words.py makes; shows_classes: it
    shows classes that come and go with it; parts: what else of the kernel it needs, as
    router_hooks/probe.sh names them; switches: words of tc's text that stand for a
    parameter's value, with tc's JSON name and value; old_text: a pattern of a further line
    that old versions of tc print, with parameters as its named groups; derived: units of what
    is reported and can't be asked for; ignored: what is reported and says nothing of what was
    requested; marks_at: where in its statistics the kernel counts
    packets marked with ECN, in bytes; needs_new_tc: Debian 12's tc doesn't know it;
    per_queue: it is for a device with several queues, and has a qdisc of this kind, with its own
    settings, on each of them;
    external: it is of a user's own kernel, and may report more than what was asked for.
    """

    kind: str
    parameters: Mapping[str, Parameter]
    look: Look
    requires: str
    complete: Callable[[Mapping[str, str], int, bool], Mapping[str, str]] = _nothing_more
    adapt: Callable[[Report, Mapping[str, Scalar], Attachment], Report] = _as_is
    classes: bool = False
    shows_classes: bool = False
    parts: tuple[str, ...] = ()
    switches: Mapping[str, tuple[str, Scalar]] | None = None
    old_text: str = ""
    derived: Mapping[str, Unit] | None = None
    ignored: frozenset[str] = frozenset()
    marks_at: tuple[int, ...] = ()
    needs_new_tc: bool = False
    per_queue: str = ""
    external: bool = False

    def tc_words(self, requested: Mapping[str, str], rate_bit_s: int, shapes: bool) -> str:
        """Return what tc takes behind device, parent and handle."""
        sent = {name: str(parameter.default) for name, parameter in self.parameters.items()
                if parameter.sent and name not in requested}
        words = [self.kind]
        for name, text in self.complete({**requested, **sent}, rate_bit_s, shapes).items():
            parameter = self.parameters.get(name)
            words.append(parameter.tc_words(name, text) if parameter else f"{name} {text}".strip())
        return " ".join(filter(None, words))

    def values(self, requested: Mapping[str, str]) -> dict[str, Scalar]:
        """Return the numbers of the parameters, without those that are left out."""
        values = {name: parameter.read(requested[name]) if name in requested else parameter.default
                  for name, parameter in self.parameters.items()}
        return {name: value for name, value in values.items() if value is not None}

    def report(self, requested: Mapping[str, str], place: Attachment) -> Report:
        """Return what the kernel has to report for the asked parameters, by tc's names."""
        values = self.values(requested)
        report: Report = {}
        for name, value in values.items():
            parameter = self.parameters[name]
            if parameter.reported is not None and (value or not parameter.only_if_set):
                report[parameter.reported or name] = parameter.kernel(value)
        return self.adapt(report, values, place)
