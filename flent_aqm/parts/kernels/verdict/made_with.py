# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the versions of the programs, and the builds of the kernels, that made each side's runs.

If programs differ, a difference between the samples need not come from the change. Runs of two
builds of a kernel are not one side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import counted, plain
from flent_aqm.parts.kernels.verdict.pairs import QUEUE_KEYS
from flent_aqm.results.metrics.settings import builds_of_kernels
from flent_aqm.results.score.shown import ScoredFile
from flent_aqm.spec.queues.external import queue_of

NONE = "none"
LINUX, OWN_TC = "Linux", "tc of the kernel"
# Versions in a data file that are told by another name.
_KERNEL = "lab kernel"


def programs(aqm: Mapping[str, object]) -> dict[str, str]:
    """Return name of a program -> its version, from the AQM metadata of a data file. Programs whose
    version isn't recorded are left out. The kernel is "Linux", this package "flent-aqm".

    The tc that was built with the kernel (`kernel build --tc`), "tc of the kernel", counts only if
    `aqm` or `up_aqm` names a queue that isn't in this package's table of queues: the lab takes it
    then.
    """
    kernel, tools, requested = (one if isinstance(one := aqm.get(name), dict) else {}
                                for name in ("kernel", "tools", "requested"))
    found = {str(name): str(version) for name, version in tools.items()
             if version and name != _KERNEL}
    if version := kernel.get("version"):
        found[LINUX] = str(version)
    queues = (requested.get(key) for key in QUEUE_KEYS)
    if kernel.get("tc") and any(name and queue_of(str(name)).external for name in queues):
        found[OWN_TC] = str(kernel["tc"])
    if version := aqm.get("flent_aqm"):
        found["flent-aqm"] = str(version)
    return found


def refuse_two_builds(side: str, runs: Sequence[ScoredFile]) -> None:
    """Raise ConfigError if a side has runs of two builds of the same kernel: which of them the
    verdict would be about isn't known.

    Args:
        side: "base" or "test", for the message.
        runs: the side's runs.
    """
    for name, builds in builds_of_kernels(run.kernel for run in runs).items():
        told = " and ".join(
            f"{counted(len(made), 'run')} of build {plain(build)} (such as {runs[made[0]].path})"
            for build, made in builds.items())
        raise ConfigError(f"--{side}: its runs were made with {len(builds)} builds of the kernel "
                          f"{plain(name)}: {told}; give the runs of one build")


def differing(base: Sequence[ScoredFile], test: Sequence[ScoredFile]) -> dict[str, str]:
    """Return the programs whose versions differ: name of a program -> "VERSIONS (base) and VERSIONS
    (test)"."""
    names = sorted({name for run in (*base, *test) for name in run.programs})
    return {name: f"{ours} (base) and {theirs} (test)" for name in names
            if (ours := _format_versions(base, name)) != (theirs := _format_versions(test, name))}


def _format_versions(runs: Sequence[ScoredFile], name: str) -> str:
    """Return the versions of the program `name` that these runs were made with, sorted, with " or "
    between them. A run that records none counts as "none"."""
    return " or ".join(sorted({plain(run.programs.get(name, NONE)) for run in runs}))
