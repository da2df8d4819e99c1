# SPDX-License-Identifier: GPL-3.0-or-later
"""What nuttcp and iperf 2 printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers.iperf2 import parse_iperf2
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
    found = parse_iperf2((GOLDEN / "iperf2" / f"bounceback-{way}-2.1.8.txt").read_text())
    assert found.whole.mbps == pytest.approx(19.1, abs=0.3)
    assert found.whole.end_s > 10
    first, second, *_ = found.bounces
    assert first.mean_ms < second.mean_ms
    assert found.all_bounces.count >= first.count + second.count
    assert found.all_bounces.rps == pytest.approx(1000 / found.all_bounces.mean_ms, rel=0.05)


def test_refusals_are_told_in_one_line() -> None:
    """iperf 2 says on its output what went wrong; nuttcp has no result."""
    with pytest.raises(ParseError, match=r"^iperf 2: tcp connect failed: Connection refused$"):
        parse_iperf2((GOLDEN / "iperf2" / "bounceback-refused-2.1.8.txt").read_text())
    with pytest.raises(ParseError, match="nuttcp printed no result"):
        parse_nuttcp((GOLDEN / "nuttcp" / "refused-6.1.2.txt").read_text())
    with pytest.raises(ParseError, match="iperf 2 printed no bounceback"):
        parse_iperf2("nonsense")
