# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm lab --record`, and a batch with a command of one's own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.throughput import fairness, throughput_mbps
from flent_aqm.results.share.allowed import allowed_metadata
from flent_aqm.results.share.secrets import Secrets
from flent_aqm.sweep.replay import recorded

pytestmark = pytest.mark.lab

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[3]
_SERVER = """
import socket, sys, time
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("0.0.0.0", 4433))
data, address = udp.recvfrom(100)
for number in range(int(data)):
    udp.sendto(bytes(1200), address)
    time.sleep(0.001)
udp.sendto(b"end", address)
"""
_CLIENT = """
import socket, sys
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.sendto(sys.argv[1].encode(), ("server", 4433))
count = 0
while (data := udp.recv(2000)) != b"end":
    count += len(data)
print(count)
print("done", file=sys.stderr)
open("kept.txt", "w").write(str(count))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a UDP server, its client, and a data file of both."""
    folder = tmp_path_factory.mktemp("record")
    (folder / "serve.py").write_text(_SERVER)
    (folder / "ask.py").write_text(_CLIENT)
    ended = lab(folder, "--aqm", "fq_codel", "--rate", "20", "--delay", "40",
                "--server", "python3 serve.py", "--record", "run.flent.gz",
                "--", "python3", "ask.py", "3000")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "3600000\n", "done\n")
    return folder


def lab(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `flent-aqm lab` in a folder, as a user does, without a terminal."""
    return subprocess.run([BIN / "flent-aqm", "lab", *words], capture_output=True, check=False,
                          cwd=folder, timeout=300, stdin=subprocess.DEVNULL, text=True)


def flow_of(path: Path, name: str) -> Any:
    """Return what the capture tells of a flow."""
    return read_data_file(path).series_meta[name]["FLOW"]


def test_capture_tells_the_flow_of_a_command_over_udp(folder: Path) -> None:
    """3,000 packets of 1,200 bytes a millisecond apart, in 3.2 to 3.4 s."""
    run = load_run(folder / "run.flent.gz")
    (flow,) = run.speed_test
    assert (flow.name, flow.direction) == ("UDP 4433 download", "download")
    about = flow_of(folder / "run.flent.gz", flow.name)
    assert (about["packets"], about["payload_bytes"]) == (3001, 3_600_003)
    assert flow.end_s - flow.start_s == pytest.approx(3.2, abs=0.2)
    assert throughput_mbps(run, "download") == pytest.approx(
        28.8 / (flow.end_s - flow.start_s), rel=0.001)
    assert run.loaded().answered_ms.size > 250
    assert run.loaded().answered_ms.min() == pytest.approx(40, abs=0.1)


def test_command_writes_files_beside_the_data_file(folder: Path) -> None:
    """As with `lab` alone, and nothing of the lab's own is left."""
    assert (folder / "kept.txt").read_text() == "3600000"
    assert {path.name for path in folder.iterdir()} >= {"run.flent.gz", "kept.txt", "ask.py"}
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_same_command_gives_the_same_samples(folder: Path) -> None:
    """Another boot, another file."""
    ended = lab(folder, "--aqm", "fq_codel", "--rate", "20", "--delay", "40",
                "--server", "python3 serve.py", "--record", "again.flent.gz",
                "--", "python3", "ask.py", "3000")
    assert ended.returncode == 0
    digests = {read_data_file(folder / name).metadata["AQM"]["samples_sha256"]
               for name in ("run.flent.gz", "again.flent.gz")}
    assert len(digests) == 1


def test_report_plots_score_and_assert_read_it(folder: Path) -> None:
    """As every data file."""
    for words in (["flent-aqm", "report", "run.flent.gz", "-o", "report.html"],
                  ["flent-aqm", "score", "run.flent.gz"],
                  ["flent-aqm", "assert", "throughput_download_mbps > 7Mbit/s", "run.flent.gz",
                   "--junit", "junit.xml"],
                  ["flent", "-p", "totals", "-o", "totals.png", "run.flent.gz"],
                  ["flent", "-p", "latency_and_throughput", "-o", "both.png", "run.flent.gz"]):
        ended = subprocess.run([BIN / words[0], *words[1:]], cwd=folder, capture_output=True,
                               text=True, check=False, timeout=120)
        assert ended.returncode == 0, ended.stderr
        assert "ERROR" not in ended.stderr
    mbps = throughput_mbps(load_run(folder / "run.flent.gz"), "download")
    assert f"{mbps:.2f}" in (folder / "report.html").read_text()


def test_replay_refuses_a_command_that_a_file_chooses(folder: Path) -> None:
    """It could be any command. The shared file doesn't have it."""
    with pytest.raises(BadResult, match=r"with your rights: .*client_program '.*ask\.py.*'; if .* "
                                        "with --run-programs"):
        recorded.read(folder / "run.flent.gz", folder / "new")
    metadata = read_data_file(folder / "run.flent.gz").metadata
    kept, _removed = allowed_metadata(metadata, Secrets(metadata))
    assert kept["AQM"]["requested"]["client_program"] == "removed"
    assert "ask.py" not in str(kept)


def test_own_file_is_repeated_and_explained_when_its_commands_are_allowed(folder: Path) -> None:
    """From the folder in which its programs are: the same samples, and where a probe's time
    went."""
    for words in (["replay"], ["why", "--what-if", "none"]):
        ended = subprocess.run(
            [BIN / "flent-aqm", *words, "run.flent.gz", "--run-programs"], cwd=folder,
            capture_output=True, text=True, check=False, timeout=300)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("identical" if words == ["replay"] else "Run "), ended


@pytest.mark.parametrize("control", ["cubic"])
def test_retransmissions_and_fairness_of_tcp_come_from_the_capture(
    control: str, tmp_path: Path
) -> None:
    """iperf3 counts what its sender sent again; the capture on the client counts the same for an
    upload. A Cubic flow of cross traffic shares the line, whose queue is short enough for losses
    within 10 s on any kernel."""
    ended = lab(tmp_path, "--aqm", "no_aqm", "--rate", "20", "--delay", "40", "--set",
                "cross_traffic=1", "--set", "aqm_limit=200", "--record", "run.flent.gz",
                "--server", "iperf3 -s -p 5555",
                "--", "sh", "-c", f"iperf3 -c server -p 5555 -t 10 -J -C {control} >iperf3.json")
    assert ended.returncode == 0, ended.stderr
    told = int(re.findall(r'"retransmits":\s*(\d+)',
                          (tmp_path / "iperf3.json").read_text())[-1])
    assert told > 0
    flow = flow_of(tmp_path / "run.flent.gz", "TCP 5555 upload")
    assert flow["retransmitted_packets"] == pytest.approx(told, abs=max(3, told * 0.02))
    run = load_run(tmp_path / "run.flent.gz")
    assert len(run.sharing("upload")) == 2
    assert 0.5 < fairness(run, "upload") <= 1


def block(name: str) -> str:
    """Return the code block of docs/ci.md behind the comment that begins with `name`."""
    page = (ROOT / "docs" / "ci.md").read_text()
    return re.split(r"```\w*\n", page.split(f"<!-- {name}", 1)[1])[1].split("```")[0]


_SERVER_TCP = """
import socket, sys
listening = socket.create_server(("0.0.0.0", int(sys.argv[1])))
while True:
    connection, _ = listening.accept()
    connection.recv(10)
    connection.sendall(bytes(6_000_000))
    connection.close()
"""
_CLIENT_TCP = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
connection.sendall(b"x")
count = 0
while data := connection.recv(65536):
    count += len(data)
print(count)
"""


def write_programs(folder: Path) -> None:
    """Write server and client of a download of 6 MB over TCP, under the page's names."""
    for name, text in (("server", _SERVER_TCP), ("client", _CLIENT_TCP)):
        (folder / f"{name}.py").write_text(text)
        program = folder / name
        program.write_text(f"#!/usr/bin/env python3\n{text}")
        program.chmod(0o755)


def test_batch_of_the_page_measures_a_command_over_queues_and_rates(tmp_path: Path) -> None:
    """Its output is in each run's log."""
    write_programs(tmp_path)
    (tmp_path / "mine.batch").write_text(block("a test runs this batch"))
    ended = subprocess.run([BIN / "flent", "-B", "mine.batch"], cwd=tmp_path, timeout=600,
                           capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    files = sorted((tmp_path / "results").glob("*.flent.gz"))
    assert len(files) == 8
    for path in files:
        run = load_run(path)
        assert throughput_mbps(run, "download") > 0.6 * float(str(run.settings["rate_down_mbps"]))
        log = path.with_name(path.name.replace(".flent.gz", ".log")).read_text()
        assert "--- the command on the client\n6000000\n" in log
        assert not list((tmp_path / "results").glob(".flent-aqm*"))


def run_shell(folder: Path, text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run bash as a CI system does, with this environment's programs first on PATH."""
    return subprocess.run(
        ["bash", "-e", "-c", text], cwd=folder, timeout=600, capture_output=True, text=True,
        check=False, env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **variables})


def test_action_runs_a_workflow_reports_and_checks(tmp_path: Path) -> None:
    """The page's GitHub workflow as far as it goes without GitHub: the action's own steps, with
    the page's inputs."""
    workflow = yaml.safe_load(block("github"))
    given = workflow["jobs"]["latency"]["steps"][-1]["with"]
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert given.keys() <= action["inputs"].keys()
    steps = {step.get("id", step["name"]): step for step in action["runs"]["steps"]}
    write_programs(tmp_path)
    output = tmp_path / "output"
    key = run_shell(tmp_path, steps["key"]["run"], ACTION=str(ROOT), GITHUB_OUTPUT=str(output))
    assert (key.returncode, key.stderr) == (0, "")
    assert re.fullmatch(r"hash=[0-9a-f]{16}\n", output.read_text())
    ran = run_shell(tmp_path, steps["run"]["run"], COMMANDS=given["run"], RESULTS="kept",
                    CONDITION=given["condition"], GITHUB_OUTPUT=str(output))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert output.read_text().endswith(f"results={tmp_path}/kept\n")
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept == {"report.html", "junit.xml", *(
        f"{aqm}.flent.gz" for aqm in ("no_aqm", "codel", "fq_codel", "cake"))}
    for commands, condition, why in (
            ("exit 7", "", ""), ("true", "throughput_download_mbps > 1Mbit/s", "no data file"),
            ("true", "throughput_download_mbps > 19Mbit/s", "fails for 4 of 4 files")):
        folder = "kept" if "19" in condition else "empty"
        failed = run_shell(tmp_path, steps["run"]["run"], COMMANDS=commands, RESULTS=folder,
                           CONDITION=condition, GITHUB_OUTPUT=str(output))
        assert failed.returncode == (7 if commands == "exit 7" else 1)
        assert why in failed.stdout + failed.stderr
    # Every expression names an input, a step or a part of the runner's context.
    for name in re.findall(r"\$\{\{ (.*?) \}\}", (ROOT / "action.yml").read_text()):
        assert re.fullmatch(r"github\.action_path|runner\.(os|arch)|inputs\.(\w+)|"
                            r"steps\.(key|run)\.outputs\.(hash|results)", name), name
        if name.startswith("inputs."):
            assert name.removeprefix("inputs.") in action["inputs"]


def test_gitlab_job_runs_reports_and_checks(tmp_path: Path) -> None:
    """The page's job as far as it goes without GitLab: its script. The package has the file that
    the job installs programs with."""
    job = yaml.safe_load(block("gitlab"))["latency"]
    write_programs(tmp_path)
    script = [line for line in job["script"] if not line.startswith("make ")]
    ran = run_shell(tmp_path, "\n".join(script))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).is_file()
    (packages,) = [line for line in job["before_script"] if "packages.sh" in line]
    found = run_shell(tmp_path, packages.replace("/opt/flent-aqm/bin/", "").replace("sh ", "ls ", 1)
                      .removesuffix(" run"))
    assert found.stdout.endswith("packages.sh\n")


@pytest.mark.parametrize(("words", "status", "why"), [
    (["--record", "x.flent.gz", "--", "sh", "-c", "echo no; exit 3"], 3,
     ("x.flent.gz: not written, because the command ended with status 3; with --record "
      "the lab's own servers don't run: if the command needs one, give it with --server")),
    (["--record", "x.flent.gz", "--", "true"], 1, "no packet of the test was captured on eth0"),
    (["--record", "x.flent.gz", "--time-limit", "3", "--", "sleep", "infinity"], 1,
     "the command still ran after 3 s and was killed; have it end, or allow more time"),
    (["--record", "x.flent.gz", "--", "yes"], 1,
     "the command on the client printed more than 64 MiB"),
    (["--record", "x.txt", "--", "true"], 1, "expected a file whose name ends in .flent.gz"),
    (["--record", ".flent.gz", "--", "true"], 1,
     "--record: '.flent.gz' has no name before .flent.gz; expected a file such as run.flent.gz"),
    (["--record", "no/where.flent.gz/x.flent.gz", "--", "./nothing"], 1,
     "COMMAND: there is no program './nothing'; give the path of one"),
    (["--record", "x.flent.gz", "--time-limit", "soon", "--", "true"], 1,
     "--time-limit: 'soon'; expected whole seconds, from 1 to 86400"),
    (["--record", "x.flent.gz"], 1, "--record: there is no command to measure"),
    (["--time-limit", "3", "--", "true"], 1, "--time-limit: it limits only"),
    (["--wall-limit", "6", "--", "sleep", "infinity"], 1,
     "the lab was stopped after 6 s of wall time"),
])
def test_command_that_can_not_be_measured_is_told_in_one_line(
    tmp_path: Path, words: list[str], status: int, why: str
) -> None:
    """With an exit status, and nothing is left behind."""
    ended = lab(tmp_path, *words)
    assert ended.returncode == status
    assert why in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == []


_SEGMENTS = """
import socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("0.0.0.0", 4433))
address = udp.recvfrom(100)[1]
udp.setsockopt(socket.IPPROTO_UDP, 103, 1200)  # UDP_SEGMENT
for number in range(20):
    udp.sendto(bytes(12_000), address)
udp.setsockopt(socket.IPPROTO_UDP, 103, 0)
udp.sendto(b"end", address)
"""


@pytest.mark.parametrize(("host_gso", "lengths"), [
    ("0", {"1200": 200, "3": 1}), ("1", {"12000": 20, "3": 1})])
def test_packets_that_linux_divides_leave_the_host_as_host_gso_says(
    tmp_path: Path, host_gso: str, lengths: dict[str, int]
) -> None:
    """QUIC stacks hand over many packets at once. The router gets each alone, unless host_gso has
    it get all at once."""
    (tmp_path / "serve.py").write_text(_SEGMENTS)
    (tmp_path / "ask.py").write_text(_CLIENT.replace("udp.recv(2000)", "udp.recv(65535)"))
    watch = ("ip netns exec router timeout 3 tcpdump -nli up -Q in udp port 4433 >seen.txt "
             "2>/dev/null & sleep 1; python3 ask.py 20; wait")
    ended = lab(tmp_path, "--rate", "20", "--set", f"host_gso={host_gso}", "--server",
                "python3 serve.py", "--", "sh", "-c", watch)
    assert (ended.returncode, ended.stdout) == (0, "240000\n"), ended.stderr
    assert Counter(re.findall(r" > .* length (\d+)$", (tmp_path / "seen.txt").read_text(),
                              re.MULTILINE)) == lengths
