# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm speedtest` and its tests in the virtual lab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.throughput import throughput_mbps

from ..warm_flent import run_flent_aqm

pytestmark = pytest.mark.lab

# A limit on the payload: 10 Mbit/s x 1448 / 1514, over IPv6 x 1428 / 1514.
PAYLOAD_MBPS = {4: 9.56, 6: 9.43}


def test_report_in_the_lab_is_that_of_the_link(tmp_path: Path) -> None:
    """Over both IP versions the speed is the link's payload rate; a deep drop-tail queue shows
    in the latency; the processors have a reason in place of numbers. Flent's test of the same
    name gives a file in which no part has failed."""
    commands = ("flent-aqm speedtest -H server -t 10",
                "flent-aqm speedtest -H server -i 15 -s 15",
                "flent-aqm speedtest -6 -H server -c 10 -n 2 -o kept.flent.gz",
                "flent speedtest_concurrent -H server -l 5 >/dev/null")
    done = run_flent_aqm("lab", "--rate", "10", "--", "sh", "-ec", "; ".join(commands),
                         cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\nData file: kept.flent.gz; for every metric: flent-aqm score "
                                "kept.flent.gz\n")
    assert read_data_file(tmp_path / "kept.flent.gz").metadata["IP_VERSION"] == 6
    one, two = done.stdout.split("(IPv6)")
    one, advised = one.split("and with -s or -c.\n")
    assert re.search(r"Busy (up|down)loads( or (up|down)loads)? add \d+ ms"
                     r"( and lose [\d.]+ % of the probes)?(, busy (up|down)loads \d+ ms)?: .* "
                     r"Set SQM in your router to "
                     r"[789](\.\d)?/[789](\.\d)? Mbit/s for downloads/uploads "
                     r"\(90 % of the ([89]\.\d|1\d)/([89]\.\d|1\d) that were measured\)",
                     " ".join(advised.split()))
    assert "measured one direction at a time" not in two
    for text, version in ((one, 4), (two, 6)):
        for way in ("Download", "Upload"):
            match = re.search(rf"{way}: +([0-9.]+) Mbps", text)
            assert match, text
            # netperf divides each stream's bytes by the stream's own time: 10 s, and until its
            # last byte has left the queue, which holds up to 1.2 s. A sum of such rates can
            # exceed the link's by what the shortest time lacks to the longest.
            assert 0.85 < float(match[1]) / PAYLOAD_MBPS[version] < 11.2 / 10
        reason = "[not measured: in the virtual lab computing takes no time]"
        assert f" CPU Load: {reason}" in text
        assert f" Overhead: {reason}" in text
        assert "cpu0" not in text
    assert max(map(float, re.findall(r"Max: +([0-9.]+)", one))) > 100
    data = read_data_file(next(tmp_path.glob("speedtest_concurrent*.flent.gz")))
    assert data.metadata["FAILED_RUNNERS"] == 0
    run = as_run(data)
    assert len(run.flows_of("download")) == len(run.flows_of("upload")) == 5
    assert throughput_mbps(run, "download") > 8
    assert {"Queues", "Ping (ms) UDP irtt", "Ping (ms) ICMP"} <= data.raw_values.keys()


def test_cross_traffic_beside_an_idle_test_ends_by_itself(tmp_path: Path) -> None:
    """There is no load whose end it could wait for: it is there when the load would be, and
    gone in the last five seconds."""
    done = run_flent_aqm("lab", "--rate", "10", "--", "flent", "speedtest_idle", "-H", "server",
                         "-l", "2", "--test-parameter", "cross_traffic=1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = read_data_file(next(tmp_path.glob("speedtest_idle*.flent.gz")))
    cross = data.metadata["SERIES_META"]["Cross upload"]
    # The receiver's time: it ends when the queue has drained, too.
    # Its start is random by up to 0.2 s, and the queue holds more than a second of what it sends.
    assert 6.9 < cross["LOAD_END"] - cross["LOAD_START"] < 7.6
    last = data.raw_values["Ping (ms) UDP irtt"][-1]["t"]
    assert 3.7 < last - cross["LOAD_END"] < 5.3
