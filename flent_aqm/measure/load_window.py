# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the start and end of each load, by one definition for all tools.

A load lasts from the first to the last packet of its data, as the capture on the client saw them.
In a test without a capture, it lasts from the first to the last byte that the receiver reports.
Anything before and after (name lookups, connections, parameters, results) may take seconds in a
full queue. The start that tools report is mostly that of their program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flent_aqm.measure.parsers.round_trips import together
from flent_aqm.measure.parsers.transfers import Transfer

# Keys of the runners' metadata until settle(): a Load as a dict, and the Transfers of the capture.
LOAD, TRANSFERS = "LOAD", "TRANSFERS"
# Keys of the metadata in a data file. SOURCE is "capture" or missing.
START, END, SOURCE = "LOAD_START", "LOAD_END", "LOAD_TIMES_FROM"
# Key of the metadata in a data file with round trips of the load's own packets, from the capture.
ROUND_TRIPS = "ROUND_TRIPS"


@dataclass(frozen=True)
class Load:
    """Identifies the packets of one load in the capture."""

    # Port of the tool's server.
    server_port: int
    # "upload" or "download".
    direction: str
    # When the tool ran, in epoch seconds.
    from_s: float
    until_s: float
    # Ports of the tool's connections at the client, if it reports them.
    client_ports: tuple[int, ...] = ()
    # True if the times of the tool's samples count from a moment that isn't known exactly. They are
    # then moved to the capture's times.
    own_clock: bool = False
    # That moment as assumed in the samples, in epoch seconds. It is used if no sample has a
    # throughput.
    zero_s: float = 0.0
    # True if the connections carry data before the load begins. Its times then stay those of the
    # tool.
    warms_up: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the metadata with this load, for settle()."""
        return {LOAD: asdict(self)}


def received(samples: Sequence[Mapping[str, Any]], start_s: float) -> dict[str, float]:
    """Return LOAD_START and LOAD_END by the receiver's report: the first and last interval with
    data.

    Args:
        samples: raw samples, of which those with data have a positive `val`.
        start_s: time for both if there was no data.
    """
    full = [one for one in samples if one.get("val")]
    if not full:
        return {START: start_s, END: start_s}
    return {START: full[0]["t"] - full[0]["dur"], END: full[-1]["t"]}


def settle(measurements: Mapping[str, Any], series: Mapping[str, dict[str, Any]],
           raw_values: Mapping[str, list[dict[str, Any]]]) -> None:
    """Replace the times of the loads by those of the capture, in Flent's collected results.

    LOAD_START, LOAD_END, LOAD_TIMES_FROM and ROUND_TRIPS in the metadata are set, and the samples
    of loads with `own_clock` are moved. All three arguments are changed.

    Args:
        measurements: series -> pairs of time and value.
        series: series -> metadata.
        raw_values: series -> raw samples.
    """
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
    """Return the transfers of the capture, and the time when it ended. Removes them from the
    metadata. Returns no transfers if there is no capture."""
    for about in series.values():
        if TRANSFERS in about:
            transfers, ends_s = about.pop(TRANSFERS)
            return [Transfer(**one) for one in transfers], ends_s
    return [], 0.0


def _of(load: Load, end_s: float, transfers: Sequence[Transfer]) -> list[Transfer]:
    """Return the transfers of a load.

    If the tool doesn't report its client ports, these are the transfers of its server port that
    began between the load's start and `end_s`, the end that the tool reports, because results are
    sent after it. Of TCP and UDP, only those of the protocol with more data count.
    """
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
    """Move the samples of a load so that the first interval with data begins at `start_s`, the time
    of its first packet. Samples without a throughput are moved from zero_s to start_s.

    Return the seconds by which the intervals were moved.
    """
    full = next((one for one in samples if one.get("val")), None)
    rates_s = start_s - (full["t"] - full["dur"] if full else zero_s)
    for sample in samples:
        sample["t"] += rates_s if "val" in sample else start_s - zero_s
    samples.sort(key=lambda one: one["t"])
    for pair in series:
        pair[0] += rates_s
    return rates_s
