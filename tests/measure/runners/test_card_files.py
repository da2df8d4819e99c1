# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of modelled cards, which a runner opens in Flent's own process."""

from __future__ import annotations

import errno
import os
import socket
import struct
import tempfile
import threading
from pathlib import Path

import pytest

from flent_aqm.measure.runners import qdisc


@pytest.mark.parametrize(("names", "why"), [
    (("card", "probes"), "the kernel answered the request for its qdiscs with an error: Oper"),
    (("card",), "No such file or directory")])
def test_files_of_the_cards_are_closed_at_the_end(
        names: tuple[str, ...], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if one of them is missing, or the sampling fails."""
    for name in names:
        (tmp_path / name).write_text("")
    ours, kernels = socket.socketpair()
    kernels.send(struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -errno.EPERM))
    monkeypatch.setattr(qdisc, "_router_socket", lambda: ours)
    monkeypatch.setattr(qdisc, "_CARDS", str(tmp_path))
    monkeypatch.setattr(socket, "if_nametoindex", lambda name: 1)
    runner = qdisc.AqmQdiscRunner.__new__(qdisc.AqmQdiscRunner)
    runner.cards, runner.run_for_s, runner.interval_s = True, 1.0, 0.1
    runner.kill_event, runner.stopped_by = threading.Event(), ""
    runner.stderr = None  # type: ignore[assignment]  # Flent looks whether there is one
    with kernels, tempfile.TemporaryFile("w+") as runner.stdout:
        runner._run_tool()
    assert why in runner.stopped_by
    still_open = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()
                  and os.readlink(path).startswith(f"{tmp_path}/")]
    assert still_open == []
