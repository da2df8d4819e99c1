# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses and checks the links between hosts and routers, which form a tree.

    client - lan, client2 - lan, lan - router, router - server     in one line
    client - lan                                                   or one link per line
    client2 - lan    # with comments

Nodes named `router`, `router2`, … are routers. All other nodes are hosts. A host with several links
forwards packets. A file may come from anybody, so its size is limited, and faults are reported with
line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError, cause_of

Link = tuple[str, str]

CLIENT, SERVER, ROUTER = "client", "server", "router"
# Each node is a network namespace. The lab needs about 0.05 s to set one up.
MOST_NODES = 40
_MOST_BYTES = 1 << 16
# Links that a message proposes.
_MOST_ADVISED = 3
_LINK = re.compile(rf"\s*({defaults.HOST_NAME})\s*-\s*({defaults.HOST_NAME})\s*")
_ROUTER = re.compile(r"router([2-9])?")
# Names that the lab itself uses for devices, namespaces, hosts, and files beside those of nodes.
_TAKEN = ("lo", "modem", "dest1", "dest2", "localhost", "links", "nodes")


@dataclass(frozen=True)
class Graph:
    """A tree of links between nodes, with the client as its root.

    Attributes:
        links: pairs of node names, in the order in which a breadth-first walk from the client meets
            them. In each, the node nearer to the client comes first.
    """

    links: tuple[Link, ...]

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes, the client first. Each comes after its neighbour in the direction of
        the client."""
        return (CLIENT, *(far for _near, far in self.links))

    @cached_property
    def routers(self) -> tuple[str, ...]:
        """Names of the routers, which have the queue under test, in the order of `nodes`."""
        return tuple(node for node in self.nodes if is_router(node))

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Names of all nodes that aren't routers, so with the client and hosts that only forward,
        in the order of `nodes`."""
        return tuple(node for node in self.nodes if not is_router(node))

    @cached_property
    def near(self) -> Mapping[str, str]:
        """Node -> its neighbour in the direction of the client. The client itself is missing."""
        return {far: near for near, far in self.links}

    def way(self, node: str) -> tuple[str, ...]:
        """Return the names of the nodes on the path from a node to the client, in this order, both
        included.

        node: name of a node of the graph.

        Raises KeyError for any other name.
        """
        path = [node]
        while path[-1] != CLIENT:
            path.append(self.near[path[-1]])
        return tuple(path)

    @cached_property
    def serving(self) -> tuple[str, ...]:
        """Names of the hosts that the client reaches through a router. Servers run on them."""
        return tuple(host for host in self.hosts if any(map(is_router, self.way(host))))


def is_router(name: str) -> bool:
    """Return whether the name is that of a router: `router`, or `router2` to `router9`."""
    return _ROUTER.fullmatch(name) is not None


class Fault(Exception):
    """Raised by parse_links() and read_links() for a fault in a text of links. It is no AqmError:
    parse_topology() turns it into a ConfigError that names the key. The message begins with the
    position, PATH:LINE:COLUMN or "column COLUMN", or with the path of a file that is too large."""


def parse_links(text: str, path: str = "") -> Graph:
    """Parse the text of links into a graph.

    Args:
        text: links, such as "client - router", separated by commas or new lines. # begins a
            comment.
        path: path of the file with the text, "" for a value of one line.

    Raises Fault, with line and column in a file, otherwise with the column: if a link can't be
    parsed, has a reserved name or closes a ring, a node can't be reached, client, router or server
    is missing, no router is between client and server, there are more than MOST_NODES nodes, a
    router hasn't two links, or client or server has more than one.
    """
    edges: list[tuple[str, str, str]] = []  # names of two nodes, and the link's line and column
    for place, link_text, column in _split_links(text):
        link = _LINK.fullmatch(link_text)
        if not link:
            raise Fault(f"{_at(path, place, column)}: {link_text.strip()[:40]!r} is not a link; "
                        "expected two names with - between, as client - router, each of up to 14 "
                        "of a-z, 0-9 and _, a letter first")
        for number in (1, 2):
            if link[number] in _TAKEN:
                raise Fault(f"{_at(path, place, column + link.start(number))}: {link[number]!r} "
                            "is a name that the lab uses itself; choose another")
        edges.append((link[1], link[2], _at(path, place, column + link.start(1))))
    names = dict.fromkeys(name for first, second, _ in edges for name in (first, second))
    where = _at(path, 1, 1)
    for name in (CLIENT, ROUTER, SERVER):
        if name not in names:
            others = [one for one in names if re.fullmatch(r"router\w+", one)]
            if name == ROUTER and others:
                raise Fault(f"{where}: the links have {others[0]!r}, but no {ROUTER!r}; call the "
                            f"first router {ROUTER}, and further ones {ROUTER}2 to {ROUTER}9")
            raise Fault(f"{where}: no link has {name!r}; expected a path from client over a "
                        "router to server")
    if len(names) > MOST_NODES:
        raise Fault(f"{where}: the links have {len(names)} nodes; expected {MOST_NODES} at most "
                    "(topology subscribers:N can have more hosts)")
    graph = Graph(_order_from_client(edges))
    _refuse_odd_nodes(graph, {name: place for first, second, place in reversed(edges)
                              for name in (first, second)})
    return graph


def read_links(path: str) -> Graph:
    """Read and parse a file of links. Raises Fault if its text is wrong, or larger than 64 KiB, and
    ConfigError if the file can't be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as fault:
        raise ConfigError(f"topology: {path}: can't be read: {cause_of(fault)}; give a file that "
                          "can, or links in one line, as client - router, router - server"
                          ) from None
    if len(data) > _MOST_BYTES:
        raise Fault(f"{path}: the file is larger than {_MOST_BYTES} bytes; expected {MOST_NODES} "
                    "nodes at most, with one link a line: shorten it")
    return parse_links(data.decode("utf-8-sig", "replace"), path)


def _split_links(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield line number, text and column of each link, without comments and blank parts. The text
    keeps the blanks around the link. The column is where the text begins, even if with a blank.
    Lines and columns count from 1."""
    for number, line in enumerate(text.splitlines(), 1):
        column = 1
        for link_text in line.partition("#")[0].split(","):
            if link_text.strip():
                yield number, link_text, column
            column += len(link_text) + 1


def _at(path: str, line: int, column: int) -> str:
    """Return line and column as messages show them: PATH:LINE:COLUMN, or "column COLUMN" without a
    path."""
    return f"{path}:{line}:{column}" if path else f"column {column}"


def _order_from_client(edges: list[tuple[str, str, str]]) -> tuple[Link, ...]:
    """Return the links in the order in which a breadth-first walk from the client meets them, each
    with the node nearer to the client first.

    edges: names of two nodes, and the link's position for messages.

    Raises Fault if a node can't be reached, or if links form a ring.
    """
    _refuse_rings(edges)
    reached = [CLIENT]
    links: list[Link] = []
    unused = list(edges)
    for node in reached:  # it grows
        for first, second, place in [each for each in unused if node in each[:2]]:
            other = second if first == node else first
            unused.remove((first, second, place))
            links.append((node, other))
            reached.append(other)
    if unused:
        first, second, place = unused[0]
        used = [one for one in edges if one not in unused]
        raise Fault(f"{place}: no links lead from client to {first} and {second}; expected a path "
                    f"to each node{_advise(used, unused)}")
    return tuple(links)


def _advise(used: list[tuple[str, str, str]], unused: list[tuple[str, str, str]]) -> str:
    """Return the end of a message, with advice how to link nodes that the client doesn't reach: ":
    link A to B or C" with up to _MOST_ADVISED nodes after "to", of which each alone makes a valid
    graph. If no single link does, advise to link A to a host that forwards, or return "" if a
    router or the server is among the unreached nodes.

    Args:
        used: links of the nodes that the client reaches.
        unused: the other links, at least one. The advice is for the nodes that are connected with
            those of the first.
    """
    group, size = list(unused[0][:2]), 0
    while size < len(group):
        size = len(group)
        group += [name for one in unused if set(one[:2]) & set(group) for name in one[:2]
                  if name not in group]
    together = [*used, *(one for one in unused if one[0] in group)]
    reached = dict.fromkeys(name for one in used for name in one[:2])
    for near in group:
        works = []
        for far in reached:
            graph = Graph(_order_from_client([*together, (near, far, "")]))
            with suppress(Fault):
                _refuse_odd_nodes(graph, dict.fromkeys(graph.nodes, ""))
                works.append(far)
        if works:
            return f": link {near} to {' or '.join(works[:_MOST_ADVISED])}"
    if SERVER not in group and not any(map(is_router, group)):
        lan = next(name for name in ("lan", "switch", "hub") if name not in group)
        return (f": link {group[0]} to a host that forwards, as {lan} in client - {lan}, "
                f"{lan} - {group[0]}, {lan} - router")
    return ""


def _refuse_rings(edges: list[tuple[str, str, str]]) -> None:
    """Raise Fault for the first link between nodes that earlier links connect already, or of a node
    to itself.

    edges: names of two nodes, and the link's position for messages.
    """
    joined: dict[str, set[str]] = {}
    for first, second, place in edges:
        group = joined.setdefault(first, {first})
        if second in group:
            raise Fault(f"{place}: the link {first} - {second} closes a ring; expected one path "
                        "between any two nodes: leave a link out")
        group |= joined.get(second, {second})
        joined |= dict.fromkeys(group, group)


def _refuse_odd_nodes(graph: Graph, places: Mapping[str, str]) -> None:
    """Raise Fault if a router hasn't exactly two links, if client or server hasn't exactly one, or
    if no router is between client and server.

    Args:
        graph: the graph to check. It may lack the server.
        places: name of a node -> its first position in the text, for messages.
    """
    for node in graph.nodes:
        count = sum(node in link for link in graph.links)
        if is_router(node) and count != 2:
            advice = ("link it to a host behind it, too, or choose a name that is no router's"
                      if count == 1 else
                      "link more hosts to a host that forwards, as lan in client - lan, "
                      "client2 - lan, lan - router")
            raise Fault(f"{places[node]}: {node} has {count} link{'s' * (count != 1)}; expected "
                        f"2, because a router has one queue for each direction: {advice}")
        if node in (CLIENT, SERVER) and count != 1:
            raise Fault(f"{places[node]}: {node} has {count} links; expected 1, to a host or "
                        "router that forwards")
    if SERVER in graph.nodes and not any(map(is_router, graph.way(SERVER))):
        raise Fault(f"{places[SERVER]}: no router is on the path from client to server, so there "
                    "is no queue to test; put one between them")
