# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is linked to whom: hosts and routers as a tree, checked.

    client - lan, client2 - lan, lan - router, router - server     in one line
    client - lan                                                   or a link a line
    client2 - lan    # with remarks

Nodes are known by their names: `router`, `router2` … are routers, all others hosts. A host with
several links forwards. A file is somebody else's: its size is bounded, and each fault is told
with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError

Link = tuple[str, str]

CLIENT, SERVER, ROUTER = "client", "server", "router"
# Each node is a network namespace, which takes the lab some 0.05 s to set up.
MOST_NODES = 40
_MOST_BYTES = 1 << 16
_LINK = re.compile(rf"\s*({defaults.HOST_NAME})\s*-\s*({defaults.HOST_NAME})\s*")
_ROUTER = re.compile(r"router([2-9])?")
# Of the lab's own: other devices, namespaces and names.
_TAKEN = ("lo", "modem", "dest1", "dest2", "localhost")


@dataclass(frozen=True)
class Graph:
    """A tree of links, each with the node that is nearer to the client first."""

    links: tuple[Link, ...]

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """All names, the client first, each behind the one that leads to it."""
        return (CLIENT, *(far for _near, far in self.links))

    @cached_property
    def routers(self) -> tuple[str, ...]:
        """Nodes with the queue under test."""
        return tuple(node for node in self.nodes if is_router(node))

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """All other nodes."""
        return tuple(node for node in self.nodes if not is_router(node))

    @cached_property
    def near(self) -> Mapping[str, str]:
        """Node -> its neighbour on the way to the client; the client has none."""
        return {far: near for near, far in self.links}

    def way(self, node: str) -> tuple[str, ...]:
        """Return the nodes from this one to the client, both included."""
        path = [node]
        while path[-1] != CLIENT:
            path.append(self.near[path[-1]])
        return tuple(path)

    @cached_property
    def serving(self) -> tuple[str, ...]:
        """Hosts behind a router as the client sees it, where servers run."""
        return tuple(host for host in self.hosts if any(map(is_router, self.way(host))))


def is_router(name: str) -> bool:
    """Return whether a node of that name is a router."""
    return _ROUTER.fullmatch(name) is not None


class Fault(Exception):
    """What is wrong with a text, with its place and without the key."""


def parse_links(text: str, path: str = "") -> Graph:
    """Return the graph that a text has. path: of the file that it is from, "" for a value of one
    line. Raises Fault, with line and column in a file, with the column in a value."""
    edges: list[tuple[str, str, str]] = []  # two names, and where they stand
    for place, part, column in _parts(text):
        link = _LINK.fullmatch(part)
        if not link:
            raise Fault(f"{_at(path, place, column)}: {part.strip()[:40]!r} is not a link; "
                        "expected two names with - between, as client - router")
        for number in (1, 2):
            if link[number] in _TAKEN:
                raise Fault(f"{_at(path, place, column + link.start(number))}: {link[number]!r} "
                            "is a name that the lab uses itself; choose another")
        edges.append((link[1], link[2], _at(path, place, column + link.start(1))))
    names = dict.fromkeys(name for one, two, _ in edges for name in (one, two))
    where = _at(path, 1, 1)
    for name in (CLIENT, ROUTER, SERVER):
        if name not in names:
            raise Fault(f"{where}: no link has {name!r}; expected a path from client over a "
                        "router to server")
    if len(names) > MOST_NODES:
        raise Fault(f"{where}: {len(names)} nodes; expected {MOST_NODES} at most (subscribers:N "
                    "has more hosts)")
    graph = Graph(_from_client(edges))
    _refuse_odd_nodes(graph, {name: place for one, two, place in reversed(edges)
                              for name in (one, two)})
    return graph


def read_links(path: str) -> Graph:
    """Return the graph in a file. Raises Fault, and ConfigError for one that can't be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else fault
        raise ConfigError(f"topology: {path}: can't be read: {reason}") from None
    if len(data) > _MOST_BYTES:
        raise Fault(f"{path}: more than {_MOST_BYTES} bytes")
    return parse_links(data.decode("utf-8", "replace"), path)


def _parts(text: str) -> Iterator[tuple[int, str, int]]:
    """Line, text and column of each link, without remarks and blank parts."""
    for number, line in enumerate(text.splitlines(), 1):
        column = 1
        for part in line.partition("#")[0].split(","):
            if part.strip():
                yield number, part, column
            column += len(part) + 1


def _at(path: str, line: int, column: int) -> str:
    return f"{path}:{line}:{column}" if path else f"column {column}"


def _from_client(edges: list[tuple[str, str, str]]) -> tuple[Link, ...]:
    """Return the links in the order in which a walk from the client meets them. Raises Fault where
    a node is not reached, or by two ways."""
    _refuse_rings(edges)
    reached = [CLIENT]
    links: list[Link] = []
    left = list(edges)
    for node in reached:  # it grows
        for one, two, place in [each for each in left if node in each[:2]]:
            other = two if one == node else one
            left.remove((one, two, place))
            links.append((node, other))
            reached.append(other)
    if left:
        one, two, place = left[0]
        raise Fault(f"{place}: {one} and {two} are not reached from client; hosts reached are "
                    f"{', '.join(reached)}: link them to one of these")
    return tuple(links)


def _refuse_rings(edges: list[tuple[str, str, str]]) -> None:
    """The first link, as they are written, between nodes that are joined already."""
    joined: dict[str, set[str]] = {}
    for one, two, place in edges:
        group = joined.setdefault(one, {one})
        if two in group:
            raise Fault(f"{place}: the link {one} - {two} closes a ring; expected one path "
                        "between any two nodes: leave a link out")
        group |= joined.get(two, {two})
        joined |= dict.fromkeys(group, group)


def _refuse_odd_nodes(graph: Graph, places: Mapping[str, str]) -> None:
    """Nodes with a number of links that their kind can't have."""
    for node in graph.nodes:
        count = sum(node in link for link in graph.links)
        if is_router(node) and count != 2:
            raise Fault(f"{places[node]}: {node} has {count} link{'s' * (count != 1)}; expected "
                        "2, as its queues shape one way each: for more hosts, link them to a "
                        "host that forwards, as lan in client - lan, client2 - lan, lan - router")
        if node in (CLIENT, SERVER) and count != 1:
            raise Fault(f"{places[node]}: {node} has {count} links; expected 1, to a host or "
                        "router that forwards")
    if not any(map(is_router, graph.way(SERVER))):
        raise Fault(f"{places[SERVER]}: no router is on the path from client to server, so there "
                    "is no queue to test; put one between them")
