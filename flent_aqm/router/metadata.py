# SPDX-License-Identifier: GPL-3.0-or-later
"""A read-back as it is stored in a data file: dicts of plain values, units in the keys."""

from __future__ import annotations

from flent_aqm.parsers.tc import Clock, Direction, ReadBack, bit_per_s
from flent_aqm.router.expected import burst_bytes, unit_of


def as_metadata(report: ReadBack) -> dict[str, object]:
    """`applied` (settings), `counters` and `router` (what else describes it), JSON-ready.

    Settings of a queue that the router lacks are left out.
    """
    directions = report.directions.items()
    return {
        "applied": {name: _applied(direction, report.clock) for name, direction in directions},
        "counters": {name: _counters(direction) for name, direction in directions},
        "router": {
            "kernel": report.kernel,
            "psched": report.clock.text,
            **{name: _device(direction) for name, direction in directions},
        },
    }


def _applied(direction: Direction, clock: Clock) -> dict[str, object]:
    applied: dict[str, object] = {}
    for qdisc in direction.qdiscs:
        name = "shaper" if qdisc.parent == "root" else "qdisc"
        applied[name] = qdisc.kind
        applied[f"{name}_parameters"] = {
            "_".join(filter(None, (key, unit_of(qdisc.kind, key)))): value
            for key, value in qdisc.parameters.items()}
    for htb in direction.classes:
        rate_bit_s, ceil_bit_s = bit_per_s(htb.rate), bit_per_s(htb.ceil)
        applied |= {
            "rate_mbps": rate_bit_s / 1e6,
            "ceil_mbps": ceil_bit_s / 1e6,
            "burst_bytes": burst_bytes(htb.burst_ticks, rate_bit_s / 8, clock),
            "cburst_bytes": burst_bytes(htb.cburst_ticks, ceil_bit_s / 8, clock),
            "htb_quantum_bytes": htb.quantum_bytes,
        }
    return applied


def _counters(direction: Direction) -> dict[str, object]:
    counters: dict[str, object] = {
        "shaper" if qdisc.parent == "root" else "qdisc": dict(qdisc.counters)
        for qdisc in direction.qdiscs}
    for htb in direction.classes:
        counters["class"] = dict(htb.counters)
    return counters


def _device(direction: Direction) -> dict[str, object]:
    return {"device": direction.device, "txqueuelen_packets": direction.txqueuelen,
            "offloads": dict(direction.offloads)}
