# SPDX-License-Identifier: GPL-3.0-or-later
"""The testbed `netns`: client, router and server as network namespaces, in real time.

The namespaces have no names outside. They belong to the first process of a PID namespace, and end
with it, as do all other processes inside. The kernel ensures that even after kill -9. So two sweeps
can't disturb each other, and nothing remains to be cleaned up. The namespaces' names (client,
router, server) are files that only processes inside see.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from flent_aqm.base import defaults, shell
from flent_aqm.base.errors import (
    AqmError,
    ConfigError,
    LabError,
    LabTimeout,
    ParseError,
    RouterDisagrees,
)
from flent_aqm.lab.guest_files import IN_GUEST, RESULTS_IN_GUEST
from flent_aqm.lab.place import DIES_WITH_US, RunEnvironment
from flent_aqm.lab.protocol import (
    CELL_ENVIRONMENT,
    Facts,
    FlentRun,
    refuse_virtual_settings,
    wall_limit_s,
)
from flent_aqm.router.hook import apply_command
from flent_aqm.router.proof import prove, read_back
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.testbeds import NETNS

_KILL_GRACE_S = 10.0


class Namespaces(RunEnvironment):
    """Run environment of one run on the testbed `netns`: runs one command on the client of a
    network whose hosts are new network namespaces. Takes the arguments of RunEnvironment. Only root
    can start it."""

    name = "the network of namespaces"
    hidden = ("/tmp", "/run")
    real_time = True

    def _command_line(self) -> list[str]:
        """Return the command that makes the namespaces and runs guest/namespaces.sh in them."""
        return [*DIES_WITH_US, "unshare", "--mount", "--net", "--uts", "--pid", "--fork",
                "--kill-child", "--", "sh", "guest/namespaces.sh"]

    def kill(self) -> None:
        """Kill the first process inside, wait up to _KILL_GRACE_S seconds until all others inside
        have ended with it, then kill the process outside. Does nothing if it was not started or has
        ended."""
        if self._process is not None and self._process.poll() is None:
            for child in _children(self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_GRACE_S)
        super().kill()


class NetnsTestbed:
    """Testbed, as protocol.Testbed describes it, whose hosts are network namespaces on this
    machine's kernel. It needs root. Runs share the machine's processors, so the caller makes one at
    a time."""

    title = "network namespaces"
    real_time = True
    tools: Sequence[str] = ("unshare", "ss", "mount")

    def check(self, cells: Iterable[Cell]) -> list[str]:
        """Check that this machine can run the cells. Return a list with a warning if it doesn't let
        the namespaces have this package's congestion control, otherwise an empty list.

        Each kind of queue and network is set up once in temporary namespaces. The kernel module of
        IFB devices is loaded if there is one, and stays loaded.

        Raises ConfigError if this process isn't root, if a setting needs the virtual lab, or if
        this machine can't set up what a cell needs. Raises LabTimeout if the machine is too busy,
        LabError if the package can't be copied for the namespaces.
        """
        if os.geteuid() != 0:
            raise ConfigError("testbed: netns needs root, to create network namespaces; run "
                              "the same command as root, or use testbed virtual")
        # The router hook tries each queue on an IFB device if IFB is available.
        _load_ifb_module()
        kinds: dict[Scenario, Scenario] = {}
        for scenario in (cell.scenario for cell in cells):
            refuse_virtual_settings(NETNS, scenario)
            kinds.setdefault(_as_rehearsed(scenario), scenario)
        for scenario in kinds.values():
            _rehearse(scenario)
        algorithm = _congestion_control()
        if algorithm == defaults.TCP_CONGESTION_CONTROL:
            return []
        return [" ".join((
            f"TCP's congestion control is {algorithm} where a test requests none, as NDT7's upload",
            "always, so that these runs don't compare with the lab's: this machine lets",
            f"namespaces have {defaults.TCP_CONGESTION_CONTROL} only if the sysctl",
            "net.ipv4.tcp_allowed_congestion_control lists it"))]

    def prepare(self) -> None:
        """Do nothing: each run makes its own network."""

    def facts(self, kernel: str = STOCK) -> Facts:
        """Return the release of this machine's kernel, and the congestion control of new
        connections inside the namespaces: this package's own if this machine allows it there,
        otherwise the machine's default. `kernel` is ignored."""
        return Facts({"version": os.uname().release, "hash": None},
                     {"tcp_congestion_control": _congestion_control()})

    def place(self, scenario: Scenario, run: FlentRun) -> Namespaces:
        """Return the environment of one run of Flent: a context manager that owns a temporary
        folder, into which the run's files are written here. The namespaces themselves are made when
        it is started. Raises an AqmError if the scenario's files can't be prepared, OSError if they
        can't be written."""
        place = Namespaces(scenario, run.argv(IN_GUEST, RESULTS_IN_GUEST), servers=run.servers,
                           programs=run.programs, env=CELL_ENVIRONMENT,
                           wall_limit_s=wall_limit_s(run))
        (place.folder / "cell.batch").write_text(run.batch)
        return place

    def clean_up(self) -> None:
        """Do nothing: the kernel removes the namespaces of a run that has ended."""


def _congestion_control() -> str:
    """Return the congestion control of new connections inside the namespaces, as guest/devices.sh
    sets it: this package's own if this machine allows it there, otherwise the machine's default."""
    settings = Path("/proc/sys/net/ipv4")
    allowed = (settings / "tcp_allowed_congestion_control").read_text().split()
    if defaults.TCP_CONGESTION_CONTROL in allowed:
        return defaults.TCP_CONGESTION_CONTROL
    return (settings / "tcp_congestion_control").read_text().strip()


def _as_rehearsed(scenario: Scenario) -> Scenario:
    """Return the scenario with the settings equalised that don't decide whether this kernel
    supports it: rates, cross traffic, seed, and a base delay of more than 1 ms. Scenarios with the
    same result are rehearsed once."""
    return scenario.but(rate_up_mbps=1, rate_down_mbps=1, cross_traffic=False, seed=None,
                   base_delay_ms=min(scenario.path.base_delay_ms, 1))


def _rehearse(scenario: Scenario) -> None:
    """Set up the network and the queue of a scenario in temporary namespaces, and read the queue of
    the first router back as a run does, without running a test.

    Raises ConfigError if this machine refuses the network or the queue, or reports other settings
    or none that can be read, LabTimeout if the machine is too busy, LabError if the package can't
    be copied for the namespaces.
    """
    release = os.uname().release
    try:
        prove(scenario, read_back(scenario, run=partial(_set_up_and_run, scenario)))
    except RouterDisagrees as error:
        raise ConfigError(f"aqm {scenario.router.queues_text}: this machine (Linux {release}) "
                          f"sets up something else: {error}") from None
    except ParseError as error:
        raise ConfigError(f"aqm {scenario.router.queues_text}: can't read what this machine "
                          f"(Linux {release}) has set up: {error}") from None


def _set_up_and_run(scenario: Scenario, command: Sequence[str]) -> str:
    """Set up the network and the queue of a scenario in temporary namespaces, and run a command on
    the client. Return its standard output.

    Raises ConfigError if this machine refuses the network or the queue, or if the command fails,
    LabTimeout if the machine is too busy, LabError if the package can't be copied for the
    namespaces.
    """
    release = os.uname().release
    with Namespaces(scenario, command, servers=(),
                    prelude=[apply_command(scenario)],
                    wall_limit_s=defaults.REAL_TIME_MARGIN_S) as place:
        try:
            result = place.run()
        except LabTimeout:  # the machine is busy, which is not the kernel's fault
            raise
        except LabError as error:
            output = _in_one_line(place.console().replace("flent-aqm-guest:", ""))
            path = scenario.path
            parts = [text for requested, text in (
                (path.base_delay_ms, f"a base delay of {path.base_delay_ms:g} ms"),
                (path.reorder_ms, f"a random delay of {path.reorder_ms:g} ms"),
                (path.modem_up_mbps, "a modem"),
                (path.dest2_delay_ms is not None, "a second server"),
                (path.topology != DUMBBELL, f"topology {path.topology}")) if requested]
            what = f"namespaces with {' and '.join(parts)}" if parts else "namespaces"
            raise ConfigError(f"testbed netns: this machine (Linux {release}) can't set up "
                              f"{what}: {output[-1000:] or error}; its kernel may lack a module, "
                              "its disk room, or a container a right: mend that, or use testbed = "
                              "virtual") from None
        if result.status:
            output = _in_one_line(place.stderr.read_text(errors="replace"))
            raise ConfigError(f"aqm {scenario.router.queues_text}, shaper "
                              f"{scenario.router.shaper}: this machine (Linux {release}) can't set "
                              "them up, or read them back: "
                              f"{output[-1000:] or f'status {result.status}, without a message'}")
        return place.stdout.read_text()


def _in_one_line(output: str) -> str:
    """Return what programs printed as one line, with a semicolon between theirs."""
    return "; ".join(words for line in output.splitlines()
                     if (words := " ".join(line.split()).removesuffix(".")))


def _load_ifb_module() -> None:
    """Load the kernel module of IFB devices, without devices, unless it is loaded. Loaded
    automatically, it would make two devices outside our namespaces. Errors of modprobe are ignored.
    """
    if Path("/sys/module/ifb").exists() or Path("/sys/class/net/ifb0").exists():
        return
    with contextlib.suppress(AqmError):  # built in, or missing, which _rehearse() reports
        shell.run(["modprobe", "ifb", "numifbs=0"])


def _children(parent: int) -> list[int]:
    """Return the ids of the processes whose parent has the id `parent`."""
    children = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                # The process's name, in brackets, may contain any character.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == parent:
                    children.append(int(entry.name))
    return children
