# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples the queues of the router's two devices while a test runs.

A thread of Flent's own process enters the router's network namespace and keeps one
netlink socket there: three system calls a sample, and no process is started. What the
kernel answers is taken apart only after the test.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import time
from typing import IO, Any, BinaryIO, cast

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.runners.process import DUE, KILLED, Parsed, SupervisedRunner
from flent_aqm.router.tc.dump import QueueSample, is_complete, parse_dump, request

INTERVAL_S = 0.1
ROUTER_NAMESPACE = "/run/netns/router"
DEVICES = ("down", "up")
# What a file of samples has before each: epoch seconds and the length of the answer.
_RECORD = struct.Struct("=dI")
_ANSWER_BYTES = 1 << 16
# The kernel answers at once; this only keeps a broken one from hanging the run.
_ANSWER_LIMIT_S = 5.0
_CLONE_NEWNET = 0x40000000


class AqmQdiscRunner(SupervisedRunner):
    """Queue counters of the router in a network namespace, for length seconds.

    Keys of the data set: length (s), interval (s).
    Series: down and up, the backlog of either device in bytes. Raw samples have, for each,
    DEVICE_backlog_bytes, DEVICE_backlog_packets, DEVICE_drops, DEVICE_marks and
    DEVICE_overlimits; the last three are counts since the start of the sampling. 'val' is
    the backlog of both.
    """

    def __init__(self, *, length: float, interval: float = INTERVAL_S, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run_for_s = length
        self.interval_s = interval
        self.command = "(netlink: the queues of the router)"

    @property
    def out(self) -> str:
        """What Flent logs as standard output."""
        return f"({os.fstat(self.stdout.fileno()).st_size} bytes of netlink messages)\n"

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        samples = read_samples(cast(BinaryIO, cast(Any, output).buffer))
        series = {device: [[one["t"], one[f"{device}_backlog_bytes"]] for one in samples]
                  for device in DEVICES}
        return series, samples, {}

    # Below: in place of a tool.

    def _run_tool(self) -> None:
        self.started_s = time.time()
        self.returncode = 0
        try:
            with _router_socket() as asked:
                store = cast(Any, self.stdout).buffer
                self._sample(asked, store)
                store.flush()  # another process reads it
        except OSError as fault:
            self.stopped_by = f"the router's queues could not be read: {fault.strerror or fault}"

    def _sample(self, asked: socket.socket, store: BinaryIO) -> None:
        numbers = [socket.if_nametoindex(device) for device in DEVICES]
        store.write(struct.pack("=II", *numbers))
        question = request()
        begin = time.monotonic()
        count = 0
        while count * self.interval_s < (self.run_for_s or 0):
            now_s = time.time()
            asked.send(question)
            answer = asked.recv(_ANSWER_BYTES)
            while not is_complete(answer):
                answer += asked.recv(_ANSWER_BYTES)
            store.write(_RECORD.pack(now_s, len(answer)) + answer)
            count += 1
            if self.kill_event.wait(max(0, begin + count * self.interval_s - time.monotonic())):
                self.stopped_by = KILLED
                return
        self.stopped_by = DUE


def read_samples(source: BinaryIO) -> list[dict[str, Any]]:
    """Raw samples from what the runner stored. Raises BadResult, ParseError."""
    source.seek(0)
    try:
        numbers = struct.unpack("=II", source.read(8))
        taken: list[tuple[float, list[QueueSample]]] = []
        while head := source.read(_RECORD.size):
            now_s, length = _RECORD.unpack(head)
            answer = source.read(length)
            if len(answer) < length:
                raise BadResult("the stored samples of the router's queues are cut off")
            found = parse_dump(answer)
            taken.append((now_s, [found[number] for number in numbers]))
    except (struct.error, KeyError):
        raise BadResult("the router's devices have no queue with counters") from None
    if not taken:
        raise BadResult("no sample of the router's queues was taken")
    first = taken[0][1]
    return [_raw(now_s, queues, first) for now_s, queues in taken]


def _raw(now_s: float, queues: list[QueueSample], first: list[QueueSample]) -> dict[str, Any]:
    sample: dict[str, Any] = {"t": now_s, "val": sum(one.backlog_bytes for one in queues)}
    for device, now, then in zip(DEVICES, queues, first, strict=True):
        sample[f"{device}_backlog_bytes"] = now.backlog_bytes
        sample[f"{device}_backlog_packets"] = now.backlog_packets
        for counter in ("drops", "marks", "overlimits"):
            # They are counted in 32 bits.
            grown = (getattr(now, counter) - getattr(then, counter)) & 0xFFFFFFFF
            sample[f"{device}_{counter}"] = grown
    return sample


def _router_socket() -> socket.socket:
    """A socket inside the router's namespace; the calling thread stays in there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(ROUTER_NAMESPACE, "rb") as namespace:  # os.setns is of Python 3.12
        if libc.setns(namespace.fileno(), _CLONE_NEWNET):
            code = ctypes.get_errno()
            raise OSError(code, f"{ROUTER_NAMESPACE}: {os.strerror(code)}")
    asked = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    asked.settimeout(_ANSWER_LIMIT_S)
    return asked
