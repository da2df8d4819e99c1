# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep's hold on a host: connected, locked, its state kept, and restored at the end.

On the host router_hooks/session.sh does the work; its watchdog restores the host within
60 s when this process is gone or the connection has broken.
"""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Sequence

from flent_aqm.base.errors import AqmError, TestbedError
from flent_aqm.parts.ssh.connection import Connection
from flent_aqm.parts.ssh.restore.plan import restore_plan
from flent_aqm.parts.ssh.restore.state import parse_state


class Session:
    """The hold on one host, for the devices that the hooks will change there.

    begin() takes it, end() restores the host. Raises TestbedError.
    """

    def __init__(self, connection: Connection, devices: Sequence[str]) -> None:
        self._connection = connection
        self._devices = devices
        self._held = False
        self.token = secrets.token_hex(8)

    def begin(self, *, clear: bool) -> None:
        """Lock the host, keep its state, put the watchdog there. Nothing else is changed,
        but that sqm-scripts are stopped, and with clear, the devices' queues taken away."""
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
            self.end()
            raise TestbedError(f"{connection.testbed}: {error}; nothing was changed"
                               if connection.testbed not in str(error) else str(error)) from None
        except BaseException:
            self.end()
            raise

    def clear(self) -> None:
        """Take the devices' queues away, and give them the length that was found."""
        self._connection.run("clear", f"token={self.token}")

    def end(self) -> None:
        """Restore the host and let go. Raises TestbedError when it isn't as it was found."""
        if self._held:
            self._held = False
            self._connection.run("end", f"token={self.token}")


def _holder() -> str:
    """Who we are, for the one who finds the router taken."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no name for this user id
        user = str(os.geteuid())
    name = f"{user}@{socket.gethostname()} (process {os.getpid()})"
    return "".join(letter if letter.isprintable() and letter.isascii() else "?" for letter in name)
