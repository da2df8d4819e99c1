# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of iperf3, as 3.12 and 3.18 printed it."""

from __future__ import annotations

import json
import re

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers.iperf3 import Iperf3Output, parse_iperf3
from tests import files

GOLDEN = files.GOLDEN / "iperf3"


def golden(name: str) -> Iperf3Output:
    return parse_iperf3((GOLDEN / f"{name}.json").read_text())


@pytest.mark.parametrize("version", ["3.12", "3.18"])
def test_iperf3_upload_has_the_senders_view_of_each_interval(version: str) -> None:
    """Ten intervals of 0.2 s, each with RTT and congestion window."""
    report = golden(f"upload-{version}")
    assert report.version == version
    assert {one.direction for one in report.intervals} == {"upload"}
    assert [round(one.end_s, 1) for one in report.intervals] == [
        0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]
    for one in report.intervals:
        assert one.streams[0].rtt_ms
        assert one.streams[0].cwnd_bytes


@pytest.mark.parametrize("version", ["3.12", "3.18"])
def test_iperf3_both_directions_are_told_apart(version: str) -> None:
    """Each has its intervals and its total."""
    report = golden(f"bidirectional-{version}")
    assert {one.direction for one in report.intervals} == {"upload", "download"}
    assert set(report.totals) == {"upload", "download"}
    download = report.totals["download"]
    seen = sum(one.throughput_mbps * (one.end_s - one.start_s)
               for one in report.intervals if one.direction == "download")
    # Nearly: the total's clock runs on a little after the last interval.
    assert seen * 1e6 / 8 == pytest.approx(download.received_bytes, rel=0.02)


def test_iperf3_download_takes_rtt_from_the_servers_report() -> None:
    """Only the sender knows it; the client's own intervals have none."""
    report = golden("download-2-streams-3.12")
    assert {one.direction for one in report.server_intervals} == {"download"}
    assert all(stream.rtt_ms for one in report.server_intervals for stream in one.streams)
    assert all(stream.rtt_ms is None for one in report.intervals for stream in one.streams)
    assert all(len(one.streams) == 2 for one in report.intervals)
    assert report.totals["download"].retransmits == 2


def test_iperf3_totals_are_those_that_iperf3_prints() -> None:
    """sum_sent and sum_received of the golden file."""
    total = golden("upload-3.12").totals["upload"]
    assert (total.sent_bytes, total.received_bytes) == (12656968, 11989440)
    assert total.received_mbps == pytest.approx(47.873287584)


def test_iperf3_that_was_stopped_keeps_its_intervals() -> None:
    """Cross traffic ends like this."""
    report = golden("interrupted-3.12")
    assert report.error == "interrupt - the client has terminated"
    assert [round(one.end_s) for one in report.intervals][-1] == 2
    assert len(report.intervals) == 10


def test_iperf3_without_a_server_reports_its_error() -> None:
    """3.12 exits with status 0 then."""
    report = golden("refused-3.12")
    assert report.error == "unable to connect to server: Connection refused"
    assert (report.intervals, dict(report.totals)) == ((), {})


@pytest.mark.parametrize("text", [
    "", "Connecting to host server, port 5201", "[1, 2]", '{"some": "thing"}',
    '{"start": {}, "intervals": [{"streams": [{"socket": 5}]}]}',
    '{"start": {}, "intervals": 7}', '{"start": null}',
    '{"start": {}, "end": {"sum_sent": {}}}',
])
def test_iperf3_garbage_is_a_parse_error(text: str) -> None:
    """No traceback, whatever the tool prints."""
    with pytest.raises(ParseError, match="iperf3"):
        parse_iperf3(text)


def test_iperf3_that_prints_more_than_its_json_is_read(upload: str) -> None:
    """Twice the same, a line before it, text behind it: the first document, and what was left
    out."""
    plain = parse_iperf3(upload)
    for text, note in ((upload + upload, "a second JSON document, which is not used"),
                       (f"warning: a line\n{upload}", "text before the JSON: 'warning: a line'"),
                       (f"{upload}iperf3: done\n", "text behind the JSON: 'iperf3: done'")):
        report = parse_iperf3(text)
        assert report.notes == (note,)
        assert (report.intervals, report.totals) == (plain.intervals, plain.totals)
    assert plain.notes == ()


def test_iperf3_number_that_is_none_is_left_out(upload: str) -> None:
    """A round trip alone, or the total; not the words of a text."""
    one = re.sub(r'"rtt":\s*\d+', '"rtt": -nan', upload, count=1)
    report = parse_iperf3(one)
    assert report.notes == ("values that are not numbers (nan or inf)",)
    assert [stream.rtt_ms is None for part in report.intervals for stream in part.streams] == [
        True, *[False] * 9]
    document = json.loads(upload)
    document["end"]["sum_received"]["bits_per_second"] = "REPLACED"
    document["title"] = "a title: nan, and inf"
    text = json.dumps(document).replace('"REPLACED"', "inf")
    report = parse_iperf3(text)
    assert report.totals == {}
    assert report.notes == ("values that are not numbers (nan or inf)",)
    assert len(report.intervals) == 10


@pytest.fixture
def upload() -> str:
    """Return what iperf3 printed of an upload."""
    return (GOLDEN / "upload-3.12.json").read_text()
