# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools' output is parsed by the Flent that ran them, in a run of a sweep.

By itself Flent starts two processes and several threads for it, which talk through sockets:
in the lab's guest, where computing is cheap and system calls are dear, half a second. It has
the other way, too, for systems that can't do this.
"""

from __future__ import annotations

import os
from typing import Any

from flent_aqm.base import environment


def patch(module: Any) -> None:
    """Patch flent.aggregators."""
    if os.environ.get(environment.CELL):
        module.Aggregator.parse_results_parallel = module.Aggregator.parse_results_direct
