# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a topology's addresses, links and routes to files that guest/topology.sh reads.

    topology/links      lines for ip: namespaces and the links between them
    topology/NODE       lines for ip in a node's namespace: addresses and routes
    topology/nodes      a line for each node: name, kind, devices

Link number n has the networks 198.18.n.0/24 (RFC 2544, for benchmarks) and 2001:db8:100:n::/64, in
which the node nearer to the client is .1. A router's device towards the client is called `down`,
the other `up`. Devices of other nodes are eth0 (towards the client), eth1 and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.spec.topology.graph import CLIENT, SERVER, Graph, Link, is_router
from flent_aqm.spec.topology.subscribers import NET_IPV4, NET_IPV6, ipv4_of, ipv6_of
from flent_aqm.spec.topology.topology import Topology


@dataclass(frozen=True)
class LinkEnd:
    """Device and addresses of one end of a link.

    Attributes:
        device: name of the device in the node's namespace.
        ipv4: IPv4 address without prefix length.
        ipv6: IPv6 address without prefix length.
        mac: MAC address.
    """

    device: str
    ipv4: str
    ipv6: str
    mac: str


def write_topology(folder: Path, topology: Topology) -> dict[str, str]:
    """Write the topology's files to folder/topology, which must not exist. Return shell variables
    for the guest's scripts, by name: TOPOLOGY ("yes"), NAT ("yes", missing without NAT), and
    CLIENT_IPV4, CLIENT_IPV6, SERVER_IPV4 and SERVER_IPV6."""
    graph = topology.graph
    ends = _ends_of_links(graph)
    target = folder / "topology"
    target.mkdir()
    (target / "links").write_text(_link_lines(graph, ends))
    for node in graph.nodes:
        (target / node).write_text(_node_lines(topology, ends, node))
    (target / "nodes").write_text("".join(
        f"{node} {_kind(graph, node)} {' '.join(_devices(graph, ends, node))}\n"
        for node in (*graph.nodes[1:], CLIENT)))
    client, server = _first_end(graph, ends, CLIENT), _first_end(graph, ends, SERVER)
    return {"TOPOLOGY": "yes", **({"NAT": "yes"} if topology.nat else {}),
            "CLIENT_IPV4": client.ipv4, "CLIENT_IPV6": client.ipv6,
            "SERVER_IPV4": server.ipv4, "SERVER_IPV6": server.ipv6}


def addresses(topology: Topology) -> list[tuple[str, str]]:
    """Return the lines of /etc/hosts, without those of localhost, as pairs of an address and the
    names of its host, separated by blanks. Each node has two, with the IPv4 and the IPv6 address of
    its end towards the client. Each subscriber from the second on has two, too."""
    graph = topology.graph
    ends = _ends_of_links(graph)
    pairs = []
    for node in graph.nodes:
        end = _first_end(graph, ends, node)
        names = " ".join([node, *(other for other, name in topology.other_names.items()
                                  if name == node)])
        pairs += [(end.ipv4, names), (end.ipv6, names)]
    for number in range(2, topology.subscribers + 1):
        pairs += [(ipv4_of(number), f"sub{number}"), (ipv6_of(number), f"sub{number}")]
    return pairs


def first_ends(topology: Topology) -> Mapping[str, LinkEnd]:
    """Return each node's end of its link towards the client, by name of the node. For the client,
    the end of its only link."""
    graph = topology.graph
    ends = _ends_of_links(graph)
    return {node: _first_end(graph, ends, node) for node in graph.nodes}


def _ends_of_links(graph: Graph) -> Mapping[tuple[Link, str], LinkEnd]:
    """Return the end of each link at each of its two nodes: (link, node) -> end."""
    devices: dict[str, int] = {}
    ends = {}
    for number, link in enumerate(graph.links):
        for end, node in enumerate(link, 1):
            count = devices[node] = devices.get(node, -1) + 1
            device = ("up" if end == 1 else "down") if is_router(node) else f"eth{count}"
            ends[link, node] = LinkEnd(device, f"198.18.{number}.{end}",
                                    f"2001:db8:100:{number:x}::{end}",
                                    f"02:00:00:01:{number:02x}:{end:02x}")
    return ends


def _link_lines(graph: Graph, ends: Mapping[tuple[Link, str], LinkEnd]) -> str:
    """Return the lines for ip that make the namespaces of all nodes but the client, and the links.
    `ends` are those of _ends_of_links()."""
    lines = [f"netns add {node}\n" for node in graph.nodes[1:]]
    for link in graph.links:
        words = []
        for node in link:
            end = ends[link, node]
            words.append(f"name {end.device} address {end.mac}"
                         + (f" netns {node}" if node != CLIENT else ""))
        lines.append(f"link add {words[0]} type veth peer {words[1]}\n")
    return "".join(lines)


def _node_lines(topology: Topology, ends: Mapping[tuple[Link, str], LinkEnd], node: str) -> str:
    """Return the lines for ip that bring up the devices in a node's namespace, and set addresses,
    routes and neighbours. `ends` are those of _ends_of_links()."""
    graph = topology.graph
    lines = ["link set dev lo up"]
    own = [link for link in graph.links if node in link]
    for link in own:
        end = ends[link, node]
        lines += [f"addr add {end.ipv4}/24 dev {end.device}",
                  f"addr add {end.ipv6}/64 dev {end.device} nodad",
                  f"link set dev {end.device} up"]
    for number in range(2, topology.subscribers + 1) if node == CLIENT else ():
        lines += [f"addr add {ipv4_of(number)}/32 dev eth0",
                  f"addr add {ipv6_of(number)}/128 dev eth0 nodad"]
    # The default route leads towards the client, and from the client to its only neighbour. Routes
    # to networks farther from the client follow.
    default = own[0]
    for link in own:
        near, far = link
        there = ends[link, far if near == node else near]
        device = ends[link, node].device
        # ARP across a base delay would hold up the first packet: guest/devices.sh.
        lines += [f"neigh replace {address} lladdr {there.mac} dev {device} nud permanent"
                  for address in (there.ipv4, there.ipv6)]
        if link == default:
            lines += [f"route add default via {there.ipv4}",
                      f"route add default via {there.ipv6} dev {device}"]
        else:
            for beyond in graph.links:
                if beyond != link and far in graph.way(beyond[0]):
                    ipv4, ipv6 = _networks(ends, beyond)
                    lines += [f"route add {ipv4} via {there.ipv4}",
                              f"route add {ipv6} via {there.ipv6} dev {device}"]
        if topology.subscribers and is_router(node) and near == CLIENT:
            lines += [f"route add {NET_IPV4} via {there.ipv4}",
                      f"route add {NET_IPV6} via {there.ipv6} dev {device}"]
    return "".join(f"{line}\n" for line in lines)


def _networks(ends: Mapping[tuple[Link, str], LinkEnd], link: Link) -> tuple[str, str]:
    """Return a link's IPv4 network and IPv6 network with prefix lengths. `ends` are those of
    _ends_of_links()."""
    end = ends[link, link[0]]
    return f"{end.ipv4.rpartition('.')[0]}.0/24", f"{end.ipv6.rpartition('::')[0]}::/64"


def _devices(graph: Graph, ends: Mapping[tuple[Link, str], LinkEnd], node: str) -> list[str]:
    """Return the names of a node's devices, the device towards the client first. `ends` are those
    of _ends_of_links()."""
    return [ends[link, node].device for link in graph.links if node in link]


def _first_end(graph: Graph, ends: Mapping[tuple[Link, str], LinkEnd], node: str) -> LinkEnd:
    """Return a node's end of its link towards the client. For the client, the end of its only link.
    `ends` are those of _ends_of_links()."""
    return next(ends[link, node] for link in graph.links if node in link)


def _kind(graph: Graph, node: str) -> str:
    """Return the kind of a node for topology.sh: router, far (a host behind a router, with one
    link), serving (a host behind a router, with several links) or host (any other)."""
    if is_router(node):
        return "router"
    if node in graph.serving:
        # The last node adds half of the base delay in each direction.
        return "far" if sum(node in link for link in graph.links) == 1 else "serving"
    return "host"
