# SPDX-License-Identifier: GPL-3.0-or-later
"""What nuttcp and iperf 2 printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.speedtests import iperf2_bounceback, nuttcp
from flent_aqm.tools.client import OutputLine
from flent_aqm.tools.report import ClientReport
from tests.files import GOLDEN


def lines(name: str) -> Iterator[OutputLine]:
    """What nuttcp printed, all at once, as it may."""
    return (OutputLine(9.0, text) for text in (GOLDEN / "nuttcp" / name).read_text().splitlines())


def begun(direction: str) -> ClientReport:
    """A report whose direction began a second ago."""
    report = ClientReport("")
    report.load(direction).begin(8.0)
    return report


@pytest.mark.parametrize("way", ["download", "upload"])
def test_nuttcp_tells_rates_and_the_whole(way: str) -> None:
    """At 20 Mbit/s TCP carries 19.1; only an upload tells its round trip. Its intervals are as long
    as it says, by its own clock."""
    report = begun(way)
    nuttcp.read(lines(f"{way}-6.1.2.txt"), way, report)
    one = report.load(way)
    assert one.mbps == report.numbers[f"{way}_mbps"] == pytest.approx(19, abs=0.5)
    assert [(end_s, length_s) for end_s, length_s, _ in one.rates[:2]] == [(8.5, 0.5), (9, 0.5)]
    assert len(one.rates) >= 3
    assert one.own_clock
    assert report.numbers[f"retransmits_{way}"] == 0
    assert report.numbers.get("rtt_ms") == (
        None if way == "download" else pytest.approx(20, abs=0.5))


def iperf2(way: str) -> ClientReport:
    """A report of what both iperfs printed."""
    report = begun(way)
    iperf2_bounceback.read_load(
        (GOLDEN / "iperf2" / f"load-{way}-2.1.8.txt").read_text(), way, report)
    iperf2_bounceback.read_messages(
        (GOLDEN / "iperf2" / f"bounceback-{way}-2.1.8.txt").read_text(), way, report)
    return report


@pytest.mark.parametrize("way", ["download", "upload"])
def test_iperf2_tells_load_and_bounces(way: str) -> None:
    """The whole comes last; messages take longer in the second half than in the first."""
    report = iperf2(way)
    one = report.load(way)
    assert one.mbps == report.numbers[f"{way}_mbps"] == pytest.approx(19.1, abs=0.3)
    assert one.end_s - 8 > 10
    assert len(one.rates) >= 10
    means_ms = [ms for _, what, ms in one.probes if what == "bounceback_ms"]
    assert means_ms[0] < means_ms[1]
    assert [at_s for at_s, *_ in one.probes[::2]][:2] == pytest.approx([13, 18])
    assert report.numbers[f"rps_{way}"] == pytest.approx(
        1000 / report.numbers[f"bounceback_{way}_ms"], rel=0.05)
    assert report.numbers[f"bounceback_max_{way}_ms"] >= max(
        ms for _, what, ms in one.probes if what == "bounceback_max_ms")


def test_iperf2_tells_each_way_with_trip_times_alone() -> None:
    """Through a full queue of the upload: the way back is as short as on an idle line, and both
    make the bounce."""
    numbers = iperf2("upload").numbers
    assert numbers["owd_from_server_upload_ms"] == pytest.approx(10, abs=0.1)
    assert numbers["owd_to_server_upload_ms"] + numbers["owd_from_server_upload_ms"] == \
        pytest.approx(numbers["bounceback_upload_ms"], abs=0.1)
    assert "owd_to_server_download_ms" not in iperf2("download").numbers


def test_refusals_are_told_in_one_line() -> None:
    """iperf 2 says on its output what went wrong; so does nuttcp."""
    report = begun("upload")
    with pytest.raises(BadResult, match=(r"^iperf 2: tcp connect failed: Connection refused; check "
                                          r"that its server runs there: iperf -s -e -p 5001$")):
        iperf2_bounceback.read_messages(
            (GOLDEN / "iperf2" / "bounceback-refused-2.1.8.txt").read_text(), "upload", report)
    refused = (r"^nuttcp reported no upload: connect: Connection refused; check that its server "
               r"runs there: nuttcp -S -P 5999$")
    with pytest.raises(BadResult, match=refused):
        nuttcp.read(lines("refused-6.1.2.txt"), "upload", report, 5999)

    def ended() -> Iterator[OutputLine]:
        yield OutputLine(8.0, 'nuttcp-t: Info: attempting to switch to deprecated "classic" mode')
        yield from lines("refused-6.1.2.txt")
        raise BadResult("nuttcp ended with status 1: errno=111")

    with pytest.raises(BadResult, match=refused):
        nuttcp.read(ended(), "upload", report, 5999)
    with pytest.raises(BadResult, match="its output has no rate of an interval"):
        nuttcp.read([OutputLine(8.0, "nuttcp-t: Info: a word")], "upload", report)
    with pytest.raises(BadResult, match="iperf 2 printed no bounceback"):
        iperf2_bounceback.read_messages("nonsense", "upload", report)
    with pytest.raises(BadResult, match="iperf 2 printed no throughput"):
        iperf2_bounceback.read_load(
            (GOLDEN / "iperf2" / "bounceback-upload-2.1.8.txt").read_text()[:500], "upload", report)


def test_line_of_nuttcp_that_is_cut_off_is_quoted() -> None:
    """It has no rate."""
    with pytest.raises(BadResult, match=r"no upload: megabytes=1\.0 real_seconds=2"):
        nuttcp.read([OutputLine(1.0, "megabytes=1.0 real_seconds=2.00")], "upload", begun("upload"))


def test_iperf_of_another_kind_is_named(tmp_path: Path) -> None:
    """iperf3 under iperf's name isn't an old iperf 2."""
    for version, expected in (("iperf 3.16 (cJSON 1.7.15)", r"iperf is not iperf 2: .*iperf 3.16"),
                              ("iperf version 2.0.13 (2019)", "iperf is iperf version 2.0;"),
                              ("no library'; exit 127; '", "ended with status 127: no library; i"),
                              ("'; kill -11 $$; '", "without a message; install iperf again")):
        program = tmp_path / "iperf"
        program.write_text(f"#!/bin/sh\necho '{version}'\n")
        program.chmod(0o755)
        with pytest.raises(BadResult, match=expected):
            iperf2_bounceback.refuse_old(str(program))


LINE = "[  1] {start}-{end} sec  2.63 MBytes  {mbps} Mbits/sec  21/0          0"
BOUNCE = ("[  1] {start}-{end} sec  0.006 MBytes  0.011 Mbits/sec    "
          "34=105.6/20.1/255.0/70.7 ms    0   14K/190233 us    9.5 rps")


def test_iperf2_needs_an_interval_and_the_whole() -> None:
    """No less; the last line is of the whole, and no interval."""
    lines = [LINE.format(start="0.0000", end="1.0000", mbps="22.0"),
             LINE.format(start="0.0000", end="1.2000", mbps="19.0")]
    report = ClientReport("")
    way = report.load("upload")
    way.begin(5.0)
    iperf2_bounceback.read_load("\n".join(lines), "upload", report)
    assert (way.rates, way.mbps) == ([(6.0, 1.0, 2_750_000)], 19)
    bounces = [BOUNCE.format(start="0.0000", end=end) for end in ("5.0000", "5.5000")]
    iperf2_bounceback.read_messages("\n".join(bounces), "upload", report)
    assert way.probes == [(10.0, "bounceback_ms", 105.6), (10.0, "bounceback_max_ms", 255)]
    assert report.numbers == {"upload_mbps": 19, "rps_upload": 9.5, "bounceback_upload_ms": 105.6,
                              "bounceback_max_upload_ms": 255}
    for read, one in ((iperf2_bounceback.read_load, lines[1]),
                      (iperf2_bounceback.read_messages, bounces[1])):
        with pytest.raises(BadResult, match="iperf 2 printed no"):
            read(one, "upload", report)
