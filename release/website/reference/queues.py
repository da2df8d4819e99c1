# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the queues: qdisc, parameters with their defaults, and what a router needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flent_aqm.spec.queues.queue import Parameter
from flent_aqm.spec.queues.table import QUEUES
from release.website.reference.rows import table

# Packages of OpenWrt 21.02 (Linux 5.15): package/kernel/linux/modules/netsupport.mk.
OPENWRT = {
    "no_aqm": "in the kernel", "bfifo": "in the kernel", "codel": "kmod-sched",
    "fq_codel": "kmod-sched-core", "sfq": "kmod-sched", "cake": "kmod-sched-cake",
    "pie": "kmod-sched-pie", "red": "kmod-sched-red", "drr": "kmod-sched-drr",
    "fq_pie": "kmod-sched-fq-pie"}
_UNITS = {"us": "µs", "percent": "%", "packets_per_s": "/s", "bytes_per_s": "bytes/s"}


def queues() -> Iterator[str]:
    """Yield the lines of a Markdown table, a row for each of QUEUES: name, qdisc, parameters with
    defaults, what it needs (_needs()), and OpenWrt's package, if there is one."""
    yield from table(
        ("`aqm`", "qdisc", "parameters, `aqm_NAME`, with defaults", "needs", "OpenWrt"), (
            (f"`{name}`", queue.kind,
             f"as `{queue.per_queue}`" if queue.per_queue else
             ", ".join(_format_parameter(one, about) for one, about in queue.parameters.items()),
             _needs(name), OPENWRT.get(name, ""))
            for name, queue in QUEUES.items()))


def _format_parameter(name: str, about: Parameter) -> str:
    if about.default is None or isinstance(about.default, bool):
        on = "yes" if about.default else ""
        return f"`{name}`" + (f" {on}" if on else "")
    default = about.default
    if about.unit == "us" and isinstance(default, (int, float)) and default >= 1000:
        return f"`{name}` {default / 1000:g} ms"
    unit = _UNITS.get(about.unit, about.unit)
    number = f"{default:.3g}" if isinstance(default, float) else f"{default}"
    # Packets go without saying.
    return f"`{name}` {number}" + (f" {unit}" if unit not in ("", "packets") else "")


def _needs(name: str) -> str:
    """Return the oldest kernel, the kernel's options and the oldest iproute2 that the queue
    requires, such as "Linux 5.6, NET_SCH_FQ_PIE, iproute2 5.6". What it doesn't require is left
    out, "" if it requires none. name: key of QUEUES."""
    found = re.findall(r"Linux [\d.]+|CONFIG_\w+|iproute2 [\d.]+", QUEUES[name].requires)
    return ", ".join(one.removeprefix("CONFIG_") for one in found)
