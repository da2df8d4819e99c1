# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the records of the table of queues: a queue, its parameters, its look in plots."""

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
    """A parameter of a queue: how it is read, sent to tc, and reported by the kernel.

    Attributes:
        read: function that converts the user's text to the value that tc sends, a number, switch or
            word. It raises ConfigError for a wrong text.
        unit: unit of the value that the kernel reports, because tc's JSON has none. "" for a number
            without unit, a switch or a word.
        default: the value if none is requested, as read() returns it: with `sent` this package's,
            otherwise the kernel's. None if it isn't a fixed value: the expected report then leaves
            the parameter out, unless Queue.adapt adds it.
        kernel: function that converts a value of read() to the value that the kernel reports, or to
            the set of values that it may report.
        reported: name in tc's JSON, "" for the parameter's own name. None if tc doesn't report the
            parameter.
        only_if_set: True if tc doesn't report a value of 0 or False.
        zero: True if tc accepts 0 for this parameter. Otherwise tc or the kernel refuses 0, or
            takes it for the default.
        also_ms: True if older versions of tc print the time in ms, whatever its size.
        words: tc's words, with {} for the value. "" for the name and the value. For a switch: its
            words for yes and no, separated by "/", of which one may be missing, as in "ecn/".
        sent: True if the default is always sent to tc, because it differs from the kernel's.
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
        """Return tc's words for the parameter with a value, such as "target 5000us" or "noecn".
        Times have a unit, sizes are in bytes, rates in bit/s. "" if tc has no word for the value of
        a switch.

        Args:
            name: name of the parameter.
            text: the value as the user wrote it, already checked.
        """
        value = self.read(text)
        if isinstance(self.read, Graded):
            return self.read.tc_word(value)
        if isinstance(value, bool):
            return self.words.split("/")[0 if value else 1]
        if isinstance(self.read, Overhead) and isinstance(value, str):
            return value
        return (self.words or f"{name} {{}}").format(self._sent_text(value, text))

    def _sent_text(self, value: Scalar, text: str) -> str:
        """Return the value for tc as text: times with their unit, sizes in bytes, rates in bit/s.
        Other values stay as the user wrote them.

        Args:
            value: result of read().
            text: the value as the user wrote it.
        """
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
        """Return tc's words that set this parameter without a value after them: word -> the value
        that it stands for, as a user would write it, such as {"ecn": "yes", "noecn": "no"}. Empty
        if the parameter has no such words."""
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
        """Return tc's word that precedes the value, "" if tc has a word for each value instead.

        name: name of the parameter.
        """
        if self.read is flag or isinstance(self.read, Graded) or self._is_only_words:
            return ""
        return (self.words or name).split()[0]

    @property
    def _is_only_words(self) -> bool:
        """True if the value is one of several words that tc takes alone, with no word for the
        parameter itself. False for switches."""
        return isinstance(self.read, Choice) and self.words == "{}"


@dataclass(frozen=True)
class Attachment:
    """The surroundings of a queue on its device, on which the values that the kernel reports
    depend.

    Attributes:
        rate_bit_s: rate of the queue's direction in bit/s, also if the queue is one of several that
            share it.
        shapes: True if the queue itself shapes to this rate.
        clock: clock of the kernel's packet scheduler.
        txqueuelen: transmit queue length of the queue's device, in packets.
    """

    rate_bit_s: int
    shapes: bool
    clock: Clock
    txqueuelen: int


@dataclass(frozen=True)
class Look:
    """Look of a queue in plots.

    Attributes:
        colour: colour in the form #rrggbb.
        marker: marker as matplotlib names it.
        line: line style as matplotlib has it: "-", or an offset and lengths of dashes and gaps.
        hatch: pattern of bars as matplotlib names it.
    """

    colour: str
    marker: str
    line: LineStyle
    hatch: str

    def lined(self, line: LineStyle) -> Look:
        """Return a copy of the look with another line style."""
        return replace(self, line=line)


# Name in tc's JSON -> value that the kernel has to report.
Report = dict[str, Expected]


def _unchanged_report(report: Report, requested: Mapping[str, Scalar],
                      attachment: Attachment) -> Report:
    """Return the report unchanged. This is the default of Queue.adapt."""
    return report


def _requested_only(requested: Mapping[str, str], rate_bit_s: int,
                    shapes: bool) -> Mapping[str, str]:
    """Return the requested parameters unchanged. This is the default of Queue.complete."""
    return requested


@dataclass(frozen=True)
class Queue:
    """A row of the table of queues. Everything that differs between queues is in this record.

    Attributes:
        kind: name of the qdisc.
        parameters: the parameters that users can set, by their names in this package.
        look: look of the queue in plots.
        requires: the required kernel and tc, as text for people.
        complete: function (requested parameters as text, rate in bit/s, True if the queue itself
            shapes) -> the parameters for tc, name -> text. It may add and leave out some.
        adapt: function (report, values of parameters, Attachment) -> report, for reported values
            that depend on the attachment or on each other.
        classes: True if packets wait in classes, which router/tc/words.py creates.
        shows_classes: True if the qdisc has classes of its own, which come and go with it.
        parts: other features of the kernel that the queue needs, by their names in
            router_hooks/probe.sh.
        switches: word without a value in tc's text output -> name and value of the parameter in
            tc's JSON. None if there are none.
        old_text: regular expression for a further line that old versions of tc print. Its named
            groups are parameters, by their names in tc's JSON. "" for none.
        derived: name in tc's JSON -> unit, for values that only `adapt` puts into the report. None
            if there are none.
        ignored: names in tc's JSON of reported values that are compared only if they were
            requested.
        marks_at: offsets, in bytes, of the counters of ECN marks, with 32 bits each, in the qdisc's
            own statistics (TCA_STATS_APP). Empty if there are none, and for CAKE, whose counters
            router/tc/dump.py finds.
        needs_new_tc: True if tc of Debian 12 doesn't know this queue.
        per_queue: for a queue for devices with several transmit queues, the kind of qdisc on each
            of them, which reports the same settings. "" for other queues.
        external: True if the queue is of a kernel that the user built. It may report more than was
            requested.
    """

    kind: str
    parameters: Mapping[str, Parameter]
    look: Look
    requires: str
    complete: Callable[[Mapping[str, str], int, bool], Mapping[str, str]] = _requested_only
    adapt: Callable[[Report, Mapping[str, Scalar], Attachment], Report] = _unchanged_report
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
        """Return tc's words after device, parent and handle: the kind of qdisc, and the parameters
        that are requested or have a default with `sent`, with those that `complete` adds and
        without those that it leaves out.

        Args:
            requested: requested parameters, name -> text, already checked.
            rate_bit_s: rate of the queue's direction in bit/s.
            shapes: True if the queue itself shapes to this rate.
        """
        sent = {name: str(parameter.default) for name, parameter in self.parameters.items()
                if parameter.sent and name not in requested}
        words = [self.kind]
        for name, text in self.complete({**requested, **sent}, rate_bit_s, shapes).items():
            parameter = self.parameters.get(name)
            words.append(parameter.tc_words(name, text) if parameter else f"{name} {text}".strip())
        return " ".join(filter(None, words))

    def values(self, requested: Mapping[str, str]) -> dict[str, Scalar]:
        """Return the values of all parameters, by name, as read() returns them: requested or
        default. Parameters without either are left out.

        requested: requested parameters, name -> text, already checked.
        """
        values = {name: parameter.read(requested[name]) if name in requested else parameter.default
                  for name, parameter in self.parameters.items()}
        return {name: value for name, value in values.items() if value is not None}

    def report(self, requested: Mapping[str, str], attachment: Attachment) -> Report:
        """Return the values that the kernel has to report, by their names in tc's JSON. A value is
        a set if kernels differ. Left out are parameters that tc doesn't report, those with
        only_if_set whose value is 0 or False, and those that are neither requested nor have a fixed
        default. `adapt` may add, change and remove values, or replace all.

        Args:
            requested: requested parameters, name -> text, already checked.
            attachment: the queue's surroundings on its device.
        """
        values = self.values(requested)
        report: Report = {}
        for name, value in values.items():
            parameter = self.parameters[name]
            if parameter.reported is not None and (value or not parameter.only_if_set):
                report[parameter.reported or name] = parameter.kernel(value)
        return self.adapt(report, values, attachment)
