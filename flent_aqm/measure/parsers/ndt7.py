# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the JSON lines of both NDT7 clients.

Each line is one event. M-Lab's client prints {"Key":"measurement","Value":…} and ends with a bare
summary. The Rust crate's client prints {"Type":"Measurement","Measurement":…} and
{"Type":"Summary","Summary":…}. The measurements inside are the same, those of the ndt7 protocol,
with times in µs. TCP_INFO is the server's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from flent_aqm.base.errors import ParseError

CRATE, MLAB = "ndt7-client (Rust crate)", "ndt7-client (M-Lab)"


@dataclass(frozen=True)
class AppSample:
    """Number of bytes that the client's program had transferred elapsed_s seconds after the test's
    start. In the result of progress() for an upload, both are the server's."""

    elapsed_s: float
    byte_count: int


@dataclass(frozen=True)
class TcpSample:
    """The server's TCP_INFO, elapsed_s seconds after it accepted the connection. Its fields are
    those of ndt7's specification.

    A field is None if the message doesn't have it.
    """

    elapsed_s: float
    rtt_ms: float | None = None
    min_rtt_ms: float | None = None
    rtt_var_ms: float | None = None
    bytes_acked: int | None = None
    bytes_sent: int | None = None
    bytes_retrans: int | None = None
    bytes_received: int | None = None


@dataclass(frozen=True)
class Subtest:
    """A download or an upload.

    Attributes:
        direction: "download" or "upload".
        app: the client's byte counts over time.
        tcp: the server's TCP_INFO over time.
        complete: True if the client reported completion.
        errors: the client's error messages.
        uuid: the server's name of the connection, "" if not reported.
        started_s: time at which the server accepted the connection, in epoch seconds on its own
            clock. None if not reported.
    """

    direction: str
    app: tuple[AppSample, ...]
    tcp: tuple[TcpSample, ...]
    complete: bool
    errors: tuple[str, ...]
    uuid: str
    started_s: float | None

    @property
    def throughput_mbps(self) -> float | None:
        """Throughput at the receiver in Mbit/s: bytes / elapsed time of the last sample of
        progress(). For a download, the bytes are counted by the client. For an upload, they are the
        server's BytesReceived. None if there is no such sample."""
        rates = self.progress()
        return rates[-1].byte_count * 8e-6 / rates[-1].elapsed_s if rates else None

    def progress(self) -> list[AppSample]:
        """Return the numbers of bytes at the receiver over time, in the order of the messages: the
        client's for a download, the server's BytesReceived for an upload. Messages with an elapsed
        time of 0 are left out. Empty if none was reported."""
        if self.direction == "download":
            return [one for one in self.app if one.elapsed_s > 0]
        return [AppSample(one.elapsed_s, one.bytes_received) for one in self.tcp
                if one.bytes_received is not None and one.elapsed_s > 0]

    @property
    def min_rtt_ms(self) -> float | None:
        """NDT7's latency in ms: MinRTT of the last TCP_INFO that has it. None if there is none."""
        return next((one.min_rtt_ms for one in reversed(self.tcp)
                     if one.min_rtt_ms is not None), None)

    @property
    def retransmission_pct(self) -> float | None:
        """BytesRetrans / BytesSent of the server in percent, of the last TCP_INFO that has both and
        in which BytesSent isn't 0. None if there is none, and for an upload, in which the server
        isn't the sender."""
        if self.direction == "download":
            for one in reversed(self.tcp):
                if one.bytes_sent and one.bytes_retrans is not None:
                    return 100 * one.bytes_retrans / one.bytes_sent
        return None


@dataclass(frozen=True)
class Ndt7Output:
    """The output of one run of a client.

    Attributes:
        client: CRATE or MLAB.
        subtests: subtests by direction, "download" and "upload", as far as they were run.
        summary: the client's own summary, unchanged. Empty if there is none.
    """

    client: str
    subtests: Mapping[str, Subtest]
    summary: Mapping[str, Any]


@dataclass
class _PartialSubtest:
    """Fields of a Subtest while its lines are parsed."""

    app: list[AppSample] = field(default_factory=list)
    tcp: list[TcpSample] = field(default_factory=list)
    complete: bool = False
    errors: list[str] = field(default_factory=list)
    uuid: str = ""
    started_s: float | None = None


def parse_ndt7(text: str) -> Ndt7Output:
    """Parse the whole output of a client that ran with `-format json`. Blank lines are skipped.

    Raises ParseError for output without any event, and for a line that isn't an event of a known
    form, such as a damaged measurement.
    """
    subtests: dict[str, _PartialSubtest] = {}
    summary: Mapping[str, Any] = {}
    client = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            client, kind, test, body = _parse_event(json.loads(line))
            if kind == "summary":
                summary = body
            else:
                _add_event(subtests.setdefault(test, _PartialSubtest()), kind, body)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ParseError(f"line {number} of the NDT7 client's output is not an "
                             f"event of a known form: {line[:80]!r}; expected JSON as "
                             "ndt7-client prints it with -format json") from None
    if not client:
        raise ParseError("the NDT7 client printed nothing")
    return Ndt7Output(
        client, {name: _as_subtest(name, one) for name, one in subtests.items()}, summary)


def _parse_event(line: dict[str, Any]) -> tuple[str, str, str, Mapping[str, Any]]:
    """Return the client (CRATE or MLAB), the kind of event, the direction and the content of one
    line. The kind is such as "measurement", "complete", "error" or "summary". The direction of a
    summary is "". Raises ValueError, KeyError, TypeError or AttributeError for a line of another
    form."""
    if "Type" in line:
        kind = line["Type"].lower()
        if kind == "summary":
            return CRATE, kind, "", line["Summary"]
        body = line["Measurement"] if kind == "measurement" else line
        return CRATE, kind, line["Test"], body
    if "Key" in line:
        value = line["Value"]
        return MLAB, line["Key"], value["Test"], value
    if "ServerFQDN" in line:
        return MLAB, "summary", "", line
    raise ValueError


def _add_event(subtest: _PartialSubtest, kind: str, body: Mapping[str, Any]) -> None:
    """Add an event to a subtest. Raises ValueError, KeyError, TypeError or AttributeError if a
    measurement has another form.

    Args:
        subtest: the subtest of the event's direction.
        kind: kind of the event. Kinds other than measurement, complete and error are ignored.
        body: content of the event.
    """
    if kind == "measurement":
        _add_measurement(subtest, body)
    elif kind == "complete":
        subtest.complete = True
    elif kind == "error":
        subtest.errors.append(str(body.get("Failure") or body.get("Error")))


def _add_measurement(subtest: _PartialSubtest, body: Mapping[str, Any]) -> None:
    """Add a measurement's samples to a subtest, and take UUID and start from it if it has them.
    Byte counts of the server's program, and TCP_INFO without an elapsed time, are left out. `body`
    is the content of the event. Raises ValueError, KeyError, TypeError or AttributeError if it has
    another form."""
    connection = body.get("ConnectionInfo") or {}
    subtest.uuid = connection.get("UUID") or subtest.uuid
    if started := connection.get("StartTime"):
        subtest.started_s = datetime.fromisoformat(started).timestamp()
    app, tcp = body.get("AppInfo"), body.get("TCPInfo")
    # The server's own AppInfo counts bytes that it has passed to its kernel: no throughput.
    if app and body["Origin"] == "client":
        subtest.app.append(AppSample(app["ElapsedTime"] / 1e6, int(app["NumBytes"])))
    if tcp and tcp.get("ElapsedTime") is not None:
        subtest.tcp.append(_tcp_sample(tcp))


def _tcp_sample(tcp: Mapping[str, Any]) -> TcpSample:
    """Return the sample of one TCPInfo object, whose times are in µs. Fields other than ElapsedTime
    may be missing. Raises KeyError if ElapsedTime is missing, TypeError if a time isn't a number.
    """
    return TcpSample(
        elapsed_s=tcp["ElapsedTime"] / 1e6,
        rtt_ms=_ms(tcp.get("RTT")),
        min_rtt_ms=_ms(tcp.get("MinRTT")),
        rtt_var_ms=_ms(tcp.get("RTTVar")),
        bytes_acked=tcp.get("BytesAcked"),
        bytes_sent=tcp.get("BytesSent"),
        bytes_retrans=tcp.get("BytesRetrans"),
        bytes_received=tcp.get("BytesReceived"),
    )


def _ms(microseconds: float | None) -> float | None:
    """Convert microseconds to ms. None stays None."""
    return None if microseconds is None else microseconds / 1000


def _as_subtest(direction: str, subtest: _PartialSubtest) -> Subtest:
    """Return the Subtest of a direction when all lines have been parsed."""
    return Subtest(direction, tuple(subtest.app), tuple(subtest.tcp), subtest.complete,
                   tuple(subtest.errors), subtest.uuid, subtest.started_s)


def rates_mbps(progress: list[AppSample]) -> Iterator[tuple[float, float, float]]:
    """Yield the rates between byte counts as (end of the interval in s, its length in s, Mbit/s).
    Times are seconds since the test's start, where the first interval begins.

    Each interval ends at the first message that is at least 10 ms after its begin, because clients
    print in bursts. Messages at the end that are less than 10 ms after the last interval are left
    out.

    Args:
        progress: total bytes over time, as Subtest.progress() returns them.
    """
    last = AppSample(0.0, 0)
    for sample in progress:
        length_s = sample.elapsed_s - last.elapsed_s
        if length_s >= 0.01:
            mbps = (sample.byte_count - last.byte_count) * 8e-6 / length_s
            yield sample.elapsed_s, length_s, mbps
            last = sample
