# SPDX-License-Identifier: GPL-3.0-or-later
"""What a refused login says of how to mend it."""

from __future__ import annotations

from pathlib import Path

from flent_aqm.parts.ssh.connection import _cause


def test_refused_key_tells_of_ssh_add(tmp_path: Path) -> None:
    """ssh skips a key whose passphrase nobody can type, and says no more than that it's refused."""
    output = tmp_path / "said"
    output.write_text("root@192.0.2.1: Permission denied (publickey,password).\r\n")
    assert _cause(output).startswith("root@192.0.2.1: Permission denied (publickey,password).")
    assert "one that has a passphrase before, with ssh-add" in _cause(output)
