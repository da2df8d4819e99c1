# SPDX-License-Identifier: GPL-3.0-or-later
"""When a load's data was on the line, by what tcpdump prints of a capture.

Shares no code with flent_aqm, and takes packets apart by other means: tcpdump's own text.

    python tests/measure/load_windows/packets.py FILE.pcap PORT
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# What carries data; requests, messages and results are smaller, or few.
FULL = 1000
# The client's addresses in the lab.
CLIENT = ("192.0.2.2", "2001:db8:1::2")
_LINE = re.compile(r"(?P<at>\d+\.\d+) IP6? (?P<from>\S+)\.(?P<source>\d+) > "
                   r"(?P<to>\S+)\.(?P<target>\d+): .*length (?P<length>\d+)")


@dataclass
class Connection:
    """first_s: of its first packet, whichever; data: direction -> times of full packets."""

    first_s: float
    data: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def packets(path: Path, protocol: str
            ) -> Iterator[tuple[float, tuple[str, int], tuple[str, int], int]]:
    """(time, from, to, bytes of payload) of each packet. protocol: tcp or udp."""
    printed = subprocess.run(["tcpdump", "-n", "-tt", "-r", path, protocol],
                             capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        if match := _LINE.match(line):
            yield (float(match["at"]), (match["from"], int(match["source"])),
                   (match["to"], int(match["target"])), int(match["length"]))


def connections(path: Path, port: int | None = None, protocol: str = "tcp") -> list[Connection]:
    """All connections with a server's port, by their first packets; without one, all there are."""
    by_ends: dict[frozenset[tuple[str, int]], Connection] = {}
    for at_s, source, target, length in packets(path, protocol):
        if port is not None and port not in (source[1], target[1]):
            continue
        one = by_ends.setdefault(frozenset((source, target)), Connection(at_s))
        if length >= FULL:
            one.data["upload" if source[0] in CLIENT else "download"].append(at_s)
    return sorted(by_ends.values(), key=lambda one: one.first_s)


def window(all_of: list[Connection], direction: str, after_s: float = 0,
           until_s: float = float("inf")) -> tuple[float, float]:
    """The first and the last packet of data in a direction."""
    times = [at_s for one in all_of for at_s in one.data[direction] if after_s <= at_s <= until_s]
    return min(times), max(times)


def both(all_of: list[Connection]) -> Mapping[str, tuple[float, float]]:
    """Windows by direction, of those that there are."""
    return {way: window(all_of, way) for way in ("download", "upload")
            if any(one.data[way] for one in all_of)}


if __name__ == "__main__":
    for way, (first_s, last_s) in both(connections(Path(sys.argv[1]), int(sys.argv[2]))).items():
        print(f"{way}: {first_s:.6f} to {last_s:.6f}")
