# SPDX-License-Identifier: GPL-3.0-or-later
"""A token bucket with hardly a queue, and an NDT7 server that sends otherwise than by BBR."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flent_aqm.lab.guest_files import APPLY_IN_GUEST
from flent_aqm.lab.virtual import Lab
from flent_aqm.spec.scenario import Scenario

pytestmark = pytest.mark.lab


def _run(settings: dict[str, object], servers: tuple[str, ...], command: str) -> str:
    with Lab(Scenario.from_settings(settings), ["sh", "-c", command], servers=servers,
             cwd=Path("/"), prelude=[[".", APPLY_IN_GUEST]]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        return lab.stdout.read_text()


@pytest.mark.parametrize(("burst_ms", "least_pct", "most_pct"), [(600, 0, 0), (50, 70, 95)])
def test_policer_lets_its_bucket_through_and_drops_the_rest(
        burst_ms: float, least_pct: float, most_pct: float) -> None:
    """500 kB at ten times the rate: the bucket of 600 ms has 750 kB, that of 50 ms has 63."""
    printed = _run(
        {"shaper": "tbf", "tbf_burst_ms": burst_ms, "aqm": "bfifo", "aqm_limit": 3028,
         "rate_mbps": 10}, ("iperf3",), "iperf3 -c server -u -b 100M -n 500K -J")
    assert least_pct <= json.loads(printed)["end"]["sum"]["lost_percent"] <= most_pct


@pytest.mark.parametrize("name", ["bbr", "reno"])
def test_ndt7_server_sends_by_the_congestion_control_of_the_key(name: str) -> None:
    """As the kernel of the server reports of the connection."""
    printed = _run(
        {"ndt7_cc": name, "rate_mbps": 5}, ("ndt7-cleartext",),
        "ndt7-client --server server:8080 --no-locate --no-tls --no-upload >/dev/null & sleep 2;"
        "ip netns exec server ss -Htin sport = :8080")
    assert name in printed.split()
