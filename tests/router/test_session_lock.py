# SPDX-License-Identifier: GPL-3.0-or-later
"""Several sweeps that begin at one router at one moment, by the router's own shell code."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir

ROUNDS = 25


def _begin(state: Path, token: str) -> subprocess.Popen[str]:
    """As on_router.sh puts its files together, with another folder for the state."""
    defaults, *others = ((resource_dir("router_hooks") / f"{name}.sh").read_text()
                         for name in ("defaults", "state", "files", "session"))
    script = f"{defaults}\nstate_folder={state}\n" + "\n".join(others)
    return subprocess.Popen(
        ["sh", "-c", script, "sh", "begin", f"token={token}", f"holder={token}", "devices=lo"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("left", [False, True], ids=["free", "left by a dead one"])
def test_of_sweeps_that_begin_at_once_one_has_the_router(tmp_path: Path, left: bool) -> None:
    """In one of fifteen rounds two had it, or each took away the other's folder and none did."""
    for number in range(ROUNDS):
        state = tmp_path / str(number)
        if left:
            state.mkdir()
            (state / "owner").write_text("999999999 1\n")
        begun = {token: _begin(state, token) for token in "abc"}
        output = {token: one.communicate()[1] for token, one in begun.items()}
        with suppress(ProcessLookupError):
            os.kill(int((state / "watchdog").read_text().split()[0]), signal.SIGKILL)
        winners = [token for token, one in begun.items() if one.returncode == 0]
        assert winners == [(state / "token").read_text().strip()]
        assert all(text.startswith(("host: held by ", "host: another sweep begins"))
                   for token, text in output.items() if token not in winners), output
        assert not list(tmp_path.glob(f"{number}.*"))
