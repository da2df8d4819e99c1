# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab's kernel tells of a modelled router's cards, processor and probes (patch 0010)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError


@dataclass(frozen=True)
class CardSample:
    """One device's card at one moment, and what it has counted since the start.

    ring, sending: packets in the receive and the transmit ring; dropped: packets for which
    the receive ring had no place; core: which processor serves it, busy_ns: how long that one
    was busy with packets, other_ns: with other work that they waited for; limits: how often
    its softirqs reached their limit.
    """

    ring: int
    dropped: int
    sending: int
    core: int
    busy_ns: int
    other_ns: int
    limits: int


@dataclass(frozen=True)
class ProbeTimes:
    """Where one probe's time in the router went, in ns.

    device: the one that it arrived at; number: irtt's; sent_ns: when the neighbour sent it, on
    the kernel's clock; link: until its last bit had arrived; ring: until the processor took it;
    processor: until the qdisc had it; queue: until it was in the transmit ring, with what
    sending costs; card: until its last bit had left.
    """

    device: str
    number: int
    sent_ns: int
    link: int
    ring: int
    processor: int
    queue: int
    card: int


def parse_cards(text: str) -> tuple[int, dict[str, CardSample]]:
    """Return the kernel's clock in ns, and each device's sample. Raises ParseError."""
    try:
        clock, *lines = text.splitlines()
        return int(clock), dict(_card(line) for line in lines)
    except (ValueError, KeyError) as fault:
        raise ParseError(f"the kernel's list of cards is damaged: {fault}") from None


def parse_probes(text: str) -> Iterator[ProbeTimes]:
    """Yield the probes that have left the router. Raises ParseError."""
    for line in text.splitlines():
        device, *words = line.split()
        try:
            yield ProbeTimes(device, *map(int, words))
        except (TypeError, ValueError):
            raise ParseError(f"the kernel's list of probes is damaged: {line[:60]!r}") from None


def _card(line: str) -> tuple[str, CardSample]:
    device, *words = line.split()
    counts = {name: int(value) for name, _, value in (word.partition("=") for word in words)}
    return device, CardSample(
        counts["ring"], counts["dropped"], counts["sending"], counts["core"], counts["busy_ns"],
        counts["stolen_ns"], counts["limits"])
