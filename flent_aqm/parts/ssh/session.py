# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep's session on a host: lock it, store its state, and restore it at the end.

router_hooks/session.sh does the work on the host. Its watchdog restores the host within 60 s if
this process ends or the connection breaks.
"""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Sequence

from flent_aqm.base.errors import AqmError, TestbedError
from flent_aqm.parts.ssh.connection import HostSilent, SshConnection
from flent_aqm.parts.ssh.restore import parse_state, restore_plan


class RouterSession:
    """A session on one host. begin() locks the host, end() restores it. Both raise TestbedError.

    Args:
        connection: a connection to the host, open before begin().
        devices: names of the devices that hooks will change.

    Attributes:
        token: random text that proves to the host that a command belongs to this session.
    """

    def __init__(self, connection: SshConnection, devices: Sequence[str]) -> None:
        self._connection = connection
        self._devices = devices
        self._held = False
        self.token = secrets.token_hex(8)

    def begin(self, *, clear: bool) -> None:
        """Lock the host, store its state, and start the watchdog there, and the thread that sends
        it heartbeats until the connection is closed. What an earlier sweep has left there is
        restored first.

        Running sqm-scripts are stopped.

        Args:
            clear: whether to remove the qdiscs of the devices then, and reset the lengths of their
                transmit queues. Otherwise nothing else is changed.

        Raises TestbedError if the host is locked by another sweep, which goes on undisturbed, can't
        store its state, or has something that couldn't be restored exactly. In the last two cases
        the host is restored and unlocked before. If the host stops answering, its watchdog does
        that.
        """
        connection, token = self._connection, f"token={self.token}"
        connection.run("begin", token, f"holder={_holder()}",
                       f"devices={' '.join(self._devices)}")
        self._held = True
        connection.keep_alive(self.token)
        try:
            state = parse_state(connection.run("survey", token))
            connection.run("plan", token, *restore_plan(state))
            if clear:
                self.clear()
        except AqmError as error:
            is_named = connection.testbed in str(error)
            cause = str(error) if is_named else f"{connection.testbed}: {error}"
            try:
                self.end()
            except AqmError as fault:
                raise TestbedError(f"{cause}; and restoring it failed, too: {fault}") from None
            raise TestbedError(cause if is_named else f"{cause}; its state is as before") from None
        except BaseException:
            self.end()
            raise

    def clear(self) -> None:
        """Remove the qdiscs of the devices, and reset the lengths of their transmit queues to the
        original ones. begin() comes first. Raises TestbedError if the host doesn't do it, such as
        after its watchdog has restored it."""
        self._connection.run("clear", f"token={self.token}")

    def end(self) -> None:
        """Restore the host and unlock it. Do nothing if begin() hasn't locked it, or end() was
        called before, even if that failed. Raises TestbedError if the host doesn't answer, this
        session no longer holds it, or its state isn't the original one."""
        if self._held:
            self._held = False
            try:
                self._connection.run("end", f"token={self.token}")
            except HostSilent as error:
                raise TestbedError(
                    f"{error}; so whether it is restored isn't known: its watchdog restores it "
                    "within a minute, and if it has restarted, it has its usual queues; otherwise: "
                    f"flent-aqm restore --testbed {self._connection.testbed}") from None


def _holder() -> str:
    """Return user, machine and process as text, "USER@HOST (process PID)" with ? for unprintable
    and other than ASCII characters, for others who find the host locked."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no name for this user id
        user = str(os.geteuid())
    name = f"{user}@{socket.gethostname()} (process {os.getpid()})"
    return "".join(letter if letter.isprintable() and letter.isascii() else "?" for letter in name)
