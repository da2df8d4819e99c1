# SPDX-License-Identifier: GPL-3.0-or-later
"""What score and assert print of a small batch, as a whole: tests/golden/score."""

from __future__ import annotations

import pytest

from flent_aqm.cli import main
from tests.files import GOLDEN, ROOT, assert_as_kept

QUICK = "tests/golden/batches/quick"
ONE = f"{QUICK}/iperf3_upload-codel.flent.gz"
WORDS = {
    "one file": ["score", ONE],
    "folder": ["score", QUICK],
    "chosen": ["score", QUICK, "--metrics", "latency_loaded_p99_ms,throughput_upload_mbps"],
    "groups": ["score", QUICK, "--by", "aqm", "--metrics",
               "latency_loaded_p99_ms,throughput_upload_mbps"],
    "pooled": ["score", QUICK, "--by", "aqm", "--pool", "all", "--metrics",
               "latency_loaded_p99_ms,throughput_upload_mbps"],
    "groups, csv": ["score", QUICK, "--by", "aqm", "--pool", "all", "--format", "csv", "--metrics",
                    "latency_loaded_p99_ms,throughput_upload_mbps"],
    "groups, json": ["score", QUICK, "--by", "test", "--pool", "all", "--format", "json",
                     "--metrics", "latency_loaded_p99_ms"],
    "assert": ["assert", "p50(latency_loaded) < 10ms and throughput_upload_mbps > 1Mbit/s", QUICK],
    "assert by": ["assert", "p50(latency_loaded) < 10ms", QUICK, "--median-by", "aqm"],
}


@pytest.mark.parametrize("case", WORDS)
def test_output_is_as_kept(
        case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output, standard error and exit status."""
    monkeypatch.chdir(ROOT)
    status = main(WORDS[case])
    told = capsys.readouterr()
    assert_as_kept(GOLDEN / "score" / f"{case.replace(', ', '_').replace(' ', '_')}.json", {
        "status": status, "out": [line.rstrip() for line in told.out.splitlines()],
        "err": told.err.splitlines()})
