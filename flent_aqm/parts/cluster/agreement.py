# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides whether a worker can be used: its package, kernel and tools have to be the same as on the
sweep's machine, so that a run gives the same result on both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RequiredVersions:
    """Versions on the sweep's machine, which a worker has to have."""

    # Hash of the package's sources.
    package: str
    # Hash of the lab's kernel.
    kernel: str
    kernel_version: str
    # Tool -> version.
    tools: Mapping[str, str]


@dataclass(frozen=True)
class WorkerFacts:
    """Facts that a worker reports about itself."""

    # Name of its machine.
    name: str
    # Hash of the package's sources.
    package: str
    # Hash of the kernel that FLENT_AQM_KERNEL names there, "" if it is not set.
    kernel: str
    # True if the required kernel is in its cache.
    has_kernel: bool
    # Tool -> version.
    tools: Mapping[str, str]


def refusal(wanted: RequiredVersions, worker: WorkerFacts) -> str:
    """Return the reason why a worker can't be used, with a remedy. "" if it can be used."""
    if worker.package != wanted.package:
        return (f"its flent-aqm has other sources (hash {worker.package}, here {wanted.package}); "
                "install the same version on both")
    if worker.kernel and worker.kernel != wanted.kernel:
        return (f"it was told to use another kernel (hash {worker.kernel}, here {wanted.kernel}); "
                "unset FLENT_AQM_KERNEL there")
    # The lab's kernel isn't compared here: it is sent to the worker if it is missing.
    for name in sorted((worker.tools.keys() | wanted.tools.keys()) - {"lab kernel"}):
        there, here = worker.tools.get(name), wanted.tools.get(name)
        if there != here:
            return (f"{name} is {there or 'missing'} there and {here or 'missing'} here; "
                    "install the same version on both")
    return ""
