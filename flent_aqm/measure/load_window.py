# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the start and end of each load in the same manner for all tools.

A load lasts from the first to the last packet of its data, as the capture on the client saw them.
In a test without a capture, it lasts from the first to the last byte that the receiver reports.

Anything before and after (name lookups, connections, parameters, results) may take seconds in a
full queue. The start that tools report is mostly the start of their program.
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
    """Identifies the packets of one load in the capture.

    Attributes:
        server_port: port of the tool's server.
        direction: "upload" or "download".
        from_s: start of the tool in epoch seconds.
        until_s: end of the tool in epoch seconds.
        client_ports: ports of the tool's connections at the client. Empty if the tool doesn't
            report them.
        own_clock: True if the times of the tool's samples count from a moment that isn't known
            exactly. The samples are then moved to the capture's times, unless the load warms up or
            the capture has none of its packets.
        zero_s: that moment as assumed in the samples, in epoch seconds. Samples without a
            throughput are moved so that it becomes the time of the load's first packet, and so are
            all samples if none has a throughput.
        warms_up: True if the connections carry data before the load begins. The load's times then
            stay those of the tool.
    """

    server_port: int
    direction: str
    from_s: float
    until_s: float
    client_ports: tuple[int, ...] = ()
    own_clock: bool = False
    zero_s: float = 0.0
    warms_up: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the metadata by which a runner tells settle() this load: a dict with only the key
        LOAD, whose value has the fields by name."""
        return {LOAD: asdict(self)}


def received(samples: Sequence[Mapping[str, Any]], start_s: float) -> dict[str, float]:
    """Return metadata with the keys LOAD_START and LOAD_END in epoch seconds, by the receiver's
    report: start of the first and end of the last interval with data.

    Args:
        samples: raw samples, sorted by time. Those with data have a positive `val`, the end of the
            interval in epoch seconds as `t`, and its length in s as `dur`.
        start_s: time for both if there was no data.
    """
    with_data = [sample for sample in samples if sample.get("val")]
    if not with_data:
        return {START: start_s, END: start_s}
    return {START: with_data[0]["t"] - with_data[0]["dur"], END: with_data[-1]["t"]}


def settle(measurements: Mapping[str, Any], series: Mapping[str, dict[str, Any]],
           raw_values: Mapping[str, list[dict[str, Any]]]) -> None:
    """Replace the times of the loads by the capture's times, in Flent's collected results. Call it
    after take_parts(). All three arguments are changed.

    A load that has packets in the capture gets LOAD_START, LOAD_END and LOAD_TIMES_FROM in its
    metadata, and its samples are moved if it has `own_clock`. If it warms up, it keeps its times
    and samples. Both get ROUND_TRIPS if the capture has enough round trips. Other loads, and series
    without LOAD_START, keep what they have. If the capture ended before the tool, the load ends no
    earlier than the tool's last data. The keys LOAD and TRANSFERS are removed.

    Args:
        measurements: pairs of time and value, by series.
        series: metadata by series.
        raw_values: raw samples by series.
    """
    transfers, ends_s = _take_transfers(series)
    for name, about in series.items():
        if (load_fields := about.pop(LOAD, None)) is None or START not in about:
            continue
        load = Load(**load_fields)
        if own := _transfers_of_load(load, about[END], transfers):
            if not load.warms_up:
                start_s, end_s = (min(one.first_s for one in own), max(one.last_s for one in own))
                moved_s = 0.0
                if load.own_clock:
                    moved_s = _move_samples(measurements[name], raw_values[name], start_s,
                                            load.zero_s)
                if ends_s < load.until_s:
                    end_s = max(end_s, about[END] + moved_s)
                about |= {START: start_s, END: end_s, SOURCE: "capture"}
            if trips := together([(one.round_trips, one.round_trips_ms) for one in own]):
                about[ROUND_TRIPS] = trips


def _take_transfers(series: Mapping[str, dict[str, Any]]) -> tuple[list[Transfer], float]:
    """Remove the transfers of the capture from the metadata, and return them with the time in epoch
    seconds at which the capture ended. An empty list and 0 if there is no capture.

    series: metadata by series.
    """
    for about in series.values():
        if TRANSFERS in about:
            transfers, ends_s = about.pop(TRANSFERS)
            return [Transfer(**one) for one in transfers], ends_s
    return [], 0.0


def _transfers_of_load(load: Load, end_s: float, transfers: Sequence[Transfer]) -> list[Transfer]:
    """Return the transfers of a load. Empty if the capture has none.

    These are the transfers of the load's direction, server port and client ports. If the tool
    doesn't report its client ports, they are those of its direction and server port that began
    between the tool's start and `end_s`, because results are sent after it. Of TCP and UDP, only
    the protocol with more data counts then.

    Args:
        load: identifies the load.
        end_s: end of the load that the tool reports, in epoch seconds.
        transfers: all transfers of the capture.
    """
    matching = [transfer for transfer in transfers
                if (transfer.server_port, transfer.direction) == (load.server_port, load.direction)]
    if load.client_ports:
        return [transfer for transfer in matching if transfer.client_port in load.client_ports]
    matching = [transfer for transfer in matching if load.from_s <= transfer.first_s <= end_s]
    carried: Counter[int] = Counter()
    for transfer in matching:
        carried[transfer.protocol] += transfer.byte_count
    return [transfer for transfer in matching if transfer.protocol == carried.most_common(1)[0][0]]


def _move_samples(series: list[list[Any]], samples: list[dict[str, Any]], start_s: float,
                  zero_s: float) -> float:
    """Move the samples of a load, in place, so that the first interval with data begins at
    `start_s`, and sort the raw samples by time again. Samples without a throughput are moved by the
    distance from zero_s to start_s, and so are all if no interval has data.

    Return the seconds by which the intervals were moved.

    Args:
        series: pairs of time and value.
        samples: raw samples, sorted by their time `t`. Those with a throughput have the key `val`,
            the end of the interval as `t`, and its length in s as `dur`.
        start_s: time of the load's first packet, in epoch seconds.
        zero_s: start of the load as assumed in the samples, in epoch seconds.
    """
    full = next((one for one in samples if one.get("val")), None)
    rates_s = start_s - (full["t"] - full["dur"] if full else zero_s)
    for sample in samples:
        sample["t"] += rates_s if "val" in sample else start_s - zero_s
    samples.sort(key=lambda one: one["t"])
    for pair in series:
        pair[0] += rates_s
    return rates_s
