# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what a lab takes of the host's memory: the most during an NDT7 test at 1 Gbit/s.

    .venv/bin/python -m research.bench.memory

With cross traffic and captures of all headers, as a sweep has it. Memory is the proportional set
size (PSS) of the guest's kernel and processes together, so that shared pages count once.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from flent_aqm.lab.protocol import CELL_ENVIRONMENT
from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario

TARGET_MB = 400
STEP_S = 0.3
NDT7 = ["env", *(f"{name}={value}" for name, value in CELL_ENVIRONMENT.items()),
        "flent", "ndt7", "-H", "server", "-f", "null", "-D", "/tmp",
        "--test-parameter", "cross_traffic=1"]


def main() -> None:
    """Run an NDT7 test at 1 Gbit/s in a lab, and print the most memory that it took meanwhile,
    beyond what this process had before, in MiB, and the target. Whether the test succeeded isn't
    checked. Raises AqmError if the lab can't be made."""
    scenario = Scenario.from_settings({"rate_mbps": 1000, "cross_traffic": True})
    most_mb = 0.0
    before_mb = memory_mb(os.getpid())
    with Lab(scenario, NDT7, prelude=[apply_command(scenario)],
             servers=("ndt7-cleartext", "irtt", "iperf3")) as lab:
        run = threading.Thread(target=lab.run)
        run.start()
        while run.is_alive():
            most_mb = max(most_mb, memory_mb(os.getpid()) - before_mb)
            run.join(STEP_S)
    print(f"a lab with NDT7 at 1 Gbit/s: {most_mb:.0f} MB, target {TARGET_MB}")


def memory_mb(pid: int) -> float:
    """Return the memory of a process and all its descendants in MiB (PSS). A page that they share
    counts once; of a page shared with other processes, only their part counts. Processes that are
    gone, or that this user can't look into, count as 0."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            below.setdefault(parent, []).append(int(entry.name))
    total_kb, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        waiting += below.get(one, [])
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total_kb += int(line.split()[1])
        except OSError:
            continue
    return total_kb / 1024


if __name__ == "__main__":
    main()
