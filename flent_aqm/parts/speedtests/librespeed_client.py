# SPDX-License-Identifier: GPL-3.0-or-later
"""Client that follows LibreSpeed's method as its page does in Chromium.

Source: librespeed/speedtest (5.x, August 2026), speedtest_worker.js: ping, download and upload with
1 s between them. Five downloads or three uploads run at once and start 300 ms apart. The first
seconds (grace time) are not measured. The test is shorter on fast lines. All bytes are multiplied
by 1.06. The ping is that of the idle line.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

from flent_aqm.parts.speedtests.librespeed import OVERHEAD_FACTOR
from flent_aqm.parts.speedtests.own_clients.connection import Connection, ServerAddress
from flent_aqm.parts.speedtests.own_clients.http1 import Http1Connection
from flent_aqm.parts.speedtests.own_clients.own_client import Metered, run
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import ClientReport, DirectionLoad

PINGS = 10
STREAMS = {"download": 5, "upload": 3}
STREAM_DELAY_S = 0.3
GRACE_S = {"download": 1.5, "upload": 3.0}
LONGEST_S = 15.0
PAUSE_S = 1.0
TICK_S = 0.2
UPLOAD_BYTES = 20 << 20
GARBAGE_CHUNKS = 100
# Each tick makes the test shorter by 5 ms per 100 kB/s, and by 400 ms at most.
_BONUS_S_PER_BYTES_PER_S, _MOST_BONUS_S = 5e-3 / 100_000, 0.4
# Weight in the smoothed jitter of a difference above it, and of one below it.
_LARGER, _SMALLER = 0.7, 0.2


async def measure(server: ServerAddress, report: ClientReport, call: Call) -> None:
    """Run the whole test and fill the report. Raises BadResult, alone or in an ExceptionGroup, if a
    connection or request fails.

    Args:
        server: address of the server.
        report: the report to fill.
        call: not used; run() passes it to each client.
    """
    await _measure_idle(server, report)
    for direction in ("download", "upload"):
        await asyncio.sleep(PAUSE_S)
        await _load_direction(server, report, direction)


async def _measure_idle(server: ServerAddress, report: ClientReport) -> None:
    """Send ten requests on the idle line. Record the waits of all but the first as samples, and of
    them ping (the shortest) and jitter, in ms. Raises BadResult if the connection or a request
    fails."""
    times_ms: list[float] = []
    async with Http1Connection(server) as connection:
        for number in range(PINGS):
            reply = await connection.get("/empty")
            # In LibreSpeed, the first request opens the connection.
            if number:
                times_ms.append(reply.wait_ms)
                report.idle.probe("ping_ms", reply.sent_s, reply.wait_ms)
    report.numbers["ping_ms"] = min(times_ms)
    report.numbers["jitter_ms"] = smoothed_jitter_ms(times_ms)


def smoothed_jitter_ms(times_ms: list[float]) -> float:
    """Return LibreSpeed's jitter in ms: a moving average of the absolute differences between
    successive times. It begins with the first difference; of the others, one above the average so
    far has a weight of 0.7, another one of 0.2. 0 for fewer than two times."""
    jitter = 0.0
    for number in range(1, len(times_ms)):
        step = abs(times_ms[number] - times_ms[number - 1])
        if number == 1:
            jitter = step
        else:
            weight = _LARGER if step > jitter else _SMALLER
            jitter = jitter * (1 - weight) + step * weight
    return jitter


async def _load_direction(server: ServerAddress, report: ClientReport, direction: str) -> None:
    """Load the line in one direction, "download" or "upload", and record its rates, begin and end,
    and the throughput that LibreSpeed would show. Raises an ExceptionGroup of BadResults if a
    connection or request fails."""
    load = report.load(direction)
    request = _download if direction == "download" else _upload
    async with Metered(load), asyncio.TaskGroup() as group:
        streams = [
            group.create_task(_repeat_request(server, load, request, number * STREAM_DELAY_S))
            for number in range(STREAMS[direction])]
        load.mbps = await _measure_mbps(load, GRACE_S[direction])
        for stream in streams:
            stream.cancel()
    report.numbers[f"{direction}_mbps"] = load.mbps


async def _measure_mbps(load: DirectionLoad, grace_s: float) -> float:
    """Return the throughput in Mbit/s that LibreSpeed would show: 1.06 times the mean rate since
    the grace time, or since the beginning if nothing is transferred in the grace time. Wait 15 s
    from there, or less on a fast line.

    Every 0.2 s the mean rate so far is computed, and shortens the wait by 5 ms per 100 kB/s, each
    time by at most 0.4 s.

    Args:
        load: the load of the direction.
        grace_s: the first `grace_s` seconds don't count, unless nothing is transferred in them.
    """
    began_s, before, bonus_s, grace = time.monotonic(), load.total_bytes, 0.0, True
    while True:
        await asyncio.sleep(TICK_S)
        passed_s = time.monotonic() - began_s
        if grace:
            if passed_s > grace_s:
                # If nothing has been transferred yet, the test is measured from its beginning.
                if load.total_bytes > before:
                    began_s, before = time.monotonic(), load.total_bytes
                grace = False
            continue
        per_s = (load.total_bytes - before) / passed_s
        bonus_s += min(_MOST_BONUS_S, per_s * _BONUS_S_PER_BYTES_PER_S)
        if passed_s + bonus_s > LONGEST_S:
            return per_s * 8e-6 * OVERHEAD_FACTOR


async def _repeat_request(server: ServerAddress, load: DirectionLoad,
                          request: Callable[[Connection, DirectionLoad], Awaitable[None]],
                          delay_s: float) -> None:
    """Repeat a request on a connection of its own until cancelled. Raises BadResult if the
    connection or a request fails.

    Args:
        server: address of the server.
        load: the load that counts the bytes.
        request: coroutine function (connection, load) that makes one request.
        delay_s: time to wait before the connection is opened.
    """
    await asyncio.sleep(delay_s)
    async with Http1Connection(server) as connection:
        while True:
            await request(connection, load)


async def _download(connection: Connection, load: DirectionLoad) -> None:
    """Request 100 MiB of filler, and wait until all have arrived. Bytes are added to `load` as they
    arrive. Raises BadResult if the request fails."""
    await connection.get(f"/garbage?ckSize={GARBAGE_CHUNKS}", load.count, patience_s=None)


async def _upload(connection: Connection, load: DirectionLoad) -> None:
    """Send one POST of 20 MiB of filler, and wait for the response. Bytes are added to `load` as
    the kernel takes them. Raises BadResult if the request fails."""
    await connection.post("/empty", UPLOAD_BYTES, load.count, patience_s=None)


if __name__ == "__main__":
    sys.exit(run("librespeed", measure))
