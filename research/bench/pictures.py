# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what looking at many runs costs: scores, figures, flent-gui and plots of 200 files.

    .venv/bin/python -m research.bench.pictures RESULTS        a folder of data files, of a batch

Files are linked as often as it takes. CPU seconds are of all processes together, and so is memory;
they hold while others use the machine, wall seconds don't. The targets are for two cores. The
result goes to research/bench/results/pictures/DATE.json.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import os
import pickle
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from flent_aqm.base.words import end_of
from flent_aqm.results.data_file import SUFFIX
from research.bench.memory import memory_mb
from tests.gui_window import WINDOW

# The window's processes would outlive it, each waiting for somebody to read what it says.
OPEN = WINDOW + "load(sys.argv[1:]); window.worker_pool.terminate(); os._exit(0)"
RESULTS = Path(__file__).parent / "results" / "pictures"
OURS = Path(sys.executable).with_name("flent-aqm")
PLOTS = ("latency_tail", "compare_latency_box", "compare_latency_violin", "overlay_latency",
         "throughput_instant", "heat_map", "glitches_per_minute")
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """What one command or plot costs.

    Attributes:
        name: name of the command or plot.
        wall_s: wall time.
        cpu_s: processor time of all its processes.
        memory_mb: the most that its processes were seen to have at one moment, in MiB (PSS),
            without those whose parents have ended. For a plot, which is drawn in this process: the
            most that this process has had resident so far.
        target_s: wanted wall time on two idle cores, None without a target.
        target_mb: wanted memory, None without a target.
    """

    name: str
    wall_s: float
    cpu_s: float
    memory_mb: float
    target_s: float | None = None
    target_mb: float | None = None


def main() -> None:
    """Measure commands and plots over links to the data files of the folder that the command line
    names, print a table, and write the result to a new file in RESULTS. Exits with an error if the
    folder has no data files, or a command fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path, help="folder with data files of NDT7 runs")
    parser.add_argument("--figures-of", type=int, default=3200, metavar="N")
    parser.add_argument("--plots-of", type=int, default=200, metavar="N")
    arguments = parser.parse_args()
    files = sorted(arguments.results.rglob(f"*{SUFFIX}"))
    if not files:
        parser.error(f"{arguments.results}: no data files (*{SUFFIX}) there")
    # Processes whose parents end before them are ours to wait for, and so are counted.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    costs, load_before = [], os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many = linked(files, arguments.figures_of, folder / "many")
        few = linked([file for file in files if "ndt7-" in file.name] or files,
                     arguments.plots_of, folder / "few")
        costs.append(command_cost(f"score of {arguments.plots_of} files",
                                  [OURS, "score", few, "--format", "csv"], 10))
        costs.append(command_cost(f"figures of {arguments.figures_of} files",
                                  [OURS, "figures", many, "-o", folder / "figures"], 60, 1000))
        costs.append(command_cost(f"flent-gui opens {arguments.plots_of} files",
                                  ["env", "QT_QPA_PLATFORM=offscreen", sys.executable, "-c", OPEN,
                                   *sorted(few.iterdir())], 4))
        costs += plot_costs(sorted(few.iterdir()))
    print_costs(costs)
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H%M%SZ")
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{now}.json").write_text(json.dumps({
        "when": now, "machine": platform.machine(), "cores": len(os.sched_getaffinity(0)),
        "load_before": load_before, "python": platform.python_version(),
        "costs": [asdict(cost) for cost in costs],
    }, indent=1) + "\n")


def linked(files: Sequence[Path], count: int, folder: Path) -> Path:
    """Create `folder` with `count` symbolic links to the files, in turn, and return it. The links'
    names sort in that order. Raises FileExistsError if it exists."""
    folder.mkdir()
    for number in range(count):
        source = files[number % len(files)].resolve()
        (folder / f"{number:05}-{source.name}").symlink_to(source)
    return folder


def command_cost(name: str, words: Sequence[str | Path], target_s: float | None = None,
                 target_mb: float | None = None) -> Cost:
    """Run a command without its standard output, and return what it costs with all processes that
    it starts. Wait for all child processes of this one. Exits if the command fails.

    Of processes whose parents have ended, memory isn't counted, and processor time only if this
    process is their subreaper, as in main().

    Args:
        name: name of the figure.
        words: the command line.
        target_s: wanted wall time, only noted in the result. None without a target.
        target_mb: wanted memory, only noted in the result. None without a target.
    """
    before, begin = _children_s(), time.monotonic()
    most = 0.0
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL) as running:
        while running.poll() is None:
            most = max(most, memory_mb(running.pid))
            time.sleep(0.1)
    wall_s = time.monotonic() - begin
    if running.returncode:
        sys.exit(f"{' '.join(map(str, words[:2]))} ended with {end_of(running.returncode)}; see "
                 "what it printed")
    _wait_for_orphans()
    return Cost(name, wall_s, _children_s() - before, most, target_s, target_mb)


def plot_costs(files: Sequence[Path]) -> list[Cost]:
    """Load the files, and measure for each of PLOTS what flent-gui then does: pickle the results
    for a worker, draw, pickle the plot back, and show it. All of it is done in this process, once
    before the measurement, so that imports don't count. Return a cost for each plot."""
    import matplotlib

    matplotlib.use("agg")
    from flent import gui, plotters, settings

    loaded_files = [gui.results_load_helper(str(file))["results"] for file in files]
    loaded = settings.load([str(files[0])])
    loaded.update(loaded_files[0].meta())
    loaded.load_test(informational=True)
    loaded.OUTPUT, loaded.GUI = "-", True
    plotters.init_matplotlib("-", False, True)
    costs = []
    for name in PLOTS:
        loaded.PLOT = name

        def draw() -> None:
            results = pickle.loads(pickle.dumps(loaded_files))
            plotter = pickle.loads(pickle.dumps(
                plotters.draw_worker(loaded, results)))
            plotter.figure.canvas.draw()

        draw()  # modules are loaded at the first plot of all
        costs.append(_timed(f"plot over {len(files)} files: {name}", draw, 3))
    return costs


def _timed(name: str, function: Callable[[], None], target_s: float) -> Cost:
    begin, before = time.monotonic(), time.process_time()
    function()
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(name, time.monotonic() - begin, time.process_time() - before, memory_mb,
                target_s)


def print_costs(costs: Sequence[Cost]) -> None:
    """Print a table of the costs."""
    table = Table("", "CPU s", "wall s", "target s", "MB", "target MB", box=None)
    for cost in costs:
        table.add_row(cost.name, f"{cost.cpu_s:.2f}", f"{cost.wall_s:.2f}",
                      f"{cost.target_s or '':}", f"{cost.memory_mb:.0f}",
                      f"{cost.target_mb or '':}")
    Console().print(table)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for_orphans() -> None:
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


if __name__ == "__main__":
    main()
