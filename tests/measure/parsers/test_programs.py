# SPDX-License-Identifier: GPL-3.0-or-later
"""What nuttcp and iperf 2 printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers.iperf2 import parse_bounceback, parse_load
from flent_aqm.measure.parsers.nuttcp import parse_nuttcp

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.mark.parametrize("way", ["download", "upload"])
def test_nuttcp_tells_rates_and_the_whole(way: str) -> None:
    """At 20 Mbit/s TCP carries 19.1; only an upload tells its round trip."""
    found = parse_nuttcp((GOLDEN / "nuttcp" / f"{way}-6.1.2.txt").read_text())
    assert found.mbps == pytest.approx(19, abs=0.5)
    assert len(found.intervals) >= 3
    assert found.retransmits == 0
    assert found.rtt_ms == (None if way == "download" else pytest.approx(20, abs=0.5))


@pytest.mark.parametrize("way", ["download", "upload"])
def test_iperf2_tells_load_and_bounces(way: str) -> None:
    """The whole comes last; messages take longer in the second half than in the first."""
    load = parse_load((GOLDEN / "iperf2" / f"load-{way}-2.1.8.txt").read_text())
    assert load.whole.mbps == pytest.approx(19.1, abs=0.3)
    assert load.whole.end_s > 10
    assert len(load.intervals) >= 10
    found = parse_bounceback((GOLDEN / "iperf2" / f"bounceback-{way}-2.1.8.txt").read_text())
    first, second, *_ = found.intervals
    assert first.mean_ms < second.mean_ms
    assert found.whole.count >= first.count + second.count
    assert found.whole.rps == pytest.approx(1000 / found.whole.mean_ms, rel=0.05)


def test_iperf2_tells_each_way_with_trip_times_alone() -> None:
    """Through a full queue of the upload: the way back is as short as on an idle line, and both
    make the bounce."""
    found = parse_bounceback((GOLDEN / "iperf2" / "bounceback-upload-2.1.8.txt").read_text())
    assert found.one_way is not None
    assert found.one_way.from_server_ms == pytest.approx(10, abs=0.1)
    assert found.one_way.to_server_ms + found.one_way.from_server_ms == pytest.approx(
        found.whole.mean_ms, abs=0.1)
    without = parse_bounceback((GOLDEN / "iperf2" / "bounceback-download-2.1.8.txt").read_text())
    assert without.one_way is None


def test_refusals_are_told_in_one_line() -> None:
    """iperf 2 says on its output what went wrong; nuttcp has no result."""
    with pytest.raises(ParseError, match=r"^iperf 2: tcp connect failed: Connection refused$"):
        parse_bounceback((GOLDEN / "iperf2" / "bounceback-refused-2.1.8.txt").read_text())
    with pytest.raises(ParseError, match="nuttcp printed no result"):
        parse_nuttcp((GOLDEN / "nuttcp" / "refused-6.1.2.txt").read_text())
    with pytest.raises(ParseError, match="iperf 2 printed no bounceback"):
        parse_bounceback("nonsense")
    with pytest.raises(ParseError, match="iperf 2 printed no throughput"):
        parse_load((GOLDEN / "iperf2" / "bounceback-upload-2.1.8.txt").read_text()[:500])
