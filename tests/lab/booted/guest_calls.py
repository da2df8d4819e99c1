# SPDX-License-Identifier: GPL-3.0-or-later
"""What a guest's kernel has to do right around system calls; runs in the guest.

Each line that it prints is one thing that went right. The host's side of a call differs
for all of them: what is interrupted by a signal, what another thread of the same program
runs beside, what changes the program's memory, what never returns.
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import mmap
import os
import queue
import signal
import sys
import threading


def interrupted_read() -> None:
    """A handler runs while a read waits, and the read goes on after it."""
    reading, writing = os.pipe()
    signal.signal(signal.SIGALRM, lambda *_: os.write(writing, b"woken"))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    assert os.read(reading, 5) == b"woken"
    print("a signal interrupts a read")


def threads_take_turns() -> None:
    """Four threads hand a sum around; each keeps its own registers, floating ones too."""
    ring: list[queue.SimpleQueue[float]] = [queue.SimpleQueue() for _ in range(4)]

    def hand_on(number: int) -> None:
        for _ in range(500):
            ring[(number + 1) % 4].put(ring[number].get() + 0.25)

    threads = [threading.Thread(target=hand_on, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    ring[0].put(0.0)
    for thread in threads:
        thread.join()
    assert ring[0].get() == 500.0
    print("threads take turns")


def read_into_new_memory() -> None:
    """A call's result lands in pages that nobody has touched before."""
    with open("/proc/self/exe", "rb") as program, mmap.mmap(-1, 2**20) as memory:
        assert program.readinto(memory) == 2**20
        program.seek(0)
        assert program.read(2**20) == memory[:]
    print("a read brings memory along")


def killed_in_a_call() -> None:
    """A process that waits in a call can be killed."""
    reading, _writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reading, 1)
        os._exit(1)
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    print("a waiting process is killed")


def stopped_in_a_call() -> None:
    """A process that waits in a call can be stopped and continued."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os._exit(os.read(reading, 1)[0])
    os.kill(child, signal.SIGSTOP)
    assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
    os.write(writing, b"\7")
    os.kill(child, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    print("a waiting process is stopped and goes on")


def handler_on_another_stack() -> None:
    """A handler that runs on a stack of its own gets the registers of the fault."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        faulthandler.enable()
        os.kill(os.getpid(), signal.SIGSEGV)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGSEGV
    print("a fault's handler has its stack")


def mapping_where_the_kernel_is() -> None:
    """Where the kernel is in the program's own memory, nothing can be put in its place."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        kernel = [line for line in maps if line.endswith("[kernel]\n")]
    assert len(kernel) == (sys.argv[1] == "carriers=on")
    for line in kernel:
        start = int(line.split("-")[0], 16)
        libc = ctypes.CDLL(None, use_errno=True)
        fixed = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10  # MAP_FIXED
        assert libc.mmap(ctypes.c_void_p(start), 4096, mmap.PROT_WRITE, fixed, -1, 0) == -1
        assert ctypes.get_errno() == errno.EPERM
        assert libc.munmap(ctypes.c_void_p(start), 4096) == -1
    print("the kernel keeps its place")


for check in (interrupted_read, threads_take_turns, read_into_new_memory, killed_in_a_call,
              stopped_in_a_call, handler_on_another_stack, mapping_where_the_kernel_is):
    check()
