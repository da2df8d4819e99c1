# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of the lines, queues and seeds on which tests are run, and sets of their combinations.

A place is a combination of a line, a queue, a bulk flow beside the test or none, and a seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import unknown_value

# Rate of a link with jitter, of the line's rate: so fast that no queue stands there.
_BEHIND = 10


@dataclass(frozen=True)
class AccessLine:
    """An access line.

    Attributes:
        down_mbps: rate of the shaper, download.
        up_mbps: rate of the shaper, upload.
        rtt_ms: round-trip time of the idle path, without jitter.
        jitter_ms: greatest random delay of a packet in each direction, without reordering.
    """

    down_mbps: float
    up_mbps: float
    rtt_ms: float
    jitter_ms: float = 0.0

    @property
    def name(self) -> str:
        """Name for files, such as 300-30mbit-10ms, or 50mbit-20ms-jitter4ms with equal rates and
        jitter."""
        rates = f"{self.down_mbps:g}" + (
            "" if self.down_mbps == self.up_mbps else f"-{self.up_mbps:g}")
        jitter = f"-jitter{self.jitter_ms:g}ms" if self.jitter_ms else ""
        return f"{rates}mbit-{self.rtt_ms:g}ms{jitter}"

    def settings(self) -> dict[str, object]:
        """Return batch key -> value of the line without its queue: the shaper's rates and the
        round-trip time. With jitter, also that of a link behind the router, and the link's rate,
        which is so high that no queue stands there."""
        link = {"modem_mbps": _BEHIND * max(self.down_mbps, self.up_mbps),
                "link_jitter_ms": self.jitter_ms} if self.jitter_ms else {}
        return {"rate_down_mbps": self.down_mbps, "rate_up_mbps": self.up_mbps,
                "base_delay_ms": self.rtt_ms, **link}

    def __str__(self) -> str:
        rates = f"{self.down_mbps:g}" + (
            "" if self.down_mbps == self.up_mbps else f"/{self.up_mbps:g}")
        jitter = f" with {self.jitter_ms:g} ms of jitter" if self.jitter_ms else ""
        return f"{rates} Mbit/s, {self.rtt_ms:g} ms{jitter}"


@dataclass(frozen=True)
class Buffer:
    """A queue on a line.

    Attributes:
        aqm: name in the table of queues (batch key `aqm`).
        words: description for readers.
        buffer_ms: size of a drop-tail queue, as time at the line's rate. None: the queue's default.
    """

    aqm: str
    words: str
    buffer_ms: float | None = None

    def settings(self, line: AccessLine) -> dict[str, object]:
        """Return batch key -> value of the queue on a line: AQM and, for a drop-tail queue with a
        size, its limit in bytes, as text. If the upload's limit is another, its AQM and limit have
        their own keys."""
        if self.buffer_ms is None:
            return {"aqm": self.aqm}
        down, up = (_queue_bytes(mbps, self.buffer_ms) for mbps in (line.down_mbps, line.up_mbps))
        own_up = {} if up == down else {"up_aqm": self.aqm, "up_aqm_limit": str(up)}
        return {"aqm": self.aqm, "aqm_limit": str(down), **own_up}


# Least size of a queue: two frames, so that one can be sent while another arrives.
_LEAST_BYTES = 2 * 1514


def _queue_bytes(mbps: float, buffer_ms: float) -> int:
    """Return the size in bytes of a queue that holds `buffer_ms` ms at this rate, at least two
    frames."""
    return max(round(mbps * 125 * buffer_ms), _LEAST_BYTES)


BUFFERS: Mapping[str, Buffer] = {
    "fifo_1000p": Buffer("no_aqm", "drop-tail of 1000 packets"),
    "red": Buffer("red", "RED"),
    "codel": Buffer("codel", "CoDel"),
    "pie": Buffer("pie", "PIE"),
    "fq_codel": Buffer("fq_codel", "FQ-CoDel"),
    "cake": Buffer("cake", "CAKE"),
}


# Names of the queues of the sets.
QUEUES = ("fifo_50ms", "fifo_250ms", *BUFFERS)
_DROP_TAIL = re.compile(r"fifo_(\d+)ms")


def drop_tail(buffer_ms: float) -> str:
    """Return the name of a drop-tail queue of this size, such as fifo_50ms. The size is rounded to
    whole ms."""
    return f"fifo_{buffer_ms:.0f}ms"


@dataclass(frozen=True)
class _Beside:
    """How names and descriptions say which bulk flow shares the line.

    Attributes:
        suffix: part of the name for files.
        words: end of the description for readers.
    """

    suffix: str = ""
    words: str = ""


CUBIC, BBR = "cubic", "bbr"
# Congestion control of the bulk flow -> how names say it.
_BESIDE = {"": _Beside(), CUBIC: _Beside("-beside", ", beside a bulk flow"),
           BBR: _Beside("-beside-bbr", ", beside a bulk flow of BBR")}


@dataclass(frozen=True)
class Place:
    """A line with a queue and a seed.

    Attributes:
        line: the line.
        queue: key of BUFFERS, or a name that drop_tail() returns.
        beside: congestion control of a bulk flow in each direction that shares the line with the
            test, CUBIC or BBR. "" for none.
        seed: seed of the run.
    """

    line: AccessLine
    queue: str
    beside: str = ""
    seed: int = 1

    @property
    def buffer(self) -> Buffer:
        """The queue as a Buffer. Only names from drop_tail() have a size in ms. Raises KeyError for
        a name that is neither such a one nor in BUFFERS."""
        if match := _DROP_TAIL.fullmatch(self.queue):
            return Buffer("bfifo", f"drop-tail of {match[1]} ms", float(match[1]))
        return BUFFERS[self.queue]

    @property
    def group(self) -> str:
        """Name of everything except the queue. Queues are compared with each other within a
        group."""
        return f"{self.line.name}{_BESIDE[self.beside].suffix}-seed{self.seed}"

    @property
    def without_seed(self) -> str:
        """Name of everything except the seed, which the project calls the cell."""
        return f"{self.line.name}-{self.queue}{_BESIDE[self.beside].suffix}"

    @property
    def name(self) -> str:
        """Name for files, with all settings."""
        return f"{self.without_seed}-seed{self.seed}"

    @property
    def words(self) -> str:
        """Description for readers, without the seed."""
        return f"{self.line}, {self.buffer.words}{_BESIDE[self.beside].words}"

    def __str__(self) -> str:
        return f"{self.words}, seed {self.seed}"

    def settings(self) -> dict[str, object]:
        """Return batch key -> value of the place: line, queue, seed, and whether there is cross
        traffic. The bulk flow's congestion control is not among them. Raises KeyError if the queue
        is unknown."""
        return {**self.line.settings(), "cross_traffic": bool(self.beside), "seed": self.seed,
                **self.buffer.settings(self.line)}


@dataclass(frozen=True)
class Group:
    """A row of a set: all combinations of these settings.

    Attributes:
        lines: the lines.
        queues: the queues, each as Place.queue.
        seeds: the seeds.
        beside: the bulk flows beside the test, each as Place.beside.
    """

    lines: Sequence[AccessLine]
    queues: Sequence[str] = QUEUES
    seeds: Sequence[int] = (1,)
    beside: Sequence[str] = ("",)

    def places(self) -> Iterator[Place]:
        """Yield the places of the combinations. The queue changes fastest, then seed, bulk flow and
        line."""
        for line in self.lines:
            for beside in self.beside:
                for seed in self.seeds:
                    for queue in self.queues:
                        yield Place(line, queue, beside, seed)


_HOME = AccessLine(50, 50, 40)
_RATES = ((10, 10), (50, 50), (300, 30), (900, 900))
SETS: Mapping[str, Sequence[Group]] = {
    # The smallest set with two queues to tell apart and two that are alike.
    "small": (Group((AccessLine(10, 10, 40),), ("fifo_250ms", "fifo_1000p", "codel", "fq_codel")),),
    # 77 places, two to six minutes for a test on two cores.
    "core": (
        Group((_HOME,), seeds=(1, 2, 3)),
        Group((_HOME,), beside=(CUBIC, BBR)),
        Group((AccessLine(10, 10, 40), AccessLine(300, 30, 10))),
        Group((AccessLine(50, 50, 120),), ("fifo_50ms", "fifo_250ms", "codel", "pie", "fq_codel")),
        Group((AccessLine(50, 50, 10),), ("fifo_250ms", "fq_codel", "cake")),
        Group((AccessLine(900, 900, 10),), ("fifo_50ms", "fifo_1000p", "fq_codel", "cake")),
        # Servers near and far, over a path that delays each packet differently.
        Group([AccessLine(50, 50, rtt_ms, jitter_ms=4) for rtt_ms in (5, 20, 50)],
              ("fifo_250ms", "codel", "fq_codel")),
    ),
    # Ten places for real time on any kernel. Not every kernel can delay packets, or has a queue
    # other than drop-tail.
    "ten": (
        Group((AccessLine(10, 10, 0), AccessLine(50, 50, 0)),
              ("fifo_10ms", "fifo_25ms", "fifo_50ms", "fifo_100ms", "fifo_250ms")),
    ),
    "full": (
        Group([AccessLine(down, up, rtt_ms) for down, up in _RATES for rtt_ms in (10, 40, 120)],
              seeds=(1, 2, 3), beside=("", CUBIC)),
    ),
}


def places(name: str, seeds: Sequence[int] = (), only: Sequence[str] = ()) -> list[Place]:
    """Return the places of a set.

    Args:
        name: key of SETS.
        seeds: seeds of each cell (place without seed), in place of the set's own. Empty: the set's
            own.
        only: keep only places with one of these texts in their names. Empty: keep all.

    Raises ConfigError if the set is unknown, or no place is left.
    """
    if name not in SETS:
        raise ConfigError(f"--cells: {unknown_value(name, SETS)}")
    selected = [place for group in SETS[name] for place in group.places()]
    if seeds:
        selected = [Place(place.line, place.queue, place.beside, seed)
                    for place in {one.without_seed: one for one in selected}.values()
                    for seed in seeds]
    if only:
        names = [place.name for place in selected]
        selected = [place for place in selected if any(text in place.name for text in only)]
        if not selected:
            texts = " or ".join(map(repr, only))
            raise ConfigError(f"--only: no cell of the set {name} has {texts} in its name; names "
                              f"are, for example, {', '.join(dict.fromkeys(names[:3]))}")
    return selected
