# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses counters of a modelled router: its cards, processor and probes.

The lab's kernel prints them (patch 0010).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError


@dataclass(frozen=True)
class CardSample:
    """Counters of one device's card at one moment. All except `ring` and `sending` count from the
    start."""

    # Packets in the receive ring.
    ring: int
    # Packets dropped because the receive ring was full.
    dropped: int
    # Packets in the transmit ring.
    sending: int
    # Number of the processor core that serves the card.
    core: int
    # Time for which that core processed packets.
    busy_ns: int
    # Time for which that core did other work while packets waited.
    other_ns: int
    # How often the core's softirqs reached their limit.
    limits: int


@dataclass(frozen=True)
class ProbeTimes:
    """Times that one probe spent in each stage of the router, in ns."""

    # Device at which the probe arrived.
    device: str
    # irtt's sequence number.
    number: int
    # When the neighbour sent the probe, on the kernel's clock.
    sent_ns: int
    # Until its last bit had arrived.
    link: int
    # From then until the processor took it from the receive ring.
    ring: int
    # From then until it was in the qdisc.
    processor: int
    # From then until it was in the transmit ring, with the processor's time for sending.
    queue: int
    # From then until its last bit had left.
    card: int


def parse_cards(text: str) -> tuple[int, dict[str, CardSample]]:
    """Return the kernel's clock in ns, and the sample of each device by its name. Raises
    ParseError."""
    try:
        clock, *lines = text.splitlines()
        return int(clock), dict(_card(line) for line in lines)
    except (ValueError, KeyError) as fault:
        raise ParseError(f"the kernel's list of cards is damaged: {fault}") from None


def parse_probes(text: str) -> Iterator[ProbeTimes]:
    """Yield the times of the probes that have left the router. Raises ParseError."""
    for line in text.splitlines():
        device, *words = line.split()
        try:
            yield ProbeTimes(device, *map(int, words))
        except (TypeError, ValueError):
            raise ParseError(f"the kernel's list of probes is damaged: {line[:60]!r}") from None


def _card(line: str) -> tuple[str, CardSample]:
    """Return the device's name and its sample from one line."""
    device, *words = line.split()
    counts = {name: int(value) for name, _, value in (word.partition("=") for word in words)}
    return device, CardSample(
        counts["ring"], counts["dropped"], counts["sending"], counts["core"], counts["busy_ns"],
        counts["stolen_ns"], counts["limits"])
