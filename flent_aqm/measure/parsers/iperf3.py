# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses iperf3's JSON (`iperf3 -J`), versions 3.9 to 3.18.

Directions are the client's: "upload" is client to server. Values that only a sender knows (RTT,
congestion window, retransmits per interval) are in the client's intervals for an upload. For a
download they are in the server's, which the client prints with --get-server-output if the server
runs with -J, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flent_aqm.base.errors import ParseError, cause_of

# Strings, which stay as they are, and the text that C's printf() makes of nan and inf.
_NOT_A_NUMBER = re.compile(
    r'"(?:[^"\\]|\\.)*"|[-+]?\b(?P<none>nan|inf(?:inity)?)\b', re.IGNORECASE)
# iperf3 ends with an interval of some microseconds, whose rate is meaningless.
_SHORTEST_INTERVAL_S = 0.01


@dataclass(frozen=True)
class Stream:
    """One TCP connection or UDP flow in one interval, as the client or the server reported it. A
    field is None if that end doesn't know the value.

    Attributes:
        socket: number by which iperf3 identifies the stream.
        byte_count: payload bytes in the interval.
        retransmits: number of retransmitted segments in the interval.
    """

    socket: int
    byte_count: int
    retransmits: int | None
    cwnd_bytes: int | None
    rtt_ms: float | None
    rtt_var_ms: float | None


@dataclass(frozen=True)
class Iperf3Interval:
    """All streams of one direction between two reports. Times are seconds since the test's start.
    `direction` is "upload" or "download"."""

    direction: str
    start_s: float
    end_s: float
    streams: tuple[Stream, ...]

    @property
    def throughput_mbps(self) -> float:
        """Throughput of all streams together, in Mbit/s."""
        total = sum(stream.byte_count for stream in self.streams)
        return total * 8e-6 / (self.end_s - self.start_s)


@dataclass(frozen=True)
class Total:
    """The whole test in one direction, all streams together.

    Attributes:
        retransmits: number of retransmitted segments, None if iperf3 doesn't report it.
        packets: number of packets sent over UDP, by the sequence numbers at the receiver. None over
            TCP.
        lost_packets: number of these packets that were lost. None over TCP.
    """

    sent_mbps: float
    received_mbps: float
    sent_bytes: int
    received_bytes: int
    retransmits: int | None
    packets: int | None = None
    lost_packets: int | None = None


@dataclass(frozen=True)
class Iperf3Output:
    """The output of one iperf3 client.

    Attributes:
        version: version of iperf3, "" if not reported.
        mss_bytes: size of a TCP segment, None if not reported.
        intervals: intervals that the client reported, of both directions if both ran. Warm-up, and
            intervals shorter than _SHORTEST_INTERVAL_S, are left out, also in server_intervals.
        server_intervals: intervals that the server reported, empty if the client didn't get them.
        client_ports: client ports of the connections that carry data.
        totals: totals by direction, "upload" and "download", without a direction of which iperf3
            reported none.
        cpu_client_pct: processor load of the client in percent, None if not reported.
        cpu_server_pct: processor load of the server in percent, None if not reported.
        sender_congestion_control: congestion control of the sender, None if not reported.
        error: error message of iperf3, None if there is none.
        notes: texts on what was left out when the output was parsed.
    """

    version: str
    mss_bytes: int | None
    intervals: tuple[Iperf3Interval, ...]
    server_intervals: tuple[Iperf3Interval, ...]
    client_ports: tuple[int, ...]
    totals: Mapping[str, Total]
    cpu_client_pct: float | None
    cpu_server_pct: float | None
    sender_congestion_control: str | None
    error: str | None
    notes: tuple[str, ...] = ()


def parse_iperf3(text: str) -> Iperf3Output:
    """Parse the output of `iperf3 -J`, which is the first JSON document in the text.

    Text before and after it and numbers that aren't JSON, such as -nan, are left out, and noted in
    the result's `notes`. An error that iperf3 reports is in its `error`. Raises ParseError if there
    is no document of the known form.
    """
    document, notes = _first_document(text)
    if not isinstance(document, dict) or "start" not in document:
        raise ParseError("iperf3's JSON has no 'start', as the output of iperf3 -J has"
                         f"{_own_error(document)}; it starts with {text.strip()[:60]!r}")
    try:
        return replace(_report_from_json(document), notes=notes)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        told = "".join(f"; {note}" for note in notes)
        raise ParseError("iperf3's JSON is not of the form of versions 3.9 to 3.18: "
                         f"{cause_of(fault)}{told}{_own_error(document)}") from None


def _own_error(document: object) -> str:
    """Return the end of a message with the error that iperf3 itself reports in its JSON, "" if
    there is none."""
    error = document.get("error") if isinstance(document, dict) else None
    return f"; iperf3 reports the error {str(error)[:200]!r}" if error else ""


def _first_document(text: str) -> tuple[object, tuple[str, ...]]:
    """Return the first JSON document of a text, with None for nan and inf, and notes about the
    parts that were left out. Raises ParseError if the text has no JSON document, or if the first
    one is damaged or cut off."""
    notes = []
    begin = re.search(r"^\s*\{", text, re.MULTILINE)
    at = begin.start() if begin else 0
    before, json_text = text[:at], text[at:].lstrip()
    if before.strip():
        notes.append(f"text before the JSON: {before.strip()[:80]!r}")
    whole = json_text
    try:
        document, end = json.JSONDecoder().raw_decode(whole)
    except ValueError:
        whole = _NOT_A_NUMBER.sub(lambda found: "null" if found["none"] else found[0], json_text)
        try:
            document, end = json.JSONDecoder().raw_decode(whole)
        except ValueError as fault:
            if not begin:
                raise ParseError("iperf3 printed no JSON; its output "
                                 + (f"starts with {text.strip()[:60]!r}" if text.strip()
                                    else "is empty")) from None
            raise ParseError(f"iperf3's JSON is cut off or damaged ({fault}); it starts with "
                             f"{json_text[:60]!r}") from None
        notes.append("values that are not numbers (nan or inf)")
    if rest := whole[end:].strip():
        notes.append("a second JSON document, which is not used" if rest.startswith("{") else
                     f"text behind the JSON: {rest[:80]!r}")
    return document, tuple(notes)


def _report_from_json(document: dict[str, Any]) -> Iperf3Output:
    """Return the Iperf3Output of a client's JSON document, without notes. Raises KeyError,
    TypeError, ValueError or AttributeError if it has another form."""
    start, end = document["start"], document.get("end") or {}
    reverse = bool((start.get("test_start") or {}).get("reverse"))
    cpu = end.get("cpu_utilization_percent") or {}
    server = document.get("server_output_json") or {}
    return Iperf3Output(
        version=str(start.get("version", "")).removeprefix("iperf "),
        mss_bytes=start.get("tcp_mss") or start.get("tcp_mss_default"),
        intervals=_intervals(document, sender_is="upload"),
        server_intervals=_intervals(server, sender_is="download"),
        client_ports=tuple(int(one["local_port"]) for one in start.get("connected", [])),
        totals=_totals(end, "download" if reverse else "upload"),
        cpu_client_pct=cpu.get("host_total"),
        cpu_server_pct=cpu.get("remote_total"),
        sender_congestion_control=end.get("sender_tcp_congestion"),
        error=document.get("error"),
    )


def _intervals(document: dict[str, Any], sender_is: str) -> tuple[Iperf3Interval, ...]:
    """Return the intervals of a document, those of each direction separately. Warm-up, and
    intervals shorter than _SHORTEST_INTERVAL_S, are left out. Raises KeyError, TypeError or
    ValueError if an interval has another form.

    Args:
        document: the client's or the server's JSON.
        sender_is: direction in which the end that wrote the document sends, "upload" for the
            client.
    """
    receiver_is = "download" if sender_is == "upload" else "upload"
    intervals = []
    for entry in document.get("intervals", []):
        for sends, direction in ((True, sender_is), (False, receiver_is)):
            streams = [one for one in entry["streams"]
                       if one["sender"] is sends and not one.get("omitted")]
            if not streams:
                continue
            begin, finish = float(streams[0]["start"]), float(streams[0]["end"])
            if finish - begin >= _SHORTEST_INTERVAL_S:
                intervals.append(Iperf3Interval(direction, begin, finish,
                                          tuple(map(_stream_from_json, streams))))
    return tuple(intervals)


def _stream_from_json(entry: dict[str, Any]) -> Stream:
    """Return one stream of an interval from its object in iperf3's JSON. Raises KeyError, TypeError
    or ValueError if it has another form."""
    return Stream(
        socket=int(entry["socket"]),
        byte_count=int(entry["bytes"]),
        retransmits=entry.get("retransmits"),
        cwnd_bytes=entry.get("snd_cwnd"),
        rtt_ms=_ms(entry.get("rtt")),
        rtt_var_ms=_ms(entry.get("rttvar")),
    )


def _ms(microseconds: float | None) -> float | None:
    """Convert microseconds to ms. None stays None."""
    return None if microseconds is None else microseconds / 1000


def _totals(end: dict[str, Any], direction: str) -> dict[str, Total]:
    """Return the totals by direction: of the test's direction, and with --bidir also of the other.
    A direction without a total, or with a rate of nan, is left out. Raises KeyError, TypeError or
    ValueError if a total has another form.

    Args:
        end: the object "end" of the client's JSON.
        direction: the test's direction, "upload" or "download".
    """
    other = {"upload": "download", "download": "upload"}[direction]
    return {
        name: Total(
            sent_mbps=end["sum_sent" + suffix]["bits_per_second"] / 1e6,
            received_mbps=end["sum_received" + suffix]["bits_per_second"] / 1e6,
            sent_bytes=int(end["sum_sent" + suffix]["bytes"]),
            received_bytes=int(end["sum_received" + suffix]["bytes"]),
            retransmits=end["sum_sent" + suffix].get("retransmits"),
            packets=end["sum_received" + suffix].get("packets"),
            lost_packets=end["sum_received" + suffix].get("lost_packets"),
        )
        for name, suffix in ((direction, ""), (other, "_bidir_reverse"))
        # Totals with a rate of nan are left out.
        if "sum_sent" + suffix in end and None not in (
            end["sum_sent" + suffix]["bits_per_second"],
            end["sum_received" + suffix]["bits_per_second"])
    }
