# SPDX-License-Identifier: GPL-3.0-or-later
"""Cloudflare's speed test by its method: requests of growing sizes, one after the other.

Source: cloudflare/speedtest (August 2026), defaultConfig.ts, BandwidthEngine.ts,
MeasurementCalculations.ts, ScoresCalculations.ts. In Chromium all requests to one host share
one connection of HTTP/2, and so do these, the requests that time the loaded line too. Left
out: packet loss, which needs a TURN server of one's own; its score counts 0 without it.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field

from flent_aqm.parts.speedtests.own_clients.connection import Connection, Reply, Server
from flent_aqm.parts.speedtests.own_clients.http1 import Http1Connection
from flent_aqm.parts.speedtests.own_clients.http2 import Http2Connection
from flent_aqm.parts.speedtests.own_clients.own_client import Metered, run
from flent_aqm.parts.speedtests.own_clients.statistics import mean_difference, percentile
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import Report

LATENCY, DOWNLOAD, UPLOAD = "latency", "download", "upload"
# What is done in which order: number of requests, bytes of each.
SEQUENCE = (
    (LATENCY, 2, 0), (DOWNLOAD, 1, 100_000), (LATENCY, 20, 0), (DOWNLOAD, 9, 100_000),
    (LATENCY, 2, 0), (DOWNLOAD, 8, 1_000_000), (LATENCY, 2, 0), (UPLOAD, 8, 100_000),
    (LATENCY, 2, 0), (UPLOAD, 6, 1_000_000), (LATENCY, 2, 0), (DOWNLOAD, 6, 10_000_000),
    (LATENCY, 2, 0), (UPLOAD, 4, 10_000_000), (LATENCY, 2, 0), (DOWNLOAD, 4, 25_000_000),
    (LATENCY, 2, 0), (UPLOAD, 4, 25_000_000), (LATENCY, 2, 0), (DOWNLOAD, 3, 100_000_000),
    (LATENCY, 2, 0), (UPLOAD, 3, 50_000_000), (LATENCY, 2, 0), (DOWNLOAD, 2, 250_000_000))
# The first download may be short without ending anything.
_FIRST_DOWNLOAD = 1
# Larger sizes are left out when the shortest request of a set took longer.
FINISH_MS = 1000.0
# Requests that count for throughput, and sets that count as load.
LEAST_MS, LEAST_LOADED_MS = 10.0, 250.0
LOADED_DELAY_S, LOADED_PAUSE_S, LOADED_POINTS = 0.02, 0.4, 20
BANDWIDTH_PERCENTILE, LATENCY_PERCENTILE = 0.9, 0.5
# What Cloudflare has its servers leave unsent. Source: its blog, "Optimizing HTTP/2
# prioritization with BBR and tcp_notsent_lowat" (2018). A browser limits nothing.
UNSENT = "16384"
# Headers of an answer as browsers count them, and of packets as it estimates them for uploads.
HEADER_BYTES, HEADER_SHARE = 300, 0.005


@dataclass
class Size:
    """All requests of one size in one direction: their times in ms and Mbit/s, and latencies
    beside them."""

    times_ms: list[float] = field(default_factory=list)
    mbps: list[float] = field(default_factory=list)
    beside_ms: list[float] = field(default_factory=list)


async def measure(server: Server, report: Report, call: Call) -> None:
    """The whole test. http_version: 2, or 1, where the timing requests have a connection of their
    own; unsent: what the server leaves in its kernel, see unsent.py. Raises BadResult."""
    http = int(call.options.get("http_version", 2))
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
                await _requests(connection, beside, report, what, count,
                                f"bytes={size}&unsent={unsent}", size, results)
                if number != _FIRST_DOWNLOAD and min(results.times_ms[done:]) > FINISH_MS:
                    finished.add(what)
    report.numbers["latency_ms"] = percentile(idle_ms, LATENCY_PERCENTILE)
    report.numbers["jitter_ms"] = mean_difference(idle_ms)
    for direction, by_size in sizes.items():
        _conclude(report, direction, list(by_size.values()))


async def _requests(connection: Connection, beside: Connection, report: Report, direction: str,
                    count: int, query: str, size: int, results: Size) -> None:
    way = report.way(direction)
    async with Metered(way):
        pings = asyncio.create_task(_beside(beside, report, direction, results))
        try:
            for _ in range(count):
                if direction == DOWNLOAD:
                    reply = await connection.get(f"/__down?{query}", way.count,
                                                 patience_s=None)
                else:
                    reply = await connection.post(f"/__up?{query}", size, way.count,
                                                  patience_s=None)
                took_ms, mbps = timed(direction, reply, size)
                results.times_ms.append(took_ms)
                results.mbps.append(mbps)
        finally:
            pings.cancel()


def timed(direction: str, reply: Reply, size: int) -> tuple[float, float]:
    """Return what it takes for the time of a request, in ms, and the throughput of that, in
    Mbit/s: a download until its last byte with HTTP's headers, an upload until the first byte of
    the answer with half a percent for those of packets."""
    if direction == DOWNLOAD:
        return reply.whole_ms, (reply.size + HEADER_BYTES) * 8e-3 / reply.whole_ms
    return reply.wait_ms, size * (1 + HEADER_SHARE) * 8e-3 / reply.wait_ms


async def _beside(connection: Connection, report: Report, direction: str, results: Size) -> None:
    await asyncio.sleep(LOADED_DELAY_S)
    while True:
        reply = await connection.get("/__down?bytes=0", patience_s=None)
        results.beside_ms.append(reply.wait_ms)
        report.way(direction).probe("ping_ms", reply.sent_s, reply.wait_ms)
        await asyncio.sleep(LOADED_PAUSE_S)


def _conclude(report: Report, direction: str, sizes: list[Size]) -> None:
    rates = [mbps for size in sizes for took_ms, mbps in zip(size.times_ms, size.mbps, strict=True)
             if took_ms >= LEAST_MS]
    if rates:
        report.numbers[f"{direction}_mbps"] = percentile(rates, BANDWIDTH_PERCENTILE)
        report.way(direction).mbps = report.numbers[f"{direction}_mbps"]
    loaded_ms = [ms for size in sizes if min(size.times_ms) >= LEAST_LOADED_MS
                 for ms in size.beside_ms][-LOADED_POINTS:]
    if loaded_ms:
        report.numbers[f"loaded_latency_{direction}_ms"] = percentile(
            loaded_ms, LATENCY_PERCENTILE)
        report.numbers[f"loaded_jitter_{direction}_ms"] = mean_difference(loaded_ms)


if __name__ == "__main__":
    sys.exit(run("cloudflare", measure))
