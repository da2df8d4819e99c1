# SPDX-License-Identifier: GPL-3.0-or-later
"""Client for the IETF's responsiveness test (RPM): downloads, then uploads, and probes under load.

Source: draft-ietf-ippm-responsiveness-09 (July 2026), "Test Parameters" to "Final Algorithm". Each
interval adds an HTTP/2 connection. First the goodput has to be stable, then the responsiveness: the
standard deviation of the last moving averages is below 5 %. Both directions are tested one after
the other and have a result each, as the draft says for that case. The draft leaves the time limit
open. It is 20 s here for each of the two stages of a direction.

The same times also give goresponsiveness' two results by its own formulas (3439542,
rpm/calculations.go): 60 s / mean of foreign and self probes, once of trimmed means (of the fastest
5 %, where the draft leaves out the slowest 5 %) and once of 90th percentiles.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import counted
from flent_aqm.parts.speedtests.own_clients.connection import Connection, ServerAddress
from flent_aqm.parts.speedtests.own_clients.own_client import Metered, run
from flent_aqm.parts.speedtests.own_clients.statistics import deviation, mean, without
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import ClientReport, DirectionLoad

# Size of an upload that lasts longer than any test.
UPLOAD_BYTES = 8 * 10**9
# Bytes on the line for a pair of probes, by the draft.
PAIR_BYTES = 6000
FIRST_PAIRS_PER_S = 10.0
CAPACITY_S = 1.0
STAGE_S = 20.0
FEWEST_PROBES = 5
# Confidence in a result.
LOW, MEDIUM, HIGH = 0, 1, 2
GO_KEPT, GO_PERCENTILE = 0.05, 0.9


@dataclass(frozen=True)
class Parameters:
    """Parameters of the test, with the draft's abbreviations. The defaults of those with an
    abbreviation are the draft's.

    Attributes:
        first_connections: INP: number of connections at the beginning.
        more_connections: INC: number of connections that each interval adds.
        most_connections: MNP: largest number of connections.
        interval_s: ID: length of an interval.
        intervals: MAD: number of intervals of a moving average, and of averages that are compared.
        tolerance: SDT: greatest standard deviation of stable averages, relative to the last
            average.
        kept: TMP: share of the fastest times that a trimmed mean keeps.
        probes_per_s: MPS: most pairs of probes per second.
        share: PTC: greatest share of the line's capacity for probes.
        unsent: limit of unsent bytes in the senders' kernels: "draft", "kernel" or a number of
            bytes, see Connection.limit_unsent().
        http_version: 2, or 3, which needs aioquic.
    """

    first_connections: int = 1
    more_connections: int = 1
    most_connections: int = 16
    interval_s: float = 5.0
    intervals: int = 4
    tolerance: float = 0.05
    kept: float = 0.95
    probes_per_s: float = 100.0
    share: float = 0.05
    unsent: str = "draft"
    http_version: int = 2


@dataclass
class TimedRequest:
    """The times of a request under load.

    Attributes:
        end_s: end of the response, in s on the clock of time.monotonic().
        http_ms: time from the request to the end of the response.
        tcp_ms: duration of the TCP handshake (HTTP/3: QUIC handshake), 0 if the request used a
            connection of the load.
        tls_ms: duration of the TLS handshake, None without one.
    """

    end_s: float
    http_ms: float
    tcp_ms: float = 0.0
    tls_ms: float | None = None


@dataclass
class _Test:
    """The state of the test of one direction.

    Attributes:
        server: address of the server.
        kind: class of the connections.
        load: the load of the direction, as reported.
        requested: the test's parameters.
        group: task group of the direction.
        chance: source of random numbers, which choose connections for self probes.
        connections: open connections of the load.
        loads: number of connections of the load, including those that are being opened.
        foreign: probes on new connections.
        own: probes on connections of the load (the draft's self probes).
        tasks: tasks that run, to be cancelled at the end.
    """

    server: ServerAddress
    kind: type[Connection]
    load: DirectionLoad
    requested: Parameters
    group: asyncio.TaskGroup
    chance: random.Random
    connections: list[Connection] = field(default_factory=list)
    loads: int = 0
    foreign: list[TimedRequest] = field(default_factory=list)
    own: list[TimedRequest] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def add_loads(self, count: int, direction: str) -> None:
        """Start `count` further load connections, but only as many as keep their number within
        `requested.most_connections`.

        Args:
            count: number of connections.
            direction: "download" or "upload".
        """
        for _ in range(min(count, self.requested.most_connections - self.loads)):
            self.loads += 1
            self.begin(_run_load(self, direction))

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine as a task of `group`, and keep the task in `tasks` until it is done.
        measure() cancels these at the test's end. If the coroutine raises an error, the group ends
        the test."""
        task: asyncio.Task[None] = self.group.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def kind_of(http_version: int) -> type[Connection]:
    """Return the class of connections for an HTTP version, 2 or 3. Its module is imported only
    here, because each version needs a library of its own. Raises ImportError if that library isn't
    installed."""
    if http_version == 3:
        from flent_aqm.parts.speedtests.own_clients.http3 import Http3Connection

        return Http3Connection
    from flent_aqm.parts.speedtests.own_clients.http2 import Http2Connection

    return Http2Connection


def parameters_of(options: Mapping[str, str]) -> Parameters:
    """Return the test's parameters with the values of the client's options: `interval_s`,
    `most_connections`, `probes_per_s`, `unsent` and `http_version`. Options that aren't given keep
    their defaults. Raises KeyError for another option, ValueError if a value isn't a number where
    one is needed."""
    readers: dict[str, Callable[[str], Any]] = {
        "interval_s": float, "most_connections": int, "probes_per_s": float, "unsent": str,
        "http_version": int}
    return Parameters(**{name: readers[name](value) for name, value in options.items()})


async def measure(server: ServerAddress, report: ClientReport, call: Call) -> None:
    """Run the whole test and fill the report. The options of the call are those of parameters_of().
    Raises BadResult, alone or in an ExceptionGroup, if a connection or request fails, a transfer of
    the load ends before the test, or too few probes come back. Raises the errors of parameters_of()
    and kind_of(), too."""
    requested = parameters_of(call.options)
    kind = kind_of(requested.http_version)
    async with kind(server) as connection:
        await connection.get("/.well-known/nq")
        for _ in range(10):
            reply = await connection.get("/small")
            report.idle.probe("ping_ms", reply.sent_s, reply.whole_ms)
    report.numbers["idle_ms"] = min(ms for _, _, ms in report.idle.probes)
    # Seeded with the kernel's random numbers, which in the lab depend on the run's seed.
    chance = random.Random()
    for direction in ("download", "upload"):
        load = report.load(direction)
        async with Metered(load), asyncio.TaskGroup() as group:
            test = _Test(server, kind, load, requested, group, chance)
            numbers = await _test_direction(test, direction)
            for task in list(test.tasks):
                task.cancel()
        load.mbps = numbers["goodput_mbps"]
        for name, value in numbers.items():
            stem, _, unit = name.rpartition("_")
            report.numbers[f"{stem}_{direction}_mbps" if unit == "mbps"
                           else f"{name}_{direction}"] = value
    for name in ("rpm", "go_rpm", "go_p90_rpm"):
        report.numbers[name] = min(report.numbers[f"{name}_download"],
                                   report.numbers[f"{name}_upload"])


async def _test_direction(test: _Test, direction: str) -> dict[str, float]:
    """Test one direction, "download" or "upload", until first the goodput and then the
    responsiveness is stable, each for at most 20 s and the rest of the interval that is under way
    then. Return its numbers by name: "rpm", the mean of "foreign_rpm" (of probes on new
    connections) and "loaded_rpm" (of probes on connections of the load); what goresponsiveness
    would compute of them, "go_rpm" from trimmed means and "go_p90_rpm" from 90th percentiles;
    "goodput_mbps", the confidences "goodput_confidence" and "confidence" (0 low to 2 high),
    "connections" (open at the end), and the numbers of probes in the last intervals,
    "foreign_probes" (on new connections) and "self_probes" (on those of the load).

    Load and probes go on afterwards, until the caller cancels test.tasks. Raises BadResult if fewer
    than 5 probes of a kind came back in the last intervals.
    """
    requested = test.requested
    test.add_loads(requested.first_connections, direction)
    test.begin(_start_probes(test))
    begin_s = time.monotonic()
    transferred = [test.load.total_bytes]  # at the end of each interval
    goodputs: list[float] = []
    results: list[float] = []
    goodput_state, state, stage_s = LOW, LOW, begin_s
    saturated = False
    while True:
        await asyncio.sleep(max(0.0, begin_s + len(transferred) * requested.interval_s
                                - time.monotonic()))
        now_s = time.monotonic()
        transferred.append(test.load.total_bytes)
        seen = transferred[-1 - requested.intervals:]
        goodputs.append((seen[-1] - seen[0]) / (requested.interval_s * (len(seen) - 1)))
        late = now_s - stage_s >= STAGE_S - 1e-3
        if not saturated:
            goodput_state = _confidence(goodputs, requested)
            saturated = goodput_state == HIGH or late
            if saturated:
                stage_s = now_s
        else:
            since_s = now_s - requested.intervals * requested.interval_s
            results.append(
                rpm_of(_probes_since(test.foreign, since_s), _probes_since(test.own, since_s),
                       requested))
            state = _confidence(results, requested)
            if state == HIGH or late:
                break
        test.add_loads(requested.more_connections, direction)
    foreign, own = _probes_since(test.foreign, since_s), _probes_since(test.own, since_s)
    return {
        "rpm": results[-1],
        "foreign_rpm": 60_000 / foreign_ms(foreign, requested), "loaded_rpm":
        60_000 / trimmed_ms([one.http_ms for one in own], requested.kept),
        "go_rpm": go_rpm(foreign, own, percentile=False),
        "go_p90_rpm": go_rpm(foreign, own, percentile=True),
        "goodput_mbps": goodputs[-1] * 8e-6, "goodput_confidence": goodput_state,
        "confidence": state, "connections": len(test.connections),
        "foreign_probes": len(foreign), "self_probes": len(own)}


def _confidence(averages: list[float], requested: Parameters) -> int:
    """Return the draft's confidence in a result: LOW (0) with fewer than `requested.intervals`
    averages. HIGH (2) if the standard deviation of the last ones is below `requested.tolerance`
    times the last one, otherwise MEDIUM (1).

    Args:
        averages: the moving averages so far, one per interval. The last `requested.intervals` of
            them are compared.
        requested: the test's parameters.
    """
    if len(averages) < requested.intervals:
        return LOW
    spread = deviation(averages[-requested.intervals:])
    return HIGH if spread < requested.tolerance * averages[-1] else MEDIUM


def _probes_since(probes: list[TimedRequest], since_s: float) -> list[TimedRequest]:
    """Return the probes that ended after `since_s` (monotonic). Raises BadResult if there are fewer
    than 5."""
    recent = [one for one in probes if one.end_s > since_s]
    if len(recent) < FEWEST_PROBES:
        raise BadResult(f"responsiveness: {counted(len(recent), 'probe')} came back in the last "
                        f"intervals; expected {FEWEST_PROBES} or more: is the link too slow for "
                        "this test, or are probes_per_s or interval_s too small?")
    return recent


def rpm_of(foreign: list[TimedRequest], own: list[TimedRequest], requested: Parameters) -> float:
    """Return the draft's Responsiveness in round trips per minute: the mean of two rates, 60,000 /
    foreign_ms() and 60,000 / trimmed mean in ms of the probes on connections of the load.

    Args:
        foreign: probes on new connections, at least one.
        own: probes on connections of the load, at least one.
        requested: the test's parameters.
    """
    loaded_ms = trimmed_ms([one.http_ms for one in own], requested.kept)
    return (60_000 / foreign_ms(foreign, requested) + 60_000 / loaded_ms) / 2


def foreign_ms(probes: list[TimedRequest], requested: Parameters) -> float:
    """Return the mean in ms of three trimmed means (two without TLS): those of the TCP handshakes,
    the TLS handshakes, and the requests.

    Args:
        probes: foreign probes only (on new connections), at least one.
        requested: the test's parameters, of which `kept` is the share of the times to keep.
    """
    parts = [[one.tcp_ms for one in probes], [one.http_ms for one in probes]]
    tls = [one.tls_ms for one in probes if one.tls_ms is not None]
    return mean([trimmed_ms(part, requested.kept) for part in (*parts, *([tls] if tls else []))])


def trimmed_ms(times_ms: list[float], kept: float) -> float:
    """Return the mean in ms of the fastest share `kept` (above 0, up to 1) of the times, of which
    there is at least one. The number of times that are left out is rounded down."""
    return mean(without(times_ms, highest=1 - kept))


def go_rpm(foreign: list[TimedRequest], own: list[TimedRequest], *, percentile: bool) -> float:
    """Return goresponsiveness' result in round trips per minute: 60,000 / the mean of two times in
    ms, one of the foreign probes and one of the others. The time of a foreign probe is the mean of
    its handshakes (TCP, and TLS if any) and its request.

    Args:
        foreign: probes on new connections, at least one.
        own: probes on connections of the load, at least one.
        percentile: True: the two times are 90th percentiles. False: they are means of the fastest 5
            %, at least of one probe.
    """
    trips = [[one.tcp_ms, one.http_ms, *([one.tls_ms] if one.tls_ms is not None else [])]
             for one in foreign]
    both = [sum(one) / len(one) for one in trips], [one.http_ms for one in own]
    means = []
    for times_ms in both:
        ordered = sorted(times_ms)
        kept = max(1, int(len(ordered) * GO_KEPT))
        means.append(ordered[min(len(ordered) - 1, int(len(ordered) * GO_PERCENTILE))]
                     if percentile else mean(ordered[:kept]))
    return 60_000 / mean(means)


async def _run_load(test: _Test, direction: str) -> None:
    """Open one connection of the load, add it to test.connections, and transfer on it until
    cancelled. The bytes are counted in test.load. Raises BadResult if the connection can't be
    opened, breaks, or its transfer ends by itself.

    direction: "download" or "upload".
    """
    connection = test.kind(test.server)
    async with connection:
        test.connections.append(connection)
        if direction == "download":
            await connection.get(f"/large?unsent={test.requested.unsent}", test.load.count,
                                 patience_s=None)
        else:
            connection.limit_unsent(test.requested.unsent)
            await connection.post("/upload", UPLOAD_BYTES, test.load.count, patience_s=None)
    raise BadResult("responsiveness: a connection of the load had transferred all of its object, "
                    f"{UPLOAD_BYTES // 10**9} GB with `flent-aqm serve`, before the test ended: is "
                    "the link too fast for this test? A smaller interval_s may end it sooner")


async def _start_probes(test: _Test) -> None:
    """Start pairs of a foreign and a self probe until cancelled, evenly spaced.

    Their rate is such that they take the share `requested.share` of the goodput of the last second.
    In the first half second it is 10 pairs per second. It is at most `requested.probes_per_s` pairs
    per second, and not below 1 unless that is. The self probe is left out while no connection of
    the load is open.
    """
    seen: list[tuple[float, int]] = [(time.monotonic(), test.load.total_bytes)]
    next_s = time.monotonic()
    while True:
        now_s = time.monotonic()
        seen = [one for one in seen if one[0] > now_s - CAPACITY_S] or seen[-1:]
        passed_s, size = now_s - seen[0][0], test.load.total_bytes - seen[0][1]
        pairs_per_s = FIRST_PAIRS_PER_S
        if passed_s >= CAPACITY_S / 2:
            pairs_per_s = size / passed_s * test.requested.share / PAIR_BYTES
        pairs_per_s = min(max(pairs_per_s, 1.0), test.requested.probes_per_s)
        next_s = max(next_s + 1 / pairs_per_s, now_s)
        seen.append((now_s, test.load.total_bytes))
        test.begin(_probe_new_connection(test))
        # Foreign and self probes alternate.
        await asyncio.sleep(max(0.0, (next_s - now_s) / 2))
        if test.connections:
            test.begin(_probe_load_connection(test, test.chance.choice(test.connections)))
        await asyncio.sleep(max(0.0, next_s - time.monotonic()))


async def _probe_new_connection(test: _Test) -> None:
    """Open a connection, time its handshakes and a small request, and close it. Record the times in
    test.foreign and as probes of test.load. Raises BadResult if the connection or the request
    fails."""
    began_s = time.monotonic()
    async with test.kind(test.server) as connection:
        reply = await connection.get("/small", patience_s=None)
    probe = TimedRequest(reply.end_s, reply.whole_ms, connection.tcp_ms, connection.tls_ms)
    test.foreign.append(probe)
    test.load.probe("foreign_tcp_ms", began_s, probe.tcp_ms)
    if probe.tls_ms is not None:
        test.load.probe("foreign_tls_ms", began_s, probe.tls_ms)
    test.load.probe("foreign_http_ms", reply.sent_s, probe.http_ms)


async def _probe_load_connection(test: _Test, connection: Connection) -> None:
    """Time a small request on a connection of the load, and record the time in test.own and as a
    probe of test.load. Raises BadResult if the request fails."""
    reply = await connection.get("/small", patience_s=None)
    test.own.append(TimedRequest(reply.end_s, reply.whole_ms))
    test.load.probe("self_http_ms", reply.sent_s, reply.whole_ms)


if __name__ == "__main__":
    sys.exit(run("responsiveness", measure))
