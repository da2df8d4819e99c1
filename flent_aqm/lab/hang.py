# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab that never ends is busy with: addresses of instructions, looked at from outside, and
whether a program of it only computes.

The guest's kernel runs in processes of the host, which are ours: ptrace(2) stops one for a
moment and tells where it is, and what it has on its stack. A loop that never ends may be in what
it calls at each look; where that returns to lies on the stack.
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

# Of linux/ptrace.h and x86's asm/ptrace-abi.h.
_GETREGS, _DETACH, _SEIZE, _INTERRUPT = 12, 17, 0x4206, 0x4207
_WALL = 0x40000000  # waitpid: whatever kind of child
# Of struct user_regs_struct: words, and the places of two.
_REGISTERS, _RIP, _RSP = 27, 16, 19
LOOKS, BETWEEN_S = 20, 0.01
# The innermost callers are what is looked for.
_STACK_BYTES = 1024


def busy_addresses(session: int) -> list[int]:
    """Return where the busy processes of a session were at some looks, the address that was
    seen most often first, and behind them what lay on their stacks likewise: addresses to return
    to, and other words. Empty where none is busy, or the host doesn't let us look."""
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


def computes_only(session: int, seconds: float) -> bool:
    """Return whether a process of a session computed for some seconds and did nothing else.

    Each system call in the guest is a signal on the host, whose kernel spends time on it. So a
    process whose own time passes while the host's kernel spends none on it makes no calls. Takes
    as many seconds.
    """
    before = dict(_processor_ticks(session))
    time.sleep(seconds)
    spent = [(user - before[process][0], system - before[process][1])
             for process, (user, system) in _processor_ticks(session) if process in before]
    user, system = max(spent, default=(0, 0))
    # Other processes of the machine may have most of the processor.
    return user >= seconds * os.sysconf("SC_CLK_TCK") / 10 and system <= user / 50


class Watch:
    """Tells whether a process of a session has computed for some seconds of its own processor time
    and done nothing else, as computes_only() does, but beside the run. A busy machine, on which it
    gets little of the processor, delays the answer and doesn't change it."""

    def __init__(self, session: int, seconds: float) -> None:
        self._session, self._ticks = session, seconds * os.sysconf("SC_CLK_TCK")
        self._marks: dict[int, tuple[int, int]] = {}

    def computes_only(self) -> bool:
        """Return whether a process has computed for so long since it last called the system."""
        for process, (user, system) in _processor_ticks(self._session):
            began_user, began_system = self._marks.setdefault(process, (user, system))
            if (system - began_system) * 50 > max(user - began_user, 50):
                self._marks[process] = (user, system)
            elif user - began_user >= self._ticks:
                return True
        return False


def _processor_ticks(session: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield each process of a session with its processor time, user's and system's, in ticks."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(words[3]) == session:
                yield int(stat.parent.name), (int(words[11]), int(words[12]))


def _running(session: int) -> Iterator[int]:
    """Processes of a session that compute."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name, in brackets, may have blanks and brackets in it.
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            if words[0] == "R" and int(words[3]) == session:
                yield int(stat.parent.name)


def _look(process: int) -> tuple[int, tuple[int, ...]]:
    """Return the address of its next instruction and the top of its stack; 0 and nothing where it
    isn't to be seen."""
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
