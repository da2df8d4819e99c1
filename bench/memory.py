# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab takes of the host's memory: the most during an NDT7 test at 1 Gbit/s.

    .venv/bin/python -m bench.memory

With cross traffic and captures of all headers, as a sweep has it. Memory is the proportional
set size (PSS) of the guest's kernel and processes together, so that shared pages count once.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from flent_aqm.router.apply import apply_command
from flent_aqm.scenario import Scenario
from flent_aqm.testbed.virtual import Lab

TARGET_MB = 400
STEP_S = 0.3
NDT7 = ["env", "FLENT_AQM_WITHOUT_PLOTS=1", "flent", "ndt7", "-H", "server", "-f", "null",
        "-D", "/tmp", "--test-parameter", "cross_traffic=1"]


def main() -> None:
    """Run it and print the figure."""
    scenario = Scenario(aqm="no_aqm", rate_up_mbps=1000, rate_down_mbps=1000, cross_traffic=True)
    most_kb = 0
    with Lab(scenario, NDT7, prelude=[apply_command(scenario)],
             servers=("ndt7-cleartext", "irtt", "iperf3")) as lab:
        run = threading.Thread(target=lab.run)
        run.start()
        while run.is_alive():
            most_kb = max(most_kb, sum(map(pss_kb, below(os.getpid()))))
            run.join(STEP_S)
    print(f"a lab with NDT7 at 1 Gbit/s: {most_kb / 1000:.0f} MB, target {TARGET_MB}")


def below(process: int) -> Iterator[int]:
    """Numbers of all processes that it has started, and those of theirs."""
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it may end meanwhile
            for child in map(int, children.read_text().split()):
                yield child
                yield from below(child)


def pss_kb(process: int) -> int:
    """Its proportional set size, 0 when it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


if __name__ == "__main__":
    main()
