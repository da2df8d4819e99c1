# SPDX-License-Identifier: GPL-3.0-or-later
"""From when to when a load ran: one definition for all tools.

It runs from the first to the last packet of its data, as the capture on the client saw them. In a
test without a capture, from the first to the last byte that its receiver tells of. What comes
before and after (names, connections, parameters, results) may take seconds in a full queue, and
what tools call their start is mostly that of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flent_aqm.measure.parsers.round_trips import together
from flent_aqm.measure.parsers.transfers import Transfer

# Of runners' metadata until settle(): a Load as a dict, and a capture's Transfers.
LOAD, TRANSFERS = "LOAD", "TRANSFERS"
# Of the metadata in a data file; the last one is "capture", or isn't there.
START, END, SOURCE = "LOAD_START", "LOAD_END", "LOAD_TIMES_FROM"
# Of the same, where a capture has them: round trips of the load's own packets.
ROUND_TRIPS = "ROUND_TRIPS"


@dataclass(frozen=True)
class Load:
    """Where a capture has a flow, of a tool that ran from from_s to until_s. client_ports: of its
    connections, where the tool tells. own_clock: times of the tool's
    samples count from an unknown moment, which it takes from the capture; zero_s: where its
    samples without a throughput have that moment. warms_up: its connections have data before the
    load begins, so that its times stay those of the tool."""

    server_port: int
    direction: str
    from_s: float
    until_s: float
    client_ports: tuple[int, ...] = ()
    own_clock: bool = False
    zero_s: float = 0.0
    warms_up: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return it as metadata."""
        return {LOAD: asdict(self)}


def received(samples: Sequence[Mapping[str, Any]], start_s: float) -> dict[str, float]:
    """Return LOAD_START and LOAD_END as the receiver tells: the intervals in which something came.
    start_s: without any."""
    full = [one for one in samples if one.get("val")]
    if not full:
        return {START: start_s, END: start_s}
    return {START: full[0]["t"] - full[0]["dur"], END: full[-1]["t"]}


def settle(measurements: Mapping[str, Any], series: Mapping[str, dict[str, Any]],
           raw_values: Mapping[str, list[dict[str, Any]]]) -> None:
    """Put the capture's times into what Flent collected. series: metadata by series."""
    transfers, ends_s = _captured(series)
    for name, about in series.items():
        if (load_fields := about.pop(LOAD, None)) is None or START not in about:
            continue
        load = Load(**load_fields)
        if own := _of(load, about[END], transfers):
            if not load.warms_up:
                start_s, end_s = (min(one.first_s for one in own), max(one.last_s for one in own))
                moved_s = 0.0
                if load.own_clock:
                    moved_s = _move(measurements[name], raw_values[name], start_s, load.zero_s)
                if ends_s < load.until_s:
                    end_s = max(end_s, about[END] + moved_s)
                about |= {START: start_s, END: end_s, SOURCE: "capture"}
            if trips := together([(one.round_trips, one.round_trips_ms) for one in own]):
                about[ROUND_TRIPS] = trips


def _captured(series: Mapping[str, dict[str, Any]]) -> tuple[list[Transfer], float]:
    """Return what the capture found, and when it ended."""
    for about in series.values():
        if TRANSFERS in about:
            transfers, ends_s = about.pop(TRANSFERS)
            return [Transfer(**one) for one in transfers], ends_s
    return [], 0.0


def _of(load: Load, end_s: float, transfers: Sequence[Transfer]) -> list[Transfer]:
    """Return a load's transfers. Where the tool doesn't tell them: of TCP or UDP, whichever it has
    its data in, and those that began before its end as it knows it, as results come later."""
    matching = [one for one in transfers if (one.server_port, one.direction) == (
        load.server_port, load.direction)]
    if load.client_ports:
        return [one for one in matching if one.client_port in load.client_ports]
    matching = [one for one in matching if load.from_s <= one.first_s <= end_s]
    carried: Counter[int] = Counter()
    for one in matching:
        carried[one.protocol] += one.byte_count
    return [one for one in matching if one.protocol == carried.most_common(1)[0][0]]


def _move(series: list[list[Any]], samples: list[dict[str, Any]], start_s: float,
          zero_s: float) -> float:
    """Have the first interval with data begin with the first packet of it. Return by how much
    intervals have moved."""
    full = next((one for one in samples if one.get("val")), None)
    rates_s = start_s - (full["t"] - full["dur"] if full else zero_s)
    for sample in samples:
        sample["t"] += rates_s if "val" in sample else start_s - zero_s
    samples.sort(key=lambda one: one["t"])
    for pair in series:
        pair[0] += rates_s
    return rates_s
