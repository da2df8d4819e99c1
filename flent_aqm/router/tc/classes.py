# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the text of `tc -s -d -r class show` and `tc filter show` into records.

Text and not JSON, because tc writes classes as JSON only since iproute2 6.2, and only `tc -r` gives
HTB's bursts exactly, in clock ticks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError

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
# Letters behind sizes in tc's text -> bytes.
SIZE_UNIT = {"": 1, "K": 2**10, "M": 2**20}
_COUNTERS = (
    re.compile(r"Sent (?P<bytes>\d+) bytes (?P<packets>\d+) pkts? "
               r"\(dropped (?P<drops>\d+), overlimits (?P<overlimits>\d+) "
               r"requeues (?P<requeues>\d+)\)"),
)
_HTB_COUNTERS = (
    *_COUNTERS,
    re.compile(r"lended: (?P<lended>\d+) borrowed: (?P<borrowed>\d+) giants: (?P<giants>\d+)"),
    re.compile(r"\btokens: (?P<tokens>-?\d+) ctokens: (?P<ctokens>-?\d+)"),
)
_U32_MATCH = re.compile(r"match ([0-9a-f]{8}/[0-9a-f]{8} at \d+)")
_FLOW = re.compile(r"hash keys (?P<keys>\S+) divisor (?P<divisor>\d+) baseclass (?P<base>\S+)")
_MAP = re.compile(r"map keys (?P<keys>\S+ .*?)\s*baseclass (?P<base>\S+)")
_TARGET = re.compile(r"\*?flowid (\S+:\S+)")
_REDIRECT = re.compile(r"mirred \((\w+) (\w+) to device (\S+)\)")


@dataclass(frozen=True)
class HtbClass:
    """A class of HTB, or of HFSC. HFSC's link-sharing and upper-limit curves are `rate` and `ceil`,
    and it has no bursts.

    parent: "root", or the handle of a class.
    leaf: handle of the qdisc below the class, "" for none.
    rate, ceil: as tc prints them. tc leaves out the last digits of more than six.
    prio, quantum_bytes: 0 for a class with other classes below it, which has neither.
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
    """A class of DRR, which is one flow."""

    handle: str
    quantum_bytes: int
    counters: Mapping[str, int]


@dataclass(frozen=True)
class ClassesAndFilters:
    """All classes and filters of a device. filters: lines as describe_filter() makes them."""

    htb: tuple[HtbClass, ...]
    drr: tuple[DrrClass, ...]
    filters: tuple[str, ...]


def parse_classes(text: str) -> ClassesAndFilters:
    """Parse the classes and filters of one device. Raises ParseError."""
    blocks = re.split(r"^(?=class |filter )", text, flags=re.MULTILINE)
    if blocks[0].strip():
        raise ParseError(f"tc class: expected 'class …', got {blocks[0].strip()[:80]!r}")
    htb, drr, filters = [], [], []
    for block in blocks[1:]:
        if block.startswith("class htb "):
            htb.append(_htb(block))
        elif block.startswith("class hfsc "):
            htb += _hfsc(block)
        elif block.startswith("class drr "):
            drr.append(_drr(block))
        elif block.startswith("filter "):
            filters += _filter(block)
        else:
            raise ParseError(f"tc class: not a class of HTB, HFSC or DRR: {_first_line(block)!r}")
    return ClassesAndFilters(tuple(htb), tuple(drr), tuple(filters))


def describe_filter(protocol: str, kind: str, rule: str, target: str) -> str:
    """Return a filter as one line: its rule, and the class that packets go to."""
    return f"{protocol} {kind} {rule} to {target}"


def _htb(block: str) -> HtbClass:
    match = _HTB.match(block)
    if not match:
        raise ParseError(f"tc class: not a line of HTB as tc -s -d -r prints it: "
                         f"{_first_line(block)!r}")
    return HtbClass(
        handle=match["handle"], parent=match["root"] or match["parent"],
        leaf=match["leaf"] or "", prio=int(match["prio"] or 0),
        quantum_bytes=int(match["quantum"] or 0), rate=match["rate"], ceil=match["ceil"],
        overhead_bytes=int(match["overhead"] or 0), linklayer=match["linklayer"] or "ethernet",
        mpu_bytes=int(match["mpu"]) * SIZE_UNIT[match["mpu_unit"]],
        level=int(match["level"]), burst_ticks=int(match["buffer"], 16),
        cburst_ticks=int(match["cbuffer"], 16),
        counters=_counters(block, match["handle"], _HTB_COUNTERS),
    )


def _hfsc(block: str) -> list[HtbClass]:
    """Parse one `class hfsc` block. Return one HtbClass, or an empty list for the root class.
    Raises ParseError."""
    if re.match(r"class hfsc [0-9a-f]+: root\b", block):
        return []
    match, level = _HFSC.match(block), _HFSC_LEVEL.search(block)
    if not match or not level:
        raise ParseError(f"tc class: not a class of HFSC with ls and ul of one slope: "
                         f"{_first_line(block)!r}")
    parent = "root" if match["parent"].endswith(":") else match["parent"]
    return [HtbClass(match["handle"], parent, match["leaf"] or "", 0, 0, match["rate"],
                     match["ceil"], 0, "ethernet", 0, int(level[1]), 0, 0,
                     _counters(block, match["handle"], _COUNTERS))]


def _drr(block: str) -> DrrClass:
    match = _DRR.match(block)
    if not match:
        raise ParseError(f"tc class: not a line of DRR: {_first_line(block)!r}")
    return DrrClass(match["handle"], int(match["quantum"]) * SIZE_UNIT[match["unit"]],
                    _counters(block, match["handle"], _COUNTERS))


def _counters(block: str, handle: str, patterns: tuple[re.Pattern[str], ...]) -> dict[str, int]:
    counters: dict[str, int] = {}
    for pattern in patterns:
        counts = pattern.search(block)
        if not counts:
            raise ParseError(f"tc class: {handle}: no counters like '{pattern.pattern}'; "
                             "is the output cut off?")
        counters |= {key: int(number) for key, number in counts.groupdict().items()}
    return counters


def _filter(block: str) -> list[str]:
    """Parse one `filter` block. Return one line, or an empty list for a block that only announces a
    list of filters. Raises ParseError."""
    words = _first_line(block).split()
    if "protocol" not in words[:-1] or "pref" not in words[:-2]:
        raise ParseError(f"tc filter: not a line of a filter: {_first_line(block)!r}")
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
    return []


def _first_line(block: str) -> str:
    return block.splitlines()[0][:200]
