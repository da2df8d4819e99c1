# SPDX-License-Identifier: GPL-3.0-or-later
"""The topologies that a run can ask for, beside the dumbbell that it has without asking.

    dumbbell               client - router - server
    parking_lot:N          N bottlenecks one behind the other, with a host between any two
    clients:N[+nat]        a home: N clients behind one router; +servers: a server for each
    subscribers:N[+…]      an access node: a class of HTB and a queue for each of N addresses
    FILE.topology          links in a file of one's own, or the links themselves: graph.py

Imported where a run asks for one: each module takes its time in the guest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean, unknown_value
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.topology.graph import CLIENT, Fault, Graph, parse_links, read_links

SUFFIX = ".topology"


@dataclass(frozen=True)
class Topology:
    """What a network consists of.

    text: as a scenario has it; subscribers: addresses behind the client, each with a queue of its
    own; plan_…_mbps: what one of them may have at most, None for all of the rate; nat: the
    router gives all that leaves it its own address.
    """

    text: str
    graph: Graph
    subscribers: int = 0
    plan_down_mbps: float | None = None
    plan_up_mbps: float | None = None
    nat: bool = False

    @cached_property
    def other_names(self) -> Mapping[str, str]:
        """Names that stand for the client among others of its kind."""
        names = {"client1": CLIENT} if "client2" in self.graph.nodes else {}
        return {**names, "sub1": CLIENT} if self.subscribers else names

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Hosts that flows can start from."""
        return (*self.graph.hosts, *self.other_names,
                *(f"sub{number}" for number in range(2, self.subscribers + 1)))

    def source(self, name: str) -> Source:
        """Return how a tool is started on a host. Raises ConfigError for one that isn't there."""
        if name not in self.sources:
            hosts = self.sources
            listed = (", ".join(hosts) if len(hosts) <= 12 else
                      f"{', '.join(hosts[:4])} … {hosts[-1]}")
            raise ConfigError(f"no flow can start from {name!r} in topology {self.text}; hosts "
                              f"are {listed}{did_you_mean(name, hosts)}")
        name = self.other_names.get(name, name)
        if name == CLIENT:
            return Source()
        if name in self.graph.hosts:
            return Source(command=("ip", "netns", "exec", name))
        return Source(address=name)


@dataclass(frozen=True)
class Source:
    """A host as its tools are started: by words before the tool's own, or by a name for its
    address that the tool binds to. Neither: the client."""

    command: tuple[str, ...] = ()
    address: str = ""


@dataclass(frozen=True)
class _Kind:
    """A topology by name. counts: the least and the most of its number, and what it is without
    one; words: what may follow with +, each with its bounds, None for a word without a value;
    make: from number and words."""

    make: Callable[[int, Collection[str]], Graph]
    counts: tuple[int, int, int] | None = None
    words: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)


def _parking_lot(bottlenecks: int, _words: Collection[str]) -> Graph:
    links = f"client - router, router - {'middle' if bottlenecks > 1 else 'server'}"
    for number in range(2, bottlenecks + 1):
        before = "middle" if number == 2 else f"middle{number - 1}"
        after = "server" if number == bottlenecks else f"middle{number}"
        links += f", {before} - router{number}, router{number} - {after}"
    return parse_links(links)


def _clients(count: int, words: Collection[str]) -> Graph:
    others = range(2, count + 1)
    beyond = ["router - server"]
    if "servers" in words:
        beyond = ["router - wan", "wan - server", *(f"wan - server{number}" for number in others)]
    return parse_links(", ".join(["client - lan", "lan - router", *beyond,
                                  *(f"client{number} - lan" for number in others)]))


def _one_router(_count: int, _words: Collection[str]) -> Graph:
    return parse_links("client - router, router - server")


_PLAN = (defaults.MIN_RATE_MBPS, defaults.MAX_RATE_MBPS)
TOPOLOGIES: Mapping[str, _Kind] = {
    DUMBBELL: _Kind(_one_router),
    "parking_lot": _Kind(_parking_lot, (2, 9, 2)),
    "clients": _Kind(_clients, (2, 16, 2), {"nat": None, "servers": None}),
    "subscribers": _Kind(_one_router, (2, 1000, 100),
                         {"plan_mbps": _PLAN, "plan_down_mbps": _PLAN, "plan_up_mbps": _PLAN}),
}
_NAMED = re.compile(r"(?P<name>[a-z_]+)(?::(?P<count>[^+]*))?(?P<words>(?:\+.*)?)")


def parse_topology(key: str, value: object) -> Topology:
    """Return the topology that a value asks for. Raises ConfigError that names the key."""
    text = str(value).strip()
    try:
        if text.endswith(SUFFIX):
            return _of_links(read_links(text))
        if "-" in text and not _NAMED.fullmatch(text):
            return _of_links(parse_links(text))
    except Fault as fault:
        raise ConfigError(f"{key}: {fault}") from None
    return _named(key, text)


def _of_links(graph: Graph) -> Topology:
    return Topology(", ".join(f"{near}-{far}" for near, far in graph.links), graph)


def _named(key: str, text: str) -> Topology:
    match = _NAMED.fullmatch(text)
    if not match or match["name"] not in TOPOLOGIES:
        name = match["name"] if match else text
        raise ConfigError(f"{key}: {unknown_value(name, TOPOLOGIES)}, a "
                          f"file NAME{SUFFIX}, or links as client-router, router-server")
    name = match["name"]
    kind = TOPOLOGIES[name]
    if kind.counts is None:
        if match["count"] is not None or match["words"]:
            raise ConfigError(f"{key}: {name} takes no parameters; expected {name}, not "
                              f"{text[:40]!r}")
        return Topology(name, kind.make(0, ()))
    least, most, usual = kind.counts
    count_text = match["count"]
    if count_text is not None and not (re.fullmatch(r"[0-9]{1,4}", count_text)
                                       and least <= int(count_text) <= most):
        raise ConfigError(f"{key}: {text[:40]!r}: expected {name}:N with a whole number from "
                          f"{least} to {most}")
    count = usual if count_text is None else int(count_text)
    words = _words(key, text, kind, match["words"])
    canonical = f"{name}:{count}{match['words']}"
    plan = words.get("plan_mbps")
    return Topology(canonical, kind.make(count, words), count if name == "subscribers" else 0,
                    words.get("plan_down_mbps", plan), words.get("plan_up_mbps", plan),
                    "nat" in words)


def _words(key: str, text: str, kind: _Kind, words_text: str) -> dict[str, float | None]:
    words: dict[str, float | None] = {}
    for word in words_text.split("+")[1:]:
        name, equals, value = word.partition("=")
        if name not in kind.words or name in words:
            choices = ", ".join(kind.words) or "none"
            raise ConfigError(f"{key}: {text[:40]!r}: {word[:40]!r} is not a known word, or is "
                              f"given twice; known: {choices}")
        bounds = kind.words[name]
        if bounds is None:
            if equals:
                raise ConfigError(f"{key}: {text[:40]!r}: {name} has no value")
            words[name] = None
            continue
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not bounds[0] <= number <= bounds[1]:
            raise ConfigError(f"{key}: {name}: {value[:40]!r} is out of range; expected a number "
                              f"from {bounds[0]:g} to {bounds[1]:g}")
        words[name] = number
    return words
