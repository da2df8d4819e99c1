# SPDX-License-Identifier: GPL-3.0-or-later
"""Examines from outside what a lab that never ends is doing.

It samples the addresses of instructions that the guest executes, and finds out whether one of its
programs only computes. The guest's kernel runs in processes of the host, which belong to this user:
ptrace(2) stops a process for a moment, and reads its registers and its stack. If the functions that
a loop calls are sampled in place of the loop, the addresses to which they return are on the stack.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

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


def busy_addresses(session: int) -> list[int]:
    """Return addresses at which the running processes of a session were seen, the most frequent
    first.

    They are followed by words from the stacks of these processes, the most frequent first: return
    addresses and other words. Empty if no process runs, or if the host doesn't permit ptrace.
    """
    if platform.machine() != "x86_64":
        return []
    seen: Counter[int] = Counter()
    on_stack: Counter[int] = Counter()
    for _ in range(LOOKS):
        for process in _running(session):
            address, words = _look(process)
            seen.update([address] if address else [])
            # A call is before the address that it returns to.
            on_stack.update({word - 1 for word in words if word})
        time.sleep(BETWEEN_S)
    return [address for counter in (seen, on_stack) for address, _ in counter.most_common()]


class Watch:
    """Measures how long the processes of a session have only computed, in their processor time.

    Each system call in the guest is a signal on the host, on which the host's kernel spends time.
    So a process that uses processor time, but causes no system time on the host, makes no calls.

    Args:
        session: the session of the processes.
        most_system_share: system time, as a share of the time that the process used itself, up to
            which it counts as only computing.
    """

    def __init__(self, session: int, most_system_share: float) -> None:
        self._session, self._most_system_share = session, most_system_share
        # Process -> its user and system time in ticks when it last made system calls.
        self._marks: dict[int, tuple[int, int]] = {}

    def computed_s(self) -> float:
        """Return the longest processor time, in s, that a process has only computed until now. It
        counts from the first call of this method."""
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
    """Yield the id and the processor time (user, system; in clock ticks) of each process of a
    session."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(words[3]) == session:
                yield int(stat.parent.name), (int(words[11]), int(words[12]))


def _running(session: int) -> Iterator[int]:
    """Yield the ids of the processes of a session that are running."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The process's name, in brackets, may contain blanks and brackets.
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            if words[0] == "R" and int(words[3]) == session:
                yield int(stat.parent.name)


def _look(process: int) -> tuple[int, tuple[int, ...]]:
    """Sample one process: return the address of its next instruction, and the words at the top of
    its stack. Return 0 and no words if the process can't be traced."""
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
