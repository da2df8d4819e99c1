# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples the queues of the router's two devices while a test runs.

A thread of Flent's own process enters the router's network namespace and keeps one
netlink socket there: three system calls a sample, and no process is started. What the
kernel answers is taken apart only after the test. Where the router has cards and a processor
(router_model), their counters and the probes' times are read along with it.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import time
from typing import IO, Any, BinaryIO, cast

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.parsers.lab_cards import CardSample, ProbeTimes, parse_cards, parse_probes
from flent_aqm.measure.runners.part import PARTS
from flent_aqm.measure.runners.process import DUE, Parsed, SupervisedRunner
from flent_aqm.router.tc.dump import QueueSample, is_complete, parse_dump, request

INTERVAL_S = 0.1
ROUTER_NAMESPACE = "/run/netns/router"
DEVICES = ("down", "up")
# What a file of samples has before each: epoch seconds and the length of the answer, of the
# cards' counters, and of the probes' times.
_RECORD = struct.Struct("=dIII")
_CARDS = "/sys/module/lab_router/parameters"
# A read gives no more of the probes than this.
_PAGE_BYTES, _LINE_BYTES = 4096, 128
# The device that a probe comes to, and the way that it goes.
_WAYS = {"down": "upload", "up": "download"}
_ANSWER_BYTES = 1 << 16
# The kernel answers at once; this only keeps a broken one from hanging the run.
_ANSWER_LIMIT_S = 5.0
_CLONE_NEWNET = 0x40000000


class AqmQdiscRunner(SupervisedRunner):
    """Queue counters of the router in a network namespace, for length seconds.

    Keys of the data set: length (s), interval (s), cards (True: the router has some).
    Series: down and up, the backlog of either device in bytes. Raw samples have, for each,
    DEVICE_backlog_bytes, DEVICE_backlog_packets, DEVICE_drops, DEVICE_marks, DEVICE_overlimits
    and DEVICE_sent_bytes; the last four are counts since the start of the sampling. 'val' is
    the backlog of both. With cards there are, for each device, DEVICE_ring_packets,
    DEVICE_ring_drops and DEVICE_sending_packets, and for each core COREn_busy and COREn_other,
    shares of the time since the sample before; and its part "probes" tells where the time of each
    probe in the router went.
    """

    def __init__(self, *, length: float, interval: float = INTERVAL_S, cards: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cards = cards
        self.run_for_s = length
        self.interval_s = interval
        self.command = "(netlink: the queues of the router)"

    @property
    def out(self) -> str:
        """What Flent logs as standard output."""
        return f"({os.fstat(self.stdout.fileno()).st_size} bytes of netlink messages)\n"

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        samples, parts = read_samples(cast(BinaryIO, cast(Any, output).buffer))
        series = {device: [[one["t"], one[f"{device}_backlog_bytes"]] for one in samples]
                  for device in DEVICES}
        shown = [[one["t"], one["val"]] for one in parts]
        why = {} if parts else {"ERROR": ["no probe went through the router"]}
        return series, samples, {PARTS: {"probes": (shown, parts, why)}}

    # Below: in place of a tool.

    def _run_tool(self) -> None:
        self.started_s = time.time()
        self.returncode = 0
        try:
            with _router_socket() as requested:
                store = cast(Any, self.stdout).buffer
                self._sample(requested, store)
                store.flush()  # another process reads it
        except OSError as fault:
            self.stopped_by = f"the router's queues could not be read: {fault.strerror or fault}"

    def _sample(self, requested: socket.socket, store: BinaryIO) -> None:
        numbers = [socket.if_nametoindex(device) for device in DEVICES]
        store.write(struct.pack("=II", *numbers))
        question = request()
        files = [os.open(f"{_CARDS}/{name}", os.O_RDONLY)
                 for name in (("card", "probes") if self.cards else ())]
        begin = time.monotonic()
        count = 0
        while count * self.interval_s < (self.run_for_s or 0):
            now_s = time.time()
            requested.send(question)
            answer = requested.recv(_ANSWER_BYTES)
            while not is_complete(answer):
                answer += requested.recv(_ANSWER_BYTES)
            cards, probes = map(_whole, files) if files else (b"", b"")
            store.write(_RECORD.pack(now_s, len(answer), len(cards), len(probes))
                        + answer + cards + probes)
            count += 1
            left_s = max(0, begin + count * self.interval_s - time.monotonic())
            # While it lingers, the event would end every wait at once.
            if not self.kill_event.is_set():
                self.kill_event.wait(left_s)
            else:
                time.sleep(left_s)
            if why := self.stop_reason():
                self.stopped_by = why
                return
        self.stopped_by = DUE


def read_samples(source: BinaryIO) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Raw samples from what the runner stored: of the queues, and of the probes that were
    taken apart. Raises BadResult, ParseError."""
    source.seek(0)
    try:
        numbers = struct.unpack("=II", source.read(8))
        taken: list[tuple[float, list[QueueSample]]] = []
        cards: list[tuple[int, dict[str, CardSample]]] = []
        probes: list[ProbeTimes] = []
        while head := source.read(_RECORD.size):
            now_s, *lengths = _RECORD.unpack(head)
            answer, card_text, probe_text = map(source.read, lengths)
            if len(answer) + len(card_text) + len(probe_text) < sum(lengths):
                raise BadResult("the stored samples of the router's queues are cut off")
            dump = parse_dump(answer)
            taken.append((now_s, [dump[number] for number in numbers]))
            if card_text:
                cards.append(parse_cards(card_text.decode()))
                probes += parse_probes(probe_text.decode())
    except (struct.error, KeyError):
        raise BadResult("the router's devices have no queue with counters") from None
    if not taken:
        raise BadResult("no sample of the router's queues was taken")
    first = taken[0][1]
    samples = [_raw(now_s, queues, first) for now_s, queues in taken]
    if not cards:
        return samples, []
    for sample, now, then in zip(samples, cards, [cards[0], *cards], strict=False):
        sample |= _of_cards(now, then, cards[0])
    # Both clocks at one moment.
    began_s = taken[0][0] - cards[0][0] / 1e9
    return samples, [_parts(probe, began_s) for probe in sorted(probes, key=lambda p: p.sent_ns)]


def _of_cards(now: tuple[int, dict[str, CardSample]], then: tuple[int, dict[str, CardSample]],
              first: tuple[int, dict[str, CardSample]]) -> dict[str, Any]:
    sample: dict[str, Any] = {}
    passed_ns = now[0] - then[0]
    for device, card in now[1].items():
        sample[f"{device}_ring_packets"] = card.ring
        sample[f"{device}_ring_drops"] = card.dropped - first[1][device].dropped
        sample[f"{device}_sending_packets"] = card.sending
        for name, grown_ns in (("busy", card.busy_ns - then[1][device].busy_ns),
                               ("other", card.other_ns - then[1][device].other_ns)):
            sample[f"core{card.core}_{name}"] = (
                round(grown_ns / passed_ns, 4) if passed_ns else 0.0)
    return sample


def _parts(probe: ProbeTimes, began_s: float) -> dict[str, Any]:
    parts = {name: getattr(probe, name) / 1e3
             for name in ("link", "ring", "processor", "queue", "card")}
    return {"t": began_s + probe.sent_ns / 1e9, "val": round(sum(parts.values()), 3),
            "way": _WAYS.get(probe.device, probe.device), "seq": probe.number, **parts}


def _raw(now_s: float, queues: list[QueueSample], first: list[QueueSample]) -> dict[str, Any]:
    sample: dict[str, Any] = {"t": now_s, "val": sum(one.backlog_bytes for one in queues)}
    for device, now, then in zip(DEVICES, queues, first, strict=True):
        sample[f"{device}_backlog_bytes"] = now.backlog_bytes
        sample[f"{device}_backlog_packets"] = now.backlog_packets
        for counter in ("drops", "marks", "overlimits"):
            # They are counted in 32 bits.
            grown = (getattr(now, counter) - getattr(then, counter)) & 0xFFFFFFFF
            sample[f"{device}_{counter}"] = grown
        sample[f"{device}_sent_bytes"] = now.sent_bytes - then.sent_bytes
    return sample


def _whole(file: int) -> bytes:
    """Return all that a file of the kernel's has now. Of the probes, a read gives a page at most,
    and each of them once."""
    pages = [os.pread(file, _PAGE_BYTES, 0)]
    while len(pages[-1]) >= _PAGE_BYTES - _LINE_BYTES:
        pages.append(os.pread(file, _PAGE_BYTES, 0))
    return b"".join(pages)


def _router_socket() -> socket.socket:
    """Return a socket inside the router's namespace; the calling thread stays in there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(ROUTER_NAMESPACE, "rb") as namespace:  # os.setns is of Python 3.12
        if libc.setns(namespace.fileno(), _CLONE_NEWNET):
            code = ctypes.get_errno()
            raise OSError(code, f"{ROUTER_NAMESPACE}: {os.strerror(code)}")
    requested = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    requested.settimeout(_ANSWER_LIMIT_S)
    return requested
