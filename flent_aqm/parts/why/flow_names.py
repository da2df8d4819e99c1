# SPDX-License-Identifier: GPL-3.0-or-later
"""Names the flows of a run: probes, ping, cross traffic, the test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.why.ledger import ICMP, ICMPV6, UDP, FlowKey, Ledger
from flent_aqm.spec.cross_traffic import kind_of, parse_cross_traffic

PROBES, PING, CROSS, TEST = "probes", "ping", "cross traffic", "test"
SMALL_FLOWS = "small flows"
# Packets with less payload than this on average belong to the reverse direction: they acknowledge.
_ACKS_PAYLOAD_BYTES = 60
# A tool's control connection has fewer packets, or less payload.
FEWEST_PACKETS, _FEWEST_BYTES = 100, 8192
# Name of the router's device to which packets go -> direction in words.
DIRECTION = {"up": "upload", "down": "download"}
_REVERSE = {"up": "down", "down": "up"}


def kind_of_flow(key: FlowKey, cross_ports: frozenset[int]) -> str:
    """Return the kind of a flow: PING for ICMP and ICMPv6, PROBES for UDP with irtt's port, CROSS
    for a flow with one of the ports of cross traffic, otherwise TEST."""
    if key.protocol in (ICMP, ICMPV6):
        return PING
    ports = {key.source_port, key.target_port}
    if key.protocol == UDP and defaults.IRTT_PORT in ports:
        return PROBES
    return CROSS if ports & cross_ports else TEST


def flow_name(ledger: Ledger, direction: str, flow: int, cross_ports: frozenset[int]) -> str:
    """Return the name of a flow for sentences: "the probes", "ping", "the test's upload" for a flow
    with a load's data (see carries_data()), "acknowledgements of the test's upload" for the reverse
    of such a flow, or "the test's small flows" (SMALL_FLOWS) for any other, the last three likewise
    of "the cross traffic". Several flows may share a name.

    Args:
        ledger: packets of a router.
        direction: "up" or "down", in which the flow's packets go.
        flow: index in Ledger.flows.
        cross_ports: ports of the cross traffic's servers, see cross_ports_of().
    """
    key = ledger.flows[flow]
    kind = kind_of_flow(key, cross_ports)
    if kind in (PROBES, PING):
        return "the probes" if kind == PROBES else "ping"
    whose = "the test" if kind == TEST else "the cross traffic"
    if carries_data(ledger, direction, flow):
        return f"{whose}'s {DIRECTION[direction]}"
    other = _REVERSE[direction]
    reverse = reverse_flow(ledger, flow)
    if reverse is not None and carries_data(ledger, other, reverse):
        return f"acknowledgements of {whose}'s {DIRECTION[other]}"
    return f"{whose}'s {SMALL_FLOWS}"


def carries_data(ledger: Ledger, direction: str, flow: int) -> bool:
    """Return whether a flow has a load's data in a direction, "up" or "down": 60 bytes of payload
    (_ACKS_PAYLOAD_BYTES) or more per packet on average, and at least 100 packets (FEWEST_PACKETS).
    If no flow has as much, 8192 bytes of payload (_FEWEST_BYTES) are enough in place of 100
    packets. Probes and pings are never a load."""
    def is_load(at: tuple[str, int], packets: int, payload_bytes: int) -> bool:
        """Return whether a flow, not of probes and pings, has at least so many packets, so much
        payload, and 60 bytes of payload per packet."""
        count, size = ledger.sizes.get(at, (0, 0))
        return (count >= packets and size >= max(payload_bytes, _ACKS_PAYLOAD_BYTES * count, 1)
                and kind_of_flow(ledger.flows[at[1]], frozenset()) == TEST)

    at = direction, flow
    return is_load(at, FEWEST_PACKETS, 0) or (
        is_load(at, 0, _FEWEST_BYTES)
        and not any(is_load(one, FEWEST_PACKETS, 0) for one in ledger.sizes))


def reverse_flow(ledger: Ledger, flow: int) -> int | None:
    """Return the index in Ledger.flows of the flow with the same ends in the other direction, None
    if there is none."""
    reverse = ledger.flows[flow].reverse
    return next((index for index, one in enumerate(ledger.flows) if one == reverse), None)


def test_parameters(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the test's parameters by name, from a data file's metadata. Empty without any."""
    parameters = metadata.get("TEST_PARAMETERS")
    return parameters if isinstance(parameters, dict) else {}


def cross_ports_of(metadata: Mapping[str, Any]) -> frozenset[int]:
    """Return the port of the server of a run's cross traffic, from a data file's metadata: the test
    parameter cross_port, or else the usual one, also if that parameter is no number. Empty without
    cross traffic, or if the value of the parameter cross_traffic is invalid."""
    parameters = test_parameters(metadata)
    try:
        tool = kind_of(parse_cross_traffic("cross_traffic", parameters.get("cross_traffic", "no")))
    except ConfigError:
        return frozenset()
    if tool is None or tool.server is None:
        return frozenset()
    own = parameters.get("cross_port")
    if own is not None and str(own).isdecimal():
        return frozenset({int(own)})
    return frozenset({tool.server.port})
