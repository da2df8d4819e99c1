# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs an iperf3 client for one direction or both at once: a runner for Flent."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import IO, Any

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import get_logger, normalise_host
from flent_aqm.measure.load_window import received
from flent_aqm.measure.parsers.iperf3 import Iperf3Interval, Iperf3Output, parse_iperf3
from flent_aqm.measure.runners.part import PARTS
from flent_aqm.measure.runners.process import Parsed, SupervisedRunner, program_path, text_of

logger = get_logger(__name__)
INTERVAL_S = 0.2
# Seconds after the test's length at which iperf3 is considered hung. Connecting and exchanging
# results over a full queue takes round trips, of up to 24 s for 1000 packets at 0.5 Mbit/s.
WATCHDOG_MARGIN_S = 60

# Options of iperf3 by direction.
_WORDS = {"upload": [], "download": ["-R"], "both": ["--bidir"]}


class AqmIperf3Runner(SupervisedRunner):
    """Runs an iperf3 test over TCP, or over UDP in one direction.

    Keys of the data set:
        host, port: the server.
        length: seconds.
        direction: "upload", "download" or "both".
        streams: number of streams.
        congestion_control: None for the system's default.
        udp_mbps: rate of each stream over UDP, 0 for TCP.
        burst_packets: packets per burst over UDP, 0 for evenly spaced packets.
        ect1: True if UDP packets are sent as ECT(1).
        endless: True if being stopped by kill_after is its normal end.
        from_host: name of the host that runs the client, if it isn't the test's client.
        start_with: words of a command that starts iperf3 on that host.
        bind_to: that host's address.

    Series: throughput of all streams at the receiver, in Mbit/s. If both directions run, the series
    is the upload, and its part "download" the download. The receiver of an upload is the server.
    The client has the server's intervals if the server runs with -J and the client wasn't stopped.
    Otherwise the series is the bytes that the client wrote to its socket, and IPERF3.intervals in
    the metadata is "sender".

    Raw samples have `val` and `dur` (s). Others have the sender's state: retransmits, tcp_rtt,
    tcp_rtt_var (ms), tcp_cwnd_bytes, tcp_cwnd (packets, as `ss` counts them). With several streams,
    retransmits is the sum, the others are means, and `streams` has each stream.
    """

    def __init__(self, *, host: str, length: float, direction: str,
                 port: int = defaults.IPERF3_PORT, streams: int = 1,
                 congestion_control: str | None = None, udp_mbps: float = 0,
                 burst_packets: int = 0, ect1: bool = False, endless: bool = False,
                 from_host: str = "", start_with: Sequence[str] = (), bind_to: str = "",
                 **kwargs: Any) -> None:
        kwargs.setdefault("watchdog_timer", length + WATCHDOG_MARGIN_S)
        super().__init__(**kwargs)
        self.start_with = start_with
        self.bind_to = bind_to
        if from_host:
            self.title = "iperf3"
            self.metadata["FROM_HOST"] = from_host
        self.host = host
        self.length = length
        self.direction = direction
        self.port = port
        self.streams = streams
        self.congestion_control = congestion_control
        self.udp_mbps = udp_mbps
        self.burst_packets = burst_packets
        self.ect1 = ect1
        self.endless = endless

    def check(self) -> None:
        """Build iperf3's command line. Flent calls it before the test. Raises RunnerCheckError if
        iperf3 isn't found."""
        program = program_path("iperf3")
        words = [*self.start_with, str(program), "-J",
                 "-c", normalise_host(self.host), "-p", str(self.port),
                 "-t", f"{self.length:g}", "-i", f"{INTERVAL_S:g}", "--get-server-output",
                 *_WORDS[self.direction]]
        if self.settings.IP_VERSION:
            words.append(f"-{self.settings.IP_VERSION}")
        if self.streams > 1:
            words += ["-P", str(self.streams)]
        if self.congestion_control:
            words += ["-C", self.congestion_control]
        if self.bind_to:
            words += ["-B", self.bind_to]
        if self.udp_mbps:
            words += ["-u", "-b", f"{self.udp_mbps:g}M"
                      + (f"/{self.burst_packets}" if self.burst_packets else "")]
        if self.ect1:
            # Linux takes both ECN bits of a UDP socket's type of service.
            words += ["-S", "1"]
        self.command = shlex.join(words)
        super().check()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Parse iperf3's JSON. Return series, raw samples and metadata. If both directions ran,
        these are the upload's, and the download is in the metadata as a part. What was left out of
        the output is logged as warnings. Raises BadResult if iperf3 reports an error and wasn't
        stopped, if a direction has no intervals, or of a UDP upload if the server's intervals are
        missing, ParseError if the output isn't iperf3's JSON."""
        report = parse_iperf3(text_of(output))
        if report.error and not self.stopped_by:
            start = (f"; check that its server runs there: iperf3 -s -p {self.port}"
                     if "unable to connect" in report.error else "")
            raise BadResult(f"iperf3 with {self.host}, port {self.port}: {report.error}{start}")
        for note in report.notes:
            logger.warning("%s: iperf3's output has %s", self.runner_name, note)
        shown = "upload" if self.direction == "both" else self.direction
        if self.udp_mbps and self.direction != "download" and not report.server_intervals:
            raise BadResult("iperf3's server sent no intervals, which alone tell what arrived of a "
                            f"UDP upload; start it with: iperf3 -s -J -i 0.2 -p {self.port}")
        parsed = self._series_of(report, shown)
        if self.direction == "both":
            parsed[2][PARTS] = {"download": self._series_of(report, "download")}
        return parsed

    def _series_of(self, report: Iperf3Output, direction: str) -> Parsed:
        """Return one direction as series, raw samples and metadata. The metadata identify the
        flow's packets in the capture, if the client ran on this host. Raises BadResult if the
        report has no interval of this direction.

        Args:
            report: iperf3's parsed output.
            direction: "upload" or "download".
        """
        series, raw, metadata = one_direction(report, direction, self.started_s)
        # The capture is on the client, so it doesn't have the packets of another host.
        if not self.start_with and not self.bind_to:
            metadata |= self.load(self.port, direction, client_ports=report.client_ports,
                                  own_clock=True, zero_s=self.started_s)
        return series, raw, metadata

    def _refuse_bad_end(self, error: IO[str]) -> None:
        """Raise BadResult as SupervisedRunner does, but accept status 1, too. Errors that iperf3
        reports in its JSON are left to read(), because some versions then exit with status 0."""
        if not self.stopped_by and self.returncode in (0, 1):
            return
        super()._refuse_bad_end(error)


def one_direction(report: Iperf3Output, direction: str, start_s: float) -> Parsed:
    """Return series, raw samples and metadata of one direction: throughput at the receiver in
    Mbit/s, and the sender's TCP state. If the receiver reported no interval, the throughput is the
    sender's.

    The metadata have LOAD_START and LOAD_END (epoch seconds, of the data), MEAN_VALUE (Mbit/s), and
    IPERF3, an object with iperf3's version, the end whose intervals were used ("receiver" or
    "sender"), and as far as known congestion control, processor load, totals and notes.

    Args:
        report: iperf3's parsed output.
        direction: "upload" or "download".
        start_s: start of the test in epoch seconds.

    Raises BadResult if the report has no interval of this direction.
    """
    client, server = ([one for one in end if one.direction == direction]
                      for end in (report.intervals, report.server_intervals))
    receiver, sender = (client, server) if direction == "download" else (server, client)
    rates_of = receiver or sender
    if not rates_of:
        raise BadResult(f"iperf3 reported no interval of the {direction}: it transferred no data, "
                        "or was stopped at once")
    # The sender's state is in samples of its own below.
    rates = [_rate_value(one, start_s) if rates_of is sender else _raw_value(one, start_s, None)
             for one in rates_of]
    state = [_raw_value(one, start_s, report.mss_bytes, rate=False) for one in sender
             if one.streams[0].rtt_ms is not None]
    metadata: dict[str, Any] = {
        **received(rates, start_s),
        "IPERF3": {"version": report.version,
                   "intervals": "receiver" if receiver else "sender",
                   "sender_congestion_control": report.sender_congestion_control,
                   # In virtual time computing takes no time, so iperf3's percentages are
                   # meaningless.
                   **({} if os.environ.get(environment.IN_LAB) else {
                       "cpu_client_pct": report.cpu_client_pct,
                       "cpu_server_pct": report.cpu_server_pct}),
                   **({"notes": list(report.notes)} if report.notes else {})},
    }
    # A client that was stopped has not received the server's totals.
    total = None if report.error else report.totals.get(direction)
    if total is not None:
        metadata["IPERF3"] |= {
            "sent_mbps": total.sent_mbps, "received_mbps": total.received_mbps,
            "sent_bytes": total.sent_bytes, "received_bytes": total.received_bytes,
            "retransmits": total.retransmits}
        if total.packets is not None:
            metadata["IPERF3"] |= {"packets": total.packets, "lost_packets": total.lost_packets}
    # With --bidir, iperf3 divides the bytes that the client received by the server's time, which is
    # longer. Over UDP, its totals are the sent bytes. In these cases the mean of the receiver's
    # intervals is used.
    tells = direction == "upload" and sender and sender[0].streams[0].rtt_ms is not None
    metadata["MEAN_VALUE"] = (
        total.received_mbps if total and tells
        else sum(one["val"] * one["dur"] for one in rates) / sum(one["dur"] for one in rates))
    return ([[one["t"], one["val"]] for one in rates],
            sorted(rates + state, key=lambda one: one["t"]), metadata)


def _rate_value(interval: Iperf3Interval, start_s: float) -> dict[str, Any]:
    """Return the raw sample of an interval's rate: its end (t, in epoch seconds), throughput (val,
    in Mbit/s) and length (dur, in s). start_s: start of the test in epoch seconds."""
    return {"t": start_s + interval.end_s, "val": interval.throughput_mbps,
            "dur": interval.end_s - interval.start_s}


def _raw_value(interval: Iperf3Interval, start_s: float, mss_bytes: int | None,
               rate: bool = True) -> dict[str, Any]:
    """Return the raw sample of one interval: its end (t, in epoch seconds), the sender's state of
    its streams, as far as it is known, and with `rate` also throughput (val, in Mbit/s) and length
    (dur, in s).

    The state is retransmits, tcp_rtt and tcp_rtt_var (ms), tcp_cwnd_bytes, and tcp_cwnd (segments)
    if the segment size is known. With several streams, retransmits are summed, other values are
    means, and `streams` has the values of each stream by its `socket`, as text.

    Args:
        interval: the interval.
        start_s: start of the test in epoch seconds.
        mss_bytes: the segment size, None if unknown.
        rate: include the throughput.
    """
    streams = interval.streams
    value: dict[str, Any] = (_rate_value(interval, start_s) if rate
                             else {"t": start_s + interval.end_s})
    each = {str(one.socket): {key: number for key, number in (
        ("retransmits", one.retransmits), ("tcp_rtt", one.rtt_ms),
        ("tcp_rtt_var", one.rtt_var_ms), ("tcp_cwnd_bytes", one.cwnd_bytes),
        ("tcp_cwnd", one.cwnd_bytes / mss_bytes if one.cwnd_bytes and mss_bytes else None),
    ) if number is not None} for one in streams}
    per_stream = list(each.values())
    for key in per_stream[0]:
        total = sum(one[key] for one in per_stream)
        value[key] = total if key == "retransmits" else total / len(per_stream)
    if len(streams) > 1:
        value["streams"] = each
    return value
