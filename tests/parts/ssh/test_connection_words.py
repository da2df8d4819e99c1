# SPDX-License-Identifier: GPL-3.0-or-later
"""What a refused login says of how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base.errors import CommandFailed, ConfigError
from flent_aqm.lab.table import open_testbed
from flent_aqm.parts.ssh.connection import _last_error


def test_refused_key_tells_of_ssh_add(tmp_path: Path) -> None:
    """ssh skips a key whose passphrase nobody can type, and says no more than that it's refused."""
    output = tmp_path / "said"
    output.write_text("root@192.0.2.1: Permission denied (publickey,password).\r\n")
    assert _last_error(output).startswith("root@192.0.2.1: Permission denied (publickey,password).")
    assert "one that has a passphrase before, with ssh-add" in _last_error(output)


@pytest.mark.parametrize("after", [
    "\x1b[0m\r\n", "\x1b[?2004l\n\n", "\x1b]0;router\x07\n", "\x1b(B\x1b[m", "\r\n\x07\n", "---\n"])
def test_last_line_without_words_does_not_hide_the_last_error(tmp_path: Path, after: str) -> None:
    """Routers and proxies reset colours, or set the terminal's title, when they close."""
    output = tmp_path / "said"
    output.write_text("\x1b[31mConnection closed by 192.0.2.1 port 22\x1b[0m\r\n" + after)
    assert _last_error(output) == "Connection closed by 192.0.2.1 port 22"
    failed = CommandFailed(["ssh"], 255, "", output.read_text())
    assert str(failed) == "ssh: ended with status 255: Connection closed by 192.0.2.1 port 22"


def test_silence_is_told(tmp_path: Path) -> None:
    """Also if only escape sequences came."""
    output = tmp_path / "said"
    output.write_text("\x1b[0m\n")
    assert _last_error(output, "no answer") == "no answer, without a message"
    assert str(CommandFailed(["ssh"], 255, "\x1b[0m", "")).endswith("status 255: no output")


def test_unknown_testbed_is_told_how_to_name_a_router() -> None:
    """The list has forms that work as they stand."""
    with pytest.raises(ConfigError, match=r"'router'; known: virtual, netns, ssh://\[user@\]host"):
        open_testbed("router")
