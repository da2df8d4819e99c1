# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples the queues of the router's two devices during a test: a runner for Flent.

A thread of Flent's own process enters the router's network namespace and keeps one netlink socket
there. A sample takes three system calls and starts no process. The kernel's answers are parsed only
after the test. If the router has modelled cards and a processor (router_model), their counters and
the times of probes are read as well.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, BinaryIO, cast

from flent_aqm.base.errors import BadResult, ParseError
from flent_aqm.measure.parsers.lab_cards import CardSample, ProbeTimes, parse_cards, parse_probes
from flent_aqm.measure.runners.part import PARTS
from flent_aqm.measure.runners.process import DUE, Parsed, SupervisedRunner, os_error_text
from flent_aqm.router.shaping import IFB_DEVICE
from flent_aqm.router.tc.dump import QueueSample, is_complete, parse_dump, request

INTERVAL_S = 0.1
ROUTER_NAMESPACE = "/run/netns/router"
DEVICES = ("down", "up")
_NOT_SAMPLED = "the router's queues were not sampled: the test ended before the first sample"
# Header of each sample in the file: epoch seconds, and the lengths of the netlink answer, of the
# cards' counters and of the probes' times, in bytes.
_RECORD = struct.Struct("=dIII")
_CARDS = "/sys/module/lab_router/parameters"
# A read of the probes returns at most a page. _LINE_BYTES: the longest line.
_PAGE_BYTES, _LINE_BYTES = 4096, 128
# Device at which a probe arrives -> direction of the probe.
_DIRECTIONS = {"down": "upload", "up": "download"}
_ANSWER_BYTES = 1 << 16
# The kernel answers at once. The limit only prevents a broken kernel from hanging the run.
_ANSWER_LIMIT_S = 5.0
_CLONE_NEWNET = 0x40000000


class AqmQdiscRunner(SupervisedRunner):
    """Samples the queue counters of a router in a network namespace, for `length` seconds.

    Keys of the data set:
        length: seconds.
        interval: seconds between samples.
        cards: True if the router has modelled cards.

    Series: down and up, the backlog of each device in bytes. Raw samples have for each device
    DEVICE_backlog_bytes, DEVICE_backlog_packets, DEVICE_drops, DEVICE_marks, DEVICE_overlimits and
    DEVICE_sent_bytes. The last four count from the first sample. `val` is the backlog of both
    devices.

    With cards, they also have for each device DEVICE_ring_packets, DEVICE_ring_drops (from the
    first sample) and DEVICE_sending_packets, and for each core that serves a card coreN_busy and
    coreN_other, shares of the time since the previous sample. The part "probes", which is in the
    metadata under PARTS, has the times of each probe in the router's stages, in us, or the reason
    why there are none, also without cards.
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
        """Text that Flent logs as standard output: the size of the stored messages, in place of
        these."""
        return f"({os.fstat(self.stdout.fileno()).st_size} bytes of netlink messages)\n"

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Return the series down and up, pairs of epoch seconds and backlog in bytes, the raw
        samples, and the part "probes" under PARTS in the metadata. Without probes, that part is
        empty and has an error. Raises BadResult or ParseError as read_samples() does."""
        samples, parts = read_samples(cast(BinaryIO, cast(Any, output).buffer))
        series = {device: [[one["t"], one[f"{device}_backlog_bytes"]] for one in samples]
                  for device in DEVICES}
        shown = [[one["t"], one["val"]] for one in parts]
        why = {} if parts else {"ERROR": ["no probe went through the router"]}
        return series, samples, {PARTS: {"probes": (shown, parts, why)}}

    def _run_tool(self) -> None:
        """Sample the queues in place of a tool, until `length` is over or the runner is stopped.
        The reason of the end, also a failure, is stored in `stopped_by`. The calling thread stays
        in the router's namespace."""
        self.started_s = time.time()
        self.returncode = 0
        try:
            with _router_socket() as netlink, _open_card_files(self.cards) as files:
                store = cast(Any, self.stdout).buffer
                self._write_samples(netlink, files, store)
                store.flush()  # another process reads it
        except TimeoutError:
            self.stopped_by = ("the router's queues could not be sampled: the kernel did not "
                               f"answer within {_ANSWER_LIMIT_S:g} s")
        except (OSError, ParseError) as fault:
            why = os_error_text(fault) if isinstance(fault, OSError) else str(fault)
            self.stopped_by = f"the router's queues could not be sampled: {why}"

    def _write_samples(self, netlink: socket.socket, files: list[int], store: BinaryIO) -> None:
        """Write samples to `store` until `length` is over (`stopped_by` is DUE then) or the runner
        is stopped (it is the reason then). Call it in a thread that is in the router's namespace.

        Raises OSError if a device is missing, the kernel can't be read or doesn't answer, or
        `store` can't be written. Raises ParseError if the kernel's answer is an error or is cut
        off.

        Args:
            netlink: netlink socket in the router's namespace.
            files: descriptors of the cards' and the probes' file, empty without modelled cards.
            store: file to write to.
        """
        numbers = [_index_of_queue(device) for device in DEVICES]
        store.write(struct.pack("=II", *numbers))
        question = request()
        begin = time.monotonic()
        count = 0
        while count * self.interval_s < (self.run_for_s or 0):
            now_s = time.time()
            netlink.send(question)
            answer = netlink.recv(_ANSWER_BYTES)
            while not is_complete(answer):
                answer += netlink.recv(_ANSWER_BYTES)
            cards, probes = map(_read_kernel_file, files) if files else (b"", b"")
            store.write(_RECORD.pack(now_s, len(answer), len(cards), len(probes))
                        + answer + cards + probes)
            count += 1
            left_s = max(0, begin + count * self.interval_s - time.monotonic())
            # After kill_after's end the event stays set, so waiting for it would return at once.
            if not self.kill_event.is_set():
                self.kill_event.wait(left_s)
            else:
                time.sleep(left_s)
            if why := self.stop_reason():
                self.stopped_by = why
                return
        self.stopped_by = DUE


def read_samples(source: BinaryIO) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Parse the samples that the runner stored.

    Args:
        source: the file with the samples.

    Returns:
        Raw samples of the queues, with the values of modelled cards, and raw samples of the probes'
        times in the order of sending. The latter are empty without modelled cards or without
        probes.

    Raises:
        BadResult: if there are no samples, if they are cut off, or if a device has no queue with
            counters.
        ParseError: if an answer or a text of the kernel is damaged.
    """
    source.seek(0)
    try:
        devices = source.read(8)
        if not devices:
            raise BadResult(_NOT_SAMPLED)
        numbers = struct.unpack("=II", devices)
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
    except struct.error:
        raise BadResult("the stored samples of the router's queues are cut off") from None
    except KeyError as missing:
        direction = ("download", "upload")[numbers.index(missing.args[0])]
        raise BadResult(f"the router's device that sends the {direction} had no root qdisc with "
                        "counters, so its queue can't be sampled; expected one throughout the test"
                        ) from None
    if not taken:
        raise BadResult(_NOT_SAMPLED)
    first = taken[0][1]
    samples = [_queue_sample(now_s, queues, first) for now_s, queues in taken]
    if not cards:
        return samples, []
    for sample, now, then in zip(samples, cards, [cards[0], *cards], strict=False):
        sample |= _card_values(now, then, cards[0])
    # Difference of both clocks, by the first sample.
    began_s = taken[0][0] - cards[0][0] / 1e9
    return samples, [_probe_sample(probe, began_s)
                     for probe in sorted(probes, key=lambda p: p.sent_ns)]


def _card_values(now: tuple[int, dict[str, CardSample]], then: tuple[int, dict[str, CardSample]],
                 first: tuple[int, dict[str, CardSample]]) -> dict[str, Any]:
    """Return the values of a raw sample for cards and cores: for each device DEVICE_ring_packets,
    DEVICE_ring_drops (since the first sample) and DEVICE_sending_packets, for each core that serves
    a card coreN_busy and coreN_other, shares of the time since the previous sample. The shares are
    0 if no time has passed.

    Args:
        now: the kernel's clock in ns, and each device's counters.
        then: clock and counters of the previous sample.
        first: clock and counters of the first sample.
    """
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


def _probe_sample(probe: ProbeTimes, began_s: float) -> dict[str, Any]:
    """Return the raw sample of one probe: t (time of sending in epoch seconds), way ("upload" or
    "download", the device's name for other devices than the router's), seq (irtt's sequence
    number), the times in us of each stage (link, ring, processor, queue, card), and their sum as
    val.

    Args:
        probe: the probe's times.
        began_s: epoch seconds at zero of the kernel's clock.
    """
    parts = {name: getattr(probe, name) / 1e3
             for name in ("link", "ring", "processor", "queue", "card")}
    return {"t": began_s + probe.sent_ns / 1e9, "val": round(sum(parts.values()), 3),
            "way": _DIRECTIONS.get(probe.device, probe.device), "seq": probe.number, **parts}


def _queue_sample(now_s: float, queues: list[QueueSample], first: list[QueueSample]
                  ) -> dict[str, Any]:
    """Return the raw sample of both devices' queues: t, val (the sum of both backlogs in bytes),
    and for each device DEVICE_backlog_bytes, DEVICE_backlog_packets, and the differences to the
    first sample DEVICE_drops, DEVICE_marks, DEVICE_overlimits and DEVICE_sent_bytes.

    Args:
        now_s: time in epoch seconds.
        queues: counters of each device, in the order of DEVICES.
        first: the same at the first sample.
    """
    sample: dict[str, Any] = {"t": now_s, "val": sum(one.backlog_bytes for one in queues)}
    for device, now, then in zip(DEVICES, queues, first, strict=True):
        sample[f"{device}_backlog_bytes"] = now.backlog_bytes
        sample[f"{device}_backlog_packets"] = now.backlog_packets
        for counter in ("drops", "marks", "overlimits"):
            # The kernel's counters have 32 bits.
            grown = (getattr(now, counter) - getattr(then, counter)) & 0xFFFFFFFF
            sample[f"{device}_{counter}"] = grown
        sample[f"{device}_sent_bytes"] = now.sent_bytes - then.sent_bytes
    return sample


@contextmanager
def _open_card_files(cards: bool) -> Iterator[list[int]]:
    """Context manager: yield the descriptors of the open files of the cards' counters and of the
    probes' times. Raises OSError if one can't be opened.

    cards: False to yield an empty list, as the router has no modelled cards.
    """
    files: list[int] = []
    try:
        for name in ("card", "probes") if cards else ():
            files.append(os.open(f"{_CARDS}/{name}", os.O_RDONLY))
        yield files
    finally:
        for file in files:
            os.close(file)


def _read_kernel_file(file: int) -> bytes:
    """Return all that a file of the lab's kernel has to tell now. A read returns at most a page,
    and a read of the file of probes removes the probes that it returns. So the file is read again
    while a page is nearly full and differs from the one before. Raises OSError if the file can't be
    read.

    file: descriptor of the open file.
    """
    pages = [os.pread(file, _PAGE_BYTES, 0)]
    while len(pages[-1]) >= _PAGE_BYTES - _LINE_BYTES:
        page = os.pread(file, _PAGE_BYTES, 0)
        if page == pages[-1]:
            break
        pages.append(page)
    return b"".join(pages)


def _index_of_queue(device: str) -> int:
    """Return the interface index of the device that has a direction's queue. For "down", it is the
    IFB device if there is one, because the download is shaped there (ingress = ifb). Otherwise it
    is the device itself. Raises OSError if there is no such device in the calling thread's
    namespace.

    device: the router's device, "down" or "up".
    """
    if device == "down":
        with suppress(OSError):
            return socket.if_nametoindex(IFB_DEVICE)
    try:
        return socket.if_nametoindex(device)
    except OSError:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), device) from None


def _router_socket() -> socket.socket:
    """Return a netlink socket inside the router's namespace, which the caller closes. Receiving
    raises TimeoutError if an answer is late. The calling thread stays in that namespace. Raises
    OSError if there is no such namespace or this process lacks the right."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(ROUTER_NAMESPACE, "rb") as namespace:  # os.setns is of Python 3.12
        if libc.setns(namespace.fileno(), _CLONE_NEWNET):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), ROUTER_NAMESPACE)
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    netlink.settimeout(_ANSWER_LIMIT_S)
    return netlink
