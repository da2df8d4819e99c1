# SPDX-License-Identifier: GPL-3.0-or-later
"""What parsers make of output, number by number: units, limits, what is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers import iperf3, ndt7
from flent_aqm.measure.parsers.proc_stat import Ticks, parse_cpus
from tests.files import GOLDEN


def test_iperf3_interval_and_totals_have_the_documented_units() -> None:
    """Milliseconds and Mbit/s, of microseconds and bit/s."""
    report = iperf3.parse_iperf3((GOLDEN / "iperf3" / "upload-3.12.json").read_text())
    assert report.intervals[0] == iperf3.Iperf3Interval("upload", 0, 0.200106, (
        iperf3.Stream(5, 1970728, 0, 205616, 33.421, 0.442),))
    assert report.mss_bytes == 1448
    total = report.totals["upload"]
    assert total.sent_mbps == pytest.approx(50.62296157272744, rel=1e-9)
    assert total.received_mbps == pytest.approx(47.873287584057935, rel=1e-9)


def test_iperf3_interval_of_a_hundredth_of_a_second_is_the_shortest() -> None:
    """Shorter ones at any time of the test are none."""
    def interval(start_s: float, end_s: float) -> dict[str, Any]:
        return {"streams": [{"socket": 5, "bytes": 1, "sender": True, "start": start_s,
                             "end": end_s}]}

    report = iperf3.parse_iperf3(json.dumps({"start": {}, "intervals": [
        interval(0, 0.01), interval(0, 0.009), interval(5, 5.009), interval(5, 6)]}))
    assert [(one.start_s, one.end_s) for one in report.intervals] == [(0, 0.01), (5, 6)]


@pytest.mark.parametrize("text", ['{"some": "thing"}', "[1, 2]", '["start"]'])
def test_iperf3_json_of_something_else_is_told_by_what_it_lacks(text: str) -> None:
    """A list is none either, whatever is in it."""
    with pytest.raises(ParseError, match=r"has no 'start'"):
        iperf3.parse_iperf3(text)


def test_iperf3_words_about_its_own_failure_are_quoted() -> None:
    """They are the cause."""
    with pytest.raises(ParseError, match=r"reports the error 'unable to .*'; it starts with '\{"):
        iperf3.parse_iperf3('{"error": "unable to send control message"}')


def test_iperf3_damage_is_told_by_its_own_place() -> None:
    """Not by that of a number that isn't one, which is forgiven."""
    with pytest.raises(ParseError, match=r"cut off or damaged \(Expecting .*: line 2 column"):
        iperf3.parse_iperf3('{"start": -nan,\n"end": ')


def message(test: str, **more: Any) -> str:
    """A measurement of the crate's client, as a line."""
    return json.dumps({"Type": "Measurement", "Test": test, "Measurement": more})


def test_ndt7_connection_is_told_once_and_kept() -> None:
    """A later message without it takes nothing away; time of the application is in µs."""
    report = ndt7.parse_ndt7("\n".join([
        message("download", ConnectionInfo={"UUID": "some"}),
        message("download", Origin="client", ConnectionInfo={},
                AppInfo={"ElapsedTime": 0, "NumBytes": 3}),
        message("download", Origin="client", AppInfo={"ElapsedTime": 500_000, "NumBytes": 7}),
        message("download", Origin="client", AppInfo={"ElapsedTime": 2_000_000, "NumBytes": 9})]))
    subtest = report.subtests["download"]
    assert subtest.uuid == "some"
    assert subtest.app == (ndt7.AppSample(0, 3), ndt7.AppSample(0.5, 7), ndt7.AppSample(2, 9))
    # There is no rate before any time has passed.
    assert subtest.progress() == [ndt7.AppSample(0.5, 7), ndt7.AppSample(2, 9)]


def test_ndt7_upload_is_what_the_server_received_and_when() -> None:
    """Messages without a count, or from the very start, say nothing of it."""
    report = ndt7.parse_ndt7("\n".join([
        message("upload", TCPInfo={"ElapsedTime": 0, "BytesReceived": 1}),
        message("upload", TCPInfo={"ElapsedTime": 500_000, "BytesReceived": 5}),
        message("upload", TCPInfo={"ElapsedTime": 1_500_000})]))
    assert report.subtests["upload"].progress() == [ndt7.AppSample(0.5, 5)]


def test_ndt7_retransmission_is_that_of_the_last_message_that_has_both_counts() -> None:
    """One that has sent nothing, or doesn't tell what it sent again, is passed over."""
    report = ndt7.parse_ndt7("\n".join([
        message("download", TCPInfo={"ElapsedTime": 1, "BytesSent": 200, "BytesRetrans": 5}),
        message("download", TCPInfo={"ElapsedTime": 2, "BytesSent": 0, "BytesRetrans": 0}),
        message("download", TCPInfo={"ElapsedTime": 3, "BytesSent": 300})]))
    assert report.subtests["download"].retransmission_pct == 2.5


def test_ndt7_counts_a_hundredth_of_a_second_apart_are_an_interval() -> None:
    """No shorter ones are."""
    progress = [ndt7.AppSample(0.01, 100), ndt7.AppSample(0.0199, 150)]
    (end_s, length_s, mbps), = ndt7.rates_mbps(progress)
    assert (end_s, length_s) == (0.01, 0.01)
    assert mbps == pytest.approx(0.08)


def test_ndt7_line_that_is_none_is_told_by_its_number() -> None:
    """Counted from 1."""
    with pytest.raises(ParseError, match="line 2 of"):
        ndt7.parse_ndt7(message("upload") + "\nnonsense")


def test_processors_are_busy_with_all_but_idling_and_waiting() -> None:
    """The fourth and fifth count; guests' time, after the seventh, is in others already."""
    assert parse_cpus("cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 4 8 16 32 64 128 256\n"
                      "cpu1 1 1 1 1 1 1 1\nintr 5\ncpus 1 1 1 1 1 1 1\n") == {
        "cpu0": Ticks(busy=103, total=127), "cpu1": Ticks(busy=5, total=7)}


@pytest.mark.parametrize("text", ["", "intr 5\n", "cpu 1 2 3 4 5 6 7\n"])
def test_no_processor_is_told(text: str) -> None:
    """The line of them all is none."""
    with pytest.raises(ParseError, match="has no line for a processor"):
        parse_cpus(text)


@pytest.mark.parametrize("line", ["cpu0 1 2 3 4", "cpu0 1 2 x 4 5 6 7"])
def test_processor_with_too_little_is_quoted(line: str) -> None:
    """And what was expected."""
    with pytest.raises(ParseError, match=f"/proc/stat has '{line}'; expected 7 counts"):
        parse_cpus(line)
