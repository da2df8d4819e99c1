# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a lab's kernel is that never ends: addresses of instructions, looked at from outside.

The guest's kernel runs in processes of the host, which are ours: ptrace(2) stops one for a
moment and tells where it is. Of a loop that never ends, some look will find each part.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# Of linux/ptrace.h and x86's asm/ptrace-abi.h.
_GETREGS, _DETACH, _SEIZE, _INTERRUPT = 12, 17, 0x4206, 0x4207
_WALL = 0x40000000  # waitpid: whatever kind of child
_REGISTERS, _RIP = 27, 16  # of struct user_regs_struct: words, and the place of rip
LOOKS, BETWEEN_S = 50, 0.01


def busy_addresses(session: int) -> list[int]:
    """Return where the busy processes of a session were at some looks, the address that was
    seen most often first; empty where none is busy, or the host doesn't let us look."""
    if platform.machine() != "x86_64":
        return []
    seen: Counter[int] = Counter()
    for _ in range(LOOKS):
        for process in _running(session):
            address = _address(process)
            if address is not None:
                seen[address] += 1
        time.sleep(BETWEEN_S)
    return [address for address, _ in seen.most_common()]


def _running(session: int) -> Iterator[int]:
    """Processes of a session that compute."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name, in brackets, may have blanks and brackets in it.
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            if words[0] == "R" and int(words[3]) == session:
                yield int(stat.parent.name)


def _address(process: int) -> int | None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(_SEIZE, process, None, None):
        return None
    registers = (ctypes.c_ulonglong * _REGISTERS)()
    try:
        if libc.ptrace(_INTERRUPT, process, None, None):
            return None
        os.waitpid(process, _WALL)
        failed = libc.ptrace(_GETREGS, process, None, ctypes.byref(registers))
        return None if failed else int(registers[_RIP])
    except ChildProcessError:
        return None
    finally:
        libc.ptrace(_DETACH, process, None, None)
