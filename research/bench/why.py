# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what `flent-aqm why` costs: captures beside a run, and the explanation of a fast one.

    make bench                                   with all other figures
    python -m research.bench.why [REPEAT]        these alone

Alone, it writes its figures to research/bench/results/why-DATE.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path

from flent_aqm.base.paths import resource_dir
from research.bench.cost import Cost, Figure, cost_of, figure, median_cost

# Processor time of a run with captures, of that without; 10 s of load at 900 Mbit/s explained, and
# the memory that it takes.
MOST_RATIO, MOST_S, MOST_MB = 1.3, 60.0, 1000.0
_BIN = Path(sys.executable).parent
_BATCH = """[Batch::bench]
inherits = base
output_path = results
test_name = iperf3_upload
aqm = codel
rate_mbps = {rate_mbps}
seed = 1
length = 10
"""


def figures(repeat: int, only: str) -> list[Figure]:
    """Measure a replay at 100 Mbit/s without captures, the same run by `flent-aqm why`, which makes
    it again with captures and explains it, and `flent-aqm why` of a run at 900 Mbit/s.

    Print and return the figures: the processor time of the second divided by that of the first, the
    wall time of the third (with its processor time in `cpu`) and, with the third, the memory of the
    largest process that this process has started so far, also before this call. Raises
    CalledProcessError if a command fails.

    Args:
        repeat: number of measurements, 1 or more. Fewer are made of the third if it takes long.
        only: part of the names of the first two figures, "" for all.
    """
    ratio, fast = "why: captures, 100 Mbit/s", "why: 10 s at 900 Mbit/s explained"
    with tempfile.TemporaryDirectory(prefix="flent-aqm-bench-") as name:
        folder = Path(name)
        costs = []
        if only in ratio:
            costs += _captures(ratio, _made(folder, 100), repeat)
        if only in fast:
            file = _made(folder, 900)
            costs.append(figure(fast, "s", MOST_S, repeat, partial(_cost, "why", file)))
            peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(f"largest process: {peak_mb:.0f} MiB (with the lab's guest), wanted {MOST_MB:g}")
            costs.append(Figure("why: largest process", "MiB", peak_mb, [peak_mb], MOST_MB))
        return costs


def _captures(name: str, file: Path, repeat: int) -> list[Figure]:
    """Measure the processor time of `why` divided by the median of that of `replay`, which makes
    the same run. Print and return a list of one figure, whose value is the median of the ratios, of
    an even number the larger one in the middle. Raises CalledProcessError if a command fails.

    Args:
        name: name of the figure.
        file: data file of the run.
        repeat: number of measurements of each command, 1 or more.
    """
    plain = median_cost([_cost("replay", file) for _ in range(repeat)])
    with_captures = [_cost("why", file) for _ in range(repeat)]
    ratios = [one.cpu_s / plain.cpu_s for one in with_captures]
    middle = sorted(ratios)[len(ratios) // 2]
    print(f"{name}: {middle:.2f} of the processor time without", flush=True)
    return [Figure(name, "of replay's processor time", middle, ratios, MOST_RATIO)]


def _made(folder: Path, rate_mbps: int) -> Path:
    """Make an upload of 10 s through CoDel at this rate, in a new folder of `folder` with the rate
    as its name, and return its data file. Raises CalledProcessError if that fails, FileExistsError
    if the new folder is there already."""
    place = folder / str(rate_mbps)
    place.mkdir()
    (place / "base.batch").write_bytes((resource_dir("batches") / "base.batch").read_bytes())
    (place / "bench.batch").write_text(_BATCH.format(rate_mbps=rate_mbps))
    subprocess.run([_BIN / "flent", "-B", "bench.batch", "-b", "bench"], cwd=place, check=True,
                   stdout=subprocess.DEVNULL)
    return next(place.glob("results/*.flent.gz"))


def _cost(command: str, file: Path) -> Cost:
    """Return the wall time and processor time of `flent-aqm replay FILE`, or of `flent-aqm why FILE
    --what-if none`, which makes no runs with something changed. Raises CalledProcessError if it
    fails.

    Args:
        command: "replay" or "why".
        file: data file.
    """
    words = ["--what-if", "none"] if command == "why" else []
    return cost_of(lambda: subprocess.run([_BIN / "flent-aqm", command, file, *words], check=True,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                          env=dict(os.environ)))


def main() -> None:
    """Measure figures(), with the first word of the command line as `repeat` (3 without it). Write
    them to a new file why-DATE.json in the folder results, with the machine's load, on which the
    wall time depends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repeat", nargs="?", type=int, default=3, help="measurements per figure")
    repeat = parser.parse_args().repeat
    if repeat < 1:
        parser.error(f"repeat {repeat}: expected 1 or more")
    load_before = os.getloadavg()[0]
    measured = figures(repeat, "")
    path = (Path(__file__).parent / "results"
            / f"why-{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H%M%SZ}.json")
    path.write_text(json.dumps({
        "machine": {"cores": os.cpu_count(), "kernel": platform.release()},
        "load_before": load_before, "load_after": os.getloadavg()[0],
        "figures": [asdict(one) for one in measured]}, indent=1) + "\n")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
