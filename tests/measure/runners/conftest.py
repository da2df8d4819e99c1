# SPDX-License-Identifier: GPL-3.0-or-later
"""The real Flent on the client of a network of namespaces, with the real servers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from flent_aqm.base import defaults
from flent_aqm.base.paths import find_cached
from flent_aqm.base.shell import find_program, run

RATE_MBPS = 20


@dataclass(frozen=True)
class Namespaces:
    """client and server, joined by one link of RATE_MBPS each way with 50 ms of queue."""

    client: str
    server: str

    def flent(self, *words: str, folder: Path, env: Mapping[str, str] | None = None
              ) -> subprocess.CompletedProcess[str]:
        """Run Flent on the client with folder as the data folder."""
        program = Path(sys.executable).with_name("flent")
        return subprocess.run(
            ["ip", "netns", "exec", self.client, program, *words, "-H", defaults.SERVER_IPV4,
             "-D", folder], cwd=folder, env={**os.environ, **(env or {})}, timeout=120,
            capture_output=True, text=True, check=False)

    def flent_aqm(self, *words: str, env: Mapping[str, str] | None = None
                  ) -> subprocess.Popen[str]:
        """Start flent-aqm on the client."""
        program = Path(sys.executable).with_name("flent-aqm")
        return subprocess.Popen(
            ["ip", "netns", "exec", self.client, program, *words],
            env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with all tools on it; fails where one is missing."""
    folder = tmp_path_factory.mktemp("bin")
    missing = []
    for name in ("flent", "irtt", "fping", "tcpdump", "iperf3", "ndt7-client", "tc",
                 "netperf", "netserver"):
        beside = Path(sys.executable).with_name(name)
        path = find_program(name) or find_cached("bin", name) or (
            beside if beside.exists() else None)
        if path is None:
            missing.append(name)
        else:
            (folder / name).symlink_to(path)
    if missing:
        pytest.fail(f"needs {', '.join(missing)}; see flent-aqm doctor")
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture(scope="session")
def namespaces(tools: str) -> Iterator[Namespaces]:
    """Two namespaces with servers in one; both, and the servers, are gone afterwards."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    both = Namespaces(f"aqm{os.getpid()}c", f"aqm{os.getpid()}s")
    started: list[subprocess.Popen[bytes]] = []
    try:
        _join(both)
        for words in (["iperf3", "-s", "-J", "-i", "0.2", "-p", str(defaults.IPERF3_PORT)],
                      ["iperf3", "-s", "-p", str(defaults.IPERF3_CROSS_PORT)],
                      ["irtt", "server", "-d", "0", "-i", "0"], ["netserver", "-D"],
                      [sys.executable, "-m", "flent_aqm.servers", "ndt7", "--no-tls",
                       "--ndt7-port", str(defaults.NDT7_PORT)]):
            started.append(subprocess.Popen(
                ["ip", "netns", "exec", both.server, *words], env={**os.environ, "PATH": tools},
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        _wait_for(both, {defaults.IPERF3_PORT, defaults.IPERF3_CROSS_PORT, defaults.NDT7_PORT,
                         defaults.NETPERF_PORT})
        yield both
    finally:
        for process in started:
            process.kill()
            process.wait()
        for name in (both.client, both.server):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _join(both: Namespaces) -> None:
    for name in (both.client, both.server):
        run(["ip", "netns", "add", name])
        run(["ip", "-n", name, "link", "set", "lo", "up"])
    run(["ip", "link", "add", "eth0", "netns", both.client, "type", "veth",
         "peer", "name", "eth0", "netns", both.server])
    for name, address, other, address6 in (
            (both.client, defaults.CLIENT_IPV4, defaults.SERVER_IPV4, defaults.CLIENT_IPV6),
            (both.server, defaults.SERVER_IPV4, defaults.CLIENT_IPV4, defaults.SERVER_IPV6)):
        run(["ip", "netns", "exec", name, "ethtool", "-K", "eth0", "tso", "off", "gso", "off"])
        run(["ip", "-n", name, "addr", "add", f"{address}/32", "peer", other, "dev", "eth0"])
        # The documentation prefix as a whole, so that they are neighbours.
        run(["ip", "-n", name, "addr", "add", f"{address6}/32", "dev", "eth0", "nodad"])
        run(["ip", "-n", name, "link", "set", "dev", "eth0", "up"])
        run(["tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
             f"{RATE_MBPS}mbit", "burst", "16k", "latency", "50ms"])


def _wait_for(both: Namespaces, ports: set[int]) -> None:
    for _ in range(300):
        listening = run(["ip", "netns", "exec", both.server, "ss", "-Hltn"])
        if all(f":{port} " in listening for port in ports):
            return
        time.sleep(0.1)
    raise AssertionError(f"the servers do not all listen; ss says:\n{listening}")
