# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm speedtest` with real netperf and ping, between two network namespaces."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any, Protocol

import pytest

from flent_aqm.base import defaults
from flent_aqm.base.errors import TestbedError
from flent_aqm.base.shell import run
from flent_aqm.results.data_file import read_data_file
from flent_aqm.sweep.speedtest import check_ping

pytestmark = pytest.mark.netns

RATE_MBPS = 20  # of the link in conftest.py


class Namespaces(Protocol):
    """See conftest.py."""

    client: str

    def flent_aqm(self, *words: str, env: dict[str, str]) -> Any: ...


def speedtest(namespaces: Namespaces, tools: str, *words: str) -> tuple[int, str, str]:
    """Exit status, output, and what was said on standard error."""
    process = namespaces.flent_aqm("speedtest", *words, env={"PATH": tools})
    output, error = process.communicate(timeout=120)
    return process.returncode, output, error


def numbers(report: str, name: str) -> list[float]:
    """The first number behind each line's name."""
    return [float(text) for text in re.findall(rf"^ *{name}: +([0-9.]+)", report, re.MULTILINE)]


def test_sequential_report_has_speed_latency_and_real_processors(
    namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """Two blocks, whose numbers fit the link; the upload starts when all downloads ended."""
    kept = tmp_path / "kept.flent.gz"
    status, output, error = speedtest(
        namespaces, tools, "-H", defaults.SERVER_IPV4, "-t", "4", "-n", "3", "-o", str(kept))
    assert (error, status) == ("", 0)
    assert "(IPv4)" in output
    assert "sequential, each with 3 simultaneous streams" in output
    # What three streams got back within 50 ms of queue, without headers. The rate of each is over
    # its own time, and who ends first leaves room to the others.
    for way in ("Download", "Upload"):
        assert 0.7 * RATE_MBPS < numbers(output, way)[0] < 1.05 * RATE_MBPS
    assert len(numbers(output, "Max")) == 2
    assert max(numbers(output, "Max")) > 5
    processors = len(os.sched_getaffinity(0))
    for number in range(processors):
        busy = numbers(output, f"cpu{number}")
        assert len(busy) == 2
        assert all(0 <= one <= 100 for one in busy)
    assert any(numbers(output, f"cpu{number}")[0] > 0 for number in range(processors))
    assert all(0 < share < 100 for share in numbers(output, "netperf"))
    meta = read_data_file(kept).series_meta
    downloads, uploads = ([meta[f"TCP {way}::{number}"] for number in (1, 2, 3)]
                          for way in ("download", "upload"))
    assert max(one["LOAD_END"] for one in downloads) < min(one["LOAD_START"] for one in uploads)


def test_concurrent_over_ipv6_after_the_idle_line(namespaces: Namespaces, tools: str) -> None:
    """A block without streams, and one with both directions; pings idle are quick."""
    status, output, error = speedtest(
        namespaces, tools, "-6", "--host", defaults.SERVER_IPV6, "-s", "-c", "3", "-i", "2")
    assert (error, status) == ("", 0)
    assert "Begin test with 2-second ping, 3-second transfer sessions." in output
    idle, both = output.split("Measure speed")
    assert numbers(idle, "Avg")[0] < 5 < numbers(both, "Max")[0]
    assert "Download" not in idle
    assert both.index("Download: ") < both.index("Upload: ") < both.index("Latency: ")
    assert both.count("Latency: ") == 1
    assert numbers(idle, "netperf") == [0]


def test_ping_that_could_not_be_sent_is_told_from_one_without_answer(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fping ends with 1 if nobody answers, with 4 if it may not open its socket."""
    fping = tmp_path / "fping"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for status, message in ((1, "none of 4 pings to 127.0.0.1 (IPv4) was answered"),
                            (4, "can't create socket")):
        fping.write_text(f"#!/bin/sh\necho \"can't create socket\" >&2\nexit {status}\n")
        fping.chmod(0o755)
        with pytest.raises(TestbedError, match=re.escape(message)):
            check_ping("127.0.0.1", 4)


@pytest.mark.parametrize(("words", "line"), [
    (["-H", defaults.CLIENT_IPV4],
     "no connection to a netperf server at 192.0.2.2 (IPv4, port 12865): Connection refused"),
    (["-H", "nowhere.invalid"], "no IPv4 address found for 'nowhere.invalid'"),
    (["-6", "-H", defaults.SERVER_IPV4], "no IPv6 address found for '198.51.100.2'"),
    (["-H", defaults.SERVER_IPV4, "-p", "192.0.2.77"], "none of 4 pings to 192.0.2.77 (IPv4) was"),
    (["-H", defaults.SERVER_IPV4, "-o", "here.gz"], "ends in .flent.gz"),
])
def test_what_cannot_be_measured_is_refused_in_one_line(
    namespaces: Namespaces, tools: str, words: list[str], line: str
) -> None:
    """Before anything is printed or sent."""
    status, output, error = speedtest(namespaces, tools, *words)
    assert (status, output) == (1, "")
    assert error.startswith("flent-aqm: ")
    assert line in error
    assert error.count("\n") == 1


def test_netperf_that_fails_is_quoted(
    namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """In one line, without a report; a missing one is named likewise."""
    fake = tmp_path / "netperf"
    fake.write_text("#!/bin/sh\necho 'no such luck'; exit 3\n")
    fake.chmod(0o755)
    status, output, error = speedtest(
        namespaces, f"{tmp_path}:{tools}", "-H", defaults.SERVER_IPV4, "-t", "1")
    assert status == 1
    assert "Mbps" not in output
    assert error == "flent-aqm: netperf ended with status 3: its output ends with 'no such luck'\n"


def test_killed_test_leaves_no_stream_behind(
    namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """Nor files."""
    process = namespaces.flent_aqm(
        "speedtest", "-H", defaults.SERVER_IPV4, "-t", "60",
        env={"PATH": tools, "TMPDIR": str(tmp_path)})
    for _ in range(300):
        if "netperf" in programs(namespaces.client):
            break
        time.sleep(0.1)
    assert "netperf" in programs(namespaces.client)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[1] == "flent-aqm: interrupted\n"
    assert process.returncode == 130
    for _ in range(100):  # the kernel ends them after kill() has returned
        if not programs(namespaces.client):
            break
        time.sleep(0.1)
    assert programs(namespaces.client) == []
    assert list(tmp_path.iterdir()) == []


def programs(namespace: str) -> list[str]:
    """Names of what runs in a namespace."""
    names = []
    for number in run(["ip", "netns", "pids", namespace]).split():
        try:
            names.append(Path(f"/proc/{number}/comm").read_text().strip())
        except OSError:
            continue
    return names
