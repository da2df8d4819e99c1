# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the output of `router_hooks/on_router.sh read-back` into records.

    @format 2                        @device down NAME      once for `down`, once for `up`
    @kernel 6.1.0                    @txqueuelen 1000 …     facts of the device, a line each
    @psched 000003e8 …               @qdiscs                then tc's own output, JSON or text
    @tc tc utility, iproute2-6.1     @classes               then tc's own text
                                     @end                   the very last line

Qdiscs are JSON if the router's tc prints valid JSON. The text of `tc -s -d qdisc show` is the
fallback for a tc without JSON, or with broken JSON of a qdisc: its parameters stay as printed
("5ms", "32Mb", "1000p"), because the comparison prints what it expects in the same way. Of its
counters only those that all qdiscs have are read, and CAKE's memory.

Classes and filters are always the text of `tc -s -d -r class show` and `tc filter show`, because tc
writes classes as JSON only since iproute2 6.2, and only `tc -r` gives HTB's bursts exactly, in
clock ticks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError
from flent_aqm.base.json_text import json_text
from flent_aqm.spec.queues.table import OF_KIND
from flent_aqm.spec.queues.units import Clock, Scalar, parse_psched
from flent_aqm.spec.queues.values import flag

_DIRECTIONS = ("down", "up")
# Begins messages about the output of the read-back command.
_REPORT = "the router's report of its settings"
# Ends messages about lines that the package's own scripts print in another form.
OTHER_HOOKS = ": is router_hooks/ changed, or of another version of flent-aqm?"
_NAMES = {"kernel", "psched", "tc", "txqueuelen", "queues", "mtu", "bql", "hardware", "tso",
          "gso", "gro", "qdiscs", "classes"}
_OFFLOADS = ("tso", "gso", "gro")
_SWITCH = {"on": True, "off": False, "unknown": None}
# The kernel counts in 64 bits, which are 20 digits; no rate, size or time has more.
_TOO_LONG = re.compile(r"[\d.]{31,}|\d{21,}")
# Letters before "bit" in tc's rates.
_RATE_UNIT = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# Letters behind sizes in tc's text -> bytes.
SIZE_UNIT = {"": 1, "K": 2**10, "M": 2**20}
_SENT = re.compile(r"Sent (?P<bytes>\d+) bytes (?P<packets>\d+) pkts? "
                   r"\(dropped (?P<drops>\d+), overlimits (?P<overlimits>\d+) "
                   r"requeues (?P<requeues>\d+)\)")


@dataclass(frozen=True)
class Qdisc:
    """A qdisc of a device, as the router reports it.

    Attributes:
        kind: name of the qdisc.
        handle: its handle, such as "10:".
        parent: "root", the handle of a class, or "ffff:fff1" for the ingress qdisc.
        parameters: values under tc's names and in tc's units.
        counters: numbers by name. CAKE's "tins" are a list of mappings.
        printed: True if the parameters are from tc's text, which has units and fewer digits.
    """

    kind: str
    handle: str
    parent: str
    parameters: Mapping[str, Scalar]
    counters: Mapping[str, object]
    printed: bool = False


@dataclass(frozen=True)
class ReportedClass:
    """A class of HTB, or of HFSC. HFSC's link-sharing and upper-limit curves are `rate` and `ceil`,
    and it has no bursts.

    Attributes:
        handle: handle of the class, such as "1:1".
        parent: "root", or the handle of a class.
        leaf: handle of the qdisc below the class, "" for none.
        prio, quantum_bytes: 0 for a class with other classes below it, and for HFSC.
        rate, ceil: text as tc prints it, such as "100Mbit". tc leaves out the last digits of more
            than six.
        level: 0 for a class without classes below it. For other classes, HTB counts down from 7 at
            the root, and HFSC counts the levels of classes below.
        burst_ticks, cburst_ticks: bursts in ticks of the packet scheduler's clock, 0 for HFSC.
        counters: numbers by name.
    """

    handle: str
    parent: str
    leaf: str
    prio: int
    quantum_bytes: int
    rate: str
    ceil: str
    overhead_bytes: int
    linklayer: str
    mpu_bytes: int
    level: int
    burst_ticks: int
    cburst_ticks: int
    counters: Mapping[str, int]


@dataclass(frozen=True)
class DrrClass:
    """A class of DRR, which is one queue for a part of the flows.

    Attributes:
        handle: handle of the class, such as "10:1".
        quantum_bytes: bytes that the class may send per round, rounded as tc prints sizes.
        counters: numbers by name.
    """

    handle: str
    quantum_bytes: int
    counters: Mapping[str, int]


@dataclass(frozen=True)
class ClassesAndFilters:
    """Classes and filters of a device.

    Attributes:
        htb: classes of HTB and HFSC, without HFSC's root class.
        drr: classes of DRR.
        filters: lines as describe_filter() makes them.
    """

    htb: tuple[ReportedClass, ...]
    drr: tuple[DrrClass, ...]
    filters: tuple[str, ...]


@dataclass(frozen=True)
class Direction:
    """A device of the router, which shapes one direction.

    Attributes:
        device: name of the device.
        txqueuelen: length of its transmit queue, in packets.
        bql_bytes: byte queue limit of the driver, None if the driver has none.
        hardware: True for a network card, False for a virtual device.
        offloads: "tso", "gso" and "gro" -> True if on, None if ethtool isn't there or can't tell.
        classes: classes of HTB or HFSC.
        filters: lines as describe_filter() makes them.
        queues: number of transmit queues.
    """

    device: str
    txqueuelen: int
    mtu_bytes: int
    bql_bytes: int | None
    hardware: bool
    offloads: Mapping[str, bool | None]
    qdiscs: tuple[Qdisc, ...]
    classes: tuple[ReportedClass, ...]
    drr_classes: tuple[DrrClass, ...]
    filters: tuple[str, ...]
    queues: int = 1


@dataclass(frozen=True)
class ReadBack:
    """A router's report on its kernel, tc, and the devices of both directions at one moment.

    Attributes:
        kernel: version of the kernel.
        tc: output of `tc -V`, such as "tc utility, iproute2-6.1".
        clock: clock of the packet scheduler.
        directions: "down" and "up" -> the device that shapes this direction.
    """

    kernel: str
    tc: str
    clock: Clock
    directions: Mapping[str, Direction]


def parse_read_back(text: str) -> ReadBack:
    """Parse the output of `on_router.sh read-back`. Raises ParseError if it is incomplete or
    damaged."""
    if match := _TOO_LONG.search(text):
        raise ParseError(f"{_REPORT}: the number {match[0][:20]}… has {len(match[0])} characters; "
                         "expected 20 digits at most, as the kernel's counters have")
    sections: dict[str, dict[str, str]] = {"": {}, **{role: {} for role in _DIRECTIONS}}
    entries = sections[""]  # lines before the first device describe the router
    for name, value, body in _split_at_lines(text):
        if name == "device":
            role, _, device = value.partition(" ")
            if role not in _DIRECTIONS or not device:
                raise ParseError(f"{_REPORT}: unexpected line '@device {value[:80]}'; expected "
                                 f"'@device down NAME' or '@device up NAME'{OTHER_HOOKS}")
            entries = sections[role]
            entries["device"] = device
        elif name not in _NAMES:
            raise ParseError(f"{_REPORT}: unknown line '@{name[:40]}'{OTHER_HOOKS}")
        elif name in entries:
            raise ParseError(f"{_REPORT}: the line '@{name}' is given twice; expected once, or "
                             f"once for each device{OTHER_HOOKS}")
        else:
            entries[name] = body if name in ("qdiscs", "classes") else value
    top = sections[""]
    tc = _required(top, "tc", _REPORT)
    return ReadBack(
        kernel=_required(top, "kernel", _REPORT),
        tc=tc,
        clock=parse_psched(_required(top, "psched", _REPORT)),
        directions={role: _parse_direction(sections[role], role, tc) for role in _DIRECTIONS},
    )


def _split_at_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name and value of each @ line but the first and the last, and the text up to the next @
    line. Raises ParseError if the first line isn't "@format 2", or the last isn't "@end"."""
    blocks = re.split(r"^@", text, flags=re.MULTILINE)
    if not text.strip():
        raise ParseError(f"{_REPORT} is empty; expected its first line to be '@format 2'"
                         f"{OTHER_HOOKS}")
    if blocks[0].strip() or len(blocks) == 1:
        raise ParseError(f"{_REPORT} begins with {text.strip()[:80]!r}; expected '@format 2': does "
                         "the router's shell print this when it starts, or is router_hooks/ "
                         "changed?")
    first = blocks[1].partition("\n")[0]
    if first != "format 2":
        raise ParseError(f"{_REPORT} begins with '@{first[:40].strip()}'; expected '@format 2'"
                         f"{OTHER_HOOKS}")
    if blocks[-1].strip() != "end":
        raise ParseError(f"{_REPORT} ends with {text.strip()[-80:]!r}; expected '@end': did the "
                         "connection or the router's shell end early, or was something printed "
                         "after it?")
    for block in blocks[2:-1]:
        line, _, body = block.partition("\n")
        name, _, value = line.partition(" ")
        yield name, value.strip(), body


def _required(entries: Mapping[str, str], key: str, where: str) -> str:
    """Return the value of an @ line. Raises ParseError if the line is missing.

    Args:
        entries: name of the line -> value.
        key: name of the line.
        where: part of the router's report, for the message.
    """
    if key not in entries:
        raise ParseError(f"{where}: the line '@{key}' is missing{OTHER_HOOKS}")
    return entries[key]


@contextmanager
def _with_version(tc: str) -> Iterator[None]:
    """Context manager: add the version of tc to the message of each ParseError that the block
    raises, because another version may print another form.

    tc: output of `tc -V` on the router.
    """
    try:
        yield
    except ParseError as error:
        raise ParseError(f"{error}; the router's tc is {tc[:80]!r}: if it is not of iproute2 "
                         "4.4 to 7.2, install one of these on the router, else report this line"
                         ) from None


def _parse_direction(entries: Mapping[str, str], role: str, tc: str) -> Direction:
    """Parse the lines about one device. Without the line bql the device has no byte queue limit,
    without hardware it is virtual, and without queues it has one transmit queue. Raises ParseError
    if another line is missing, or if one is damaged.

    Args:
        entries: name of the @ line -> value or text.
        role: "down" or "up", for messages.
        tc: output of `tc -V` on the router, for messages.
    """
    if "device" not in entries:
        raise ParseError(f"{_REPORT}: the line '@device {role} NAME' is missing{OTHER_HOOKS}")
    where = f"{_REPORT}: device {role} ({entries['device']})"
    class_text = _required(entries, "classes", where)
    qdisc_text = _required(entries, "qdiscs", where).strip()
    with _with_version(tc):
        parsed = parse_classes(class_text, where)
        qdiscs = (parse_qdiscs_json if qdisc_text.startswith("[") else parse_qdiscs_text)(
            qdisc_text, where)
    bql = entries.get("bql", "none")
    return Direction(
        device=entries["device"],
        txqueuelen=_parse_number(_required(entries, "txqueuelen", where), f"{where}: txqueuelen"),
        mtu_bytes=_parse_number(_required(entries, "mtu", where), f"{where}: mtu"),
        bql_bytes=None if bql == "none" else _parse_number(bql, f"{where}: bql"),
        hardware=entries.get("hardware") == "device",
        offloads={name: _parse_switch(_required(entries, name, where), f"{where}: {name}")
                  for name in _OFFLOADS},
        qdiscs=qdiscs, classes=parsed.htb, drr_classes=parsed.drr, filters=parsed.filters,
        queues=_parse_number(entries.get("queues", "1"), f"{where}: queues"),
    )


def bit_per_s(rate: str) -> int:
    """Return a rate in bit/s. Raises ParseError if the text has another form.

    rate: the rate as tc prints it, such as "100Mbit".
    """
    match = re.fullmatch(r"(\d+)([KMGT]?)bit", rate)
    if not match:
        raise ParseError(f"tc printed the rate {rate!r}; expected a form such as 100Mbit")
    return int(match[1]) * _RATE_UNIT[match[2]]


def _parse_number(text: str, where: str) -> int:
    """Return a whole number. Raises ParseError if the text isn't a number from 0 of up to 19
    digits.

    where: name of the value, for the message.
    """
    if not re.fullmatch(r"\d{1,19}", text):
        raise ParseError(f"{where}: expected a whole number from 0, of up to 19 digits, got "
                         f"{text[:80]!r}{OTHER_HOOKS}")
    return int(text)


def _parse_switch(text: str, where: str) -> bool | None:
    """Return True for "on", False for "off", None for "unknown". Raises ParseError for other texts.

    where: name of the value, for the message.
    """
    if text not in _SWITCH:
        raise ParseError(f"{where}: expected on, off or unknown, got {text[:80]!r}{OTHER_HOOKS}")
    return _SWITCH[text]


# Options that count packets, so they change during a run: HTB's, and those of SFQ's REDs.
_COUNTERS_AMONG_OPTIONS = {"direct_packets_stat", "prob_mark", "prob_mark_head", "prob_drop",
                           "forced_mark", "forced_mark_head", "forced_drop"}
# iproute2 prints HFSC's options between braces, which is not JSON.
_HFSC_OPTIONS = re.compile(r"\{default ([0-9a-f]+) \}")
_TOO_LARGE = float(1 << 64)
_NO_COUNTERS = {"kind", "handle", "parent", "root", "refcnt", "options", "dev", "offloaded"}


def parse_qdiscs_json(text: str, where: str) -> tuple[Qdisc, ...]:
    """Parse the JSON of one device's qdiscs.

    where: name of the device, for messages.

    Raises ParseError if the text is not JSON, or if values are missing or of wrong types.
    """
    try:
        whole = json.loads(_HFSC_OPTIONS.sub(r'{"default":"0x\1"}', text))
    except (ValueError, RecursionError) as fault:  # the latter is of a router's odd answer
        raise ParseError(f"{where}: tc's list of qdiscs is not valid JSON: {fault}; it begins with "
                         f"{text.strip()[:80]!r}") from None
    if not isinstance(whole, list):
        raise ParseError(f"{where}: tc's qdiscs: expected a list in JSON, got "
                         f"{text.strip()[:80]!r}")
    return tuple(_qdisc_from_json(item, where) for item in whole)


def _qdisc_from_json(value: object, where: str) -> Qdisc:
    """Convert a qdisc of tc's JSON. Its options are the parameters, except for those that count
    packets, which are counters. Raises ParseError if a value is missing or of a wrong type.

    Args:
        value: the JSON object.
        where: name of the device, for messages.
    """
    fields = _checked_object(value, f"{where}: qdisc")
    kind = _text_field(fields, "kind", f"{where}: qdisc")
    where = f"{where}: {kind[:40]}"
    options = _checked_object(fields.get("options", {}), f"{where}: options")
    counters = {key: item for key, item in fields.items() if key not in _NO_COUNTERS}
    counters |= {key: options[key] for key in _COUNTERS_AMONG_OPTIONS & options.keys()}
    return Qdisc(
        kind=kind,
        handle=_text_field(fields, "handle", where),
        parent="root" if fields.get("root") is True else _text_field(fields, "parent", where),
        # iproute2 7 writes "priomap ", with a blank.
        parameters={key.strip(): _checked_scalar(item, f"{where}: {key[:40]}")
                    for key, item in options.items() if key not in _COUNTERS_AMONG_OPTIONS},
        counters={key: _checked_counter(item, f"{where}: {key[:40]}")
                  for key, item in counters.items()},
    )


def _checked_object(value: object, where: str) -> dict[str, object]:
    """Return a value of JSON if it is an object. Raises ParseError otherwise.

    where: name of the value, for the message.
    """
    if not isinstance(value, dict):
        raise ParseError(f"{where}: expected a JSON object, got {json_text(value):.80}")
    return value


def _text_field(fields: Mapping[str, object], key: str, where: str) -> str:
    """Return the value of a field if it is text. Raises ParseError otherwise.

    Args:
        fields: the JSON object.
        key: name of the field.
        where: name of the object, for the message.
    """
    value = fields.get(key)
    if not isinstance(value, str):
        got = json_text(value) if key in fields else "nothing"
        raise ParseError(f"{where}: {key}: expected text, got {got:.80}")
    return value


def _checked_counter(value: object, where: str) -> object:
    """Return a counter of tc's JSON: a number below 2^64, or a list of dicts for CAKE's tins.
    CoDel's state `dropping`, which is true or left out, becomes 1. Raises ParseError for other
    values.

    where: name of the counter, for the message.
    """
    if value is True:
        return 1
    if isinstance(value, list):
        return [{key: _checked_counter(item, f"{where}: {key}")
                 for key, item in _checked_object(tin, where).items()} for tin in value]
    if not isinstance(value, (int, float)) or not _fits_64_bits(value):
        raise ParseError(f"{where}: expected a number of 64 bits, got {json_text(value):.80}")
    return value


def _fits_64_bits(value: float | str) -> bool:
    """Return whether a number is between -2^64 and 2^64, without these. JSON can also have larger
    numbers, such as 1e999 for infinity. True for text."""
    return isinstance(value, str) or abs(value) < _TOO_LARGE


def _checked_scalar(value: object, where: str) -> Scalar:
    """Return a parameter's value of tc's JSON: a number below 2^64, text, True or False. null
    becomes True, and a list becomes text with blanks. Raises ParseError for other values.

    where: name of the parameter, for the message.
    """
    if value is None:  # so iproute2 7 writes a switch of DualPI2's that is on
        return True
    if isinstance(value, list):  # fq's bands
        return " ".join(str(_checked_scalar(item, where)) for item in value)
    if not isinstance(value, (int, float, str)) or not _fits_64_bits(value):
        raise ParseError(f"{where}: expected text, true, false or a number of 64 bits, got "
                         f"{json_text(value):.80}")
    return value


_HEAD = re.compile(r"qdisc (?P<kind>\S+) (?P<handle>[0-9a-f]+:)(?:\[[0-9a-f]{8}\])? "
                   r"(?:dev \S+ )?(?:(?P<root>root)|parent (?P<parent>[0-9a-f]*:[0-9a-f]*))"
                   r"(?P<words>[^\n]*)")
# Stands where tc has options of a qdisc that it doesn't know.
_UNKNOWN = re.compile(r"\[Unknown qdisc[^]]*\]")
_BACKLOG = re.compile(r"backlog (?P<size>\d+(?:\.\d+)?)(?P<unit>[KM]?)b (?P<packets>\d+)p")
# CAKE's memory, under the names of tc's JSON.
_MEMORY = re.compile(r"^ memory used: (?P<memory_used>\d+[KM]?)b of (?P<memory_limit>\d+[KM]?)b$",
                     re.MULTILINE)
# Words without a value that any queue may have, with their JSON name; a queue's own stand in
# its row. All others are names followed by a value.
_SWITCHES: Mapping[str, tuple[str, Scalar]] = {"ecn": ("ecn", True), "noecn": ("ecn", False)}


def parse_qdiscs_text(text: str, where: str) -> tuple[Qdisc, ...]:
    """Parse tc's text of one device's qdiscs. Empty for a text without any.

    where: name of the device, for messages.

    Raises ParseError if the text doesn't begin with a qdisc, or a qdisc's first line or its line of
    counters ("Sent …") is not as tc -s -d prints it. Other lines are not checked.
    """
    blocks = re.split(r"^(?=qdisc )", text, flags=re.MULTILINE)
    if blocks[0].strip():
        raise ParseError(f"{where}: tc's list of qdiscs begins with "
                         f"{blocks[0].strip()[:80]!r}; expected 'qdisc …'")
    return tuple(_qdisc_from_text(block, where) for block in blocks[1:])


def _qdisc_from_text(block: str, where: str) -> Qdisc:
    """Parse tc's text of one qdisc. Of its counters only those that all qdiscs have are read, and
    CAKE's memory. Raises ParseError if the first line or the line "Sent …" is not as tc -s -d
    prints it.

    where: name of the device, for messages.
    """
    head, sent = _HEAD.match(block), _SENT.search(block)
    if not head:
        raise ParseError(f"{where}: can't parse tc's line on a qdisc: {_first_line(block)!r}")
    if not sent:
        raise ParseError(f"{where}: no line 'Sent … bytes … pkt (dropped …, overlimits … requeues "
                         f"…)' below the qdisc {_first_line(block)!r}")
    counters: dict[str, object] = {key: int(value) for key, value in sent.groupdict().items()}
    backlog = _BACKLOG.search(block)
    if backlog:
        counters |= {"backlog": int(float(backlog["size"]) * SIZE_UNIT[backlog["unit"]]),
                     "qlen": int(backlog["packets"])}
    memory = _MEMORY.search(block) if head["kind"] == "cake" else None
    if memory:
        counters |= {name: int(text.rstrip("KM")) * SIZE_UNIT[text.strip("0123456789")]
                     for name, text in memory.groupdict().items()}
    parameters = _parameters_from_words(head["kind"], _UNKNOWN.sub("", head["words"]).split())
    queue = OF_KIND.get(head["kind"])
    old_form = (re.search(queue.old_text, block, re.MULTILINE)
                if queue and queue.old_text else None)
    return Qdisc(head["kind"], head["handle"], head["root"] or head["parent"],
                 {**parameters, **(old_form.groupdict() if old_form else {})}, counters,
                 printed=True)


def _parameters_from_words(kind: str, words: list[str]) -> dict[str, Scalar]:
    """Return the parameters in tc's text, under the names that tc's JSON has for them. Values are
    mostly texts as tc prints them, with their units. A word that stands alone, such as "noecn" or
    CAKE's "besteffort", becomes the value that the JSON has for it, such as False. Of a list, only
    the first number is kept.

    Args:
        kind: name of the qdisc.
        words: the words of the text behind the parent.
    """
    switches, names = _switches_and_names(kind)
    parameters: dict[str, Scalar] = {}
    rest = iter(words)
    for word in rest:
        if word in switches:
            name, switch = switches[word]
            parameters[name] = switch
        elif word == "refcnt":
            next(rest, None)
        elif not word.strip("-"):
            continue  # the row of dashes behind `ingress`
        elif word.isdecimal():
            continue  # the second or later value of a list, as fq's priomap
        else:
            parameters[names.get(word, word)] = next(rest, "")
    if "ce_threshold_selector" in parameters:  # JSON has its two parts by themselves
        value, _, mask = str(parameters["ce_threshold_selector"]).partition("/")
        parameters |= {"ce_threshold_selector": _hexadecimal_to_decimal(value),
                       "ce_threshold_mask": _hexadecimal_to_decimal(mask)}
    if kind == "dualpi2" and str(parameters.get("step-thresh-us", "")).endswith("p"):
        parameters["step-thresh-pkts"] = parameters.pop("step-thresh-us")
    if kind == "sfq" and "flows" in parameters:  # old: with the divisor behind it, twice
        parameters["flows"] = str(parameters["flows"]).partition("/")[0]
    return parameters


def _hexadecimal_to_decimal(text: str) -> str:
    """Return a number that tc prints in hexadecimal with 0x as decimal text, as tc's JSON has it.
    Return other text unchanged."""
    return str(int(text, 16)) if re.fullmatch("0x[0-9a-f]{1,8}", text) else text


def _switches_and_names(kind: str) -> tuple[Mapping[str, tuple[str, Scalar]], Mapping[str, str]]:
    """Return two mappings for reading tc's text of a kind of qdisc: word without a value -> name
    and value of the parameter in tc's JSON, and parameter's name in the text -> name in tc's JSON,
    if they differ. For an unknown kind, the first has only "ecn" and "noecn", and the second is
    empty.

    kind: name of the qdisc.
    """
    queue = OF_KIND.get(kind)
    if queue is None:
        return _SWITCHES, {}
    flags = {name: (parameter.reported or name, True)
             for name, parameter in queue.parameters.items() if parameter.read is flag}
    return ({**_SWITCHES, **flags, **(queue.switches or {})},
            {name: parameter.reported for name, parameter in queue.parameters.items()
             if parameter.reported})


_HTB = re.compile(
    r"class htb (?P<handle>\S+) (?:(?P<root>root)|parent (?P<parent>\S+)) "
    r"(?:leaf (?P<leaf>\S+) )?(?:prio (?P<prio>\d+) (?:quantum (?P<quantum>\d+) )?)?"
    r"rate (?P<rate>\d+[KMGT]?bit) (?:overhead (?P<overhead>\d+) )?"
    r"ceil (?P<ceil>\d+[KMGT]?bit) (?:linklayer (?P<linklayer>\S+) )?"
    # before iproute2 4.5 with an overhead, the link's, that no class has any more
    r"burst \S+?\s?mpu (?P<mpu>\d+)(?P<mpu_unit>[KM]?)b (?:overhead 0b )?"
    r"cburst \S+?\s?mpu \S+ (?:overhead 0b )?"
    r"level (?P<level>\d+) "
    r"buffer \[(?P<buffer>[0-9a-f]{8})\] cbuffer \[(?P<cbuffer>[0-9a-f]{8})\]")
_HFSC = re.compile(
    r"class hfsc (?P<handle>\S+) parent (?P<parent>\S+) (?:leaf (?P<leaf>\S+) )?"
    r"ls m1 0bit d 0us m2 (?P<rate>\d+[KMGT]?bit) ul m1 0bit d 0us m2 (?P<ceil>\d+[KMGT]?bit)")
_HFSC_LEVEL = re.compile(r"^ period \d+ (?:work \d+ bytes )?(?:rtwork \d+ bytes )?level (\d+)",
                         re.MULTILINE)
_DRR = re.compile(r"class drr (?P<handle>\S+) (?:root|parent \S+) (?:leaf \S+ )?"
                  r"quantum (?P<quantum>\d+)(?P<unit>[KM]?)b")
_HTB_COUNTERS = (
    _SENT,
    re.compile(r"lended: (?P<lended>\d+) borrowed: (?P<borrowed>\d+) giants: (?P<giants>\d+)"),
    re.compile(r"\btokens: (?P<tokens>-?\d+) ctokens: (?P<ctokens>-?\d+)"),
)
_U32_MATCH = re.compile(r"match ([0-9a-f]{8}/[0-9a-f]{8} at \d+)")
_FLOW = re.compile(r"hash keys (?P<keys>\S+) divisor (?P<divisor>\d+) baseclass (?P<base>\S+)")
_MAP = re.compile(r"map keys (?P<keys>\S+ .*?)\s*baseclass (?P<base>\S+)")
_TARGET = re.compile(r"\*?flowid (\S+:\S+)")
_REDIRECT = re.compile(r"mirred \((\w+) (\w+) to device (\S+)\)")


def parse_classes(text: str, where: str) -> ClassesAndFilters:
    """Parse the classes and filters of one device, as `tc -s -d -r class show` and `tc filter show`
    print them, one after the other. HFSC's root class is left out. where: name of the device, for
    messages.

    Raises ParseError if the text doesn't begin with a class or filter, if a class or the first line
    of a filter is not as tc prints it, or if a class is of another qdisc than HTB, HFSC or DRR, or
    of HFSC with other curves than this package requests.
    """
    blocks = re.split(r"^(?=class |filter )", text, flags=re.MULTILINE)
    if blocks[0].strip():
        raise ParseError(f"{where}: tc's list of classes and filters begins with "
                         f"{blocks[0].strip()[:80]!r}; expected 'class …' or 'filter …'")
    htb, drr, filters = [], [], []
    for block in blocks[1:]:
        if block.startswith("class htb "):
            htb.append(_parse_htb_class(block, where))
        elif block.startswith("class hfsc "):
            htb += _parse_hfsc_class(block, where)
        elif block.startswith("class drr "):
            drr.append(_parse_drr_class(block, where))
        elif block.startswith("filter "):
            filters += _parse_filter(block, where)
        else:
            raise ParseError(f"{where}: expected only classes of HTB, HFSC or DRR, got "
                             f"{_first_line(block)!r}")
    return ClassesAndFilters(tuple(htb), tuple(drr), tuple(filters))


def describe_filter(protocol: str, kind: str, rule: str, target: str) -> str:
    """Return a filter as one line, "PROTOCOL KIND RULE to TARGET".

    Args:
        protocol: such as "ip" or "all".
        kind: name of the classifier, such as "u32".
        rule: condition on a packet.
        target: handle of the class that packets go to, or a redirection.
    """
    return f"{protocol} {kind} {rule} to {target}"


def _parse_htb_class(block: str, where: str) -> ReportedClass:
    """Parse one `class htb` block. Raises ParseError if it is not as tc prints it. where: name of
    the device, for messages."""
    match = _HTB.match(block)
    if not match:
        raise ParseError(f"{where}: can't parse tc's line on a class of HTB: "
                         f"{_first_line(block)!r}")
    return ReportedClass(
        handle=match["handle"], parent=match["root"] or match["parent"],
        leaf=match["leaf"] or "", prio=int(match["prio"] or 0),
        quantum_bytes=int(match["quantum"] or 0), rate=match["rate"], ceil=match["ceil"],
        overhead_bytes=int(match["overhead"] or 0), linklayer=match["linklayer"] or "ethernet",
        mpu_bytes=int(match["mpu"]) * SIZE_UNIT[match["mpu_unit"]],
        level=int(match["level"]), burst_ticks=int(match["buffer"], 16),
        cburst_ticks=int(match["cbuffer"], 16),
        counters=_parse_counters(block, f"{where}: class {match['handle']}", _HTB_COUNTERS),
    )


def _parse_hfsc_class(block: str, where: str) -> list[ReportedClass]:
    """Parse one `class hfsc` block. Return one ReportedClass in a list, or an empty list for the
    root class, which stands for the qdisc. Raises ParseError if the class has other curves than ls
    and ul of one slope each, or if the block is not as tc prints it. where: name of the device, for
    messages."""
    if re.match(r"class hfsc [0-9a-f]+: root\b", block):
        return []
    match, level = _HFSC.match(block), _HFSC_LEVEL.search(block)
    if not match:
        raise ParseError(f"{where}: can't parse tc's line on a class of HFSC (expected the curves "
                         f"ls and ul, of one slope each): {_first_line(block)!r}")
    if not level:
        raise ParseError(f"{where}: no line 'period … level …' below the class "
                         f"{_first_line(block)!r}")
    parent = "root" if match["parent"].endswith(":") else match["parent"]
    return [ReportedClass(match["handle"], parent, match["leaf"] or "", 0, 0, match["rate"],
                     match["ceil"], 0, "ethernet", 0, int(level[1]), 0, 0,
                     _parse_counters(block, f"{where}: class {match['handle']}", (_SENT,)))]


def _parse_drr_class(block: str, where: str) -> DrrClass:
    """Parse one `class drr` block. Raises ParseError if it is not as tc prints it. where: name of
    the device, for messages."""
    match = _DRR.match(block)
    if not match:
        raise ParseError(f"{where}: can't parse tc's line on a class of DRR: "
                         f"{_first_line(block)!r}")
    return DrrClass(match["handle"], int(match["quantum"]) * SIZE_UNIT[match["unit"]],
                    _parse_counters(block, f"{where}: class {match['handle']}", (_SENT,)))


def _parse_counters(block: str, where: str, patterns: tuple[re.Pattern[str], ...]
                    ) -> dict[str, int]:
    """Return the counters of a class by name. Raises ParseError if one of the patterns is not
    found.

    Args:
        block: tc's text of the class.
        where: names of device and class, for the message.
        patterns: regular expressions, whose named groups are counters.
    """
    counters: dict[str, int] = {}
    for pattern in patterns:
        counts = pattern.search(block)
        if not counts:
            names = ", ".join(pattern.groupindex)
            raise ParseError(f"{where}: tc's text lacks a counter, or has it in another form; "
                             f"expected {names}")
        counters |= {key: int(number) for key, number in counts.groupdict().items()}
    return counters


def _parse_filter(block: str, where: str) -> list[str]:
    """Parse one `filter` block. Return one line, as describe_filter() makes it, in a list. The list
    is empty for a block that isn't a filter but the heading of a list, or a hash table.

    A filter of a kind that this package never makes, such as bpf, has the rule "all" if it has a
    target, else the rule "unknown". The target of a flow filter is its base class. Other filters
    without a target have the target "nowhere".

    where: name of the device, for the message.

    Raises ParseError if the first line has no protocol or no pref.
    """
    words = _first_line(block).split()
    if "protocol" not in words[:-1] or "pref" not in words[:-2]:
        raise ParseError(f"{where}: expected a filter with 'protocol' and 'pref', got "
                         f"{_first_line(block)!r}")
    protocol = words[words.index("protocol") + 1]
    kind = words[words.index("pref") + 2]
    target = _TARGET.search(block)
    redirect = _REDIRECT.search(block)
    goal = (f"{redirect[1]} {redirect[2]} {redirect[3]}".lower() if redirect
            else target[1] if target else "")
    match, flow = _U32_MATCH.search(block), _FLOW.search(block)
    mapped = _MAP.search(block)
    if mapped:
        return [describe_filter(protocol, kind, f"map {' '.join(mapped['keys'].split())}",
                                mapped["base"])]
    if flow:
        return [describe_filter(protocol, kind, f"{flow['keys']} in {flow['divisor']}",
                                flow["base"])]
    if match:
        rules = " and ".join(_U32_MATCH.findall(block))
        return [describe_filter(protocol, kind, rules, goal or "nowhere")]
    if goal:
        return [describe_filter(protocol, kind, "all", goal)]
    if "handle" in words:
        return [describe_filter(protocol, kind, "unknown", "nowhere")]
    return []


def _first_line(block: str) -> str:
    """Return the first line of a block, 400 characters at most, for a message. Lines on classes of
    HTB have about 250."""
    return block.splitlines()[0].rstrip()[:400]
