# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of Flent's metadata by one shell give what Flent's own way gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flent.metadata import CommandRunner

from flent_aqm.bridge.one_shell import OneShell


@pytest.fixture
def one_shell() -> Iterator[OneShell]:
    """One that waits two seconds for a command."""
    shell = OneShell(CommandRunner(), 2)
    yield shell
    shell.close()


@pytest.mark.parametrize("command", [
    "echo one; echo two", "printf ' blanks around \\n\\n'", "echo said >&2", "true", "false",
    "no-such-program", "for i in 1 2; do [ -d /nowhere ] && echo $i; done",
    "basename $(readlink /nowhere)", "exit 3", "cat", "ifconfig() { exit 1; }; ifconfig",
    "echo 'unclosed", "seq 20000",
])
def test_command_gives_what_flent_gets(one_shell: OneShell, command: str) -> None:
    """The same text or None, for that command and for one behind it."""
    assert one_shell(command) == CommandRunner()(command)
    assert one_shell("echo next") == "next"


def test_bytes_that_are_no_text_are_replaced(one_shell: OneShell) -> None:
    assert one_shell("printf 'a\\377b'") == "a\N{REPLACEMENT CHARACTER}b"


def test_command_without_end_gives_none_and_the_next_one_runs(one_shell: OneShell) -> None:
    """As Flent's own does after five seconds."""
    assert one_shell("sleep 10") is None
    assert one_shell("echo next") == "next"
