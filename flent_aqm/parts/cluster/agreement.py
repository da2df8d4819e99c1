# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whether a worker can be used: its package, kernel and tools have to be the sweep's.

A run then gives the same result on both machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RequiredVersions:
    """Versions on the sweep's machine, which a worker has to have.

    Attributes:
        package_hash: hash of the package's sources.
        kernel_hash: hash of the lab's kernel.
        kernel_version: version of the lab's kernel.
        tool_versions: tool -> version, of the tools that are installed. The lab's kernel among them
            isn't compared.
    """

    package_hash: str
    kernel_hash: str
    kernel_version: str
    tool_versions: Mapping[str, str]


@dataclass(frozen=True)
class WorkerFacts:
    """Facts that a worker reports about itself.

    Attributes:
        host_name: name of its machine.
        package_hash: hash of the package's sources.
        forced_kernel_hash: hash of the kernel that FLENT_AQM_KERNEL names there, "" if it is not
            set.
        has_required_kernel: True if it has the required kernel: as the one that FLENT_AQM_KERNEL
            names, or if that isn't set, in its cache.
        tool_versions: tool -> version, of the tools that are installed.
    """

    host_name: str
    package_hash: str
    forced_kernel_hash: str
    has_required_kernel: bool
    tool_versions: Mapping[str, str]


def refusal(wanted: RequiredVersions, worker: WorkerFacts) -> str:
    """Return the first reason why a worker can't be used, with a remedy: another package, another
    kernel forced by FLENT_AQM_KERNEL, or a tool that has another version or that only one side has.
    A missing kernel is none, because it is sent. "" if the worker can be used."""
    if worker.package_hash != wanted.package_hash:
        return (f"its flent-aqm has other sources (hash {worker.package_hash}, here "
                f"{wanted.package_hash}); "
                "install the same version on both, and start the worker again")
    if worker.forced_kernel_hash and worker.forced_kernel_hash != wanted.kernel_hash:
        return ("its variable FLENT_AQM_KERNEL names another kernel (hash "
                f"{worker.forced_kernel_hash}, here {wanted.kernel_hash}); unset it there, and "
                "start the worker again")
    # The lab's kernel isn't compared here: it is sent to the worker if it is missing.
    for name in sorted((worker.tool_versions.keys() | wanted.tool_versions.keys())
                       - {"lab kernel"}):
        there, here = worker.tool_versions.get(name), wanted.tool_versions.get(name)
        if there != here:
            return (f"{name} is {there or 'missing'} there and {here or 'missing'} here; "
                    "install the same version on both, and start the worker again")
    return ""
