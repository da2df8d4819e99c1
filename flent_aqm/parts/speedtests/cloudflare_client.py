# SPDX-License-Identifier: GPL-3.0-or-later
"""Client that follows Cloudflare's method: requests of growing sizes, one after the other.

Source: cloudflare/speedtest (August 2026), defaultConfig.ts, BandwidthEngine.ts,
MeasurementCalculations.ts, ScoresCalculations.ts. The service speaks HTTP/1.1 for these requests
(cloudflare/speedtest, issue 69: its engine takes the server's time from new HTTP/1.1 connections),
so requests that measure latency under load have a connection of their own. Over HTTP/2 all requests
share one connection, as in Chromium with a server that speaks it. Packet loss is left out, because
it needs a TURN server.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field

from flent_aqm.parts.speedtests.own_clients.connection import Connection, Reply, ServerAddress
from flent_aqm.parts.speedtests.own_clients.http1 import Http1Connection
from flent_aqm.parts.speedtests.own_clients.http2 import Http2Connection
from flent_aqm.parts.speedtests.own_clients.own_client import Metered, run
from flent_aqm.parts.speedtests.own_clients.statistics import mean_difference, percentile
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import ClientReport

LATENCY, DOWNLOAD, UPLOAD = "latency", "download", "upload"
# The measurements in their order: kind, number of requests, bytes of each request.
SEQUENCE = (
    (LATENCY, 2, 0), (DOWNLOAD, 1, 100_000), (LATENCY, 20, 0), (DOWNLOAD, 9, 100_000),
    (LATENCY, 2, 0), (DOWNLOAD, 8, 1_000_000), (LATENCY, 2, 0), (UPLOAD, 8, 100_000),
    (LATENCY, 2, 0), (UPLOAD, 6, 1_000_000), (LATENCY, 2, 0), (DOWNLOAD, 6, 10_000_000),
    (LATENCY, 2, 0), (UPLOAD, 4, 10_000_000), (LATENCY, 2, 0), (DOWNLOAD, 4, 25_000_000),
    (LATENCY, 2, 0), (UPLOAD, 4, 25_000_000), (LATENCY, 2, 0), (DOWNLOAD, 3, 100_000_000),
    (LATENCY, 2, 0), (UPLOAD, 3, 50_000_000), (LATENCY, 2, 0), (DOWNLOAD, 2, 250_000_000))
# Index in SEQUENCE of the download that never causes larger sizes to be left out.
_FIRST_DOWNLOAD = 1
# If the shortest request of a set takes longer, the larger sizes of that direction are left out.
FINISH_MS = 1000.0
# Least duration of a request that counts for throughput, and least duration of the shortest request
# of a size whose latencies count as latency under load.
LEAST_MS, LEAST_LOADED_MS = 10.0, 250.0
LOADED_DELAY_S, LOADED_PAUSE_S, LOADED_POINTS = 0.02, 0.4, 20
BANDWIDTH_PERCENTILE, LATENCY_PERCENTILE = 0.9, 0.5
# Limit in bytes of unsent data in the kernel of Cloudflare's servers. Source: its blog, "Optimizing
# HTTP/2 prioritization with BBR and tcp_notsent_lowat" (2018). A browser has no such limit.
UNSENT = "16384"
# Bytes of a response's headers as browsers count them, and the share of packet headers in uploads
# that Cloudflare estimates.
HEADER_BYTES, HEADER_SHARE = 300, 0.005


@dataclass
class Size:
    """The measurements with requests of one size in one direction. The size isn't a field, because
    measure() keeps these records by size in bytes.

    Attributes:
        times_ms: duration of each request.
        mbps: throughput of each request, in Mbit/s.
        beside_ms: latencies that were measured while these requests ran.
    """

    times_ms: list[float] = field(default_factory=list)
    mbps: list[float] = field(default_factory=list)
    beside_ms: list[float] = field(default_factory=list)


async def measure(server: ServerAddress, report: ClientReport, call: Call) -> None:
    """Run the whole test and fill the report. Once each request of a set takes more than 1 s, the
    further sets of that direction are left out; the first download's set doesn't count.

    Options of the call: `http_version` 1 (default), where latencies under load are measured on a
    separate connection, or 2. `unsent` limits the unsent bytes in the server's kernel: a number of
    bytes (default: 16384), "draft" (5 ms at the connection's rate) or "kernel" (no limit).

    Raises BadResult if a connection or request fails. If a request for a latency under load fails,
    there is no error. Then latencies are missing for the rest of that set of requests, and also for
    later sets if the separate connection of HTTP/1.1 is broken.
    """
    http = int(call.options.get("http_version", 1))
    unsent = call.options.get("unsent", UNSENT)
    sizes: dict[str, dict[int, Size]] = {DOWNLOAD: {}, UPLOAD: {}}
    idle_ms: list[float] = []
    finished: set[str] = set()
    kind = Http2Connection if http == 2 else Http1Connection
    async with kind(server) as connection, kind(server) as other:
        beside = connection if http == 2 else other
        for number, (what, count, size) in enumerate(SEQUENCE):
            if what == LATENCY:
                for _ in range(count):
                    reply = await connection.get("/__down?bytes=0")
                    idle_ms.append(reply.wait_ms)
                    report.idle.probe("ping_ms", reply.sent_s, reply.wait_ms)
            elif what not in finished:
                results = sizes[what].setdefault(size, Size())
                done = len(results.times_ms)
                await _make_requests(connection, beside, report, what, count,
                                     f"bytes={size}&unsent={unsent}", size, results)
                if number != _FIRST_DOWNLOAD and min(results.times_ms[done:]) > FINISH_MS:
                    finished.add(what)
    report.numbers["latency_ms"] = percentile(idle_ms, LATENCY_PERCENTILE)
    report.numbers["jitter_ms"] = mean_difference(idle_ms)
    for direction, by_size in sizes.items():
        _record_results(report, direction, list(by_size.values()))


async def _make_requests(connection: Connection, beside: Connection, report: ClientReport,
                         direction: str, count: int, query: str, size: int,
                         results: Size) -> None:
    """Make a set of requests of one size, and measure latencies meanwhile. The report gets the
    direction's load with rates, begin and end, and the latencies.

    Args:
        connection: connection of the requests.
        beside: connection of the latency measurements.
        report: the report to fill.
        direction: "download" or "upload".
        count: number of requests.
        query: query of the requests' path.
        size: bytes of each request's body, used for uploads only: the query says it for downloads.
        results: gets durations, throughputs and latencies.

    Raises BadResult if a request other than those of the latency measurements fails.
    """
    load = report.load(direction)
    async with Metered(load):
        pings = asyncio.create_task(_measure_latency(beside, report, direction, results))
        try:
            for _ in range(count):
                if direction == DOWNLOAD:
                    reply = await connection.get(f"/__down?{query}", load.count,
                                                 patience_s=None)
                else:
                    reply = await connection.post(f"/__up?{query}", size, load.count,
                                                  patience_s=None)
                took_ms, mbps = timed(direction, reply, size)
                results.times_ms.append(took_ms)
                results.mbps.append(mbps)
        finally:
            pings.cancel()


def timed(direction: str, reply: Reply, size: int) -> tuple[float, float]:
    """Return the duration in ms and the throughput in Mbit/s of a request, as Cloudflare computes
    them.

    Both durations begin with the request. A download lasts until its last byte, and 300 bytes for
    HTTP's headers are added to its size. An upload lasts until the response's headers arrive, and
    0.5 % are added to its size for the packets' headers.

    Args:
        direction: "download" or "upload".
        reply: the response.
        size: bytes of an upload, ignored for a download.
    """
    if direction == DOWNLOAD:
        return reply.whole_ms, (reply.size + HEADER_BYTES) * 8e-3 / reply.whole_ms
    return reply.wait_ms, size * (1 + HEADER_SHARE) * 8e-3 / reply.wait_ms


async def _measure_latency(connection: Connection, report: ClientReport, direction: str,
                           results: Size) -> None:
    """Measure latency with empty requests until cancelled: the first 20 ms after the call, or later
    if the connection still waits for the response to a request of the set before, each further one
    0.4 s after the response to the one before. Latencies go into `results` and into the report,
    under `direction`. Raises BadResult if a request fails."""
    await asyncio.sleep(LOADED_DELAY_S)
    await connection.until_free()
    while True:
        reply = await connection.get("/__down?bytes=0", patience_s=None)
        results.beside_ms.append(reply.wait_ms)
        report.load(direction).probe("ping_ms", reply.sent_s, reply.wait_ms)
        await asyncio.sleep(LOADED_PAUSE_S)


def _record_results(report: ClientReport, direction: str, sizes: list[Size]) -> None:
    """Record throughput and latency under load of a direction in the report.

    The throughput is the 90th percentile of the requests that lasted 10 ms or longer, and left out
    if none did. Latency (the median) and jitter are those of the last 20 latencies that were
    measured beside requests of a size whose shortest request lasted 250 ms or longer, and left out
    if there are none.

    Args:
        report: the report to fill.
        direction: "download" or "upload".
        sizes: the measurements of each size, ascending, with one request or more each.
    """
    rates = [mbps for size in sizes for took_ms, mbps in zip(size.times_ms, size.mbps, strict=True)
             if took_ms >= LEAST_MS]
    if rates:
        report.numbers[f"{direction}_mbps"] = percentile(rates, BANDWIDTH_PERCENTILE)
        report.load(direction).mbps = report.numbers[f"{direction}_mbps"]
    loaded_ms = [ms for size in sizes if min(size.times_ms) >= LEAST_LOADED_MS
                 for ms in size.beside_ms][-LOADED_POINTS:]
    if loaded_ms:
        report.numbers[f"loaded_latency_{direction}_ms"] = percentile(
            loaded_ms, LATENCY_PERCENTILE)
        report.numbers[f"loaded_jitter_{direction}_ms"] = mean_difference(loaded_ms)


if __name__ == "__main__":
    sys.exit(run("cloudflare", measure))
