# SPDX-License-Identifier: GPL-3.0-or-later
"""irtt's JSON as a video call: output of the real irtt, with packets lost and held up in it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers.cross import parse_call

TEXT = gzip.decompress((Path(__file__).parents[2] / "golden/irtt/call.json.gz").read_bytes())


@pytest.fixture
def output() -> dict[str, Any]:
    """0.3 s: 9 frames of 5 packets, and what is left of a tenth."""
    read: dict[str, Any] = json.loads(TEXT)
    return read


def test_call_is_made_of_frames_of_five_packets(output: dict[str, Any]) -> None:
    """All came; what of a frame was not sent any more is none."""
    call = parse_call(json.dumps(output))
    packets = len(output["round_trips"])
    for way in ("upload", "download"):
        assert len(call[way].events) == packets // 5
        assert all(one["frame_lost"] == 0 <= one["frame_ms"] for one in call[way].events)
        assert sum(one["val"] * one["dur"] for one in call[way].rates) == pytest.approx(
            packets * 1200 * 8e-6)


@pytest.mark.parametrize("empty", [True, False])
def test_frame_with_a_lost_packet_is_lost_where_the_packet_was(
    output: dict[str, Any], empty: bool
) -> None:
    """Up, down, or both where irtt can't tell; what went up in vain brought nothing down."""
    for index, lost in ((1, "true_up"), (6, "true_down"), (11, "true")):
        trip = output["round_trips"][index]
        trip["lost"], trip["delay"] = lost, {}
        if empty:
            trip["timestamps"]["client"]["receive"] = {}
        else:
            del trip["timestamps"]["client"]["receive"]
        trip["timestamps"]["server"] = {}
    call = parse_call(json.dumps(output))
    lost_at = {way: [index for index, one in enumerate(call[way].events) if one["frame_lost"]]
            for way in call}
    assert lost_at == {"upload": [0, 2], "download": [1, 2]}
    assert "frame_ms" not in call["upload"].events[0]
    packets = len(output["round_trips"])
    for way, came in (("upload", packets - 2), ("download", packets - 3)):
        assert sum(one["val"] * one["dur"] for one in call[way].rates) == pytest.approx(
            came * 1200 * 8e-6)


def test_frame_is_as_late_as_its_slowest_packet_whatever_the_clocks_say(
    output: dict[str, Any]
) -> None:
    """An hour between client and server makes no difference."""
    fair = parse_call(json.dumps(output))["upload"].events
    for trip in output["round_trips"]:
        trip["delay"]["send"] += 3600 * 10**9
    output["round_trips"][7]["delay"]["send"] += 150 * 10**6
    late = parse_call(json.dumps(output))["upload"].events
    assert late[1]["frame_ms"] > 149
    assert [one["frame_ms"] for one in late[2:]] == pytest.approx(
        [one["frame_ms"] for one in fair[2:]])


@pytest.mark.parametrize("text", ["[]", "{}", '{"round_trips": []}', '{"round_trips": [1]}'])
def test_other_output_is_refused(text: str) -> None:
    """By the error that runners tell."""
    with pytest.raises(ParseError, match="irtt's JSON of the call"):
        parse_call(text)


def test_call_without_output_is_not_called_damaged() -> None:
    with pytest.raises(ParseError, match=r"^irtt wrote no JSON of the call: it was stopped"):
        parse_call("\n")
