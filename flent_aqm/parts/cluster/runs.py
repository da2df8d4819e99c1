# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep's runs by a scheduler's workers: what sweep/elsewhere.py wants."""

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
from flent_aqm.sweep.finish import SweepFacts
from flent_aqm.sweep.run_cell import FinishedRun, keep


def by_scheduler(section: Mapping[str, object]) -> RunsOfCluster | None:
    """Return what the key `scheduler` asks for. Raises ConfigError."""
    address = parse_scheduler(section.get("scheduler"))
    return RunsOfCluster(address) if address else None


class RunsOfCluster:
    """The scheduler's workers make the runs; they are kept here."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.title = f"the workers of {address}"
        self._cluster: Cluster | None = None
        self._facts: SweepFacts | None = None

    def refuse(self, cell: Cell) -> None:
        """Raise ConfigError for what workers don't have."""
        lab = cell.scenario.lab
        if lab.testbed != "virtual":
            raise ConfigError(f"scheduler: only the virtual lab runs on other machines, not "
                              f"testbed {lab.testbed}; leave scheduler out")
        if lab.kernel != STOCK:
            raise ConfigError(f"scheduler: runs on other machines have set-up's kernel, and not "
                              f"{lab.kernel}; leave scheduler or kernel out")

    def start(self, facts: SweepFacts, say: Callable[[str], None]) -> None:
        """Connect. Raises TestbedError."""
        kernel = find_kernel()
        cluster = Cluster(
            self._address,
            RequiredVersions(package_hash(), kernel.hash, kernel.version, facts.tools),
            kernel.path, say)
        cluster.start()
        self._cluster, self._facts = cluster, facts

    def run(self, cell: Cell) -> FinishedRun:
        """Wait for a worker's run, and write it."""
        assert self._cluster is not None, "start() comes first"
        assert self._facts is not None, "start() comes first"
        made = self._cluster.make(cell)
        scores, virtual_s = keep(made, cell, self._facts)
        wall_s = made.outcome.wall_s if made.outcome else 0.0
        return FinishedRun(cell, scores, virtual_s, wall_s)

    def room(self) -> int:
        """Return how many runs the workers have room for."""
        return self._cluster.room() if self._cluster else 0

    def stop(self) -> None:
        """End all runs at once."""
        if self._cluster:
            self._cluster.stop()

    def close(self) -> None:
        """Let the workers go."""
        if self._cluster:
            self._cluster.close()
