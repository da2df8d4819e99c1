# SPDX-License-Identifier: GPL-3.0-or-later
"""The server, where it is set up by ssh: its servers started, delay added on its device.

router_hooks/server.sh does the work there; session.sh keeps and restores its state.
"""

from __future__ import annotations

from collections.abc import Sequence

from flent_aqm.base.errors import AqmError, TestbedError
from flent_aqm.parts.ssh import probe
from flent_aqm.parts.ssh.connection import Connection
from flent_aqm.parts.ssh.session import Session
from flent_aqm.tools.table import SERVERS


class Server:
    """One server behind ssh. client: the address that its device is found by."""

    def __init__(self, address: str, client: str) -> None:
        self._address = address
        self._client = client
        self._connection = Connection(address)
        self._session: Session | None = None
        self._device = ""
        self._started: set[str] = set()
        self._delay_ms = 0.0

    def check(self) -> None:
        """Connect, and refuse what can't work. Raises TestbedError."""
        self._connection.start()
        try:
            facts = probe.probe(self._connection.run, addresses=(self._client,), kinds=("netem",))
            probe.check_host(facts)
            self._device = facts.routes.get(self._client, "")
            if not self._device:
                raise TestbedError(f"server_testbed: it has no route to the client, {self._client}")
        except AqmError as error:
            raise TestbedError(f"{self._address}: {error}") from None

    def begin(self) -> None:
        """Lock it, keep its state."""
        self._session = Session(self._connection, [self._device])
        self._session.begin(clear=False)

    def make_ready(self, servers: Sequence[str], delay_ms: float) -> None:
        """Start what doesn't run yet, and set the delay of a round trip.

        Raises TestbedError when a server doesn't start there.
        """
        assert self._session is not None, "begin() comes first"
        token = self._session.token
        for name in servers:
            # One for all tests of a sweep, in cleartext or not.
            kind = name.removesuffix("-cleartext")
            if kind not in self._started:
                server = SERVERS[kind]
                self._connection.run("start", token, kind,
                                     " ".join(map(str, server.every_port)),
                                     *map(_of_package, server.start.splitlines()))
                self._started.add(kind)
        if delay_ms != self._delay_ms:
            self._connection.run("delay", token, self._device, str(round(delay_ms * 1000 / 2)))
            self._delay_ms = delay_ms

    def end(self) -> None:
        """End the servers, restore the device, let go."""
        try:
            if self._session:
                self._session.end()
        finally:
            self._connection.close()


def _of_package(command: str) -> str:
    return f"flent-aqm {command}" if command.startswith("serve ") else command
