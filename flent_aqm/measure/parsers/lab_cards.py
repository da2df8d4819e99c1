# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses counters of a modelled router: its cards, processor and probes.

The lab's kernel prints them (patch 0010).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError, cause_of

_OTHER_KERNEL = ("was the kernel built by another version of flent-aqm? Build it again, or unset "
                 "FLENT_AQM_KERNEL")


@dataclass(frozen=True)
class CardSample:
    """Counters of one network card of the modelled router at one moment. `dropped`, `busy_ns`,
    `other_ns` and `limits` count from the start of the router.

    Attributes:
        ring: number of packets in the receive ring.
        dropped: number of packets dropped because the receive ring was full.
        sending: number of packets in the transmit ring.
        core: number of the processor core that serves the card.
        busy_ns: time for which that core processed packets.
        other_ns: time for which that core did other work while packets waited.
        limits: how often the core's softirqs reached their limit.
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
    """Times that one probe spent in each stage of the router, in ns.

    Attributes:
        device: device at which the probe arrived.
        number: irtt's sequence number.
        sent_ns: time at which the neighbour sent the probe, on the kernel's clock.
        link: from then until the probe's last bit had arrived.
        ring: from then until the processor took it from the receive ring.
        processor: from then until it was in the qdisc.
        queue: from then until it was in the transmit ring, with the processor's time for sending.
        card: from then until its last bit had left.
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
    """Parse the kernel's text on cards. Return the kernel's clock in ns, and the sample of each
    device by its name. Raises ParseError if the text is damaged."""
    try:
        clock, *lines = text.splitlines()
        return int(clock), dict(_parse_card(line) for line in lines)
    except (ValueError, KeyError) as fault:
        raise ParseError(
            f"the kernel's list of network cards, {text[:60]!r}, has another form than expected "
            f"({cause_of(fault)}): {_OTHER_KERNEL}") from None


def parse_probes(text: str) -> Iterator[ProbeTimes]:
    """Parse the kernel's text on probes. Yield the times of the probes that have left the router.
    Raises ParseError if a line is damaged."""
    for line in text.splitlines():
        try:
            device, *words = line.split()
            yield ProbeTimes(device, *map(int, words))
        except (TypeError, ValueError):
            raise ParseError("the kernel's list of probes has the line "
                             f"{line[:60]!r}; expected a device and 7 whole numbers: "
                             f"{_OTHER_KERNEL}") from None


def _parse_card(line: str) -> tuple[str, CardSample]:
    """Parse one line. Return the device's name and its sample. Raises ValueError or KeyError if the
    line is damaged."""
    device, *words = line.split()
    counts = {name: int(value) for name, _, value in (word.partition("=") for word in words)}
    return device, CardSample(
        counts["ring"], counts["dropped"], counts["sending"], counts["core"], counts["busy_ns"],
        counts["stolen_ns"], counts["limits"])
