# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines, queues and seeds on which each test is run: tables, and the sets made of them.

A place is one line with one queue, with or without a bulk flow beside the test, and one seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean


@dataclass(frozen=True)
class Line:
    """Rates as the shaper counts them, and the round trip of an idle path."""

    down_mbps: float
    up_mbps: float
    rtt_ms: float

    @property
    def name(self) -> str:
        """As files have it."""
        rates = f"{self.down_mbps:g}" + (
            "" if self.down_mbps == self.up_mbps else f"-{self.up_mbps:g}")
        return f"{rates}mbit-{self.rtt_ms:g}ms"

    def __str__(self) -> str:
        rates = f"{self.down_mbps:g}" + (
            "" if self.down_mbps == self.up_mbps else f"/{self.up_mbps:g}")
        return f"{rates} Mbit/s, {self.rtt_ms:g} ms"


@dataclass(frozen=True)
class Buffer:
    """A queue. aqm: of the table of queues; buffer_ms: of a drop-tail one that is as long as so
    much time at the line's rate, None where the kernel's default decides; words: for readers."""

    aqm: str
    words: str
    buffer_ms: float | None = None

    def settings(self, line: Line) -> dict[str, object]:
        """Return the keys of a batch."""
        if self.buffer_ms is None:
            return {"aqm": self.aqm}
        down, up = (_bytes(mbps, self.buffer_ms) for mbps in (line.down_mbps, line.up_mbps))
        own_up = {} if up == down else {"up_aqm": self.aqm, "up_aqm_limit": str(up)}
        return {"aqm": self.aqm, "aqm_limit": str(down), **own_up}


# A queue holds two frames or more, as one can't be sent while another arrives.
_LEAST_BYTES = 2 * 1514


def _bytes(mbps: float, buffer_ms: float) -> int:
    return max(round(mbps * 125 * buffer_ms), _LEAST_BYTES)


BUFFERS: Mapping[str, Buffer] = {
    "fifo_1000p": Buffer("no_aqm", "drop-tail of 1000 packets"),
    "red": Buffer("red", "RED"),
    "codel": Buffer("codel", "CoDel"),
    "pie": Buffer("pie", "PIE"),
    "fq_codel": Buffer("fq_codel", "FQ-CoDel"),
    "cake": Buffer("cake", "CAKE"),
}


# Those that lines have.
QUEUES = ("fifo_50ms", "fifo_250ms", *BUFFERS)
_DROP_TAIL = re.compile(r"fifo_(\d+)ms")


def drop_tail(buffer_ms: float) -> str:
    """Return the name of a queue that is so long, in whole ms."""
    return f"fifo_{buffer_ms:.0f}ms"


@dataclass(frozen=True)
class Place:
    """queue: of BUFFERS, or as drop_tail() names it; beside: a bulk flow each way shares the
    line."""

    line: Line
    queue: str
    beside: bool = False
    seed: int = 1

    @property
    def buffer(self) -> Buffer:
        """Its queue."""
        if match := _DROP_TAIL.fullmatch(self.queue):
            return Buffer("bfifo", f"drop-tail of {match[1]} ms", float(match[1]))
        return BUFFERS[self.queue]

    @property
    def group(self) -> str:
        """All but the queue: what two queues are compared on."""
        return f"{self.line.name}{'-beside' if self.beside else ''}-seed{self.seed}"

    @property
    def without_seed(self) -> str:
        """All but the seed."""
        return f"{self.line.name}-{self.queue}{'-beside' if self.beside else ''}"

    @property
    def name(self) -> str:
        """As files have it."""
        return f"{self.without_seed}-seed{self.seed}"

    @property
    def words(self) -> str:
        """All but the seed, for readers."""
        return f"{self.line}, {self.buffer.words}{', beside a bulk flow' if self.beside else ''}"

    def __str__(self) -> str:
        return f"{self.words}, seed {self.seed}"

    def settings(self) -> dict[str, object]:
        """Return the keys of a batch."""
        return {"rate_down_mbps": self.line.down_mbps, "rate_up_mbps": self.line.up_mbps,
                "base_delay_ms": self.line.rtt_ms, "cross_traffic": self.beside,
                "seed": self.seed, **self.buffer.settings(self.line)}


@dataclass(frozen=True)
class Group:
    """A row of a set: each line with each queue and each seed."""

    lines: Sequence[Line]
    queues: Sequence[str] = QUEUES
    seeds: Sequence[int] = (1,)
    beside: Sequence[bool] = (False,)

    def places(self) -> Iterator[Place]:
        """Yield them, in order."""
        for line in self.lines:
            for beside in self.beside:
                for seed in self.seeds:
                    for queue in self.queues:
                        yield Place(line, queue, beside, seed)


_HOME = Line(50, 50, 40)
_RATES = ((10, 10), (50, 50), (300, 30), (900, 900))
SETS: Mapping[str, Sequence[Group]] = {
    # The least that has two queues to tell apart, and two that are alike.
    "small": (Group((Line(10, 10, 40),), ("fifo_250ms", "fifo_1000p", "codel", "fq_codel")),),
    # 60 places, about ten minutes for a test on two cores.
    "core": (
        Group((_HOME,), seeds=(1, 2, 3)),
        Group((_HOME,), beside=(True,)),
        Group((Line(10, 10, 40), Line(300, 30, 10))),
        Group((Line(50, 50, 120),), ("fifo_50ms", "fifo_250ms", "codel", "pie", "fq_codel")),
        Group((Line(50, 50, 10),), ("fifo_250ms", "fq_codel", "cake")),
        Group((Line(900, 900, 10),), ("fifo_50ms", "fifo_1000p", "fq_codel", "cake")),
    ),
    # Ten that a machine keeps up with in real time, of what every kernel has: not each can delay
    # packets, or has a queue but drop-tail.
    "ten": (
        Group((Line(10, 10, 0), Line(50, 50, 0)),
              ("fifo_10ms", "fifo_25ms", "fifo_50ms", "fifo_100ms", "fifo_250ms")),
    ),
    "full": (
        Group([Line(down, up, rtt_ms) for down, up in _RATES for rtt_ms in (10, 40, 120)],
              seeds=(1, 2, 3), beside=(False, True)),
    ),
}


def places(name: str, seeds: Sequence[int] = (), only: Sequence[str] = ()) -> list[Place]:
    """Return a set's places. seeds: in place of its own, each of its places with each of them;
    only: those with one of these texts in their names. Raises ConfigError."""
    if name not in SETS:
        raise ConfigError(f"--cells: {name!r} is no set of cells{did_you_mean(name, SETS)}; "
                          f"known: {', '.join(SETS)}")
    selected = [place for group in SETS[name] for place in group.places()]
    if seeds:
        selected = [Place(place.line, place.queue, place.beside, seed)
                    for place in {one.without_seed: one for one in selected}.values()
                    for seed in seeds]
    if only:
        names = [place.name for place in selected]
        selected = [place for place in selected if any(text in place.name for text in only)]
        if not selected:
            raise ConfigError(f"--only: {', '.join(only)}: no cell of the set {name} has that in "
                              f"its name; such names are {', '.join(names[:3])}")
    return selected
