# SPDX-License-Identifier: GPL-3.0-or-later
"""A server behind ssh that can't add delay. What it answers is made here: the lab's has netem."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flent_aqm.base.errors import TestbedError
from flent_aqm.parts.ssh import probe
from flent_aqm.parts.ssh.server import SshServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> SshServer:
    """A server whose kernel has no netem."""
    made = SshServer("ssh://root@10.0.0.2", "10.0.1.2")
    answer = probe.RouterProperties(
        {"uid": "0", "tc": "tc utility", "free_kb": "90000"}, "mgmt", {}, {"10.0.1.2": "eth0"},
        {"netem": "its kernel has no module of that name"})
    monkeypatch.setattr(made._connection, "start", lambda: None)
    monkeypatch.setattr(probe, "probe", lambda *_, **__: answer)
    return made


def test_server_that_cannot_delay_is_refused_before_the_first_run(server: SshServer) -> None:
    """It failed in the first run."""
    with pytest.raises(TestbedError, match=r"10\.0\.0\.2: base_delay_ms: delay is added by netem, "
                       r"which can't be used on the server \(its kernel has no module of that"):
        server.check(delays=True)


def test_server_need_not_delay_without_base_delay(server: SshServer) -> None:
    server.check(delays=False)


def test_delay_is_set_again_after_one_that_failed(
        server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command removes the old delay first, so that the next run would be measured without."""
    asked: list[str] = []

    def run(*words: str) -> str:
        asked.append(words[-1])
        if words[-1] == "20000":
            raise TestbedError("no cls_matchall")
        return ""

    server._session = SimpleNamespace(token="x")  # type: ignore[assignment]
    monkeypatch.setattr(server._connection, "run", run)
    server.make_ready([], 20)
    with pytest.raises(TestbedError, match="no cls_matchall"):
        server.make_ready([], 40)
    for _ in range(2):
        server.make_ready([], 20)
    assert asked == ["10000", "20000", "10000"]
