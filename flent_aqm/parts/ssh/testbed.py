# SPDX-License-Identifier: GPL-3.0-or-later
"""Testbed of three machines: this one is the client, router and server are reached by ssh.

    this machine ── dev_down [router] dev_up ── server
                     ssh by a third device

Flent runs on this machine. Further keys of the batch: dev_down and dev_up, if the router's routes
don't determine its devices. server_testbed, if the server is to be set up by ssh as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from flent_aqm.base import environment
from flent_aqm.base.errors import AqmError, ConfigError, TestbedError
from flent_aqm.lab.folder import OwnedFolder
from flent_aqm.lab.guest_files import OUT
from flent_aqm.lab.place import DIES_WITH_US, RunEnvironment
from flent_aqm.lab.protocol import (
    CELL_ENVIRONMENT,
    Facts,
    FlentRun,
    refuse_network_of_ours,
    refuse_virtual_settings,
    wall_limit_s,
)
from flent_aqm.parts.ssh import needs, probe
from flent_aqm.parts.ssh.answers import refuse_unreachable
from flent_aqm.parts.ssh.connection import SshConnection
from flent_aqm.parts.ssh.offer import override_aqms
from flent_aqm.parts.ssh.routes import address_of, own_address_towards
from flent_aqm.parts.ssh.server import SshServer
from flent_aqm.parts.ssh.session import RouterSession
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.cross_traffic import kind_of
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.needs import needs_of_run
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools.table import SERVERS

# Time in which the watchdog restores the router: watchdog_limit_s in router_hooks/defaults.sh.
WATCHDOG_LIMIT_S = 60

# Settings that have to be the same for all runs on one router.
_KEYS = ("dev_down", "dev_up", "server_testbed")


class ThisHost(RunEnvironment):
    """Run environment for Flent on this machine as it is. HOME and TMPDIR are its own folder, which
    is made with the object.

    Args:
        scenario: settings of the run.
        run: the call of Flent.
        environment: variables by which the hooks reach the router.
    """

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
        """Return the command that runs guest/host.sh. For root, it runs in PID and mount namespaces
        of its own. Other users may not create them."""
        apart = (["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
                 if os.geteuid() == 0 else [])
        return [*DIES_WITH_US, *apart, "sh", "guest/host.sh"]


class SshTestbed:
    """Makes runs through a router behind ssh, one after the other. Call check(), prepare(), place()
    for each run, and clean_up() at the end, also after an error.

    Args:
        address: the router, ssh://[user@]host[:port].

    Attributes:
        title: description of the testbed for messages.
        real_time: True: its clock is the real one.
        tools: programs that it needs on this machine.
    """

    real_time = True
    tools: Sequence[str] = ("ssh", "unshare")

    def __init__(self, address: str) -> None:
        self.title = f"the router {address}"
        self._address = address
        self._connection = SshConnection(address)
        self._session: RouterSession | None = None
        self._server: SshServer | None = None
        self._devices: dict[str, str] = {}
        self._router: Mapping[str, str] = {}

    def check(self, cells: Iterable[Cell]) -> list[str]:
        """Connect to the router, and to the server if `server_testbed` is given, and check that
        they can do all runs, of which there is at least one. Return a warning for each of the
        router's two devices whose driver has no byte queue limits. The connections stay open until
        clean_up().

        Raises ConfigError for settings that a real testbed can't have, a server, `dev_down`,
        `dev_up` or `server_testbed` that differs between the runs, added delay without
        `server_testbed`, or a server without an address or route. Raises ToolMissing without an ssh
        client, TestbedError if a host or, without `server_testbed`, a server of the runs can't be
        reached, a host's answer has another form, a host isn't used as root or lacks something such
        as tc, a qdisc or a route, or a device of the router carries the ssh connection or serves
        both directions.
        """
        cells = list(cells)
        for cell in cells:
            refuse_network_of_ours(cell.scenario)
            refuse_virtual_settings(self._address, cell.scenario)
        keys = {key: _common_value(key, [getattr(cell.scenario.lab, key) for cell in cells])
                for key in _KEYS}
        host = _common_value("hosts", [_first_host(cell.settings.get("HOSTS")) for cell in cells])
        if not keys["server_testbed"] and any(cell.scenario.path.base_delay_ms for cell in cells):
            raise ConfigError("base_delay_ms: delay is added on the server; give its address "
                              "with server_testbed = ssh://root@SERVER, or leave it out")
        server = address_of(host, "hosts")
        client = own_address_towards(server, "hosts")
        self._connection.start()
        try:
            kinds = {kind for cell in cells for kind in needs.kinds_of(cell.scenario)}
            facts = probe.probe(self._connection.run, kinds=kinds, addresses=(client, server))
            probe.check_host(facts)
            self._devices = {
                "dev_down": _device_towards(facts, keys, "dev_down", client, "client"),
                "dev_up": _device_towards(facts, keys, "dev_up", server, "server")}
            probe.check_devices(facts, self._devices)
            probe.check_kinds(facts, kinds, _override_without_missing(facts, cells))
        except AqmError as error:
            raise self._with_address(error) from None
        self._router = facts.text
        if keys["server_testbed"]:
            self._server = SshServer(keys["server_testbed"], client)
            self._server.check(delays=any(cell.scenario.path.base_delay_ms for cell in cells))
        else:
            refuse_unreachable(_servers_of(cells), server, host, self._address)
        return [f"{key} {name}: its driver doesn't limit its own queue (no BQL), which would "
                "hide the AQM wherever the device itself is the bottleneck"
                for key, name in self._devices.items()
                if facts.links[name].driver and not facts.links[name].bql]

    def prepare(self) -> None:
        """Lock the router and, if it is set up by ssh, the server, store their states, start the
        watchdogs there, and remove the qdiscs of the router's devices. check() comes first.

        Raises TestbedError if a host is locked by another sweep or stops answering, or if its state
        can't be stored or can't be restored exactly. A router that was locked before the server
        failed stays so until clean_up().
        """
        self._session = RouterSession(self._connection, list(self._devices.values()))
        self._session.begin(clear=True)
        if self._server:
            self._server.begin()

    def facts(self, kernel: str = STOCK) -> Facts:
        """Return facts for data files: this machine's kernel, the router's own description, its
        devices, and the limit of its watchdog in s. check() comes first. `kernel` is ignored."""
        keys = ("model", "system", "kernel", "tc")
        return Facts(
            {"version": os.uname().release, "hash": None},
            {"router": {key: self._router[key] for key in keys if self._router.get(key)},
             "devices": dict(self._devices), "watchdog_limit_s": WATCHDOG_LIMIT_S})

    def place(self, scenario: Scenario, run: FlentRun) -> RunEnvironment:
        """Return the run environment, not started yet, which the caller closes. Before that, clear
        the router's queues, reset the lengths of its transmit queues and, if the server is set up
        by ssh, start its missing servers and set its delay. prepare() comes first.

        Raises TestbedError if the connection has broken or a command fails, and the errors of
        RunEnvironment.
        """
        assert self._session is not None, "prepare() comes first"
        if not self._connection.is_open():
            raise TestbedError(f"{self._address}: the connection has broken; unless the router has "
                               f"restarted, its watchdog restores it within {WATCHDOG_LIMIT_S} s: "
                               "make the other runs then")
        # Otherwise the transmit queue length of the previous run would stay.
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
        """Restore router and server, and disconnect. May be called after check() or prepare()
        failed. Raises TestbedError if one of them isn't restored, with the faults of both, after
        both were tried."""
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

    def _with_address(self, error: AqmError) -> AqmError:
        """Return the error as it is if its text has the router's address, otherwise a TestbedError
        with the address before that text."""
        text = str(error)
        return error if self._address in text else TestbedError(f"{self._address}: {text}")


def _override_without_missing(facts: probe.RouterProperties, cells: Iterable[Cell]) -> str:
    """Return the --batch-override option that measures only the AQMs for whose runs the router
    lacks nothing. "" if there is no such AQM."""
    fits = {cell.scenario.router.aqm: True for cell in cells}
    for cell in cells:
        if any(facts.kinds.get(kind, "?") for kind in needs.kinds_of(cell.scenario)):
            fits[cell.scenario.router.aqm] = False
    left = [aqm for aqm, fit in fits.items() if fit]
    return override_aqms(left) if left else ""


def _servers_of(cells: Iterable[Cell]) -> set[str]:
    """Return the names of the servers that cells need at their usual ports. Left out are the
    servers of unknown tests, which may need none of the common servers, a test's server if the
    server's own test parameter for the port (Server.parameter) is given, and that of cross traffic
    if the test parameter cross_port is given."""
    names = set()
    for cell in cells:
        of_test = needs_of_run(cell.test_name, cell.scenario.but(cross_traffic=False),
                               cell.test_parameters)
        if not of_test.is_known:
            continue
        names |= {name for name in of_test.servers
                  if SERVERS[name].parameter not in cell.test_parameters}
        cross = kind_of(cell.scenario.hosts.cross_traffic)
        if cross and "cross_port" not in cell.test_parameters:
            names.add(cross.server.name)
    return names


def _common_value(key: str, values: Iterable[str]) -> str:
    """Return the value that all runs have for a batch key. Raises ConfigError if they differ.

    Args:
        key: the key, for the message.
        values: the value of each run, at least one.
    """
    different = sorted(set(values))
    if len(different) > 1:
        raise ConfigError(f"{key}: the runs of this sweep have different values, "
                          f"{' and '.join(map(repr, different))}; through a router behind ssh, all "
                          "runs of a sweep need the same value")
    return different[0]


def _first_host(hosts: object) -> str:
    """Return the first of Flent's hosts (setting HOSTS, a list), which is the server. "" if there
    is none."""
    return str(hosts[0]) if isinstance(hosts, list) and hosts else ""


def _device_towards(facts: probe.RouterProperties, keys: Mapping[str, str], key: str, address: str,
                    host: str) -> str:
    """Return the name of a device of the router: that of the batch, or else that of the router's
    route to `address`.

    Args:
        facts: what the router told.
        keys: values of the batch keys, "" for those that aren't given.
        key: `dev_down` or `dev_up`.
        address: address on the device's side.
        host: "client" or "server", for the message.

    Raises TestbedError if neither is known.
    """
    if keys[key]:
        return keys[key]
    if address not in facts.routes:
        raise TestbedError(f"{key}: the router has no route to the {host}, {address}; "
                           f"give the router's device on that side, such as {key} = eth1")
    return facts.routes[address]
