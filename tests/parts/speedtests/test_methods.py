# SPDX-License-Identifier: GPL-3.0-or-later
"""The clients' arithmetic, against numbers computed by hand from their makers' formulas."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import socket
from unittest.mock import AsyncMock, MagicMock

import pytest

from flent_aqm.base.errors import BadResult, ParseError
from flent_aqm.parts.speedtests import cloudflare_client
from flent_aqm.parts.speedtests.cloudflare_client import DOWNLOAD, LATENCY, timed
from flent_aqm.parts.speedtests.librespeed import TOOL
from flent_aqm.parts.speedtests.librespeed_client import smoothed_jitter_ms
from flent_aqm.parts.speedtests.ookla_style_client import sliced_mbps
from flent_aqm.parts.speedtests.own_clients.connection import (
    KEPT_BYTES,
    PendingRequest,
    Reply,
    ServerAddress,
    find_server,
    why_not_open,
)
from flent_aqm.parts.speedtests.own_clients.http1 import Http1Connection
from flent_aqm.parts.speedtests.own_clients.statistics import mean_difference, percentile, without
from flent_aqm.parts.speedtests.responsiveness_client import (
    Parameters,
    TimedRequest,
    _probes_since,
    _run_load,
    go_rpm,
    rpm_of,
)
from flent_aqm.tools.client import Call
from flent_aqm.tools.report import ClientReport, read_report


def test_librespeed_jitter_weighs_larger_steps_more() -> None:
    """Steps of 10, 20 and 0 ms: 10, then 0.3 x 10 + 0.7 x 20, then 0.8 of that."""
    assert smoothed_jitter_ms([20, 30, 50, 50]) == pytest.approx(0.8 * 17)
    assert smoothed_jitter_ms([20]) == 0


def test_ookla_style_mean_leaves_out_the_fastest_and_the_slowest_slices() -> None:
    """Of 20 slices at 0, 1, ... 19 Mbit/s, those of 6 to 17 count."""
    second_bytes = 125_000
    assert sliced_mbps([number * second_bytes for number in range(20)], 1.0) == pytest.approx(
        sum(range(6, 18)) / 12)


def test_cloudflare_times_downloads_whole_and_uploads_to_the_answer() -> None:
    """A download of 1 MB in 1 s counts 300 bytes of headers, an upload half a percent."""
    reply = Reply(10.0, first_s=10.5, end_s=11.0, size=1_000_000)
    assert timed("download", reply, 1_000_000) == pytest.approx((1000, 8.0024))
    assert timed("upload", reply, 1_000_000) == pytest.approx((500, 16.08))


def test_rpm_by_the_draft_and_by_goresponsiveness() -> None:
    """Foreign 20 ms and self 200 ms: 1650 and 545, as docs/reference/metrics.md works out."""
    external = [TimedRequest(0.0, 20.0, 20.0) for _ in range(40)]
    own = [TimedRequest(0.0, 200.0) for _ in range(40)]
    assert rpm_of(external, own, Parameters()) == pytest.approx(1650)
    assert go_rpm(external, own, percentile=False) == pytest.approx(545.4545)
    assert go_rpm(external, own, percentile=True) == pytest.approx(545.4545)


def test_rpm_with_tls_has_three_round_trips_of_equal_weight() -> None:
    """20, 30 and 40 ms are 30 ms: 2000 RPM, and with self of 30 ms that is all."""
    external = [TimedRequest(0.0, 40.0, 20.0, 30.0)] * 10
    assert rpm_of(external, [TimedRequest(0.0, 30.0)] * 10, Parameters()) == pytest.approx(2000)


def test_the_drafts_mean_leaves_out_the_slowest_5_percent_only() -> None:
    """Of 20 times, the slowest one goes."""
    own = [TimedRequest(0.0, 10.0)] * 19 + [TimedRequest(0.0, 10_000.0)]
    external = [TimedRequest(0.0, 10.0, 10.0)] * 20
    assert rpm_of(external, own, Parameters()) == pytest.approx(6000)


def test_statistics_of_few_values() -> None:
    """A percentile lies between neighbours; trimming leaves one value at least."""
    assert percentile([1, 2, 3, 4], 0.9) == pytest.approx(3.7)
    assert percentile([7], 0.9) == 7
    assert without([5], 0.5, 0.5) == [5]
    assert mean_difference([1, 3, 2]) == 1.5


@pytest.mark.parametrize("text", [
    "", "null", "[]", "{}", '{"numbers": {}, "idle": [], "ways": {"download": {}}}',
    '{"numbers": {"ping_ms": "x"}, "idle": [], "ways": {}}', "Traceback"])
def test_a_report_that_is_none_is_refused_in_one_line(text: str) -> None:
    """The line names the client and what its output starts with."""
    with pytest.raises(ParseError, match=(
            "librespeed: on its client's standard output, expected a report in ")) as refused:
        read_report(text, TOOL)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("mbps", "ping_ms", "what"), [
    (None, 20.0, "sets no rate of download, or none that is finite; it must be a number"),
    (math.nan, 20.0, "sets no rate of download, or none that is finite"),
    (9.0, math.inf, "sets no ping_ms, or none that is finite"),
    (-1.0, 20.0, "reports -1 Mbit/s of download; expected a finite number, 0 or more")])
def test_a_number_that_a_client_does_not_set_is_named(
        mbps: float | None, ping_ms: float, what: str) -> None:
    """The report has the right form."""
    report = ClientReport("mine", numbers={"ping_ms": ping_ms})
    report.load("download").begin(1.0)
    report.load("download").mbps = mbps
    with pytest.raises(ParseError, match=f"^librespeed(?:: its client)? {what}"):
        read_report(report.text(), TOOL)


def test_a_report_keeps_numbers_that_are_known() -> None:
    """Others are left out; times of the idle line are told apart."""
    by_direction = read_report(
        '{"numbers": {"ping_ms": 20, "evil": 1}, "notes": [], "idle": [{"t": 1, "ping_ms": 20}], '
        '"ways": {"download": {"start_s": 2, "end_s": 3, "mbps": 9, "rates": [{"t": 3, "dur": 1, '
        '"val": 9}], "probes": [{"t": 2.5, "ping_ms": 40}]}}}', TOOL)
    series, samples, meta = by_direction["download"]
    assert series == [[3, 9]]
    assert samples == [{"t": 1, "idle_ping_ms": 20}, {"t": 2.5, "ping_ms": 40},
                       {"t": 3, "dur": 1, "val": 9}]
    assert meta["SPEEDTEST"] == {"client": "librespeed", "numbers": {"ping_ms": 20}}


def test_address_of_a_family_that_the_kernel_lacks_is_no_connection() -> None:
    """As IPv6 on a kernel without it: a made family."""
    server = ServerAddress("[2001:db8::1]:80", 9999, ("2001:db8::1", 80), secure=False)
    with pytest.raises(BadResult, match=r"^no connection to \[2001:db8::1\]:80: "):
        server.new_socket(socket.SOCK_STREAM)


@pytest.mark.parametrize(("host", "ip_version", "message"), [
    ("192.0.2.1", 6, "'192.0.2.1' is not an IPv6 address; give one"),
    ("fe80::1%nowhere", 6, "cannot resolve the server's name 'fe80::1%nowhere' to an IPv6 address"),
])
def test_address_is_of_another_version_only_where_it_is(
        host: str, ip_version: int, message: str) -> None:
    """The other one is an IPv6 address, on a device that isn't there."""
    with pytest.raises(BadResult, match=f"^{message}"):
        find_server(host, 80, ip_version, secure=False)


@pytest.mark.parametrize(("fault", "why"), [
    (TimeoutError(), "no answer within 30 s"),
    (OSError(errno.ETIMEDOUT, "Connect call failed ('192.0.2.1', 80)"),
     os.strerror(errno.ETIMEDOUT))])
def test_kernels_own_timeout_has_another_length(fault: OSError, why: str) -> None:
    """By net.ipv4.tcp_syn_retries."""
    assert why_not_open(fault) == why


def test_few_probes_may_be_those_that_were_requested() -> None:
    with pytest.raises(BadResult, match=r"^responsiveness: 4 probes .* are probes_per_s or int"):
        _probes_since([TimedRequest(1.0, 1.0)] * 4, 0.0)


def test_load_that_is_complete_before_the_end_is_told_as_such() -> None:
    """A fast link carries 8 GB in less than the test's time."""
    test = MagicMock()
    test.kind.return_value.get = AsyncMock()
    with pytest.raises(BadResult, match=r"all of its object, 8 GB .* is the link too fast"):
        asyncio.run(_run_load(test, "download"))


def test_connection_that_ends_during_the_tls_handshake_says_so() -> None:
    """asyncio's error has neither number nor text, and the message ended in nothing."""
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async def open_one() -> None:
        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            await Http1Connection(find_server("127.0.0.1", port, None, secure=True)).open()

    with pytest.raises(BadResult, match=(
            r"^no connection to 127\.0\.0\.1:\d+: the server closed the connection during the TLS "
            r"handshake; does the server use TLS\?$")):
        asyncio.run(open_one())


def test_only_the_beginning_of_a_body_is_kept() -> None:
    """However large its pieces are; all of it counts."""
    async def body_of(*pieces: int) -> tuple[int, int]:
        request = PendingRequest("GET", 0, None)
        for length in pieces:
            request.take(b"x" * length)
        return len(request.reply.body), request.reply.size

    assert asyncio.run(body_of(10, 20)) == (30, 30)
    assert asyncio.run(body_of(KEPT_BYTES - 1, KEPT_BYTES)) == (KEPT_BYTES, 2 * KEPT_BYTES - 1)
    assert asyncio.run(body_of(KEPT_BYTES + 5, 7)) == (KEPT_BYTES, KEPT_BYTES + 12)


def test_latency_request_that_outlives_its_set_spoils_no_later_one(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its response comes when the next set's first latency request is due."""
    pinged, loaded, answered = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests: the first load when a latency request has come, that one 0.1 s after the
        second load has, and the second load after the next latency request."""
        with contextlib.closing(writer), contextlib.suppress(OSError, EOFError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                size = int(head.partition("bytes=")[2].split("&")[0].split()[0])
                if size == 0 and not pinged.is_set():
                    pinged.set()
                    await loaded.wait()
                    await asyncio.sleep(0.1)
                elif size == 0:
                    answered.set()
                elif size == 1000:
                    await pinged.wait()
                else:
                    loaded.set()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(answered.wait(), 2)
                    await asyncio.sleep(0.1)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size
                             + b"x" * size)

    async def measure() -> ClientReport:
        report = ClientReport("cloudflare")
        async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await cloudflare_client.measure(
                find_server("127.0.0.1", port, None, secure=False), report, Call("", port))
        return report

    monkeypatch.setattr(cloudflare_client, "SEQUENCE",
                        ((DOWNLOAD, 1, 1000), (DOWNLOAD, 1, 2000), (LATENCY, 1, 0)))
    assert len(asyncio.run(measure()).loads["download"].probes) == 1
