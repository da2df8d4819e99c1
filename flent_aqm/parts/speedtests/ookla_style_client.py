# SPDX-License-Identifier: GPL-3.0-or-later
"""Client in the style of Ookla's Speedtest, whose own client is closed source.

Sources: Ookla's support pages on how Speedtest works (several connections; chunks whose size
follows the speed; further connections in the first half where they help; the lowest latency of
several) and on its test flow (samples in 20 slices, without the fastest 10 % and the slowest 30 %);
the fields of its command-line client (latency under load as iqm, low, high, jitter).

Not published, and therefore this package's choice: number and times of connections, chunks of half
a second, and latency under load every 0.2 s by a request on a separate connection.
"""

from __future__ import annotations

import asyncio
import sys
import time

from flent_aqm.parts.speedtests.own_clients.connection import ServerAddress
from flent_aqm.parts.speedtests.own_clients.http1 import Http1Connection
from flent_aqm.parts.speedtests.own_clients.own_client import Metered, run
from flent_aqm.parts.speedtests.own_clients.statistics import mean, mean_difference, without
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import ClientReport, DirectionLoad

PINGS = 10
LENGTH_S = 15.0
FIRST_CONNECTIONS, MOST_CONNECTIONS = 4, 8
# In the first half, a connection is added each second while the last one increased the rate by this
# factor.
_ADD_EVERY_S, _HELPS = 1.0, 1.05
FIRST_CHUNK_BYTES, LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES = 100_000, 25_000, 25_000_000
CHUNK_S = 0.5
LOADED_PING_S = 0.2
SAMPLE_S = 1 / 30
SLICES, FASTEST_SHARE, SLOWEST_SHARE = 20, 0.1, 0.3
QUARTER = 0.25


async def measure(server: ServerAddress, report: ClientReport, call: Call) -> None:
    """Run the whole test and fill the report. Raises BadResult, alone or in an ExceptionGroup, if a
    connection or request fails. `call` is not used; run() passes it to each client."""
    times_ms: list[float] = []
    async with Http1Connection(server) as connection:
        for _ in range(PINGS):
            reply = await connection.get("/latency")
            times_ms.append(reply.wait_ms)
            report.idle.probe("ping_ms", reply.sent_s, reply.wait_ms)
    report.numbers["ping_ms"] = min(times_ms)
    report.numbers["jitter_ms"] = mean_difference(times_ms)
    for direction in ("download", "upload"):
        await _load_direction(server, report, direction)


async def _load_direction(server: ServerAddress, report: ClientReport, direction: str) -> None:
    """Load the line in one direction, "download" or "upload", for 15 s, over 4 connections at
    first. In each second of the first half, add a connection, up to 8 in all, if the rate is more
    than 5 % above that at the previous addition. Record the throughput, the number of connections,
    and the latency under load unless none was measured. Raises an ExceptionGroup of BadResults if a
    connection or request fails."""
    load = report.load(direction)
    async with Metered(load), asyncio.TaskGroup() as group:
        tasks = [group.create_task(_transfer_chunks(server, load, direction))
                 for _ in range(FIRST_CONNECTIONS)]
        tasks.append(group.create_task(_measure_latency(server, load)))
        samples: list[int] = []
        begin_s = time.monotonic()
        added_s, before, last_rate = begin_s, load.total_bytes, 0.0
        seen = load.total_bytes
        connections = FIRST_CONNECTIONS
        while (now_s := time.monotonic()) - begin_s < LENGTH_S:
            if (connections < MOST_CONNECTIONS and now_s - added_s >= _ADD_EVERY_S
                    and now_s - begin_s < LENGTH_S / 2):
                rate = (load.total_bytes - before) / (now_s - added_s)
                added_s, before = now_s, load.total_bytes
                if rate > last_rate * _HELPS:
                    last_rate = rate
                    connections += 1
                    tasks.append(group.create_task(_transfer_chunks(server, load, direction)))
            await asyncio.sleep(max(0.0, begin_s + (len(samples) + 1) * SAMPLE_S - now_s))
            samples.append(load.total_bytes - seen)
            seen = load.total_bytes
        took_s = time.monotonic() - begin_s
        for task in tasks:
            task.cancel()
    load.mbps = sliced_mbps(samples, took_s / len(samples))
    report.numbers[f"{direction}_mbps"] = load.mbps
    report.numbers[f"{direction}_connections"] = connections
    loaded_ms = [ms for _, _, ms in load.probes]
    if loaded_ms:
        report.numbers |= {
            f"latency_iqm_{direction}_ms": mean(without(loaded_ms, QUARTER, QUARTER)),
            f"latency_low_{direction}_ms": min(loaded_ms),
            f"latency_high_{direction}_ms": max(loaded_ms),
            f"latency_jitter_{direction}_ms": mean_difference(loaded_ms)}


def sliced_mbps(samples: list[int], sample_s: float) -> float:
    """Return the mean rate in Mbit/s of 20 consecutive slices of the samples, without the fastest
    10 % and the slowest 30 % of the slices. With fewer samples than slices, each sample is a slice.

    Args:
        samples: bytes transferred in each sample, at least one.
        sample_s: length of a sample.
    """
    size = len(samples) / SLICES
    slices = [samples[round(number * size):round((number + 1) * size)] for number in range(SLICES)]
    rates = [sum(one) * 8e-6 / (len(one) * sample_s) for one in slices if one]
    return mean(without(rates, SLOWEST_SHARE, FASTEST_SHARE))


async def _transfer_chunks(server: ServerAddress, load: DirectionLoad, direction: str) -> None:
    """Transfer chunks on a connection of its own until cancelled. Their size follows the rate, so
    that a chunk takes about half a second, within 25 kB and 25 MB. Raises BadResult if the
    connection or a request fails.

    Args:
        server: address of the server.
        load: the load that counts the bytes: of a download as they arrive, of an upload when the
            server has answered the chunk.
        direction: "download" or "upload".
    """
    size = FIRST_CHUNK_BYTES
    async with Http1Connection(server) as connection:
        while True:
            if direction == "download":
                reply = await connection.get(f"/download?bytes={size}", load.count,
                                             patience_s=None)
            else:
                reply = await connection.post("/chunk", size, patience_s=None)
                # Counted when the server has answered: bytes that the kernel took may still be in
                # its buffer.
                load.count(size)
            took_s = max(reply.whole_ms / 1000, 1e-3)
            size = round(min(max(size * CHUNK_S / took_s, LEAST_CHUNK_BYTES), 2 * size,
                             MOST_CHUNK_BYTES))


async def _measure_latency(server: ServerAddress, load: DirectionLoad) -> None:
    """Record in `load` the time from a small request to the headers of its response, again and
    again until cancelled. The next request is sent 0.2 s after each response, on a connection of
    its own for all. Raises BadResult if the connection or a request fails."""
    async with Http1Connection(server) as connection:
        while True:
            reply = await connection.get("/latency", patience_s=None)
            load.probe("ping_ms", reply.sent_s, reply.wait_ms)
            await asyncio.sleep(LOADED_PING_S)


if __name__ == "__main__":
    sys.exit(run("ookla_style", measure))
