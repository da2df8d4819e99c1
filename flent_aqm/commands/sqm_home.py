# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm sqm-home`: a speed test with SQM off, at shares of what that measured, and off
again; or the table and the chart of runs that are there."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.throughput import throughput_mbps
from flent_aqm.sweep.sqm_home import table

SHARES_PCT = (100.0, 85.0, 90.0)
CHART = "sqm_home.png"
_FILES = "*.flent.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, metavar="RESULTS",
                        help="folder of earlier runs: show these, and run nothing")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER",
                        help="folder for new runs (default: results/sqm_home-TIME)")
    parser.add_argument("--percent", metavar="N,...",
                        default=",".join(f"{share:g}" for share in SHARES_PCT),
                        help="set SQM to these shares of the measured rate, in this order "
                             "(default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="a key of the batch, such as modem_down_mbps=50 or length=5")


def main(args: argparse.Namespace) -> int:
    if args.folder is not None:
        folder = args.folder
    else:
        folder = args.output or Path("results") / time.strftime("sqm_home-%Y-%m-%dT%H%M%S")
        measure(folder, shares(args.percent), args.set)
    runs = load_runs(folder)
    table.show(runs)
    picture = folder / CHART
    from flent_aqm.sweep.sqm_home.chart import draw  # after all runs: matplotlib takes long

    try:
        draw(runs, picture)
    except OSError as error:
        raise ConfigError(f"{picture}: can't be written: {error.strerror or error}") from None
    print(f"chart: {picture}")
    return 0


def shares(text: str) -> list[float]:
    """Percentages of a list with commas. Raises ConfigError."""
    found = []
    for word in text.split(","):
        try:
            share = float(word)
        except ValueError:
            share = 0.0
        if not 1 <= share <= 100:
            raise ConfigError(f"--percent: {word!r} is not a percentage; expected 1 to 100")
        found.append(share)
    return found


def measure(folder: Path, percent: list[float], settings: list[str]) -> None:
    """All runs, into a folder that has none. Raises ConfigError when one fails."""
    if folder.exists() and any(folder.glob(_FILES)):
        raise ConfigError(f"{folder}: has data files; give a new folder, or show these with "
                          f"'flent-aqm sqm-home {folder}'")
    _sweep(folder, settings, "sqm_off", "setting=1-off")
    first, = load_runs(folder)
    down, up = (throughput_mbps(first, way) for way in ("download", "upload"))
    print(f"the line: {down:.2f} Mbit/s down, {up:.2f} up, as the first run measured")
    for step, share in enumerate(percent, 2):
        _sweep(folder, settings, "sqm_on", f"setting={step}-{share:g}percent",
               f"rate_down_mbps={down * share / 100:.3f}", f"rate_up_mbps={up * share / 100:.3f}")
    _sweep(folder, settings, "sqm_off", f"setting={len(percent) + 2}-off_again")


def _sweep(folder: Path, settings: list[str], batch: str, *own: str) -> None:
    """Run one batch, whose progress is seen."""
    words = [f"--batch-override={word}" for word in (*settings, *own, f"output_path={folder}")]
    status = subprocess.run(
        [Path(sys.executable).with_name("flent"), "-B",
         resource_dir("batches") / "sqm_home.batch", "-b", batch, *words], check=False).returncode
    if status:
        raise ConfigError(f"the batch {batch} ended with status {status}; see the lines above, "
                          f"and the logs in {folder}")


def load_runs(folder: Path) -> list[Run]:
    """Return the runs of a folder in their order. Raises ConfigError without any, BadResult."""
    found = [load_run(path) for path in sorted(folder.glob(_FILES))]
    if not found:
        raise ConfigError(f"{folder}: no data files ({_FILES}) there")
    for run in found:
        if not re.match(r"[0-9]{1,3}-\S", run.title):
            raise BadResult(f"{run.path}: not a run of SQM at home; expected one of "
                            "batches/sqm_home.batch, whose title begins with a number")
    return sorted(found, key=lambda run: (int(run.title.split("-")[0]), run.title))
