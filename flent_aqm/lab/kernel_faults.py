# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the cause of a failed run on a user's kernel, from the kernel's log or its behaviour.

It reports a warning, an oops with function and line, a queue that never releases its packets, or
memory that isn't freed. A lab that never ends is examined from outside: busy_addresses() samples
the addresses of instructions that the guest executes, and Watch finds out whether one of its
programs only computes. The guest's kernel runs in processes of the host, which belong to this user:
ptrace(2) stops a process for a moment, and reads its registers and its stack. If the functions that
a loop calls are sampled in place of the loop, the addresses to which they return are on the stack.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
# Requests of ptrace(2), from linux/ptrace.h and x86's asm/ptrace-abi.h.
_GETREGS, _DETACH, _SEIZE, _INTERRUPT = 12, 17, 0x4206, 0x4207
_WALL = 0x40000000  # flag of waitpid() for all kinds of child
# Number of words in struct user_regs_struct, and the indexes of RIP and RSP.
_REGISTERS, _RIP, _RSP = 27, 16, 19
# Number of samples, and seconds between two of them.
LOOKS, BETWEEN_S = 20, 0.01
# Most system time of a process that only computes, as a share of its own time. Runs cause 0.3 and
# more. STOPS is evidence enough to stop a run at once: a loop in a kernel causes next to none.
# EXPLAINS is for the message about a run that is stopped at its limit anyway: on a busy machine,
# preemption counts as system time, too.
STOPS, EXPLAINS = 0.02, 0.25
# Bytes of the stack that are read: the innermost callers are enough.
_STACK_BYTES = 1024


def first_complaint(log: str, program: Path) -> str:
    """Return the first complaint in a kernel's log (a line with BUG, WARNING, panic or the like,
    see _MARKS) as one line, followed by the position in the source if that can be found. It is cut
    to LONGEST characters. Return "" if there is none.

    Args:
        log: text of the kernel's log.
        program: the kernel's file, with linux.debug beside it.
    """
    lines = [_STAMP.sub("", line).strip() for line in log.splitlines()]
    for number, line in enumerate(lines):
        if any(mark in line for mark in _MARKS):
            # A panic is followed by its own stack and warnings about the kernel's end, so the place
            # is searched before it first.
            place = (_fault_position(lines[:number], program) if "Kernel panic" in line else "") \
                or _complaint_position(lines[number:number + _MOST_LINES], program)
            text = f"{line} ({place})" if place else line
            return text[:LONGEST]
    return ""


def find_hang(addresses: Iterable[int], program: Path) -> str:
    """Return the position in the source at which a kernel hangs, such as "in foo_enqueue, sch_foo.c
    line 12". "" if it can't be found.

    A loop calls other functions, so the first position in a queue or a congestion control is
    preferred.

    Args:
        addresses: addresses at which the kernel was seen, the most likely first. Numbers that
            aren't addresses of the kernel may be among them. Only the first _MOST_PLACES are looked
            up.
        program: the kernel's file, with linux.debug beside it.
    """
    places = [place for place in _source_lines(list(addresses)[:_MOST_PLACES], program) if place]
    own = [place for place in places if _CALLED_BY_NAME.search(place)]
    return (own or places or [""])[0]


def packet_leak(held: str) -> str:
    """Return a complaint, of at most LONGEST characters, about packets that the router held after
    all traffic had ended, "" if there are none.

    Args:
        held: a line for each queue that wasn't empty. Blank lines are ignored.
    """
    queues = [line.strip() for line in held.splitlines() if line.strip()]
    if not queues:
        return ""
    return ("the router's queues were not empty when all traffic had long ended: a queue has "
            f"stalled, or counts packets wrongly: {'; '.join(queues)}"[:LONGEST])


def memory_leak(meminfo: str) -> str:
    """Return a complaint about unreclaimable memory that the kernel still uses after a run, "" if
    it is less than LEAK_KB or unknown.

    The memory isn't compared with that before the run, because reading that would need another
    program, which would change the samples.

    Args:
        meminfo: content of /proc/meminfo when all traffic had long ended and all queues had been
            removed.
    """
    match = re.search(r"^SUnreclaim:\s+(\d{1,12}) kB$", meminfo, re.MULTILINE)
    if match is None or int(match[1]) < LEAK_KB:
        return ""
    return (f"it still uses {int(match[1]) / 1024:.1f} MiB of memory (SUnreclaim in /proc/meminfo) "
            "after all traffic has ended and the queues are gone, expected less than "
            f"{LEAK_KB >> 10} MiB: packets, or data about them, are not freed")


def _fault_position(lines: Sequence[str], program: Path) -> str:
    """Return function, file and line of the last fault before a panic, such as "in foo_enqueue,
    sch_foo.c line 12". Only "in foo_enqueue" if file or line is unknown, "" if there is no fault,
    or if the function of the last one is unknown.

    Args:
        lines: lines of the kernel's log before the panic.
        program: the kernel's file, with linux.debug beside it.
    """
    matches = [match for line in lines if (match := _REGISTER.search(line))]
    start = _start_addresses(program).get(matches[-1][1]) if matches else None
    return "" if start is None else _source_line(start + int(matches[-1][2], 16), program)


def _complaint_position(lines: Iterable[str], program: Path) -> str:
    """Return the position in the source that a complaint is about, such as "in foo_enqueue,
    sch_foo.c line 12". Only "in foo_enqueue" if file or line is unknown, "" if the complaint has no
    position.

    If the position is that of the first entry of a trace, and not in a file of a queue or
    congestion control, the nearest caller in such a file is appended: ", called from …". A position
    from an address in the complaint (ip 0x…), before any trace, has no caller.

    Args:
        lines: the complaint and the lines after it, such as a trace.
        program: the kernel's file, with linux.debug beside it.
    """
    named: list[tuple[str, int]] = []
    for line in lines:
        address = _ADDRESS.search(line)
        if address and not named:
            return _source_line(int(address[1], 16), program)
        named += [(name, int(offset, 16)) for name, offset in _PLACE.findall(line)
                  if not _TELLERS.search(name)]
    if not named:
        return ""
    starts = _start_addresses(program)
    located = [(name, starts[name] + offset - 1) for name, offset in named if name in starts]
    places = _source_lines([address for _name, address in located], program)
    first = (places[0] if located and located[0][0] == named[0][0] else "") or f"in {named[0][0]}"
    own = next((place for place in places if _CALLED_BY_NAME.search(place)), "")
    if not own or _CALLED_BY_NAME.search(first):
        return first
    return f"{first}, called from {own.removeprefix('in ')}"


def _start_addresses(program: Path) -> dict[str, int]:
    """Return the start addresses of the kernel's functions, by name. Of functions with the same
    name, only one is included. Empty if linux.debug, beside `program`, can't be read, or nm isn't
    installed."""
    try:
        listed = run(["nm", program.with_name("linux.debug")])
    except AqmError:
        return {}
    return {name: int(start, 16)
            for start, name in re.findall(r"^([0-9a-f]+) [tTwW] (\S+)$", listed, re.MULTILINE)}


def _source_line(address: int, program: Path) -> str:
    """Return the position of one address in the source, such as "in foo_enqueue, sch_foo.c line
    12", as _source_lines() returns it for several. "" if it is unknown.

    Args:
        address: address in the kernel.
        program: the kernel's file, with linux.debug beside it.
    """
    return _source_lines([address], program)[0]


def _source_lines(addresses: Sequence[int], program: Path) -> list[str]:
    """Return the position of each address in the source, such as "in foo_enqueue, sch_foo.c line
    12", "" if unknown. File and line are included only if the debug information has them, which is
    so for the user's files.

    If a header's function was inlined into a function of a queue or a congestion control, the
    latter function is returned.

    Args:
        addresses: addresses in the kernel.
        program: the kernel's file, with linux.debug beside it.
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
        frames = [_frame_text(*pair) for pair in zip(lines[::2], lines[1::2], strict=False)]
        own = [frame for frame in frames if _CALLED_BY_NAME.search(frame)]
        places.append((own or frames or [""])[0])
    return places


def _frame_text(function: str, place: str) -> str:
    """Return a frame as text, such as "in foo_enqueue, sch_foo.c line 12", from the two lines that
    addr2line prints for it. Only "in foo_enqueue" if file or line is unknown, "" if the function is
    unknown.

    Args:
        function: the first line, the name of the function or ??.
        place: the second line, PATH:NUMBER or ??:?.
    """
    if function == "??":
        return ""
    path, _, number = place.split(" ")[0].rpartition(":")
    if path in ("", "??") or not number.isdecimal():
        return f"in {function}"
    return f"in {function}, {path.rpartition('/')[2]} line {number}"


def busy_addresses(session: int) -> list[int]:
    """Stop the running processes of a session LOOKS times for a moment each, and return the
    addresses at which they were seen, the most frequent first. This takes a little more than LOOKS
    * BETWEEN_S seconds.

    They are followed by words from the stacks of these processes, each less 1, the most frequent
    first: return addresses and other words. Empty if no process runs, if the host doesn't permit
    ptrace, or on processors other than x86_64.

    Args:
        session: id of the session.
    """
    if platform.machine() != "x86_64":
        return []
    seen: Counter[int] = Counter()
    on_stack: Counter[int] = Counter()
    for _ in range(LOOKS):
        for process in _running_processes(session):
            address, words = _sample_process(process)
            seen.update([address] if address else [])
            # A call is before the address that it returns to.
            on_stack.update({word - 1 for word in words if word})
        time.sleep(BETWEEN_S)
    return [address for counter in (seen, on_stack) for address, _ in counter.most_common()]


def clock_s(session: int, program: Path) -> float | None:
    """Return the time on the guest's clock, in s since its boot. None if it can't be read: without
    the kernel's debug information or nm, or if this user may not read the guest's memory.

    Args:
        session: id of the session of the guest's processes.
        program: the kernel's file, with linux.debug beside it.
    """
    try:
        listed = run(["nm", program.with_name("linux.debug")])
    except AqmError:
        return None
    place = re.search(r"^([0-9a-f]+) [bBdD] time_travel_time$", listed, re.MULTILINE)
    for process, _ in _processor_ticks(session):
        if place is None:
            break
        # Programs that started the kernel have no such address.
        with contextlib.suppress(OSError, struct.error), \
                open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            memory.seek(int(place[1], 16))
            nanoseconds: int = struct.unpack("<q", memory.read(8))[0]
            return nanoseconds / 1e9
    return None


class Watch:
    """Measures how long the processes of a session have only computed, in their processor time.

    Each system call in the guest is a signal on the host, on which the host's kernel spends time.
    So a process that uses processor time, but causes no system time on the host, makes no calls.

    Args:
        session: id of the session.
        most_system_share: a process counts as only computing while its system time is at most this
            share of its user time, where less than 50 ticks of user time count as 50.
    """

    def __init__(self, session: int, most_system_share: float) -> None:
        self._session, self._most_system_share = session, most_system_share
        # Process -> its user and system time in ticks when it last made system calls.
        self._marks: dict[int, tuple[int, int]] = {}

    def computed_s(self) -> float:
        """Return the longest user time in s for which a process of the session has only computed
        until now, 0 if none has. Call it at intervals: each call tells which processes have made
        system calls since, and counts anew for them. Time before a process is seen first does not
        count, so the first call returns 0."""
        longest = 0
        for process, (user, system) in _processor_ticks(self._session):
            began_user, began_system = self._marks.setdefault(process, (user, system))
            computed = user - began_user
            # Of a short time, a single tick would be a large share.
            if system - began_system > self._most_system_share * max(computed, 50):
                self._marks[process] = (user, system)
            else:
                longest = max(longest, computed)
        return longest / os.sysconf("SC_CLK_TCK")


def _processor_ticks(session: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the id, and the processor time in clock ticks as a pair (user, system), of each process
    of a session."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(words[3]) == session:
                yield int(stat.parent.name), (int(words[11]), int(words[12]))


def _running_processes(session: int) -> Iterator[int]:
    """Yield the ids of the processes of a session that are running."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The process's name, in brackets, may contain blanks and brackets.
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            if words[0] == "R" and int(words[3]) == session:
                yield int(stat.parent.name)


def _sample_process(process: int) -> tuple[int, tuple[int, ...]]:
    """Stop one process for a moment. Return the address of its next instruction, and the words at
    the top of its stack, none if the stack can't be read. Return 0 and no words if the process
    can't be traced."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(_SEIZE, process, None, None):
        return 0, ()
    registers = (ctypes.c_ulonglong * _REGISTERS)()
    try:
        if libc.ptrace(_INTERRUPT, process, None, None):
            return 0, ()
        os.waitpid(process, _WALL)
        if libc.ptrace(_GETREGS, process, None, ctypes.byref(registers)):
            return 0, ()
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            memory.seek(registers[_RSP])
            stack = memory.read(_STACK_BYTES)
        return int(registers[_RIP]), struct.unpack(f"<{len(stack) // 8}Q", stack[:len(stack) & ~7])
    except OSError:  # it has ended, or its stack isn't memory
        return int(registers[_RIP]), ()
    finally:
        libc.ptrace(_DETACH, process, None, None)
