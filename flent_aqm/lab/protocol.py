# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the interface of a testbed, as a sweep uses it. table.py lists the testbeds.

    testbed = open_testbed("netns")     one object for all runs of a sweep on this testbed
    testbed.check(cells)                before anything changes: refuse what can't be done
    testbed.prepare()                   set up what all runs share
    testbed.facts()                     description for the data files
    with testbed.place(...) as place:   for each run: its network, in which Flent runs
        place.run()
    testbed.clean_up()                  always, also after errors and interrupts

All errors are AqmErrors with a message of one line. The functions below the protocol are checks and
limits that the testbeds in real time share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.place import RunEnvironment
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.testbeds import NETNS


@dataclass(frozen=True)
class FlentRun:
    """Describes one run of Flent in a testbed.

    Attributes:
        batch: text of a batch file with one batch of one run.
        batch_name: name of that batch.
        options: further words for Flent's command line.
        servers: names of the servers that the test needs, see tools/table.py.
        length_s: length of the test in seconds.
        programs: further programs for the PATH inside, name -> path on the host.
        browser: True if one of the programs is a browser.
    """

    batch: str
    batch_name: str
    options: Sequence[str]
    servers: Sequence[str]
    length_s: float
    programs: Mapping[str, Path] = field(default_factory=dict)
    browser: bool = False

    def argv(self, folder: str, results: str) -> list[str]:
        """Return Flent's command line.

        Args:
            folder: path inside the testbed of the folder that contains the batch as cell.batch.
            results: path inside the testbed of the folder to which Flent writes.
        """
        return ["flent", "-B", f"{folder}/cell.batch", "-b", self.batch_name, "-D", results,
                *self.options]


# Environment variables of the Flent that measures: it runs its batch by itself and draws no plots.
CELL_ENVIRONMENT = {environment.CELL: "1", environment.WITHOUT_PLOTS: "1"}


@dataclass(frozen=True)
class Facts:
    """Describes the testbed in each data file, beside the requested settings.

    Attributes:
        kernel: kernel that runs the hosts: `version`, `hash` (None for this machine's own kernel),
            and `name` if the user built it, with `tc`, the hash of the tc that was built with it,
            if there is one.
        hosts: facts about hosts, router and devices by name, such as `tcp_congestion_control`.
            Which there are depends on the testbed.
    """

    kernel: Mapping[str, str | None]
    hosts: Mapping[str, object]


class Testbed(Protocol):
    """Interface of one kind of testbed, for the runs of one sweep.

    Attributes:
        title: name for messages such as "8 runs in the virtual lab".
        real_time: True if the testbed runs in real time: one run at a time, no router model, no
            seed. Runs may use all cores.
        tools: names of the programs that the testbed needs, beside the programs of the tests.
    """

    title: str
    real_time: bool
    tools: Sequence[str]

    def check(self, cells: Iterable[Cell]) -> list[str]:
        """Check that the cells (each the settings of one run) can be run, before prepare(). Return
        warnings, one line each, empty if there are none. Call clean_up() at the end, also if only
        check() was called: connections may stay open until then. Raises ConfigError or another
        AqmError if a cell can't be run, or the testbed can't be used."""
        ...

    def prepare(self) -> None:
        """Set up what all runs share, after check() and before the first run. clean_up() undoes it,
        and has to be called also if this fails. Raises AqmError if it fails."""
        ...

    def facts(self, kernel: str = STOCK) -> Facts:
        """Return the description of the testbed for data files. Call it after prepare(). Raises an
        AqmError if there is no such kernel.

        Args:
            kernel: name of the kernel on which the runs are made. Testbeds in real time ignore it.
        """
        ...

    def place(self, scenario: Scenario, run: FlentRun) -> RunEnvironment:
        """Return the environment of one run, not started yet. The caller closes it. After the run,
        Flent's files are in its `flent_files`. prepare() comes first. In real time, this call may
        set up router and server for the run, which has to end before the next call.

        Args:
            scenario: the settings of the run.
            run: the run of Flent.

        Raises an AqmError if the environment can't be made.
        """
        ...

    def clean_up(self) -> None:
        """Restore the state from before check() and prepare(), when no run is active any more. May
        be called without them, or after one of them failed. Raises AqmError if the state can't be
        restored."""
        ...


def refuse_virtual_settings(testbed: str, scenario: Scenario) -> None:
    """Raise ConfigError if the scenario has a setting that only the virtual lab supports.

    Args:
        testbed: name of the testbed, for the message.
        scenario: the settings of the run.
    """
    if scenario.lab.kernel != STOCK:
        raise ConfigError(f"kernel: {scenario.lab.kernel} is a kernel of the virtual lab; on "
                          f"testbed {testbed} the machines have their own: leave kernel out")
    for record in (scenario.programs, *scenario.of_parts):
        if record.only_in_lab:
            raise ConfigError(record.only_in_lab.format(testbed=testbed))
    for key, delay_ms in (("base_delay_ms", scenario.path.base_delay_ms),
                          ("dest2_delay_ms", scenario.path.dest2_delay_ms or 0)):
        if delay_ms > defaults.MAX_DELAY_MS:
            raise ConfigError(f"{key}: {delay_ms:.15g} ms needs the virtual lab's kernel; on "
                              f"testbed {testbed} give {defaults.MAX_DELAY_MS:g} ms at most")
    if scenario.hosts.host_moderation_us != defaults.HOST_MODERATION_US:
        raise ConfigError(f"host_moderation_us: can't be set on testbed {testbed}, only for the "
                          "cards of the virtual lab's hosts; leave the key out")
    if scenario.router.router_program:
        by_hand = "" if testbed == NETNS else "start it by hand and "
        raise ConfigError(f"router_program: on testbed {testbed} nothing is started on the router; "
                          f"{by_hand}leave the key out, or use testbed virtual")


def refuse_network_of_ours(scenario: Scenario) -> None:
    """Raise ConfigError if the scenario has a setting that needs a network made by flent-aqm:
    modem, second server, reordering, GSO and ECN of the hosts. Behind a real router, the user sets
    up hosts and links."""
    for key, value in (("modem_mbps, modem_down_mbps, modem_up_mbps",
                        scenario.path.modem_down_mbps),
                       ("dest2_delay_ms", scenario.path.dest2_delay_ms),
                       ("reorder_ms", scenario.path.reorder_ms or None),
                       ("host_gso", scenario.hosts.host_gso),
                       ("tcp_ecn", scenario.hosts.tcp_ecn)):
        if value is not None and value is not False:
            raise ConfigError(f"{key}: flent-aqm can't set up the hosts and links around a router "
                              "that it reaches by ssh; set them up by hand and leave "
                              f"{'these keys' if ',' in key else 'the key'} out, or use testbed "
                              "virtual or netns")


def wall_limit_s(run: FlentRun) -> float:
    """Return the seconds of wall time after which a run in real time is considered hung: its length
    and a margin."""
    return run.length_s + defaults.REAL_TIME_MARGIN_S
