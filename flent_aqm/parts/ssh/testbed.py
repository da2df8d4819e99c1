# SPDX-License-Identifier: GPL-3.0-or-later
"""Client, router and server as machines of their own: this one, and two behind ssh.

    this machine ── dev_down [router] dev_up ── server
                     ssh by a third device

Flent runs here. Keys of the batch beside `testbed`: dev_down, dev_up, where the router's
routes don't tell them; server_testbed, where the server is to be set up by ssh, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from flent_aqm.base import environment
from flent_aqm.base.errors import AqmError, ConfigError, TestbedError
from flent_aqm.lab.folder import OwnedFolder
from flent_aqm.lab.guest_files import OUT
from flent_aqm.lab.place import DIES_WITH_US, RunEnvironment
from flent_aqm.lab.protocol import CELL_ENVIRONMENT, Facts, FlentRun
from flent_aqm.lab.real_time import (
    refuse_network_of_ours,
    refuse_virtual_settings,
    wall_limit_s,
)
from flent_aqm.parts.ssh import needs, probe
from flent_aqm.parts.ssh.connection import Connection
from flent_aqm.parts.ssh.offer import override
from flent_aqm.parts.ssh.routes import address_of, own_address_towards
from flent_aqm.parts.ssh.server import Server
from flent_aqm.parts.ssh.session import Session
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import Scenario

# Within which the watchdog restores the router: watchdog_limit_s of router_hooks/defaults.sh.
WATCHDOG_LIMIT_S = 60

# Settings that have to be the same for all runs on one router.
_KEYS = ("dev_down", "dev_up", "server_testbed")


class ThisHost(RunEnvironment):
    """Flent on this machine as it is. environment: how its hooks reach the router."""

    name = "the command"
    hidden = ()
    real_time = True
    on_host = True

    def __init__(self, scenario: Scenario, run: FlentRun, environment: Mapping[str, str]) -> None:
        folder = OwnedFolder()
        results = f"{folder.path}/{OUT}/results"
        super().__init__(
            scenario, run.argv(str(folder.path), results), servers=(), owned=folder,
            wall_limit_s=wall_limit_s(run),
            env={**CELL_ENVIRONMENT, **environment, "HOME": str(folder.path),
                 "TMPDIR": str(folder.path), "RESULTS": results})
        (self.folder / "cell.batch").write_text(run.batch)

    def _command_line(self) -> list[str]:
        apart = (["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
                 if os.geteuid() == 0 else [])
        return [*DIES_WITH_US, *apart, "sh", "guest/host.sh"]


class SshTestbed:
    """Runs through a router behind ssh, one after the other."""

    real_time = True
    tools: Sequence[str] = ("ssh", "unshare")

    def __init__(self, address: str) -> None:
        self.title = f"the router {address}"
        self._address = address
        self._connection = Connection(address)
        self._session: Session | None = None
        self._server: Server | None = None
        self._devices: dict[str, str] = {}
        self._router: Mapping[str, str] = {}

    def check(self, cells: Iterable[Cell]) -> list[str]:
        """Connect, and refuse what the router can't do or must not be asked for."""
        cells = list(cells)
        for cell in cells:
            refuse_virtual_settings(self._address, cell.scenario)
            refuse_network_of_ours(cell.scenario)
        keys = {key: _same(key, [getattr(cell.scenario.lab, key) for cell in cells])
                for key in _KEYS}
        host = _same("hosts", [_first(cell.settings.get("HOSTS")) for cell in cells])
        if not keys["server_testbed"] and any(cell.scenario.path.base_delay_ms for cell in cells):
            raise ConfigError("base_delay_ms: delay is added on the server; give its address "
                              "with server_testbed = ssh://root@SERVER, or leave it out")
        server = address_of(host)
        client = own_address_towards(server)
        self._connection.start()
        try:
            kinds = {kind for cell in cells for kind in needs.kinds_of(cell.scenario)}
            facts = probe.probe(self._connection.run, kinds=kinds, addresses=(client, server))
            probe.check_host(facts)
            self._devices = {
                "dev_down": _device(facts, keys, "dev_down", client, "client"),
                "dev_up": _device(facts, keys, "dev_up", server, "server")}
            probe.check_devices(facts, self._devices)
            probe.check_kinds(facts, kinds, _without(facts, cells))
        except AqmError as error:
            raise self._named(error) from None
        self._router = facts.text
        if keys["server_testbed"]:
            self._server = Server(keys["server_testbed"], client)
            self._server.check()
        return [f"{key} {name}: its driver doesn't limit its own queue (no BQL), which would "
                "hide the AQM wherever the device itself is the bottleneck"
                for key, name in self._devices.items()
                if facts.links[name].driver and not facts.links[name].bql]

    def prepare(self) -> None:
        """Lock the router, keep its state, leave a watchdog there; the same on the server."""
        self._session = Session(self._connection, list(self._devices.values()))
        self._session.begin(clear=True)
        if self._server:
            self._server.begin()

    def facts(self, kernel: str = STOCK) -> Facts:
        """Return this machine's kernel, and what the router says of itself."""
        keys = ("model", "system", "kernel", "tc")
        return Facts(
            {"version": os.uname().release, "hash": None},
            {"router": {key: self._router[key] for key in keys if self._router.get(key)},
             "devices": dict(self._devices), "watchdog_limit_s": WATCHDOG_LIMIT_S})

    def place(self, scenario: Scenario, run: FlentRun) -> RunEnvironment:
        """Return this machine, with the server made ready for the run."""
        assert self._session is not None, "prepare() comes first"
        if not self._connection.is_open():
            raise TestbedError(f"{self._address}: the connection has broken; the watchdog there "
                               f"restores the router within {WATCHDOG_LIMIT_S} s")
        # txqueuelen of the run before would be this one's, too.
        self._session.clear()
        if self._server:
            self._server.make_ready(run.servers, scenario.path.base_delay_ms)
        return ThisHost(scenario, run, {
            **self._connection.environment,
            environment.SSH_TOKEN: self._session.token,
            environment.DEV_DOWN: self._devices["dev_down"],
            environment.DEV_UP: self._devices["dev_up"],
        })

    def clean_up(self) -> None:
        """Restore router and server, and let go of them."""
        faults = []
        for end in (self._server.end if self._server else None,
                    self._session.end if self._session else None):
            try:
                if end:
                    end()
            except AqmError as fault:
                faults.append(str(fault))
        self._connection.close()
        if faults:
            raise TestbedError("; ".join(faults))

    def _named(self, error: AqmError) -> AqmError:
        text = str(error)
        return error if self._address in text else TestbedError(f"{self._address}: {text}")


def _without(facts: probe.Facts, cells: Iterable[Cell]) -> str:
    """Return the words that leave out queues whose cells ask for what the router lacks; empty where
    none is left."""
    fits = {cell.scenario.router.aqm: True for cell in cells}
    for cell in cells:
        if any(facts.kinds.get(kind, "?") for kind in needs.kinds_of(cell.scenario)):
            fits[cell.scenario.router.aqm] = False
    left = [aqm for aqm, fit in fits.items() if fit]
    return override(left) if left else ""


def _same(key: str, values: Iterable[str]) -> str:
    """Return the one value. Raises ConfigError where there are several."""
    different = sorted(set(values))
    if len(different) > 1:
        raise ConfigError(f"{key}: {' and '.join(map(repr, different))} in one sweep; "
                          "a router has the same throughout")
    return different[0]


def _first(hosts: object) -> str:
    """The server is the first of Flent's hosts."""
    return str(hosts[0]) if isinstance(hosts, list) and hosts else ""


def _device(facts: probe.Facts, keys: Mapping[str, str], key: str, address: str, host: str) -> str:
    """Return the device that the batch names, or else that which the router's route takes."""
    if keys[key]:
        return keys[key]
    if address not in facts.routes:
        raise TestbedError(f"{key}: the router has no route to the {host}, {address}; "
                           f"name its device with {key}")
    return facts.routes[address]
