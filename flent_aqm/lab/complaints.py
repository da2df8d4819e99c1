# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kernel of the user's says of its own mistakes, as the cause of a failed run: a warning,
an oops with function and line, a queue that never lets go of packets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.base.shell import run

# Beginnings of the kernel's words for what must not happen, the most telling first: an oops'
# own line is followed by the panic that it leads to.
_MARKS = ("BUG:", "WARNING:", "INFO: possible", "INFO: rcu", "INFO: task", "UBSAN:", "refcount_t:",
          "Kernel mode fault", "Kernel panic")
_STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[[^\]]*\])? ")
# Where the processor was at a fault, which UML tells before it panics.
_REGISTER = re.compile(r"\bRIP: [0-9a-f]+:(\w+)\+0x([0-9a-f]+)/0x[0-9a-f]+")
# foo_enqueue+0x10/0x20 of a trace, and "ip 0x601234" of UML's panic.
_PLACE = re.compile(r"\b(\w+)\+0x([0-9a-f]+)/0x[0-9a-f]+")
_ADDRESS = re.compile(r"\bip (?:0x)?([0-9a-f]{6,16})\b")
# Functions by which the kernel tells of a fault, and that are never at fault.
_TELLERS = re.compile(r"show_stack|dump_stack|__warn|warn_slowpath|panic|segv|sig_handler|"
                      r"hard_handler|um_set_signals|unblock_signals|lockdep|print_|check_|__might|"
                      r"report|userspace|relay_signal|bad_|_printk|vprintk")
# Files of the kind that a user brings.
_CALLED_BY_NAME = re.compile(r", (?:sch|tcp)_\w+\.c line ")
_MOST_PLACES = 2000
# Of a complaint: lockdep lists locks before its trace.
_MOST_LINES = 150
LONGEST = 400


def first_complaint(log: str, program: Path) -> str:
    """Return the first complaint in a kernel's log, with the place in the source where it can
    be told, as one line; "" for none. program: the kernel, with linux.debug beside it."""
    lines = [_STAMP.sub("", line).strip() for line in log.splitlines()]
    for number, line in enumerate(lines):
        if any(mark in line for mark in _MARKS):
            # What follows a panic is its own stack, and warnings of how the kernel ends.
            place = (_place_of_fault(lines[:number], program) if "Kernel panic" in line else "") \
                or _place_of(lines[number:number + _MOST_LINES], program)
            text = f"{line} ({place})" if place else line
            return text[:LONGEST]
    return ""


def hang(addresses: Iterable[int], program: Path) -> str:
    """Return the place in the source where a kernel is that never ends, "" where nobody knows.
    addresses: where it was seen, the most likely first, with others among them that are no
    place in the kernel.

    A loop calls functions of others: the first place that is in a queue or a congestion control
    is the one to tell.
    """
    places = [place for place in _source_lines(list(addresses)[:_MOST_PLACES], program) if place]
    own = [place for place in places if _CALLED_BY_NAME.search(place)]
    return (own or places or [""])[0]


def leak(held: str) -> str:
    """Return what the router still held when nothing more came, "" for nothing."""
    queues = [line.strip() for line in held.splitlines() if line.strip()]
    if not queues:
        return ""
    return ("the router's queues were not empty when all traffic had long ended: they have "
            f"stalled, or lost packets or counts of them: {'; '.join(queues)}"[:LONGEST])


def _place_of_fault(lines: Sequence[str], program: Path) -> str:
    """Return function, file and line of the last fault before a panic, "" where none is told."""
    matches = [match for line in lines if (match := _REGISTER.search(line))]
    start = _addresses(program).get(matches[-1][1]) if matches else None
    return "" if start is None else _source_line(start + int(matches[-1][2], 16), program)


def _place_of(lines: Iterable[str], program: Path) -> str:
    """Return function, file and line that a complaint is about, and if they are not the user's,
    the user's function that called them."""
    named: list[tuple[str, int]] = []
    for line in lines:
        address = _ADDRESS.search(line)
        if address and not named:
            return _source_line(int(address[1], 16), program)
        named += [(name, int(offset, 16)) for name, offset in _PLACE.findall(line)
                  if not _TELLERS.search(name)]
    if not named:
        return ""
    starts = _addresses(program)
    located = [(name, starts[name] + offset - 1) for name, offset in named if name in starts]
    places = _source_lines([address for _name, address in located], program)
    first = (places[0] if located and located[0][0] == named[0][0] else "") or f"in {named[0][0]}"
    own = next((place for place in places if _CALLED_BY_NAME.search(place)), "")
    if not own or _CALLED_BY_NAME.search(first):
        return first
    return f"{first}, called from {own.removeprefix('in ')}"


def _addresses(program: Path) -> dict[str, int]:
    """Return where each function begins, by its name."""
    try:
        listed = run(["nm", program.with_name("linux.debug")])
    except AqmError:
        return {}
    return {name: int(start, 16)
            for start, name in re.findall(r"^([0-9a-f]+) [tTwW] (\S+)$", listed, re.MULTILINE)}


def _source_line(address: int, program: Path) -> str:
    """As _source_lines() has it."""
    return _source_lines([address], program)[0]


def _source_lines(addresses: Sequence[int], program: Path) -> list[str]:
    """Function, file and line of each, the latter two for files of the user's; "" where nobody
    knows. Where a header's function was put into one of a queue or a congestion control, the
    latter."""
    if not addresses:
        return []
    try:
        text = run(["addr2line", "-a", "-f", "-i", "-e", program.with_name("linux.debug"),
                    *map(hex, addresses)])
    except AqmError:
        return [""] * len(addresses)
    places = []
    # Of each address itself, then function and place, from the innermost on outwards.
    for part in re.split(r"^0x[0-9a-f]+$\n", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        frames = [_as_words(*pair) for pair in zip(lines[::2], lines[1::2], strict=False)]
        own = [frame for frame in frames if _CALLED_BY_NAME.search(frame)]
        places.append((own or frames or [""])[0])
    return places


def _as_words(function: str, place: str) -> str:
    """Of the two lines that addr2line has for an address."""
    if function == "??":
        return ""
    path, _, number = place.split(" ")[0].rpartition(":")
    if path in ("", "??") or not number.isdigit():
        return f"in {function}"
    return f"in {function}, {path.rpartition('/')[2]} line {number}"
