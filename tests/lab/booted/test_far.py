# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that are very far away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario

_RTT_S = 1200
_TRANSFER = """
import socket, subprocess, time
server = subprocess.Popen(["ip", "netns", "exec", "server", "python3", "-c",
    "import socket; c, _ = socket.create_server(('', 8000)).accept(); c.sendall(bytes(5000))"])
time.sleep(1)
began = time.time()
asked = socket.create_connection(("server", 8000))
size = 0
while found := asked.recv(65536):
    size += len(found)
print(size, time.time() - began)
"""


@pytest.mark.lab
def test_far_host_is_as_far_as_asked_for_pings_and_tcp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 minutes of round trip to the server and half an hour to dest2: to the microsecond, also
    for the first packet, over both versions of IP; and a transfer in three round trips, as TCP
    begins with one packet where it has repeated a SYN (RFC 5681, section 3.1)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "transfer.py").write_text(_TRANSFER)
    scenario = Scenario.from_settings({
        "base_delay_ms": _RTT_S * 1000, "dest2_delay_ms": 600_000})
    command = ("ping -c 2 -W 3000 server; ping -6 -c 1 -W 3000 server; ping -c 1 -W 4000 dest2; "
               "python3 transfer.py")
    with Lab(scenario, ["sh", "-c", command], servers=(),
             prelude=[apply_command(scenario)]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        output = lab.stdout.read_text()
    times_ms = [float(one) for one in re.findall(r"time=([0-9.]+) ms", output)]
    assert times_ms == pytest.approx([1_200_000] * 3 + [1_800_000], abs=1)
    size, took_s = output.splitlines()[-1].split()
    assert int(size) == 5000
    assert float(took_s) == pytest.approx(3 * _RTT_S, abs=1)


@pytest.mark.parametrize(("settings", "output"), [
    ({"base_delay_ms": "604800001"}, "expected 0 to 604800000"),
    ({"dest2_delay_ms": "1e12"}, "expected 0 to 604800000"),
    ({"modem_mbps": "5", "modem_up_buffer_ms": "10001"}, "expected 0 to 10000")])
def test_far_host_has_its_bounds(settings: dict[str, object], output: str) -> None:
    """7 days; a buffer is still 10 s at most."""
    with pytest.raises(ConfigError, match=output):
        Scenario.from_settings(settings)
