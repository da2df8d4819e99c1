# SPDX-License-Identifier: GPL-3.0-or-later
"""Part that sends a sweep's runs to other machines, with Dask's package distributed.

docs/cluster.md explains it.
"""

from flent_aqm.base.part import Command, Part
from flent_aqm.spec.key import Key

PART = Part(
    commands={"worker": Command(
        "flent_aqm.parts.cluster.command", "make runs for sweeps on other machines",
        "flent-aqm worker tcp://192.0.2.1:8786")},
    sweep_keys={"scheduler": Key(
        "`tcp://HOST:PORT`", "send runs to a Dask scheduler's workers", usual="none")},
    elsewhere="flent_aqm.parts.cluster.runs:by_scheduler")
