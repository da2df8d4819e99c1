# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the output of `router_hooks/on_router.sh read-back` into records.

    @format 2                        @device down NAME      once for `down`, once for `up`
    @kernel 6.1.0                    @txqueuelen 1000 …     facts of the device, a line each
    @psched 000003e8 …               @qdiscs                then tc's own output, JSON or text
    @tc tc utility, iproute2-6.1     @classes               then tc's own text
                                     @end                   the very last line
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError
from flent_aqm.router.tc.classes import DrrClass, HtbClass, parse_classes
from flent_aqm.router.tc.qdiscs import Qdisc, parse_json
from flent_aqm.router.tc.text import parse_text
from flent_aqm.spec.queues.units import Clock, parse_psched

__all__ = ["Direction", "DrrClass", "HtbClass", "Qdisc", "ReadBack", "bit_per_s",
           "parse_classes", "parse_read_back"]

_DIRECTIONS = ("down", "up")
_NAMES = {"kernel", "psched", "tc", "txqueuelen", "queues", "mtu", "bql", "hardware", "tso",
          "gso", "gro", "qdiscs", "classes"}
_OFFLOADS = ("tso", "gso", "gro")
_SWITCH = {"on": True, "off": False, "unknown": None}
# The kernel counts in 64 bits, which are 20 digits; no rate, size or time has more.
_TOO_LONG = re.compile(r"[\d.]{31,}|\d{21,}")
_UNIT = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Direction:
    """A device of the router, which shapes one direction."""

    # Name of the device.
    device: str
    # Length of its transmit queue, in packets.
    txqueuelen: int
    mtu_bytes: int
    # Byte queue limit of the driver; None if the driver has none.
    bql_bytes: int | None
    # True for a network card, False for a virtual device.
    hardware: bool
    # tso, gso, gro -> on or off; None if ethtool isn't there or can't tell.
    offloads: Mapping[str, bool | None]
    qdiscs: tuple[Qdisc, ...]
    classes: tuple[HtbClass, ...]
    drr_classes: tuple[DrrClass, ...]
    # Lines as describe_filter() makes them.
    filters: tuple[str, ...]
    # Number of transmit queues.
    queues: int = 1


@dataclass(frozen=True)
class ReadBack:
    """The router's report at one moment. directions: "down" and "up" -> device."""

    kernel: str
    tc: str
    clock: Clock
    directions: Mapping[str, Direction]


def parse_read_back(text: str) -> ReadBack:
    """Parse the output of `read-back`. Raises ParseError that names the place."""
    if match := _TOO_LONG.search(text):
        raise ParseError(f"read-back: a number of {len(match[0])} digits, {match[0][:20]}…; the "
                         "kernel's have at most 20")
    sections: dict[str, dict[str, str]] = {"": {}, **{role: {} for role in _DIRECTIONS}}
    facts = sections[""]  # lines before the first device describe the router
    for name, value, body in _lines(text):
        if name == "device":
            role, _, device = value.partition(" ")
            if role not in _DIRECTIONS or not device:
                raise ParseError(f"read-back: @device {value!r}; expected down or up and a name")
            facts = sections[role]
            facts["device"] = device
        elif name in facts or name not in _NAMES:
            raise ParseError(f"read-back: @{name} has no place there")
        else:
            facts[name] = body if name in ("qdiscs", "classes") else value
    top = sections[""]
    return ReadBack(
        kernel=_need(top, "kernel", "read-back"),
        tc=_need(top, "tc", "read-back"),
        clock=parse_psched(_need(top, "psched", "read-back")),
        directions={role: _direction(sections[role], role) for role in _DIRECTIONS},
    )


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, rest of the line, and the lines up to the next @."""
    blocks = re.split(r"^@", text, flags=re.MULTILINE)
    if blocks[0].strip() or len(blocks) == 1:
        raise ParseError(f"the router's read-back does not begin with @format; got "
                         f"{text.strip()[:80]!r}")
    if not blocks[1].startswith("format 2\n"):
        raise ParseError(f"read-back: {blocks[1][:20].strip()!r}; expected format 2")
    if blocks[-1].strip() != "end":
        raise ParseError("the router's read-back has no @end; is it cut off?")
    for block in blocks[2:-1]:
        line, _, body = block.partition("\n")
        name, _, value = line.partition(" ")
        yield name, value.strip(), body


def _need(facts: Mapping[str, str], key: str, place: str) -> str:
    if key not in facts:
        raise ParseError(f"{place}: @{key} is missing")
    return facts[key]


def _direction(facts: Mapping[str, str], role: str) -> Direction:
    shown = parse_classes(_need(facts, "classes", role))
    qdiscs = _need(facts, "qdiscs", role).strip()
    bql = facts.get("bql", "none")
    return Direction(
        device=_need(facts, "device", role),
        txqueuelen=_number(_need(facts, "txqueuelen", role), f"{role}: txqueuelen"),
        mtu_bytes=_number(_need(facts, "mtu", role), f"{role}: mtu"),
        bql_bytes=None if bql == "none" else _number(bql, f"{role}: bql"),
        hardware=facts.get("hardware") == "device",
        offloads={name: _switch(_need(facts, name, role), f"{role}: {name}")
                  for name in _OFFLOADS},
        qdiscs=(parse_json if qdiscs.startswith("[") else parse_text)(qdiscs, role),
        classes=shown.htb, drr_classes=shown.drr, filters=shown.filters,
        queues=_number(facts.get("queues", "1"), f"{role}: queues"),
    )


def bit_per_s(rate: str) -> int:
    """Return a rate as tc prints it, "100Mbit", in bit/s."""
    match = re.fullmatch(r"(\d+)([KMGT]?)bit", rate)
    if not match:
        raise ParseError(f"tc: {rate!r} is not a rate")
    return int(match[1]) * _UNIT[match[2]]


def _number(text: str, place: str) -> int:
    if not re.fullmatch(r"\d{1,19}", text):
        raise ParseError(f"{place}: expected a whole number, got {text[:80]!r}")
    return int(text)


def _switch(text: str, place: str) -> bool | None:
    if text not in _SWITCH:
        raise ParseError(f"{place}: expected on, off or unknown, got {text[:80]!r}")
    return _SWITCH[text]
