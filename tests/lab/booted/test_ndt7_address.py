# SPDX-License-Identifier: GPL-3.0-or-later
"""NDT7 to the server's IPv6 address, which the crate's client looks up as a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.results.metrics.run import load_run

from ...warm_flent import run_flent_aqm

pytestmark = pytest.mark.lab


def test_address_in_place_of_a_name_measures(tmp_path: Path) -> None:
    """However it is written; with an early end, too, for which the client gets a URL."""
    done = run_flent_aqm(
        "lab", "--rate", "600", "--", "sh", "-c",
        "flent ndt7 -d 1 -H 2001:DB8:2:0::2; flent ndt7_download -d 1 -H 2001:db8:2::2 "
        "--test-parameter ndt7_early_exit=yes", cwd=tmp_path, timeout_s=300)
    assert "ERROR" not in done.stdout + done.stderr
    both, = tmp_path.glob("ndt7-*.flent.gz")
    early, = tmp_path.glob("ndt7_download-*.flent.gz")
    for way in ("download", "upload"):
        flow, = load_run(both).flows_of(way)
        assert flow.mean_mbps is not None
        assert 500 < flow.mean_mbps < 600
    window = load_run(early).load_window
    assert window is not None
    assert 3 < window.length_s < 5  # 250 MB
