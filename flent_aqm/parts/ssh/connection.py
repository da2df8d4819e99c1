# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to a router or server: a single ssh process that all commands share.

OpenSSH shares the connection by a socket in a private folder. The user's ssh configuration decides
how the host is reached: user, key, port, jump hosts. router_hooks/on_router.sh runs the commands.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from flent_aqm.base import environment, paths, shell
from flent_aqm.base.errors import CommandFailed, TestbedError, ToolMissing
from flent_aqm.base.waiting import told_if_slow
from flent_aqm.base.words import end_of, last_line, plain

# Interval in s of the heartbeat for the host's watchdog, whose timeout is in
# router_hooks/defaults.sh.
BEAT_S = 10.0
# Timeout of connecting. ssh itself gives up after 10 s (on_router.sh), and a slow router may need
# more time to log in.
CONNECT_S = 40.0
# Timeout of a command. A restart of sqm-scripts takes the longest.
COMMAND_S = 120.0

# Time in s after which the user is told that a host hasn't answered: to a command, which may wait
# 45 s for another sweep's heartbeat, and to the connection.
SLOW_S, SLOW_CONNECT_S = 55.0, 15.0
# Longest path of the folder. Names of Unix sockets have at most 108 bytes, of which ssh uses 17.
_LONGEST_SOCKET = 80


# How the host's own words begin in the error output of on_router.sh, and its own words on this
# machine, on an answer that was cut off.
_OF_HOST, _OF_THIS_MACHINE = ("host: ", "router hook: "), "router hook: testbed="


class HostSilent(TestbedError):
    """A host didn't say how a command ended: ssh failed, its answer was cut off, or a limit was
    reached."""


class SshConnection:
    """A connection to a host, open for the length of a with statement, or from start() to close().
    A further connection needs a new object.

    Args:
        testbed: address of the form ssh://[user@]host[:port].

    start() and run() raise TestbedError if the host can't be reached, and start() raises
    ToolMissing without an ssh client.
    """

    def __init__(self, testbed: str) -> None:
        self.testbed = testbed
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._token = ""
        self._stopped = threading.Event()
        self._beats: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables by which on_router.sh uses this connection: FLENT_AQM_SSH_CONTROL
        -> path of its socket. Empty if there is no connection."""
        return {environment.SSH_CONTROL: str(self._folder / "socket")} if self._folder else {}

    def start(self) -> None:
        """Connect: start an ssh process and wait up to 40 s for it. After 15 s, print to standard
        error that there is no answer yet.

        Raises ToolMissing without an ssh client, TestbedError if the connection fails. Then the
        process has ended.
        """
        if not shell.find_program("ssh"):
            raise ToolMissing(f"ssh is {shell.NOT_FOUND}; install the package openssh-client")
        self._folder = _private_folder()
        output = self._folder / "stderr"
        try:
            with output.open("wb") as errors:
                self._process = subprocess.Popen(
                    hook_command("connect", self.testbed), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=errors, bufsize=0,
                    # ^C must not end ssh: the connection is needed to restore the router.
                    start_new_session=True, env={**os.environ, **self.environment})
            assert self._process.stdout is not None
            with told_if_slow(f"{self.testbed}: no answer yet; waiting up to {CONNECT_S:g} s for "
                              "the connection", SLOW_CONNECT_S):
                readable, _, _ = select.select([self._process.stdout], [], [], CONNECT_S)
            answer = self._process.stdout.readline(100) if readable else b""
            if answer.rstrip() != b"ready":
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)  # its error output is complete then
                if answer:
                    printed = plain(answer.decode(errors="replace").rstrip())[:60]
                    raise TestbedError(
                        f"{self.testbed}: the host's shell printed "
                        f"{repr(printed) if printed else 'a blank line'}; expected 'ready': "
                        "log in as a user with a shell such as /bin/sh, whose start files print "
                        "nothing")
                status = self._process.poll()
                silence = (f"no answer to the ssh connection within {CONNECT_S:g} s"
                           if not readable else
                           "the host closed the connection" if status is None else
                           f"ssh ended with {end_of(status)}")
                raise TestbedError(f"{self.testbed}: {_last_error(output, silence)}")
        except BaseException:
            self.close()
            raise

    def run(self, command: str, *settings: str, timeout_s: float = COMMAND_S) -> str:
        """Run a command of on_router.sh on the host and return its output. start() comes first.
        After 55 s, print to standard error that there is no answer yet.

        Args:
            command: name of the command.
            settings: its arguments, such as token=T.
            timeout_s: timeout of the command.

        Raises TestbedError if the command fails or times out, HostSilent if it isn't the host that
        says so. Its text is the host's address and the last line of the error output, otherwise the
        exit status. If it timed out, the command's name is before that line.
        """
        try:
            with told_if_slow(f"{self.testbed}: no answer to `{command}` yet; waiting up to "
                              f"{timeout_s:g} s", SLOW_S):
                return shell.run(hook_command(command, self.testbed, *settings),
                                 timeout_s=timeout_s, env={**os.environ, **self.environment})
        except CommandFailed as failed:
            last = last_line(failed.stderr)
            by_host = last.startswith(_OF_HOST) and not last.startswith(_OF_THIS_MACHINE)
            last = last.removeprefix(f"{_OF_THIS_MACHINE}{self.testbed}: ")
            if not last:
                last = f"{command} ended with {end_of(failed.returncode)}"
            elif failed.returncode < 0:  # stopped at a limit
                last = f"{command}: {last}"
            raise (TestbedError if by_host else HostSilent)(f"{self.testbed}: {last}") from None

    def keep_alive(self, token: str) -> None:
        """Start a thread that sends the session's token to the host's watchdog now and every 10 s,
        until close() or until the connection breaks. start() comes first."""
        self._token = token
        self._beats = threading.Thread(target=self._send_heartbeats, name="heartbeat", daemon=True)
        self._beats.start()

    def is_open(self) -> bool:
        """Return whether the ssh process still runs."""
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End the heartbeat and the ssh process, and delete the socket's folder. Further calls do
        nothing."""
        self._stopped.set()
        if self._beats:
            self._beats.join()
        process, self._process = self._process, None
        if process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:  # the other side doesn't answer
                process.kill()
                process.wait()
            process.stdout.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _send_heartbeats(self) -> None:
        """Send the session's token to the host's watchdog now and every 10 s (BEAT_S) until close()
        is called or the connection breaks. The thread of keep_alive() runs this method."""
        assert self._process is not None
        assert self._process.stdin is not None
        while True:
            try:
                self._process.stdin.write(f"{self._token}\n".encode())
            except OSError:  # broken; the next command reports it
                return
            if self._stopped.wait(BEAT_S):
                return


def hook_command(command: str, testbed: str, *settings: str) -> list[str]:
    """Return the command line of on_router.sh, as a list for shell.run().

    Args:
        command: name of the command.
        testbed: `netns`, or ssh://[user@]host[:port].
        settings: arguments of the command, such as token=T.
    """
    script = paths.resource_dir("router_hooks") / "on_router.sh"
    return ["sh", str(script), command, f"testbed={testbed}", *settings]


def _private_folder() -> Path:
    """Create a folder that only this user may enter, with a path short enough for a socket. Return
    its path."""
    folder = Path(tempfile.mkdtemp(prefix="flent-aqm-ssh-"))
    if len(str(folder)) > _LONGEST_SOCKET:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="flent-aqm-ssh-", dir="/tmp"))
    return folder


def _last_error(output: Path, ended: str = "") -> str:
    """Return the last line of ssh's error output that has words. If the login was refused or the
    host's key wasn't accepted, the line is followed by a remedy, whatever `ended` is.

    Args:
        output: file with the error output.
        ended: how the connection ended. It comes before a line that isn't an error of ssh's, as
            that may be the host's banner. Without any line, return that it ended so without a
            message. "" for only the line, "" if there is none.
    """
    text = output.read_text(errors="replace")[-4000:]
    # That the host disconnected comes after why it did.
    last = last_line(re.sub("(?m)^Disconnected from .*", "", text)) or last_line(text)
    if "Permission denied (" in last:  # the methods of login follow
        return (f"{last} Nobody can type a password during a sweep; set up a key with "
                "ssh-copy-id, and load one that has a passphrase before, with ssh-add")
    if "verification failed" in last:
        return f"{last} Connect once by hand with ssh, and check the host's key"
    if not ended or last.startswith(
            ("ssh: ", "kex_", "Connection ", "Received disconnect ")):
        return last or ended
    return f"{ended}; its last line: {last}" if last else f"{ended}, without a message"
