# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the lab is: wall seconds per virtual second, and what a run costs beside.

    make bench                            some minutes
    make bench BENCH_ARGUMENTS=--sweep    the whole aqm_sweep as well

Each figure is the median of --repeat measurements on one core. The result goes to
bench/results/DATE.json and is compared with the newest one that is there: the ratio
counts, as absolute times differ between machines.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from flent_aqm import defaults
from flent_aqm.paths import resource_dir
from flent_aqm.router.apply import apply_command
from flent_aqm.scenario import Scenario
from flent_aqm.setup.versions import tool_versions
from flent_aqm.testbed.virtual import Lab

RESULTS = Path(__file__).parent / "results"
NDT7 = ["ndt7-client", "--server", f"server:{defaults.NDT7_PORT}", "--no-locate", "--no-tls",
        "--format", "json", "--ipv4"]
FLENT = Path(sys.executable).with_name("flent")


@dataclass(frozen=True)
class Figure:
    """One measured figure: the median of values; target: the most it should be, or None."""

    name: str
    unit: str
    value: float
    values: list[float]
    target: float | None


def main() -> None:
    """Measure, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="measurements per figure")
    parser.add_argument("--sweep", action="store_true", help="run the whole aqm_sweep, too")
    arguments = parser.parse_args()
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(all_cores)})
    figures = list(lab_figures(arguments.repeat))
    os.sched_setaffinity(0, all_cores)
    if arguments.sweep:
        figures.append(sweep_figure())
    before = newest_result()
    show(figures, before)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H%M%SZ}.json"
    path.write_text(json.dumps({
        "machine": {"cpu": cpu_model(), "cores": len(all_cores), "kernel": platform.release()},
        "load_before": os.getloadavg()[2],
        "versions": tool_versions(),
        "figures": [asdict(figure) for figure in figures],
    }, indent=1) + "\n")
    print(f"written to {path}")


def lab_figures(repeat: int) -> list[Figure]:
    """What one lab costs on one core."""
    boot = figure("boot, network, servers and router ready", "s", 1.0, repeat,
                  lambda: wall_s(["true"], 100))
    found = [boot]
    for rate_mbps, target in ((10, None), (100, 0.5), (1000, 0.5), (2500, None)):
        for direction, word in (("download", "--no-upload"), ("upload", "--no-download")):
            found.append(figure(
                f"NDT7 {direction} at {rate_mbps} Mbit/s", "s per virtual s", target, repeat,
                per_virtual_s([*NDT7, word], rate_mbps, 10, boot.value)))
    for rate_mbps, target in ((10, None), (100, None), (1000, 0.4), (2500, None)):
        found.append(figure(
            f"iperf3 at {rate_mbps} Mbit/s", "s per virtual s", target, repeat,
            per_virtual_s(["iperf3", "-c", "server", "-t", "10"], rate_mbps, 10, boot.value)))
    found.append(figure(
        "Flent's rrul at 100 Mbit/s", "s per virtual s", None, repeat,
        per_virtual_s(["flent", "rrul", "-H", "server", "-l", "10", "-D", "/tmp"], 100, 20,
                      boot.value)))
    # As a sweep runs it: it draws nothing in the guest.
    found.append(figure(
        "what Flent does around a test", "s", 2.0, repeat,
        lambda: wall_s(["env", "FLENT_AQM_WITHOUT_PLOTS=1", "flent", "ping", "-H", "server",
                        "-l", "1", "-f", "null", "-D", "/tmp"], 100) - boot.value))
    return found


def figure(name: str, unit: str, target: float | None, repeat: int,
           measure: Callable[[], float]) -> Figure:
    """Measure one figure, and say so."""
    values = [measure() for _ in range(repeat)]
    print(f"{name}: {median(values):.2f} {unit}", flush=True)
    return Figure(name, unit, median(values), values, target)


def per_virtual_s(argv: list[str], rate_mbps: float, load_s: float, boot_s: float
                  ) -> Callable[[], float]:
    """Wall seconds, without boot, per second of load."""
    return lambda: (wall_s(argv, rate_mbps) - boot_s) / load_s


def wall_s(argv: list[str], rate_mbps: float) -> float:
    """Wall seconds from start to power-off of a lab that runs one command."""
    scenario = Scenario(aqm="fq_codel", rate_up_mbps=rate_mbps, rate_down_mbps=rate_mbps)
    with Lab(scenario, argv, prelude=[apply_command(scenario)]) as lab:
        outcome = lab.run()
        if outcome.status:
            raise SystemExit(f"{argv[0]} ended with status {outcome.status}: "
                             f"{lab.stderr.read_text()[-500:]}")
        return outcome.wall_s


def sweep_figure() -> Figure:
    """The default sweep on all cores, in minutes."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        subprocess.run([FLENT, "-B", resource_dir("batches") / "aqm_sweep.batch",
                        "-b", "aqm_sweep"], cwd=folder, check=True)
        minutes = (time.monotonic() - started) / 60
    return Figure(f"aqm_sweep on {len(os.sched_getaffinity(0))} cores", "min", minutes,
                  [minutes], 12.0)


def newest_result() -> dict[str, float]:
    """Value by figure's name of the newest kept result; empty without one."""
    for path in sorted(RESULTS.glob("*.json"), reverse=True):
        return {one["name"]: one["value"] for one in json.loads(path.read_text())["figures"]}
    return {}


def show(figures: list[Figure], before: dict[str, float]) -> None:
    """Print a table."""
    table = Table(box=None, pad_edge=False)
    for heading in ("figure", "value", "unit", "target", "", "to the last one kept"):
        table.add_column(heading, justify="left" if heading in ("figure", "unit") else "right")
    for one in figures:
        verdict = "" if one.target is None else (
            "[green]met[/]" if one.value <= one.target else "[red]missed[/]")
        last = before.get(one.name)
        table.add_row(one.name, f"{one.value:.2f}", one.unit,
                      "" if one.target is None else f"{one.target:g}", verdict,
                      f"x {one.value / last:.2f}" if last else "")
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def cpu_model() -> str:
    """The processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


if __name__ == "__main__":
    main()
