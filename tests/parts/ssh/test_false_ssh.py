# SPDX-License-Identifier: GPL-3.0-or-later
"""An ssh that ends early, repeats its input, or says nothing: no success without the whole answer
of the host's shell."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from flent_aqm.base.errors import TestbedError
from flent_aqm.base.waiting import told_if_slow
from flent_aqm.cli import main
from flent_aqm.parts.ssh import connection
from flent_aqm.parts.ssh.connection import SshConnection, hook_command
from flent_aqm.parts.ssh.session import RouterSession

ADDRESS = "ssh://root@127.0.0.9"
CONNECT = 'case "$*" in *ready*) echo ready; exec cat >/dev/null ;; esac\n'


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in place of ssh, whose commands a test writes."""
    program = tmp_path / "ssh"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return program


# This machine stands for the router, whose user is root.
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as on a router")


def write(program: Path, commands: str) -> None:
    program.write_text(f"#!/bin/sh\n{commands}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(("commands", "why"), [
    ("yes READY", "the host's shell printed 'READY'; expected 'ready'"),
    ("echo ready; exit 0", "ssh ended without the whole answer"),
    ("echo ready; cat", "ssh ended without the whole answer"),
    ("echo not ready; cat", "the host's shell printed 'not ready'; expected 'ready'"),
    (CONNECT + "cat >/dev/null", "ssh ended without the whole answer"),
    (CONNECT + "cat", "ssh ended without the whole answer"),
    # The shell's answer, but for its last line; and without its last bytes.
    (CONNECT + "sh -s | sed '$d'", "ssh ended without the whole answer"),
    (CONNECT + "sh -s | head -c -2", "ssh ended without the whole answer"),
    pytest.param(CONNECT + "sh -s; exit 3", "restore ended with status 3", marks=AS_ROOT),
    (CONNECT + "exec yes x", "the answer is longer than"),
    ("head -c 3000000 /dev/zero", "the host's shell printed "),
    ("echo ready; yes \"$(printf '\\033[31mx')\"", "the answer is longer than"),
    ("printf 'Permission denied\\033[2J' >&2; exit 255", "Permission denied"),
    ("exit 255", "ssh ended with status 255, without a message"),
    ("kill -9 $$", "ssh ended with signal 9, without a message"),
    # A user without a shell, and a start file that prints an empty line.
    ("echo 'This account is currently not available.'; exit 1",
     "printed 'This account is currently not available.'; expected 'ready': log in as a user"),
    ("echo; echo ready; exec cat", "the host's shell printed a blank line; expected 'ready'"),
    ("exec >&-; exec sleep 3", "the host closed the connection, without a message"),
    ("echo 'ssh: connect to host h port 22: Permission denied' >&2; exit 255",
     f"{ADDRESS}: ssh: connect to host h port 22: Permission denied\n"),
    # A host's banner, or a warning, is not why.
    ("echo '*** Authorised users only ***' >&2; exit 1",
     "ssh ended with status 1; its last line: *** Authorised users only ***"),
    ("echo 'Bad owner or permissions on config' >&2; exit 255",
     "ssh ended with status 255; its last line: Bad owner or permissions on config"),
    ("echo 'ssh: connect to host h port 22: No route to host' >&2; exit 255",
     f"{ADDRESS}: ssh: connect to host h port 22: No route to host"),
    (("echo 'Received disconnect from h: Too many authentication failures' >&2\n"
     "echo 'Disconnected from 192.0.2.1 port 22' >&2; exit 255"),
     f"{ADDRESS}: Received disconnect from h: Too many authentication failures\n"),
    ("echo 'Connection closed by 192.0.2.1 port 22' >&2; exit 255",
     f"{ADDRESS}: Connection closed by 192.0.2.1 port 22"),
])
def test_restore_fails_without_the_whole_answer(
        ssh: Path, capsys: pytest.CaptureFixture[str], commands: str, why: str) -> None:
    """One line with the cause, and status 1."""
    write(ssh, commands)
    assert main(["restore", "--testbed", ADDRESS]) == 1
    told = capsys.readouterr()
    assert why in told.err
    assert told.err.count("\n") == 1
    assert told.err.removesuffix("\n").isprintable()
    assert told.out == ""


@pytest.mark.parametrize("given", ["", "netns"])
def test_testbed_without_ssh_is_told_as_it_was_given(
        capsys: pytest.CaptureFixture[str], given: str) -> None:
    """A variable of the shell may be empty."""
    assert main(["restore", "--testbed", given]) == 1
    assert f"--testbed: {given!r} is not a router reached by ssh" in capsys.readouterr().err


@AS_ROOT
def test_user_who_is_not_root_is_told_so(
        ssh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(ssh, CONNECT + "exec setpriv --reuid=65534 --clear-groups sh -s")
    assert main(["restore", "--testbed", ADDRESS]) == 1
    assert "this user can't write to /var/run; log in as root" in capsys.readouterr().err


@AS_ROOT
def test_restore_succeeds_with_the_whole_answer(
        ssh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell of this host in the router's place; the end of its answer isn't shown."""
    write(ssh, CONNECT + "sh -s")
    assert main(["restore", "--testbed", ADDRESS]) == 0
    assert capsys.readouterr() == (("nothing to restore: no sweep holds this host (what a killed "
                                   "one left, its watchdog restored)\n"), "")


@pytest.mark.parametrize("command", ["begin", "plan", "clear", "end", "status", "probe"])
def test_no_command_succeeds_with_an_empty_answer(ssh: Path, command: str) -> None:
    """All that a sweep does on a host, not restore alone."""
    write(ssh, CONNECT + "cat >/dev/null")
    with (SshConnection(ADDRESS) as host,
          pytest.raises(TestbedError, match="without the whole answer")):
        host.run(command, "token=1")


@pytest.mark.parametrize(("commands", "said", "is_known"), [
    ("echo 'ssh: connect to x: No route to host' >&2; exit 255", "No route to host; so whe", False),
    ("true", "without the whole answer of the host's shell, so what was done there is", False),
    ("echo 'host: this host is not as it was found: set it' >&2; exit 1", "found: set it", True),
    ("echo 'router hook: this sweep no longer holds this host: x' >&2; exit 2", "host: x", True)])
def test_end_without_the_hosts_word_says_who_restores_it(
        ssh: Path, commands: str, said: str, is_known: bool) -> None:
    """And what to do; a host that answers says itself what is to be mended."""
    write(ssh, CONNECT + "cat >/dev/null; " + commands)
    with SshConnection(ADDRESS) as host:
        session = RouterSession(host, [])
        session._held = True  # as after begin(), for which a real host is needed
        with pytest.raises(TestbedError) as refusal:
            session.end()
        session.end()  # once only
    assert said in str(refusal.value)
    assert (f"its watchdog restores it within a minute, and if it has restarted, it has its usual "
            f"queues; otherwise: flent-aqm restore --testbed {ADDRESS}" in str(refusal.value)
            ) is not is_known
    assert is_known is str(refusal.value).endswith(said)


def test_host_that_says_nothing_is_told_of_early(
        ssh: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Long before the patience with it is over."""
    monkeypatch.setattr(connection, "SLOW_S", 0.0)
    write(ssh, CONNECT + "exec sleep 2")
    with (SshConnection(ADDRESS) as host,
          pytest.raises(TestbedError, match="restore: still running after 1 s")):
        host.run("restore", timeout_s=1)
    assert f"{ADDRESS}: no answer to `restore` yet; waiting up to 1 s" in capsys.readouterr().err
    assert connection.SLOW_S + 20 < connection.COMMAND_S


def test_quick_work_is_not_told_of() -> None:
    stream = io.StringIO()
    with told_if_slow("late", 60, stream):
        pass
    assert stream.getvalue() == ""


def test_hook_is_called_with_the_command() -> None:
    assert hook_command("restore", ADDRESS)[-2:] == ["restore", f"testbed={ADDRESS}"]
