# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of the NDT7 clients."""

from __future__ import annotations

import gzip

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers.ndt7 import AppSample, parse_ndt7, rates_mbps
from tests import files

GOLDEN = files.GOLDEN / "ndt7"
CRATE = (GOLDEN / "crate-0.3.1-download-upload.jsonl").read_text()
MLAB = gzip.decompress((GOLDEN / "mlab-4a5f632-download-upload.jsonl.gz").read_bytes()).decode()


@pytest.mark.parametrize("direction", ["download", "upload"])
def test_ndt7_results_are_those_of_the_clients_own_summary(direction: str) -> None:
    """Throughput, MinRTT and retransmission by the protocol's definitions."""
    report = parse_ndt7(CRATE)
    subtest = report.subtests[direction]
    own = report.summary[direction.capitalize()]
    assert subtest.throughput_mbps == pytest.approx(own["ThroughputMbps"])
    assert subtest.min_rtt_ms == pytest.approx(own["LatencyMs"])
    if direction == "download":
        assert subtest.retransmission_pct == pytest.approx(own["RetransmissionPct"])
    assert subtest.complete


@pytest.mark.parametrize("direction", ["download", "upload"])
def test_ndt7_output_of_mlabs_client_gives_the_same_things(direction: str) -> None:
    """Its envelope is another one; what is in it is told by its own summary."""
    report = parse_ndt7(MLAB)
    subtest = report.subtests[direction]
    own = report.summary[direction.capitalize()]
    assert "M-Lab" in report.client
    assert subtest.complete
    assert subtest.throughput_mbps == pytest.approx(own["Throughput"]["Value"])
    assert subtest.min_rtt_ms == pytest.approx(own["Latency"]["Value"])
    if direction == "download":
        assert subtest.retransmission_pct == pytest.approx(own["Retransmission"]["Value"])
    assert len(subtest.tcp) > 90


def test_ndt7_tcp_info_is_kept_for_each_message() -> None:
    """All fields of the server's first message of the download."""
    first = parse_ndt7(CRATE).subtests["download"].tcp[0]
    assert (first.elapsed_s, first.rtt_ms, first.min_rtt_ms, first.rtt_var_ms) == (
        0.120637, 36.847, 0.041, 0.233)
    assert (first.bytes_acked, first.bytes_sent, first.bytes_retrans, first.bytes_received) == (
        691349, 921581, 0, 424)


def test_ndt7_rates_over_time_add_up_to_the_whole() -> None:
    """The mean of the rates, weighted with their lengths, is the throughput."""
    subtest = parse_ndt7(CRATE).subtests["download"]
    rates = list(rates_mbps(subtest.progress()))
    mean = sum(mbps * length for _, length, mbps in rates) / sum(length for _, length, _ in rates)
    assert mean == pytest.approx(subtest.throughput_mbps)


def test_ndt7_rate_of_a_burst_of_messages_is_one() -> None:
    """Two counts 1 ms apart would give a rate of anything."""
    progress = [AppSample(1.0, 1_000_000), AppSample(1.001, 1_900_000), AppSample(2.0, 2_000_000)]
    assert list(rates_mbps(progress)) == [(1.0, 1.0, 8.0), (2.0, 1.0, 8.0)]


def test_ndt7_error_events_are_kept() -> None:
    """In both clients' form."""
    crate = parse_ndt7('{"Type":"Error","Test":"download","Error":"timed out"}')
    mlab = parse_ndt7('{"Key":"error","Value":{"Test":"download","Failure":"timed out"}}')
    assert crate.subtests["download"].errors == mlab.subtests["download"].errors == ("timed out",)


def test_ndt7_refused_connection_is_an_incomplete_subtest() -> None:
    """The client says on standard error why; its output just ends."""
    report = parse_ndt7((GOLDEN / "refused.out").read_text())
    assert not report.subtests["download"].complete
    assert report.subtests["download"].throughput_mbps is None


@pytest.mark.parametrize("text", [
    "", "\n\n", "starting download", "[]", "7", '{"Some": 1}', '{"Type": "Measurement"}',
    '{"Key": "measurement", "Value": 3}', '{"Type": 1}', CRATE[:500],
    '{"Type":"Measurement","Test":"upload","Measurement":{"TCPInfo":{"ElapsedTime":"x"}}}',
    '{"Type":"Measurement","Test":"upload","Measurement":{"ConnectionInfo":{"StartTime":"x"}}}',
])
def test_ndt7_garbage_is_a_parse_error(text: str) -> None:
    """No traceback, whatever the tool prints."""
    with pytest.raises(ParseError, match="NDT7"):
        parse_ndt7(text)
