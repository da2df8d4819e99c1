# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole runs by the real Flent, over a link between two network namespaces."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

import pytest

from flent_aqm.base import defaults
from flent_aqm.base.paths import SYSTEM_CACHE
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.reading.series import ProbeTool

pytestmark = pytest.mark.netns


class Namespaces(Protocol):
    """See conftest.py."""

    client: str

    def flent(self, *words: str, folder: Path, env: dict[str, str]) -> Any: ...


def run_flent(namespaces: Namespaces, tools: str, folder: Path, *words: str) -> dict[str, Any]:
    """Run a test with margins of 1 s; gives the content of its data file."""
    folder.mkdir(exist_ok=True)
    ended = namespaces.flent(*words, "-d", "1", folder=folder, env={"PATH": tools})
    files = list(folder.glob("*.flent.gz"))
    assert len(files) == 1, ended.stdout + ended.stderr
    with gzip.open(files[0], "rt") as file:
        content: dict[str, Any] = json.load(file)
    return content


def megabits(samples: list[dict[str, Any]], key: str) -> float:
    return float(sum(one[key] * one["dur"] for one in samples if key in one))


def errors(data: dict[str, Any]) -> dict[str, list[str]]:
    return {name: about["ERROR"] for name, about in data["metadata"]["SERIES_META"].items()
            if "ERROR" in about}


def test_iperf3_both_ways_with_cross_traffic_gives_every_series(
    namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """All series are there, the capture agrees with the tool, cross traffic is told apart."""
    data = run_flent(namespaces, tools, tmp_path, "iperf3_bidirectional", "-l", "4",
                     "--test-parameter", "cross_traffic=yes",
                     "--test-parameter", "cross_cong_control=reno",
                     "--test-parameter", "keep_pcap=yes")
    assert errors(data) == {}
    assert data["metadata"]["FAILED_RUNNERS"] == 0
    meta, raw = data["metadata"]["SERIES_META"], data["raw_values"]
    for way in ("upload", "download"):
        iperf3 = meta[f"TCP {way}"]["IPERF3"]
        # What was received is in the capture, and at most what was sent is.
        captured = megabits(raw["Capture"], way)
        assert iperf3["received_bytes"] * 8e-6 * 0.98 < captured
        assert captured < iperf3["sent_bytes"] * 8e-6 * 1.05
        assert megabits(raw["Capture"], f"cross_{way}") > 1
        assert any("tcp_rtt" in one for one in raw[f"TCP {way}"])
        assert any("tcp_cwnd" in one for one in raw[f"TCP {way}"])
        # Five seconds earlier, and until the end.
        assert 4 < meta[f"TCP {way}"]["LOAD_START"] - meta[f"Cross {way}"]["LOAD_START"] < 7
        assert meta[f"Cross {way}"]["LOAD_END"] > meta[f"TCP {way}"]["LOAD_END"] - 0.5
    assert meta["Cross upload"]["COMMAND"].endswith("-C reno")
    assert "-C" not in meta["TCP upload"]["COMMAND"].split()
    assert meta["Capture"]["CAPTURE"]["complete"]
    assert (tmp_path / meta["Capture"]["CAPTURE"]["file"]).stat().st_size > 100_000
    assert len(raw["Ping (ms) UDP irtt"]) > 50 * data["metadata"]["TOTAL_LENGTH"]


def test_ndt7_down_and_up_gives_tcp_info_and_the_clients_result(
    namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """The upload comes after the download; each has throughput and the server's RTT."""
    data = run_flent(namespaces, tools, tmp_path, "ndt7", "-l", "3")
    assert errors(data) == {}
    meta, raw = data["metadata"]["SERIES_META"], data["raw_values"]
    assert meta["TCP download"]["LOAD_END"] < meta["TCP upload"]["LOAD_START"]
    for way in ("download", "upload"):
        about = meta[f"TCP {way}"]
        assert about["NDT7"]["throughput_mbps"] == about["MEAN_VALUE"] > 1
        own = about["NDT7"]["summary_of_client"][way.capitalize()]
        assert own["ThroughputMbps"] == pytest.approx(about["MEAN_VALUE"])
        assert {"tcp_rtt", "tcp_min_rtt", "tcp_rtt_var", "bytes_acked", "bytes_sent",
                "bytes_retrans", "bytes_received"} <= {key for one in raw[f"TCP {way}"]
                                                       for key in one}
    assert data["metadata"]["TOTAL_LENGTH"] == 22
    assert list(tmp_path.glob("*.pcap")) == []


def test_tools_of_set_up_are_found_without_being_on_path(
    namespaces: Namespaces, tmp_path: Path
) -> None:
    """By Flent's own runners, too: irtt and ndt7-client stand in the cache alone."""
    system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    data = run_flent(namespaces, system, tmp_path, "ndt7", "-l", "2")
    assert errors(data) == {}
    assert len(data["raw_values"]["Ping (ms) UDP irtt"]) > 100


FPING_THAT_PASSES_FLENTS_CHECK = """\
echo '  -D  print timestamp before each output line'
[ "$2" = -p ] || echo "[$(date +%s.%N)] host : [0], 64 bytes, 0.05 ms (0.05 avg, 0% loss)"
"""


@pytest.mark.parametrize(("tool", "series", "script"), [
    ("irtt", "Ping (ms) UDP irtt", "[ $1 = help ] && echo --help; [ $2 = -n ] || echo not JSON"),
    ("iperf3", "TCP upload", "echo not JSON"),
    ("iperf3", "TCP upload", "echo broken >&2; exit 9"),
    ("fping", "Ping (ms) ICMP", FPING_THAT_PASSES_FLENTS_CHECK),
    ("tcpdump", "Capture", "echo no permission >&2; exit 1"),
])
def test_tool_that_fails_is_named_in_the_data_file(
    namespaces: Namespaces, tools: str, tmp_path: Path, tool: str, series: str, script: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its series is empty and says why, in one line; what doesn't need it is there."""
    # What the user's set-up has brought comes first.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = tmp_path / "flent-aqm" / "bin" / tool
    fake.parent.mkdir(parents=True)
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    data = run_flent(namespaces, tools, tmp_path / "data", "iperf3_upload", "-l", "2")
    # Without a load there is nothing to capture, either.
    assert set(errors(data)) == ({series, "Capture"} if tool == "iperf3" else {series})
    assert len(errors(data)[series]) == 1
    assert "\n" not in errors(data)[series][0]
    assert data["metadata"]["FAILED_RUNNERS"] == len(errors(data))
    assert not data["raw_values"][series]


def test_only_bulk_traffic_has_a_congestion_control_and_a_direction(
    namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """A video has those of its own."""
    for name in ("cross_direction=upload", "cross_cong_control=bbr"):
        ended = namespaces.flent("iperf3_upload", "--test-parameter", "cross_traffic=video",
                                 "--test-parameter", name, folder=tmp_path, env={"PATH": tools})
        assert f"{name.split('=')[0]}: only cross_traffic=bulk takes it" in ended.stderr
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["ndt7_client", "ndt7_early_exit"])
def test_browser_takes_no_option_of_other_clients(
    name: str, namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """It took them without a word, and did nothing."""
    ended = namespaces.flent("ndt7_browser", "--test-parameter", f"{name}=yes", folder=tmp_path,
                             env={"PATH": tools})
    assert ended.returncode != 0
    assert f"{name}: M-Lab's client in the browser has no such option; leave it out" in ended.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("parameter", [
    "cross_traffic=maybe", "cross_direction=sideways", "streams=0", "iperf3_port=70000"])
def test_bad_test_parameter_is_refused_in_one_line(
    namespaces: Namespaces, tools: str, tmp_path: Path, parameter: str
) -> None:
    """Before anything runs, naming the parameter and its value."""
    ended = namespaces.flent("iperf3_upload", "--test-parameter", parameter, folder=tmp_path,
                             env={"PATH": tools})
    name, value = parameter.split("=")
    assert name in ended.stderr
    assert value in ended.stderr
    assert "Traceback" not in ended.stderr
    assert os.listdir(tmp_path) == []


def test_missing_tool_is_refused_in_one_line(
    namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """No other NDT7 client is taken for the two that are known."""
    fake = tmp_path / "flent-aqm" / "bin" / "ndt7-client"
    fake.parent.mkdir(parents=True)
    fake.write_text("#!/bin/sh\necho hello\n")
    fake.chmod(0o755)
    ended = namespaces.flent("ndt7", folder=tmp_path, env={"PATH": tools,
                                                             "XDG_CACHE_HOME": str(tmp_path)})
    assert "neither M-Lab's NDT7 client nor that of the Rust crate" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_latency_without_irtt_is_pings_and_flent_says_what_that_costs(
    namespaces: Namespaces, tools: str, tmp_path: Path
) -> None:
    """Flent takes netperf's UDP_RR, which can't count losses; with irtt no word is said."""
    without = tmp_path / "bin"
    without.mkdir()
    for program in Path(tools.partition(":")[0]).iterdir():
        if program.name != "irtt":
            (without / program.name).symlink_to(program.resolve())
    system = ":".join(path for path in os.environ["PATH"].split(":")
                      if not Path(path, "irtt").exists())
    flent = Path(sys.executable).with_name("flent")
    # Set-up's own irtt is found in its cache: there is none for this process.
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0"; exec "$@"',
              str(SYSTEM_CACHE)]
    said = {}
    for name, path, before in (("with", tools, []), ("without", f"{without}:{system}", hidden)):
        folder = tmp_path / name
        folder.mkdir()
        ended = subprocess.run(
            ["ip", "netns", "exec", namespaces.client, *before, flent, "rrul_be", "-l", "3", "-d",
             "1", "-H", defaults.SERVER_IPV4, "-D", folder], cwd=folder, check=True,
            capture_output=True, text=True, timeout=120, env={
                **os.environ, "PATH": path, "XDG_CACHE_HOME": str(tmp_path / "no")})
        said[name] = ended.stdout + ended.stderr
    words = "UDP_RR stops after a lost packet, and can't count losses"
    assert words in said["without"]
    assert words not in said["with"]
    tools_used = {}
    for name in said:
        file, = (tmp_path / name).glob("*.flent.gz")
        run = load_run(file)
        tools_used[name] = (run.probe.tool, {one.tool for one in run.probes})
    assert tools_used == {"with": (ProbeTool.IRTT, {ProbeTool.IRTT, ProbeTool.PING}),
                          "without": (ProbeTool.PING, {ProbeTool.PING, ProbeTool.UDP_RR})}
