# SPDX-License-Identifier: GPL-3.0-or-later
"""From which end of an iperf3 test a series is taken, with what real iperf3 printed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flent_aqm.measure.parsers.iperf3 import parse_iperf3
from flent_aqm.measure.runners.iperf3 import one_direction
from tests import files

GOLDEN = files.GOLDEN / "iperf3"


def printed(name: str) -> tuple[str, dict[str, Any]]:
    text = (GOLDEN / f"{name}.json").read_text()
    return text, json.loads(text)


def test_upload_is_what_the_server_received() -> None:
    """Not what the client wrote to its socket, which goes up and down with the buffer."""
    text, whole = printed("upload-3.12")
    _, raw, meta = one_direction(parse_iperf3(text), "upload", 1000.0)
    theirs = [one["sum"]["bits_per_second"] / 1e6
              for one in whole["server_output_json"]["intervals"]]
    assert [one["val"] for one in raw if "val" in one] == pytest.approx(theirs[:10])
    written = [one["sum"]["bits_per_second"] / 1e6 for one in whole["intervals"]]
    assert max(written) > 1.1 * max(theirs[1:])
    assert meta["IPERF3"]["intervals"] == "receiver"
    assert meta["MEAN_VALUE"] == whole["end"]["sum_received"]["bits_per_second"] / 1e6
    # The sender's state is still there, in samples of its own.
    assert sum("tcp_cwnd" in one for one in raw) == len(whole["intervals"])


@pytest.mark.parametrize("name", ["upload-3.18", "interrupted-3.12"])
def test_upload_without_the_servers_words_says_that_it_is_the_senders(name: str) -> None:
    """The server has no -J, or the client was stopped before it heard of it."""
    text, whole = printed(name)
    _, raw, meta = one_direction(parse_iperf3(text), "upload", 1000.0)
    assert meta["IPERF3"]["intervals"] == "sender"
    assert [one["val"] for one in raw if "val" in one] == pytest.approx(
        [one["sum"]["bits_per_second"] / 1e6 for one in whole["intervals"]
         if one["sum"]["seconds"] > 0.01])
    # The sender's state is in samples of its own, and in no other.
    assert not [one for one in raw if "val" in one and one.keys() != {"t", "dur", "val"}]
    states = [one for one in raw if "val" not in one]
    assert [one["retransmits"] for one in states] == [
        one["sum"]["retransmits"] for one in whole["intervals"] if one["sum"]["seconds"] > 0.01]


def test_download_is_what_the_client_received() -> None:
    """As it was: the client is the receiver."""
    text, whole = printed("download-3.18")
    _, raw, meta = one_direction(parse_iperf3(text), "download", 1000.0)
    assert [one["val"] for one in raw if "val" in one] == pytest.approx(
        [one["sum"]["bits_per_second"] / 1e6 for one in whole["intervals"]])
    assert meta["IPERF3"]["intervals"] == "receiver"


@pytest.mark.parametrize("name", ["bidirectional-3.12", "bidirectional-3.18"])
def test_download_beside_an_upload_is_over_its_own_time(name: str) -> None:
    """iperf3 has the client's bytes over the server's time, which is longer."""
    text, whole = printed(name)
    meta = one_direction(parse_iperf3(text), "download", 1000.0)[2]
    received = [one for interval in whole["intervals"] for one in interval["streams"]
                if not one["sender"] and one["seconds"] > 0.01]
    own_mbps = sum(one["bytes"] for one in received) * 8e-6 / received[-1]["end"]
    assert meta["MEAN_VALUE"] == pytest.approx(own_mbps, rel=1e-6)
    assert own_mbps > whole["end"]["sum_received_bidir_reverse"]["bits_per_second"] / 1e6
