# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the output of cross-traffic tools: lines of our own clients, and irtt's JSON of a call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import ParseError, cause_of

Sample = dict[str, float]

# The picture of a call: 30 frames per second, each in five packets of 1200 bytes, evenly spaced:
# 1.44 Mbit/s. Real calls have frames of different sizes (RFC 8593). Their rate is at most 1.5
# Mbit/s in the test cases of RFC 8867.
FRAMES_PER_S = 30
PACKETS_PER_FRAME = 5
PACKET_BYTES = 1200
# Length in seconds of the intervals in which bytes are counted.
STEP_S = 0.2


@dataclass(frozen=True)
class CrossTraffic:
    """Cross traffic in one direction. Times (`t`) are epoch seconds.

    Attributes:
        rates: samples with t (end of the interval), val (Mbit/s) and dur (s).
        events: samples with t and one or more measures of what users notice, such as frame_ms. The
            names are listed in docs/reference/data-format.md.
    """

    rates: list[Sample]
    events: list[Sample]


def parse_lines(text: str) -> CrossTraffic:
    """Parse the output of measure/cross_traffic/video.py, web.py or quic.py. The lines with a step
    make the rates, 0 for steps without a line, and the others except the first are the events. The
    bytes of several lines with the same step, as after a clock that went back, are added. Raises
    ParseError if the output is damaged or empty."""
    if not text.strip():
        raise ParseError("the cross-traffic client printed nothing, not even its first line: it "
                         "was stopped before it had started")
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            lines.append(json.loads(line))
        except ValueError as fault:
            raise ParseError(f"line {number} of the output of the cross-traffic client can't be "
                             f"read ({cause_of(fault)}): {line[:60]!r}") from None
    try:
        start_s, step_s = float(lines[0]["start"]), float(lines[0]["step_s"])
        counted: dict[int, int] = {}
        for one in lines:
            if "step" in one:
                step = int(one["step"])
                counted[step] = counted.get(step, 0) + int(one["bytes"])
        events = [{key: float(value) for key, value in one.items()}
                  for one in lines[1:] if "step" not in one]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as fault:
        raise ParseError("the output of the cross-traffic client can't be read "
                         f"({cause_of(fault)}); it starts with {text[:60]!r}") from None
    return CrossTraffic(_rates(counted, start_s, step_s), events)


def parse_call(text: str) -> dict[str, CrossTraffic]:
    """Parse irtt's JSON of a call. Return both directions by name, "upload" and "download". Raises
    ParseError if the JSON is damaged or has no round trips.

    In each direction, each frame whose packets were all sent is an event with frame_lost: 1 if one
    of its packets was lost, else 0. If none was lost and the delay of at least one is known, it has
    frame_ms: the delay of its slowest packet minus that of the fastest packet of all frames, so the
    clocks needn't agree. A loss whose direction irtt doesn't know counts in both.
    """
    if not text.strip():
        raise ParseError("irtt wrote no JSON of the call: it was stopped by force, or before its "
                         "server had answered; check that the server runs and can be reached")
    try:
        trips = json.loads(text)["round_trips"]
        if not trips:
            raise ParseError("irtt's JSON of the call has no round trip: no packet was sent before "
                             "irtt was stopped")
        return {"upload": _parse_direction(trips, "send", ("true", "true_up")),
                "download": _parse_direction(trips, "receive", ("true", "true_down"))}
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise ParseError(f"irtt's JSON of the call can't be read ({cause_of(fault)}); it starts "
                         f"with {text[:60]!r}") from None


def _parse_direction(trips: Iterable[Mapping[str, Any]], irtt_direction: str,
                     lost_words: tuple[str, ...]) -> CrossTraffic:
    """Return one direction of a call. A frame that was not sent whole, at the end, has no event.
    Raises KeyError, TypeError or AttributeError if a trip has another form than irtt's.

    Args:
        trips: irtt's round trips.
        irtt_direction: "send" or "receive".
        lost_words: values of `lost` that mean a loss in this direction.
    """
    frames: dict[int, list[Mapping[str, Any]]] = {}
    counted: dict[int, int] = {}
    fastest_ns: float | None = None
    start_s = 0.0
    for trip in trips:
        frames.setdefault(trip["seqno"] // PACKETS_PER_FRAME, []).append(trip)
        start_s = start_s or trip["timestamps"]["client"]["send"]["wall"] / 1e9
        took_ns = trip["delay"].get(irtt_direction)
        if took_ns is not None and (fastest_ns is None or took_ns < fastest_ns):
            fastest_ns = took_ns
        at_s = _packet_time_s(trip, irtt_direction)
        if trip["lost"] not in lost_words and at_s is not None:
            step = int((at_s - start_s) / STEP_S)
            counted[step] = counted.get(step, 0) + PACKET_BYTES
    complete_frames = [(packets[0]["timestamps"]["client"]["send"]["wall"] / 1e9, packets)
                       for packets in frames.values() if len(packets) == PACKETS_PER_FRAME]
    return CrossTraffic(_rates(counted, start_s, STEP_S),
                        [_frame_event(at_s, packets, irtt_direction, lost_words, fastest_ns or 0.0)
                         for at_s, packets in complete_frames])


def _packet_time_s(trip: Mapping[str, Any], irtt_direction: str) -> float | None:
    """Return the time at which the client sent a packet ("send") or received the answer to it
    ("receive"), in epoch seconds. The client's times are used because the server's clock may
    differ. None if irtt has no such time, as for an answer that did not arrive. Raises KeyError,
    TypeError or AttributeError if the trip has another form than irtt's.

    Args:
        trip: irtt's round trip of the packet.
        irtt_direction: "send" or "receive".
    """
    wall_ns = trip["timestamps"]["client"].get(irtt_direction, {}).get("wall")
    return None if wall_ns is None else wall_ns / 1e9


def _frame_event(at_s: float, packets: Iterable[Mapping[str, Any]], irtt_direction: str,
                 lost_words: tuple[str, ...], fastest_ns: float) -> Sample:
    """Return the event of one frame: t, frame_lost (1 if a packet was lost, otherwise 0), and
    frame_ms if no packet of the frame was lost and the delay of at least one of them is known: the
    delay of the slowest less fastest_ns, in ms.

    Args:
        at_s: time at which the frame was sent, in epoch seconds.
        packets: irtt's round trips of its packets. They are read twice.
        irtt_direction: "send" or "receive".
        lost_words: values of `lost` that mean a loss in this direction.
        fastest_ns: smallest delay of all packets in this direction.
    """
    if any(one["lost"] in lost_words for one in packets):
        return {"t": at_s, "frame_lost": 1.0}
    # If the answer to a packet was lost, the packet's own delay isn't known.
    took_ns = [one["delay"][irtt_direction] for one in packets if irtt_direction in one["delay"]]
    return {"t": at_s, "frame_lost": 0.0,
            **({"frame_ms": (max(took_ns) - fastest_ns) / 1e6} if took_ns else {})}


def _rates(counted: Mapping[int, int], start_s: float, step_s: float) -> list[Sample]:
    """Return a sample with the rate in Mbit/s for each interval up to the last one in `counted`, 0
    for those that are missing there. Empty if `counted` is.

    Args:
        counted: number of bytes by index of the interval, from 0.
        start_s: start of the first interval in epoch seconds.
        step_s: length of an interval.
    """
    return [{"t": start_s + (step + 1) * step_s, "dur": step_s,
             "val": counted.get(step, 0) * 8e-6 / step_s}
            for step in range(max(counted, default=-1) + 1)]
