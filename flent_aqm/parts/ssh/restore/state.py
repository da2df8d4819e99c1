# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the state of a router's devices, the output of router_hooks/state.sh.

The text comes from the router, so it is untrusted. Any deviation from the form is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from flent_aqm.base.errors import ParseError
from flent_aqm.spec.queues.units import Clock, parse_psched

# Names of devices, handles, numbers, words of tc. None of these characters has a meaning in tc's
# batch mode.
WORD = re.compile(r"[A-Za-z0-9_.:@/%+*-]+")
_LINK = re.compile(r"[A-Za-z0-9_.@-]{1,15}")
_OFFLOAD = re.compile(r"([a-z0-9-]+): (on|off)")


@dataclass
class Device:
    """State of a device. Lines of tc are kept as they are, and plan.py interprets them.

    Attributes:
        name: name of the device.
        txqueuelen: length of its transmit queue, in packets.
        qdiscs: lines of `tc qdisc show`.
        classes: lines of `tc class show`.
        filters: where filters are attached (`parent 1:`, `ingress`, `egress`) -> lines of `tc
            filter show`.
        offload_lines: lines of `ethtool -k` on offloads that can be changed.
    """

    name: str
    txqueuelen: int = 0
    qdiscs: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    filters: dict[str, list[str]] = field(default_factory=dict)
    offload_lines: list[str] = field(default_factory=list)

    @property
    def offloads(self) -> dict[str, bool]:
        """The offloads that can be changed: ethtool's name -> whether it is on. Raises ParseError
        if a line has another form."""
        by_name = {}
        for line in self.offload_lines:
            match = _OFFLOAD.fullmatch(line)
            if not match:
                raise ParseError(f"offloads of {self.name}: unexpected line {line[:80]!r}")
            by_name[match[1]] = match[2] == "on"
        return by_name


@dataclass(frozen=True)
class RouterState:
    """State of a router.

    Attributes:
        links: names of all devices.
        devices: name -> state of each device that a sweep changes.
        tc: output of `tc -V`.
        clock: the kernel's clock of the packet scheduler.
    """

    links: tuple[str, ...]
    devices: Mapping[str, Device]
    tc: str
    clock: Clock


def parse_state(text: str) -> RouterState:
    """Parse the output of state.sh. Raises ParseError if a line has another form, or if there is no
    device."""
    links: list[str] = []
    devices: dict[str, Device] = {}
    device: Device | None = None
    lines: list[str] = []  # lines of the current section
    facts = {"tc": "", "psched": ""}
    for line in text.splitlines():
        if not line.startswith("@"):
            if line.strip():
                lines.append(line)
            continue
        words = line[1:].split()
        section, values = (words[0], words[1:]) if words else ("", [])
        if section == "link" and len(values) == 1 and _LINK.fullmatch(values[0]):
            links.append(values[0])
            continue
        if section in facts and device is None:
            facts[section] = " ".join(values)
            continue
        if section == "device" and len(values) == 1 and _LINK.fullmatch(values[0]):
            device = devices[values[0]] = Device(values[0])
            continue
        if device is None:
            raise ParseError(f"the router's state: unexpected line {line[:80]!r}")
        if section == "txqueuelen" and len(values) == 1 and re.fullmatch("[0-9]{1,9}", values[0]):
            device.txqueuelen = int(values[0])
        elif section == "qdisc" and not values:
            lines = device.qdiscs
        elif section == "class" and not values:
            lines = device.classes
        elif section == "filter" and values:
            lines = device.filters.setdefault(" ".join(values), [])
        elif section == "offload" and not values:
            lines = device.offload_lines
        else:
            raise ParseError(f"the router's state: unexpected line {line[:80]!r}")
    if not devices:
        raise ParseError("the router's stored state has no device, so it is cut off")
    return RouterState(tuple(links), devices, facts["tc"], parse_psched(facts["psched"]))
