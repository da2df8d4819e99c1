# SPDX-License-Identifier: GPL-3.0-or-later
"""What `router_hooks/router.sh read-back` prints, as records.

Qdiscs come from tc's JSON. Classes come from its text: tc 6.1 (Debian 12) writes no
JSON for them, and only `tc -r` gives HTB's bursts exactly, in clock ticks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from flent_aqm.errors import ParseError

Scalar = int | float | bool | str

# Of HTB's options this one counts packets, so it changes during a run.
_COUNTERS_AMONG_OPTIONS = {"direct_packets_stat"}
_NO_COUNTERS = {"kind", "handle", "parent", "root", "refcnt", "options", "dev", "offloaded"}
_DIRECTIONS = ("down", "up")

_CLASS = re.compile(
    r"class htb (?P<handle>\S+) (?:(?P<root>root)|parent (?P<parent>\S+)) "
    r"(?:leaf (?P<leaf>\S+) )?prio (?P<prio>\d+) quantum (?P<quantum>\d+) "
    r"rate (?P<rate>\d+[KMGT]?bit) (?:overhead (?P<overhead>\d+) )?"
    r"ceil (?P<ceil>\d+[KMGT]?bit) linklayer (?P<linklayer>\S+) "
    r"burst \S+ mpu \S+ cburst \S+ mpu \S+ level (?P<level>\d+) "
    r"buffer \[(?P<buffer>[0-9a-f]{8})\] cbuffer \[(?P<cbuffer>[0-9a-f]{8})\]")
_CLASS_COUNTERS = (
    re.compile(r"Sent (?P<bytes>\d+) bytes (?P<packets>\d+) pkts? "
               r"\(dropped (?P<drops>\d+), overlimits (?P<overlimits>\d+) "
               r"requeues (?P<requeues>\d+)\)"),
    re.compile(r"lended: (?P<lended>\d+) borrowed: (?P<borrowed>\d+) giants: (?P<giants>\d+)"),
    re.compile(r"\btokens: (?P<tokens>-?\d+) ctokens: (?P<ctokens>-?\d+)"),
)
_UNIT = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Clock:
    """The qdiscs' clock, from /proc/net/psched.

    ticks_per_us: ticks a microsecond, by which bursts are stored; hz: timer
    interrupts a second, by which tc computes default bursts; text: the line itself.
    """

    ticks_per_us: float
    hz: int
    text: str


@dataclass(frozen=True)
class Qdisc:
    """One qdisc. parent: "root" or a class; parameters as tc names and scales them."""

    kind: str
    handle: str
    parent: str
    parameters: Mapping[str, Scalar]
    counters: Mapping[str, int]


@dataclass(frozen=True)
class HtbClass:
    """One class of HTB.

    parent: "root" or a class; leaf: handle of the qdisc below, "" for none; rate and
    ceil as tc prints them, which for more than six digits of bit/s leaves out the last.
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
    level: int
    burst_ticks: int
    cburst_ticks: int
    counters: Mapping[str, int]


@dataclass(frozen=True)
class Direction:
    """One device of the router. offloads: None where ethtool isn't there or can't tell."""

    device: str
    txqueuelen: int
    offloads: Mapping[str, bool | None]
    qdiscs: tuple[Qdisc, ...]
    classes: tuple[HtbClass, ...]


@dataclass(frozen=True)
class ReadBack:
    """All that the router reports at one moment. directions: "down" and "up"."""

    kernel: str
    clock: Clock
    directions: Mapping[str, Direction]


def parse_read_back(text: str) -> ReadBack:
    """The read-back as a record. Raises ParseError that names the place."""
    try:
        whole = json.loads(text)
    except ValueError as fault:
        raise ParseError(f"the router's read-back is not JSON: {fault}; got "
                         f"{text.strip()[:80]!r}") from None
    top = _object(whole, "read-back")
    if top.get("format") != 1:
        raise ParseError(f"read-back: format {top.get('format')!r}; expected 1")
    directions = _object(top.get("directions"), "directions")
    return ReadBack(
        kernel=_text(top, "kernel", "read-back"),
        clock=parse_psched(_text(top, "psched", "read-back")),
        directions={name: _direction(directions.get(name), name) for name in _DIRECTIONS},
    )


def parse_psched(line: str) -> Clock:
    """The clock from the line in /proc/net/psched, reckoned as iproute2's tc_core.c does."""
    words = line.split()
    if len(words) != 4 or not all(re.fullmatch("[0-9a-f]{8}", word) for word in words):
        raise ParseError(f"psched: {line!r}; expected four words of 8 hexadecimal digits")
    time_to_us, us_to_tick, resolution, hz = (int(word, 16) for word in words)
    if not us_to_tick or not resolution or not hz:
        raise ParseError(f"psched: {line!r} has a zero; the kernel never writes one")
    if resolution == 10**9:  # a kernel of nanosecond ticks says 1000 for old versions of tc
        time_to_us = us_to_tick
    return Clock(time_to_us / us_to_tick * (resolution / 10**6), hz, " ".join(words))


def parse_classes(text: str) -> tuple[HtbClass, ...]:
    """The classes in the output of `tc -s -d -r class show`; empty for none."""
    blocks = re.split(r"^(?=class )", text, flags=re.MULTILINE)
    if blocks[0].strip():
        raise ParseError(f"tc class: expected 'class …', got {blocks[0].strip()[:80]!r}")
    return tuple(_class(block) for block in blocks[1:])


def bit_per_s(rate: str) -> int:
    """A rate as tc prints it, "100Mbit", in bit/s."""
    found = re.fullmatch(r"(\d+)([KMGT]?)bit", rate)
    if not found:
        raise ParseError(f"tc: {rate!r} is not a rate")
    return int(found[1]) * _UNIT[found[2]]


def _direction(value: object, name: str) -> Direction:
    fields = _object(value, name)
    offloads = _object(fields.get("offloads"), f"{name}: offloads")
    return Direction(
        device=_text(fields, "device", name),
        txqueuelen=_number(fields.get("txqueuelen"), f"{name}: txqueuelen"),
        offloads={key: _flag_or_none(flag, f"{name}: offloads: {key}")
                  for key, flag in offloads.items()},
        qdiscs=tuple(_qdisc(item, name) for item in
                     _list(fields.get("qdiscs"), f"{name}: qdiscs")),
        classes=parse_classes(_text(fields, "classes", name)),
    )


def _qdisc(value: object, direction: str) -> Qdisc:
    fields = _object(value, f"{direction}: qdisc")
    kind = _text(fields, "kind", f"{direction}: qdisc")
    options = _object(fields.get("options", {}), f"{kind}: options")
    counters = {key: item for key, item in fields.items() if key not in _NO_COUNTERS}
    counters |= {key: options[key] for key in _COUNTERS_AMONG_OPTIONS & options.keys()}
    return Qdisc(
        kind=kind,
        handle=_text(fields, "handle", kind),
        parent="root" if fields.get("root") is True else _text(fields, "parent", kind),
        parameters={key: _scalar(item, f"{kind}: {key}") for key, item in options.items()
                    if key not in _COUNTERS_AMONG_OPTIONS},
        counters={key: _count(item, f"{kind}: {key}") for key, item in counters.items()},
    )


def _class(block: str) -> HtbClass:
    found = _CLASS.match(block)
    if not found:
        raise ParseError(f"tc class: not a line of HTB as tc -s -d -r prints it: "
                         f"{block.splitlines()[0][:200]!r}")
    counters: dict[str, int] = {}
    for pattern in _CLASS_COUNTERS:
        counts = pattern.search(block)
        if not counts:
            raise ParseError(f"tc class: {found['handle']}: no counters like "
                             f"'{pattern.pattern}'; is the output cut off?")
        counters |= {key: int(number) for key, number in counts.groupdict().items()}
    return HtbClass(
        handle=found["handle"], parent=found["root"] or found["parent"],
        leaf=found["leaf"] or "", prio=int(found["prio"]),
        quantum_bytes=int(found["quantum"]), rate=found["rate"], ceil=found["ceil"],
        overhead_bytes=int(found["overhead"] or 0), linklayer=found["linklayer"],
        level=int(found["level"]), burst_ticks=int(found["buffer"], 16),
        cburst_ticks=int(found["cbuffer"], 16), counters=counters,
    )


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ParseError(f"{place}: expected an object, got {value!r:.80}")
    return value


def _list(value: object, place: str) -> list[object]:
    if not isinstance(value, list):
        raise ParseError(f"{place}: expected a list, got {value!r:.80}")
    return value


def _text(fields: Mapping[str, object], key: str, place: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise ParseError(f"{place}: {key}: expected text, got {value!r:.80}")
    return value


def _number(value: object, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParseError(f"{place}: expected a whole number, got {value!r:.80}")
    return value


def _count(value: object, place: str) -> int:
    """A counter; CoDel's state `dropping` is true or left out, and counts as 1."""
    return 1 if value is True else _number(value, place)


def _scalar(value: object, place: str) -> Scalar:
    if not isinstance(value, (int, float, str)):
        raise ParseError(f"{place}: expected a number, a text or a flag, got {value!r:.80}")
    return value


def _flag_or_none(value: object, place: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ParseError(f"{place}: expected true, false or null, got {value!r:.80}")
    return value
