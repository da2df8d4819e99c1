# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the key `topology`: the network of a run. The default is the dumbbell.

    dumbbell               client - router - server
    parking_lot:N          N bottlenecks in series, with a host between each two
    clients:N[+nat]        a home: N clients behind one router; +servers: a server for each
    subscribers:N[+…]      an access node: a class of HTB and a queue for each of N addresses
    FILE.topology          links in a file, or the links themselves: graph.py

Only runs with a topology import this module, because each import takes time in the guest.
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
from flent_aqm.spec.topology.graph import (
    CLIENT,
    ROUTER,
    SERVER,
    Fault,
    Graph,
    parse_links,
    read_links,
)

SUFFIX = ".topology"


@dataclass(frozen=True)
class Topology:
    """The network of a run.

    Attributes:
        text: the value of the key `topology`, in canonical form.
        graph: hosts, routers and their links.
        subscribers: number of subscribers, which are addresses of the client, each with a queue of
            its own. The first has the client's own address. 0: none.
        plan_down_mbps: greatest download rate of a subscriber in Mbit/s, None for the router's
            rate.
        plan_up_mbps: greatest upload rate of a subscriber in Mbit/s, None for the router's rate.
        nat: True if the router translates the source of IPv4 packets towards the server to its own
            address.
    """

    text: str
    graph: Graph
    subscribers: int = 0
    plan_down_mbps: float | None = None
    plan_up_mbps: float | None = None
    nat: bool = False

    @cached_property
    def other_names(self) -> Mapping[str, str]:
        """Further names of the client: "client1" if the graph has a node "client2" and none of that
        name, "sub1" if there are subscribers. Each maps to "client". Empty without either."""
        nodes = self.graph.nodes
        names = {"client1": CLIENT} if "client2" in nodes and "client1" not in nodes else {}
        return {**names, "sub1": CLIENT} if self.subscribers else names

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Names of all hosts that flows can start from: those of the graph, `other_names`, and the
        subscribers "sub2", "sub3" and so on."""
        return (*self.graph.hosts, *self.other_names,
                *(f"sub{number}" for number in range(2, self.subscribers + 1)))

    def source(self, name: str) -> Source:
        """Return how a tool is started on a host: without prefix or address on the client, with a
        prefix on another host of the graph, with an address for a subscriber from "sub2" on.

        name: one of `sources`.

        Raises ConfigError for an unknown host.
        """
        if name not in self.sources:
            listed = ", ".join([*self.graph.hosts, *self.other_names]) + (
                f", sub2 to sub{self.subscribers}" if self.subscribers else "")
            raise ConfigError(f"no flow can start from {name!r} in topology {self.text}; hosts "
                              f"are {listed}{did_you_mean(name, self.sources)}")
        name = self.other_names.get(name, name)
        if name == CLIENT:
            return Source()
        if name in self.graph.hosts:
            return Source(command=("ip", "netns", "exec", name))
        return Source(address=name)


@dataclass(frozen=True)
class Source:
    """How to start a tool on a host: with a prefix of its command for another host than the client,
    with an address to bind to for a subscriber from "sub2" on. Both are empty for the client.

    Attributes:
        command: words before the tool's command line.
        address: name of the address that the tool binds to, such as "sub2".
    """

    command: tuple[str, ...] = ()
    address: str = ""


@dataclass(frozen=True)
class _NamedTopology:
    """A topology that users give by name, with an optional number and words:
    NAME:N+WORD+WORD=VALUE.

    Attributes:
        make: function (number, names of the given words, without their values) -> graph. The number
            is 0 for a topology without one.
        counts: least, greatest and default number. None for a topology that takes neither a number
            nor words.
        words: word that may follow -> least and greatest value, None for a word without a value.
    """

    make: Callable[[int, Collection[str]], Graph]
    counts: tuple[int, int, int] | None = None
    words: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)


def _parking_lot(bottlenecks: int, _words: Collection[str]) -> Graph:
    """Return the graph client, router, middle, router2, middle2, … server: routers in series, with
    a host between each two.

    bottlenecks: number of routers.
    """
    links = f"client - router, router - {'middle' if bottlenecks > 1 else 'server'}"
    for number in range(2, bottlenecks + 1):
        before = "middle" if number == 2 else f"middle{number - 1}"
        after = "server" if number == bottlenecks else f"middle{number}"
        links += f", {before} - router{number}, router{number} - {after}"
    return parse_links(links)


def _home(count: int, words: Collection[str]) -> Graph:
    """Return the graph of a home: hosts client, client2, … linked to the host lan, behind it the
    router and the server.

    Args:
        count: number of clients.
        words: words that the user added. With "servers" there is a server for each client: server,
            server2, … linked to the host wan behind the router.
    """
    others = range(2, count + 1)
    beyond = ["router - server"]
    if "servers" in words:
        beyond = ["router - wan", "wan - server", *(f"wan - server{number}" for number in others)]
    return parse_links(", ".join(["client - lan", "lan - router", *beyond,
                                  *(f"client{number} - lan" for number in others)]))


def _one_router(_count: int, _words: Collection[str]) -> Graph:
    """Return the graph client - router - server."""
    return parse_links("client - router, router - server")


_PLAN = (defaults.MIN_RATE_MBPS, defaults.MAX_RATE_MBPS)
TOPOLOGIES: Mapping[str, _NamedTopology] = {
    DUMBBELL: _NamedTopology(_one_router),
    "parking_lot": _NamedTopology(_parking_lot, (2, 9, 2)),
    "clients": _NamedTopology(_home, (2, 16, 2), {"nat": None, "servers": None}),
    "subscribers": _NamedTopology(_one_router, (2, 1000, 100),
                         {"plan_mbps": _PLAN, "plan_down_mbps": _PLAN, "plan_up_mbps": _PLAN}),
}
_NAMED = re.compile(r"(?P<name>[a-z_]+)(?::(?P<count>[^+]*))?(?P<words>(?:\+.*)?)")


def parse_topology(key: str, value: object) -> Topology:
    """Parse the value of the key `topology`, a text: a named topology such as "clients:4+nat", the
    path of a file NAME.topology, or links such as "client-router, router-server".

    key: name of the key, for messages.

    Raises ConfigError if the value is wrong, or the file can't be read.
    """
    text = str(value).strip()
    try:
        if text.endswith(SUFFIX):
            return _topology_of_graph(read_links(text))
        if _has_links(text):
            return _topology_of_graph(parse_links(text))
    except Fault as fault:
        raise ConfigError(f"{key}: {fault}") from None
    return _parse_named(key, text)


def _has_links(text: str) -> bool:
    """Return whether a value of the key consists of links. False for one in the form of a named
    topology, and for a single A-B with neither client, router nor server, which is taken for a
    misspelt name."""
    return "-" in text and not _NAMED.fullmatch(text) and (
        re.search(r"[,\n]", text) is not None
        or not {CLIENT, ROUTER, SERVER}.isdisjoint(re.split(r"[\s-]+", text)))


def _topology_of_graph(graph: Graph) -> Topology:
    """Return the topology that consists of a graph, with its links as canonical text."""
    return Topology(", ".join(f"{near}-{far}" for near, far in graph.links), graph)


def _parse_named(key: str, text: str) -> Topology:
    """Parse a named topology, NAME:N+WORD. Without N, the topology's default number is taken, also
    in the result's text. Raises ConfigError for another form, an unknown name, a number out of
    range, a word that _parse_words() refuses, or a number or word for a topology that takes none.

    Args:
        key: name of the key, for messages.
        text: the value of the key.
    """
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
        words = f" or {name}:N+WORD" if kind.words else ""
        raise ConfigError(f"{key}: {text[:40]!r}: expected {name}:N{words} without blanks, with a "
                          f"whole number N from {least} to {most}")
    count = usual if count_text is None else int(count_text)
    given_words = _parse_words(key, text, kind, match["words"])
    canonical = f"{name}:{count}{match['words']}"
    plan = given_words.get("plan_mbps")
    return Topology(canonical, kind.make(count, given_words), count if name == "subscribers" else 0,
                    given_words.get("plan_down_mbps", plan), given_words.get("plan_up_mbps", plan),
                    "nat" in given_words)


def _parse_words(key: str, text: str, kind: _NamedTopology,
                 words_text: str) -> dict[str, float | None]:
    """Parse the words behind the number of a named topology. Return word -> value, None for a word
    without a value.

    Args:
        key: name of the key, for messages.
        text: the value of the key, for messages.
        kind: the named topology.
        words_text: the words, each with a "+" before it.

    Raises ConfigError for an unknown or repeated word, or a value that is missing, superfluous or
    out of range.
    """
    words: dict[str, float | None] = {}
    texts = words_text.split("+")[1:]
    for place, word in enumerate(texts, 1):
        name, equals, value = word.partition("=")
        if not kind.words:
            raise ConfigError(f"{key}: {text[:40]!r}: this topology takes no words; leave "
                              f"{f'+{word}'[:40]!r} out")
        if name not in kind.words:
            raise ConfigError(f"{key}: {text[:40]!r}: unknown word {word[:40]!r}; known: "
                              f"{', '.join(kind.words)}")
        if name in words:
            raise ConfigError(f"{key}: {text[:40]!r}: {name} is given twice; give it once")
        bounds = kind.words[name]
        if bounds is None:
            if equals:
                raise ConfigError(f"{key}: {text[:40]!r}: {name} takes no value; give +{name} "
                                  "alone, or leave it out")
            words[name] = None
            continue
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not bounds[0] <= number <= bounds[1]:
            # 1e+2 was cut at its +.
            is_cut = place < len(texts) and value[-1:] in ("", "e", "E")
            hint = ", written without +" if is_cut else ""
            raise ConfigError(f"{key}: {word[:40]!r} in {text[:40]!r}: expected {name}=NUMBER, "
                              f"with a number from {bounds[0]:g} to {bounds[1]:g}{hint}")
        words[name] = number
    return words
