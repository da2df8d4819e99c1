# SPDX-License-Identifier: GPL-3.0-or-later
"""What both sides have to have in common so that a run is the same wherever it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RequiredVersions:
    """The asking side: a hash of the package's sources, kernel and its version, versions of
    all tools by name."""

    package: str
    kernel: str
    kernel_version: str
    tools: Mapping[str, str]


@dataclass(frozen=True)
class WorkerFacts:
    """A worker. kernel: hash of the one kernel that it was told to use, or ""; has_kernel:
    whether the wanted one is there."""

    name: str
    package: str
    kernel: str
    has_kernel: bool
    tools: Mapping[str, str]


def refusal(wanted: RequiredVersions, worker: WorkerFacts) -> str:
    """Return why a worker can't be used, or ""."""
    if worker.package != wanted.package:
        return (f"its flent-aqm has other sources (hash {worker.package}, here {wanted.package}); "
                "install the same version on both")
    if worker.kernel and worker.kernel != wanted.kernel:
        return (f"it was told to use another kernel (hash {worker.kernel}, here {wanted.kernel}); "
                "unset FLENT_AQM_KERNEL there")
    # The lab's kernel has been compared, and is sent if it isn't there.
    for name in sorted((worker.tools.keys() | wanted.tools.keys()) - {"lab kernel"}):
        there, here = worker.tools.get(name), wanted.tools.get(name)
        if there != here:
            return (f"{name} is {there or 'missing'} there and {here or 'missing'} here; "
                    "install the same version on both")
    return ""
