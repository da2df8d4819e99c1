# SPDX-License-Identifier: GPL-3.0-or-later
"""Client, router and server as namespaces of this machine's kernel, in real time.

The namespaces have no names outside: they belong to the first process of a PID namespace,
and are gone with it, as are all other processes in there. The kernel sees to that after a
kill -9, too. So two sweeps can't meet, and nothing is ever left to clean up. Names
(client, router, server) stand in files that only those inside see.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from flent_aqm.base import defaults, shell
from flent_aqm.base.errors import AqmError, ConfigError, LabError, LabTimeout
from flent_aqm.lab.guest_files import IN_GUEST, RESULTS_IN_GUEST
from flent_aqm.lab.place import DIES_WITH_US, RunEnvironment
from flent_aqm.lab.protocol import CELL_ENVIRONMENT, Facts, FlentRun
from flent_aqm.lab.real_time import refuse_virtual_settings, wall_limit_s
from flent_aqm.router.hook import apply_command, read_back_command
from flent_aqm.router.proof import prove
from flent_aqm.router.tc.read_back import parse_read_back
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import Scenario

_KILL_GRACE_S = 10.0


class Namespaces(RunEnvironment):
    """Three new namespaces and one command in the client's."""

    name = "the command in namespaces"
    hidden = ("/tmp", "/run")
    real_time = True

    def _command_line(self) -> list[str]:
        return [*DIES_WITH_US, "unshare", "--mount", "--net", "--uts", "--pid", "--fork",
                "--kill-child", "--", "sh", "guest/namespaces.sh"]

    def kill(self) -> None:
        """Kill the first process inside, and wait until all others are gone with it."""
        if self._process is not None and self._process.poll() is None:
            for child in _children(self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_GRACE_S)
        super().kill()


class NetnsTestbed:
    """Runs on this machine's kernel, one after the other."""

    title = "network namespaces"
    real_time = True
    tools: Sequence[str] = ("unshare", "ss", "mount")

    def check(self, cells: Iterable[Cell]) -> list[str]:
        """Refuse without root, or what this kernel can't do: each kind of queue is tried
        in namespaces that are gone again."""
        if os.geteuid() != 0:
            raise ConfigError("testbed: netns needs root, to make network namespaces; run it "
                              "as root, or use virtual")
        # The hook tries each queue on an IFB device, if it can make one.
        _load_ifb()
        kinds: dict[Scenario, Scenario] = {}
        for scenario in (cell.scenario for cell in cells):
            refuse_virtual_settings("netns", scenario)
            kinds.setdefault(_kind(scenario), scenario)
        for scenario in kinds.values():
            _rehearse(scenario)
        algorithm = _congestion_control()
        if algorithm == defaults.TCP_CONGESTION_CONTROL:
            return []
        return [" ".join((
            f"TCP's congestion control is {algorithm} where nothing else asks for one: this",
            f"machine lets namespaces have {defaults.TCP_CONGESTION_CONTROL} only if it stands in",
            "net.ipv4.tcp_allowed_congestion_control"))]

    def prepare(self) -> None:
        """Each run makes its own network."""

    def facts(self, kernel: str = STOCK) -> Facts:
        """Return this machine's kernel."""
        return Facts({"version": os.uname().release, "hash": None},
                     {"tcp_congestion_control": _congestion_control()})

    def place(self, scenario: Scenario, run: FlentRun) -> Namespaces:
        """Namespaces in whose client Flent runs."""
        place = Namespaces(scenario, run.argv(IN_GUEST, RESULTS_IN_GUEST), servers=run.servers,
                           programs=run.programs, env=CELL_ENVIRONMENT,
                           wall_limit_s=wall_limit_s(run))
        (place.folder / "cell.batch").write_text(run.batch)
        return place

    def clean_up(self) -> None:
        """The kernel has done that."""


def _congestion_control() -> str:
    """Return that of new connections inside, see guest/devices.sh."""
    settings = Path("/proc/sys/net/ipv4")
    allowed = (settings / "tcp_allowed_congestion_control").read_text().split()
    if defaults.TCP_CONGESTION_CONTROL in allowed:
        return defaults.TCP_CONGESTION_CONTROL
    return (settings / "tcp_congestion_control").read_text().strip()


def _kind(scenario: Scenario) -> Scenario:
    """Return what makes a difference to whether the kernel can do it: not how fast or how often."""
    return scenario.but(rate_up_mbps=1, rate_down_mbps=1, cross_traffic=False, seed=None,
                   base_delay_ms=min(scenario.path.base_delay_ms, 1))


def _rehearse(scenario: Scenario) -> None:
    """Put the queue in place and read it back, as a run does, but run nothing."""
    release = os.uname().release
    with Namespaces(scenario, read_back_command(scenario), servers=(),
                    prelude=[apply_command(scenario)],
                    wall_limit_s=defaults.REAL_TIME_MARGIN_S) as place:
        try:
            outcome = place.run()
        except LabTimeout:  # the machine is busy, which is not the kernel's fault
            raise
        except LabError:
            output = " ".join(place.console().replace("flent-aqm-guest:", "").split())
            path = scenario.path
            parts = [text for requested, text in (
                (path.base_delay_ms, f"a base delay of {path.base_delay_ms:g} ms"),
                (path.modem_up_mbps, "a modem"),
                (scenario.path.dest2_delay_ms is not None, "a second server")) if requested]
            what = f"namespaces with {' and '.join(parts)}" if parts else "namespaces"
            raise ConfigError(f"testbed netns: this machine's kernel {release} can't make "
                              f"{what}: {output or 'no message'}") from None
        if outcome.status:
            output = " ".join(place.stderr.read_text(errors="replace").split())
            raise ConfigError(f"aqm {scenario.router.queues_text}: this machine's kernel {release} "
                              f"can't do it: {output}")
        try:
            prove(scenario, parse_read_back(place.stdout.read_text()))
        except AqmError as error:
            raise ConfigError(f"aqm {scenario.router.queues_text}: this machine's kernel {release} "
                              f"does something else: {error}") from None


def _load_ifb() -> None:
    """Load the kernel module of IFB devices in such a way that it makes none: loaded by
    itself, it makes two of them, outside of our namespaces."""
    if Path("/sys/module/ifb").exists() or Path("/sys/class/net/ifb0").exists():
        return
    with contextlib.suppress(AqmError):  # built in, or not there, which the rehearsal tells
        shell.run(["modprobe", "ifb", "numifbs=0"])


def _children(parent: int) -> list[int]:
    """Return the processes that a process has started and that still are."""
    children = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                # The name, in brackets, may hold anything.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == parent:
                    children.append(int(entry.name))
    return children
