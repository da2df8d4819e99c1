# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a sweep's runs on a scheduler's workers. Implements the protocol of sweep/pool.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.package_copy import package_hash
from flent_aqm.parts.cluster.address import parse_scheduler
from flent_aqm.parts.cluster.agreement import RequiredVersions
from flent_aqm.parts.cluster.cluster import Cluster
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.testbeds import VIRTUAL
from flent_aqm.sweep.run import FinishedRun, SweepFacts, write_files


def by_scheduler(section: Mapping[str, object]) -> RunsOfCluster | None:
    """Return the scheduler's workers if the batch section has the key `scheduler` with a value,
    otherwise None. Doesn't connect yet. Raises ConfigError if the address is wrong."""
    address = parse_scheduler(section.get("scheduler"))
    return RunsOfCluster(address) if address else None


class RunsOfCluster:
    """Makes runs on a scheduler's workers, and writes their results on this machine. Call start(),
    then run() from as many threads as room() allows, and close() at the end. stop() ends all runs
    at once.

    Args:
        address: the scheduler's address, such as tcp://192.0.2.1:8786.

    Attributes:
        title: name of the workers for messages.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self.title = f"the workers of {address}"
        self._cluster: Cluster | None = None
        self._facts: SweepFacts | None = None

    def refuse(self, cell: Cell) -> None:
        """Raise ConfigError for a run on another testbed than the virtual lab, or whose key
        `kernel` isn't "stock"."""
        lab = cell.scenario.lab
        if lab.testbed != VIRTUAL:
            raise ConfigError(f"scheduler: only the virtual lab runs on other machines, not "
                              f"testbed {lab.testbed}; leave scheduler out")
        if lab.kernel != STOCK:
            raise ConfigError(f"scheduler: runs on other machines have set-up's kernel, and not "
                              f"{lab.kernel}; leave scheduler or kernel out")

    def start(self, facts: SweepFacts, say: Callable[[str], None]) -> None:
        """Connect to the scheduler, check its workers, and watch them from then on. Without any
        worker, tell the user how to start one.

        Args:
            facts: facts about the sweep, for data files. Its tools are the versions that workers
                need.
            say: function that prints a message for the user.

        Raises ToolMissing without a lab kernel or the package distributed, ConfigError if
        certificates are missing or can't be used, LabError if a file of this package can't be
        read, TestbedError if the scheduler can't be used, or if a worker is refused and no other
        can be used.
        """
        kernel = find_kernel()
        cluster = Cluster(
            self._address,
            RequiredVersions(package_hash(), kernel.hash, kernel.version, facts.tools),
            kernel.path, say)
        cluster.start()
        self._cluster, self._facts = cluster, facts

    def run(self, cell: Cell) -> FinishedRun:
        """Make a run on a worker, and write its files on this machine. start() comes first.

        Raises an AqmError with the cause if the run fails or can't begin: TestbedError if the
        scheduler or too many workers disappear with it, LabError if the runs are stopped or the
        scheduler stays away too long, StorageError if files can't be written.
        """
        assert self._cluster is not None, "start() comes first"
        assert self._facts is not None, "start() comes first"
        return write_files(self._cluster.make(cell), cell, self._facts)

    def room(self) -> int:
        """Return the number of runs that the workers take at once, with those under way. 0 before
        start() and while there is no worker."""
        return self._cluster.room() if self._cluster else 0

    def stop(self) -> None:
        """End all runs at once. run() raises LabError from then on. Do nothing before start()."""
        if self._cluster:
            self._cluster.stop()

    def close(self) -> None:
        """Disconnect from the scheduler. run() raises LabError from then on. Runs under way on
        workers aren't killed: call stop() first for that. Do nothing before start()."""
        if self._cluster:
            self._cluster.close()
