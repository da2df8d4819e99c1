# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to a router or server: one ssh process, which all commands go through.

OpenSSH shares the connection by a socket in a private folder. The user's ssh
configuration says how the host is reached: user, key, port, jump hosts. What is
run there, and how, is router_hooks/on_router.sh's.
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

# A sign of life every so many seconds; router_hooks/defaults.sh has the watchdog's patience.
BEAT_S = 10.0
# ssh itself gives up after 10 s (on_router.sh); logging in may take a slow router some more.
CONNECT_S = 40.0
# A restart of sqm-scripts takes the longest.
COMMAND_S = 120.0

# A host that hasn't answered by then is told of: to a command, which may wait 45 s for a sign of
# another sweep, and to the connection.
SLOW_S, SLOW_CONNECT_S = 55.0, 15.0
# Unix sockets have short names (108 bytes), of which ssh takes 17 for itself.
_LONGEST_SOCKET = 80


class Connection:
    """An open connection. A context manager; start() is the same without `with`.

    testbed: ssh://[user@]host[:port]. Raises TestbedError, with what ssh or the host says.
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
        """Variables for on_router.sh, by which it takes this connection."""
        return {environment.SSH_CONTROL: str(self._folder / "socket")} if self._folder else {}

    def start(self) -> None:
        """Connect. Raises ToolMissing without an ssh client, TestbedError without a host."""
        if not shell.find_program("ssh"):
            raise ToolMissing("ssh is not installed; run make packages")
        self._folder = _private_folder()
        output = self._folder / "stderr"
        try:
            with output.open("wb") as errors:
                self._process = subprocess.Popen(
                    hook_command("connect", self.testbed), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=errors, bufsize=0,
                    # ^C is for us: the connection is needed to restore the router.
                    start_new_session=True, env={**os.environ, **self.environment})
            assert self._process.stdout is not None
            with told_if_slow(f"{self.testbed}: no answer yet; waiting up to {CONNECT_S:g} s for "
                              "the connection", SLOW_CONNECT_S):
                readable, _, _ = select.select([self._process.stdout], [], [], CONNECT_S)
            if not readable or self._process.stdout.readline(100).rstrip() != b"ready":
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)  # what it has to say is complete then
                raise TestbedError(f"{self.testbed}: {_cause(output)}")
        except BaseException:
            self.close()
            raise

    def run(self, command: str, *settings: str, timeout_s: float = COMMAND_S) -> str:
        """Run a command of on_router.sh, and give what the host answers.

        Raises TestbedError with the last line that it said.
        """
        try:
            with told_if_slow(f"{self.testbed}: no answer to `{command}` yet; waiting up to "
                              f"{timeout_s:g} s", SLOW_S):
                return shell.run(hook_command(command, self.testbed, *settings),
                                 timeout_s=timeout_s, env={**os.environ, **self.environment})
        except CommandFailed as failed:
            output = failed.stderr.strip() or f"{command} ended with status {failed.returncode}"
            last = output.splitlines()[-1].removeprefix(f"router hook: testbed={self.testbed}: ")
            raise TestbedError(f"{self.testbed}: {last}") from None

    def keep_alive(self, token: str) -> None:
        """From now on tell the host's watchdog, every BEAT_S, that the sweep lives."""
        self._token = token
        self._beats = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._beats.start()

    def is_open(self) -> bool:
        """False once the connection has broken."""
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End the connection. May be called again."""
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
            except subprocess.TimeoutExpired:  # the other side has gone silent
                process.kill()
                process.wait()
            process.stdout.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _beat(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        while True:
            try:
                self._process.stdin.write(f"{self._token}\n".encode())
            except OSError:  # broken; whoever needs it next will be told
                return
            if self._stopped.wait(BEAT_S):
                return


def hook_command(command: str, testbed: str, *settings: str) -> list[str]:
    """Return the words for on_router.sh, as a list for shell.run."""
    script = paths.resource_dir("router_hooks") / "on_router.sh"
    return ["sh", str(script), command, f"testbed={testbed}", *settings]


def _private_folder() -> Path:
    """Return a folder that only this user may enter, with a name short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="flent-aqm-ssh-"))
    if len(str(folder)) > _LONGEST_SOCKET:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="flent-aqm-ssh-", dir="/tmp"))
    return folder


def _cause(output: Path) -> str:
    """Return what ssh said last, and how to mend it."""
    text = re.sub(r"[^\n -~]", "", output.read_text(errors="replace")[-4000:])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "no answer to the ssh connection"
    if "Permission denied" in last:
        return (f"{last} Nobody can type a password during a sweep; set up a key with "
                "ssh-copy-id, and load one that has a passphrase before, with ssh-add")
    if "verification failed" in last:
        return f"{last} Connect once by hand with ssh, and check the host's key"
    return last
