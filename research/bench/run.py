# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how fast the lab is: wall seconds per virtual second, and what a run costs beside.

    make bench                                   some minutes
    make bench BENCH_ARGUMENTS='--only iperf3'   figures whose name has that in it
    make bench BENCH_ARGUMENTS=--sweep           the whole aqm_sweep as well

Each figure is the median of --repeat measurements on one core, of fewer where they take long;
beside the wall's seconds stand the processor's, which other work disturbs less. The result goes to
research/bench/results/DATE.json and is compared with the newest one that is there: the ratio
counts, as absolute times differ between machines.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from flent_aqm import __version__
from flent_aqm.base import defaults
from flent_aqm.base.errors import AqmError
from flent_aqm.base.paths import resource_dir
from flent_aqm.lab.protocol import CELL_ENVIRONMENT
from flent_aqm.results.data_file import read_data_file, write_data_file
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.parts import tool_versions
from research.bench import links, peer, router_models, topologies, why
from research.bench.cost import Cost, Figure, cost_of, figure, lab_cost, median_cost

RESULTS = Path(__file__).parent / "results"
NDT7 = ["ndt7-client", "--server", f"server:{defaults.NDT7_PORT}", "--no-locate", "--no-tls",
        "--format", "json", "--ipv4"]
# What a sweep starts for a test with iperf3: its own server and the probe's.
IPERF3 = ("iperf3", "irtt")
FLENT = Path(sys.executable).with_name("flent")


# Where the load can be shortened: its seconds at rates that take long.
SHORTER_S = {2500: 5, 10000: 2}
GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "runs" / "ndt7.flent.gz"
SWEEP = """[Batch::bench]
inherits = base
output_path = results
for_tool = iperf3_upload, iperf3_download
for_aqm = no_aqm, codel, fq_codel, sfq
for_rate = 100mbit, 500mbit, 900mbit
length = 2
"""


def main() -> None:
    """Measure the figures, or those that --only names, and with --sweep the default sweep as well.
    Print them beside those of newest_result(), and write them to a new file in RESULTS. With --only
    nothing is written. All but the sweeps are measured on one core. Errors of the measurements,
    except those of ns-3, are passed on, and nothing is then written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3, help="measurements per figure")
    parser.add_argument("--only", metavar="PART", default="",
                        help="figures whose name has this in it")
    parser.add_argument("--sweep", action="store_true", help="run the whole aqm_sweep, too")
    arguments = parser.parse_args()
    if arguments.repeat < 1:
        parser.error(f"--repeat {arguments.repeat}: expected 1 or more")
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(all_cores)})
    figures = lab_figures(arguments.repeat, arguments.only)
    beside, about_peer = peer_figures(arguments.repeat, arguments.only)
    figures += beside + file_figures(arguments.only)
    figures += router_models.figures(arguments.repeat, arguments.only)
    figures += links.figures(arguments.repeat, arguments.only)
    figures += topologies.figures(arguments.repeat, arguments.only)
    figures += why.figures(arguments.repeat, arguments.only)
    os.sched_setaffinity(0, all_cores)
    figures += short_sweeps(arguments.only)
    if arguments.sweep:
        figures.append(sweep_figure())
    before = newest_result()
    print_figures(figures, before)
    if arguments.only:
        return  # a part is nothing to compare with
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H%M%SZ}.json"
    path.write_text(json.dumps({
        "machine": {"cpu": cpu_model(), "cores": len(all_cores), "kernel": platform.release()},
        "load_before": os.getloadavg()[2],
        "versions": {"flent-aqm": __version__, **tool_versions()},
        "kernel_hash": find_kernel().hash,
        "peer": about_peer,
        "figures": [asdict(figure) for figure in figures],
    }, indent=1) + "\n")
    print(f"written to {path}")


def lab_figures(repeat: int, only: str) -> list[Figure]:
    """Measure what a lab costs on the cores that this process may use, in main() one: its boot,
    NDT7, iperf3 and Flent's rrul at each rate, and what Flent does around a test. Print and return
    the figures. Raises SystemExit if a command fails, AqmError if the lab does.

    Args:
        repeat: number of measurements of each figure, 1 or more. Fewer are made of one that takes
            long.
        only: part of the names of the figures, "" for all.
    """
    rows = []

    def add(name: str, unit: str, target: float | None, measure: Callable[[], Cost]) -> None:
        if only in name:
            rows.append(figure(name, unit, target, repeat, measure))

    @cache
    def boot(servers: tuple[str, ...]) -> Cost:
        return median_cost([lab_cost(["true"], 100, servers) for _ in range(repeat)])

    def per_virtual_s(argv: list[str], rate_mbps: float, load_s: float, server: str
                      ) -> Callable[[], Cost]:
        """Return a function that measures a command in a lab of its own, minus the median cost of a
        boot with the same servers, per second of load.

        Args:
            argv: the command.
            rate_mbps: rate of the router's shaper.
            load_s: length of the load.
            server: name of the server that the command needs. irtt's server runs beside it.
        """
        def measure() -> Cost:
            cost = lab_cost(argv, rate_mbps, (server, "irtt")).minus(boot((server, "irtt")))
            return Cost(cost.wall_s / load_s, cost.cpu_s / load_s)

        return measure

    add("boot, network, servers and router ready", "s", 0.3,
        lambda: lab_cost(["true"], 100, IPERF3))
    add("of it the router's settings", "s", None,
        lambda: boot(IPERF3).minus(lab_cost(["true"], 100, IPERF3, set_up=False)))
    add("the same with the NDT7 server", "s", None,
        lambda: lab_cost(["true"], 100, ("ndt7-cleartext", "irtt")))
    for rate_mbps, target in ((10, None), (100, 0.15), (1000, 0.25), (2500, None), (10000, None)):
        for direction, word in (("download", "--no-upload"), ("upload", "--no-download")):
            add(f"NDT7 {direction} at {rate_mbps} Mbit/s", "s per virtual s", target,
                per_virtual_s([*NDT7, word], rate_mbps, 10, "ndt7-cleartext"))
    for rate_mbps, target in ((10, None), (100, None), (1000, 0.15), (2500, None), (10000, 1.0)):
        load_s = SHORTER_S.get(rate_mbps, 10)
        add(f"iperf3 at {rate_mbps} Mbit/s", "s per virtual s", target,
            per_virtual_s(["iperf3", "-c", "server", "-t", str(load_s)], rate_mbps, load_s,
                          "iperf3"))
    for rate_mbps in (10, 100, 1000, 2500, 10000):
        load_s = SHORTER_S.get(rate_mbps, 10)
        # The probes go on for five seconds before and after it.
        add(f"Flent's rrul at {rate_mbps} Mbit/s", "s per virtual s", None,
            per_virtual_s(["flent", "rrul", "-H", "server", "-l", str(load_s), "-D", "/tmp"],
                          rate_mbps, load_s + 10, "netserver"))
    # As a sweep runs it.
    as_cell = [f"{name}={value}" for name, value in CELL_ENVIRONMENT.items()]
    add("what Flent does around a test", "s", 1.0,
        lambda: lab_cost(["env", *as_cell, "flent", "ping", "-H", "server",
                          "-l", "1", "-f", "null", "-D", "/tmp"], 100, IPERF3)
        .minus(boot(IPERF3)))
    return rows


def peer_figures(repeat: int, only: str) -> tuple[list[Figure], str]:
    """Measure what ns-3 takes to simulate one Cubic flow through FQ-CoDel at each rate of
    peer.SIMULATED_S. Print and return the figures, and return a line about ns-3: its version and
    goodputs, or "not measured: " and the AqmError that stopped it. The figures measured before such
    an error are returned, too. If its program isn't there, ns-3 is installed into the cache.

    Args:
        repeat: number of measurements of each figure, 1 or more. Fewer are made of one that takes
            long.
        only: part of the names of the figures, "" for all.
    """
    names = {rate: f"peer: ns-3 FqCoDel, TCP, {rate} Mbit/s" for rate in peer.SIMULATED_S}
    rows, goodputs = [], {}
    try:
        for rate_mbps, name in names.items():
            if only not in name:
                continue
            program = peer.peer_program()

            def measure(program: Path = program, rate_mbps: int = rate_mbps) -> Cost:
                one = peer.simulate(program, rate_mbps)
                goodputs[rate_mbps] = one.goodput_mbps
                return Cost(one.wall_s, one.cpu_s)

            rows.append(figure(name, "s per virtual s", None, repeat, measure))
    except AqmError as error:
        print(f"no peer: {error}", flush=True)
        return rows, f"not measured: {error}"
    return rows, f"ns-3 {peer.VERSION}, goodput in Mbit/s by rate " + ", ".join(
        f"{rate}: {goodput:.1f}" for rate, goodput in goodputs.items())


def file_figures(only: str) -> list[Figure]:
    """Measure what finished runs cost: reading and writing the data file GOLDEN, and `flent-aqm
    score` of 200 and of 3200 copies of it. Print and return the figures. Raises CalledProcessError
    if the command fails.

    only: part of the names of the figures, "" for all.
    """
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if only in "reading a data file and writing it":
            def once() -> None:
                write_data_file(folder / "written.flent.gz", read_data_file(GOLDEN).whole)

            rows.append(figure("reading a data file and writing it", "s", None, 3,
                               lambda: cost_of(once)))
        for count in (200, 3200):
            title = f"flent-aqm score of {count} files"
            if only not in title:
                continue
            files = folder / str(count)
            files.mkdir()
            for number in range(count):
                shutil.copy(GOLDEN, files / f"{number}.flent.gz")  # links are left out
            command = [FLENT.with_name("flent-aqm"), "score", files, "--format", "csv"]
            rows.append(figure(title, "s", None, 1,
                               lambda command=command: cost_of(  # type: ignore[misc]
                lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))))
    return rows


def short_sweeps(only: str) -> list[Figure]:
    """Measure sweeps of 24 short runs with 1 and with 2 jobs, once each. Print and return the
    figures. Raises CalledProcessError if a sweep fails.

    only: part of the names of the figures, "" for all.
    """
    rows = []
    for jobs in (1, 2):
        title = f"sweep of 24 runs, jobs = {jobs}"
        if only not in title:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "base.batch").symlink_to(resource_dir("batches") / "base.batch")
            (folder / "bench.batch").write_text(f"{SWEEP}jobs = {jobs}\n")
            rows.append(figure(title, "s", None, 1,
                               lambda folder=folder: cost_of(  # type: ignore[misc]
                lambda: subprocess.run([FLENT, "-B", "bench.batch"], cwd=folder, check=True,
                                       stderr=subprocess.DEVNULL))))
    return rows


def sweep_figure() -> Figure:
    """Run the sweep aqm_sweep on the cores that this process may use, and return its duration in
    minutes as a figure. Raises CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        subprocess.run([FLENT, "-B", resource_dir("batches") / "aqm_sweep.batch",
                        "-b", "aqm_sweep"], cwd=folder, check=True)
        minutes = (time.monotonic() - started) / 60
    return Figure(f"aqm_sweep on {len(os.sched_getaffinity(0))} cores", "min", minutes,
                  [minutes], 5.0)


def newest_result() -> dict[str, dict[str, Any]]:
    """Return name -> fields of the Figure, as in JSON, for the figures of the newest file that
    main() has left in RESULTS. Empty if there is none."""
    for path in sorted(RESULTS.glob("2*.json"), reverse=True):
        return {one["name"]: one for one in json.loads(path.read_text())["figures"]}
    return {}


def print_figures(figures: list[Figure], before: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a table of the figures: medians, target, whether it is met, and the ratio to the figure
    of the same name in an earlier result, blank if that has none.

    Args:
        figures: the figures.
        before: name -> fields of the earlier figure, as newest_result() returns them.
    """
    table = Table(box=None, pad_edge=False)
    for heading in ("figure", "wall", "CPU", "unit", "target", "", "wall, CPU to the last kept"):
        table.add_column(heading, justify="left" if heading in ("figure", "unit") else "right")
    for one in figures:
        verdict = "" if one.target is None else (
            "[green]met[/]" if one.value <= one.target else "[red]missed[/]")
        last = before.get(one.name, {})
        table.add_row(one.name, f"{one.value:.2f}", "" if one.cpu is None else f"{one.cpu:.2f}",
                      one.unit, "" if one.target is None else f"{one.target:g}", verdict,
                      f"{_ratio(one.value, last.get('value'))} {_ratio(one.cpu, last.get('cpu'))}")
    Console(width=None if sys.stdout.isatty() else 130).print(table)


def _ratio(now: float | None, last: float | None) -> str:
    return f"x {now / last:.2f}" if now and last else ""


def cpu_model() -> str:
    """Return the processor's name, or else the machine's architecture."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


if __name__ == "__main__":
    main()
