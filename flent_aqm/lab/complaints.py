# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the cause of a failed run in what a user's kernel reports.

Such a cause is a warning, an oops with function and line, a queue that never releases its packets,
or memory that isn't freed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.base.shell import run

# Marks of the kernel's messages about faults. In the log, an oops comes before the panic that
# results from it.
_MARKS = ("BUG:", "WARNING:", "INFO: possible", "INFO: rcu", "INFO: task", "UBSAN:", "refcount_t:",
          "Kernel mode fault", "Kernel panic")
# Time stamp at the beginning of a line.
_STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[[^\]]*\])? ")
# Address of a fault, which UML prints before it panics.
_REGISTER = re.compile(r"\bRIP: [0-9a-f]+:(\w+)\+0x([0-9a-f]+)/0x[0-9a-f]+")
# An entry of a trace, such as foo_enqueue+0x10/0x20, and the address in UML's panic, such as "ip
# 0x601234".
_PLACE = re.compile(r"\b(\w+)\+0x([0-9a-f]+)/0x[0-9a-f]+")
_ADDRESS = re.compile(r"\bip (?:0x)?([0-9a-f]{6,16})\b")
# Functions by which the kernel reports a fault. They never cause it.
_TELLERS = re.compile(r"show_stack|dump_stack|__warn|warn_slowpath|panic|segv|sig_handler|"
                      r"hard_handler|um_set_signals|unblock_signals|lockdep|print_|check_|__might|"
                      r"report|userspace|relay_signal|bad_|_printk|vprintk")
# A place in a file of the kind that users bring: queues and congestion controls.
_CALLED_BY_NAME = re.compile(r", (?:sch|tcp)_\w+\.c line ")
# Most addresses whose source lines are looked up.
_MOST_PLACES = 2000
# Lines of a complaint that are read: lockdep lists locks before its trace.
_MOST_LINES = 150
# Most characters of a complaint.
LONGEST = 400
# Unreclaimable memory of the kernel in KiB, after a run, that counts as a leak. A run with 32 flows
# at 900 Mbit/s leaves 6 MiB.
LEAK_KB = 11 << 10


def first_complaint(log: str, program: Path) -> str:
    """Return the first complaint in a kernel's log as one line, with the place in the source if it
    can be found. Return "" if there is none.

    program: the kernel, with linux.debug beside it.
    """
    lines = [_STAMP.sub("", line).strip() for line in log.splitlines()]
    for number, line in enumerate(lines):
        if any(mark in line for mark in _MARKS):
            # A panic is followed by its own stack and warnings about the kernel's end, so the place
            # is searched before it first.
            place = (_place_of_fault(lines[:number], program) if "Kernel panic" in line else "") \
                or _place_of(lines[number:number + _MOST_LINES], program)
            text = f"{line} ({place})" if place else line
            return text[:LONGEST]
    return ""


def hang(addresses: Iterable[int], program: Path) -> str:
    """Return the place in the source at which a kernel hangs, "" if it can't be found.

    A loop calls other functions, so the first place in a queue or a congestion control is
    preferred.

    Args:
        addresses: where the kernel was seen, the most likely first. Numbers that aren't addresses
            of the kernel may be among them.
        program: the kernel, with linux.debug beside it.
    """
    places = [place for place in _source_lines(list(addresses)[:_MOST_PLACES], program) if place]
    own = [place for place in places if _CALLED_BY_NAME.search(place)]
    return (own or places or [""])[0]


def leak(held: str) -> str:
    """Return a complaint about packets that the router held after all traffic had ended, "" if
    there are none.

    held: a line for each queue that wasn't empty.
    """
    queues = [line.strip() for line in held.splitlines() if line.strip()]
    if not queues:
        return ""
    return ("the router's queues were not empty when all traffic had long ended: they have "
            f"stalled, or lost packets or counts of them: {'; '.join(queues)}"[:LONGEST])


def memory_leak(meminfo: str) -> str:
    """Return a complaint about unreclaimable memory that the kernel still uses after a run, "" if
    it is less than LEAK_KB or unknown.

    It isn't compared with the memory before the run, because reading that would need another
    program, which would change the samples.

    meminfo: content of /proc/meminfo when all traffic had long ended.
    """
    match = re.search(r"^SUnreclaim:\s+(\d{1,12}) kB$", meminfo, re.MULTILINE)
    if match is None or int(match[1]) < LEAK_KB:
        return ""
    return (f"it still has {int(match[1]) / 1024:.0f} MiB for itself (SUnreclaim in "
            f"/proc/meminfo) after all traffic has ended, expected less than {LEAK_KB >> 10} MiB: "
            "packets, or what belongs to them, are not freed")


def _place_of_fault(lines: Sequence[str], program: Path) -> str:
    """Return function, file and line of the last fault before a panic, "" if the lines have
    none."""
    matches = [match for line in lines if (match := _REGISTER.search(line))]
    start = _addresses(program).get(matches[-1][1]) if matches else None
    return "" if start is None else _source_line(start + int(matches[-1][2], 16), program)


def _place_of(lines: Iterable[str], program: Path) -> str:
    """Return function, file and line that a complaint is about. If these are not the user's, add
    the user's function that called them. Return "" if the complaint has no place."""
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
    """Return the start address of each function of the kernel, by its name. Empty if there is no
    linux.debug."""
    try:
        listed = run(["nm", program.with_name("linux.debug")])
    except AqmError:
        return {}
    return {name: int(start, 16)
            for start, name in re.findall(r"^([0-9a-f]+) [tTwW] (\S+)$", listed, re.MULTILINE)}


def _source_line(address: int, program: Path) -> str:
    """Return the source line of one address, as _source_lines() does."""
    return _source_lines([address], program)[0]


def _source_lines(addresses: Sequence[int], program: Path) -> list[str]:
    """Return function, file and line of each address as text, "" if unknown. File and line are
    included only if the debug information has them, which is so for the user's files.

    If a header's function was inlined into one of a queue or a congestion control, the latter is
    returned.
    """
    if not addresses:
        return []
    try:
        text = run(["addr2line", "-a", "-f", "-i", "-e", program.with_name("linux.debug"),
                    *map(hex, addresses)])
    except AqmError:
        return [""] * len(addresses)
    places = []
    # For each address: the address, then pairs of function and place, the innermost first.
    for part in re.split(r"^0x[0-9a-f]+$\n", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        frames = [_as_words(*pair) for pair in zip(lines[::2], lines[1::2], strict=False)]
        own = [frame for frame in frames if _CALLED_BY_NAME.search(frame)]
        places.append((own or frames or [""])[0])
    return places


def _as_words(function: str, place: str) -> str:
    """Return a frame as text, such as "in foo_enqueue, sch_foo.c line 12", from the two lines that
    addr2line prints. "" if the function is unknown."""
    if function == "??":
        return ""
    path, _, number = place.split(" ")[0].rpartition(":")
    if path in ("", "??") or not number.isdigit():
        return f"in {function}"
    return f"in {function}, {path.rpartition('/')[2]} line {number}"
