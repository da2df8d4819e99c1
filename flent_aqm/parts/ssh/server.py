# SPDX-License-Identifier: GPL-3.0-or-later
"""Set up the server's machine by ssh: start servers, and add delay on its device.

router_hooks/server.sh does the work there. session.sh stores and restores the machine's state.
"""

from __future__ import annotations

from collections.abc import Sequence

from flent_aqm.base.errors import AqmError, TestbedError
from flent_aqm.parts.ssh import probe
from flent_aqm.parts.ssh.connection import SshConnection
from flent_aqm.parts.ssh.session import RouterSession
from flent_aqm.tools.table import SERVERS


class SshServer:
    """A machine behind ssh that runs the tests' servers. Call check(), begin(), make_ready() before
    each run, and end() at the end, also after an error.

    Args:
        address: the machine, ssh://[user@]host[:port].
        client: the client's address. Delay is added on the device that the route to it uses.
    """

    def __init__(self, address: str, client: str) -> None:
        self._address = address
        self._client = client
        self._connection = SshConnection(address)
        self._session: RouterSession | None = None
        self._device = ""
        self._started: set[str] = set()
        # None if it isn't known.
        self._delay_ms: float | None = 0.0

    def check(self, *, delays: bool) -> None:
        """Connect, and check that the machine can be used. The connection stays open until end(),
        also if a check fails.

        Args:
            delays: whether a run adds delay there, for which the machine needs netem.

        Raises TestbedError if the connection fails, the answer to the query has another form, the
        user isn't root, tc, free memory or netem is missing, or there is no route to the client.
        Raises ToolMissing without an ssh client.
        """
        self._connection.start()
        try:
            facts = probe.probe(self._connection.run, addresses=(self._client,), kinds=("netem",),
                                machine="server")
            probe.check_host(facts, "server")
            self._device = facts.routes.get(self._client, "")
            if not self._device:
                raise TestbedError("server_testbed: the server has no route to the client, "
                                   f"{self._client}; add one there, such as with ip route add, or "
                                   "check the address of hosts")
            if delays and facts.kinds.get("netem"):
                raise TestbedError("base_delay_ms: delay is added by netem, which can't be used on "
                                   f"the server ({facts.kinds['netem']}); install it there "
                                   "(OpenWrt: kmod-netem and tc-full; a container: load sch_netem "
                                   "on its host), or leave base_delay_ms out")
        except AqmError as error:
            text = str(error)
            raise TestbedError(text if self._address in text else
                               f"{self._address}: {text}") from None

    def begin(self) -> None:
        """Lock the machine, store its state, stop running sqm-scripts, and start the watchdog
        there. check() comes first. Raises TestbedError if another sweep has locked the machine, it
        stops answering, or its state can't be stored or can't be restored exactly."""
        self._session = RouterSession(self._connection, [self._device])
        self._session.begin(clear=False)

    def make_ready(self, servers: Sequence[str], delay_ms: float) -> None:
        """Start those servers that this object has not started yet, and set the delay. begin()
        comes first. Servers run until end(). The delay stays until another one is set, or end().

        Args:
            servers: names of servers. NAME-cleartext is the same server as NAME.
            delay_ms: extra round-trip time, 0 for none. Half of it is added in each direction on
                the server's device.

        Raises TestbedError if a server doesn't start, or the delay can't be set.
        """
        assert self._session is not None, "begin() comes first"
        token = self._session.token
        for name in servers:
            # The same server takes connections with TLS and in cleartext.
            kind = name.removesuffix("-cleartext")
            if kind not in self._started:
                server = SERVERS[kind]
                self._connection.run("start", token, kind,
                                     " ".join(map(str, server.every_port)),
                                     *map(_shell_command, server.start.splitlines()))
                self._started.add(kind)
        if delay_ms != self._delay_ms:
            # If the command fails, it may have set a part: the next run has to set its own again.
            self._delay_ms = None
            self._connection.run("delay", token, self._device, str(round(delay_ms * 1000 / 2)))
            self._delay_ms = delay_ms

    def end(self) -> None:
        """End the servers, restore the machine, and disconnect. Without begin(), only disconnect.
        Raises TestbedError, disconnected, if the machine doesn't answer, this sweep no longer holds
        it, or its state isn't the original one."""
        try:
            if self._session:
                self._session.end()
        finally:
            self._connection.close()


def _shell_command(command: str) -> str:
    """Return the server's start command for a shell: `serve ...` becomes `flent-aqm serve ...`."""
    return f"flent-aqm {command}" if command.startswith("serve ") else command
