# SPDX-License-Identifier: GPL-3.0-or-later
"""Predict measurements of a router that no model was made for: docs/results/prediction.md.

    .venv/bin/python -m research.validation.prediction                   all, and the page
    .venv/bin/python -m research.validation.prediction --only measure    the router, in real time
    .venv/bin/python -m research.validation.prediction --only predict    from a measurement

The router is a PC emulated by qemu without KVM, and as slow as a small router. It runs Debian's
kernel; Flent measures through it and controls it over ssh. `flent-aqm calibrate` fits a model to
three cells and to the packet rate; with this model the lab predicts the other cells.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from flent_aqm.base.errors import AqmError, ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.base.words import end_of
from research.validation import marked
from research.validation.numbers import as_csv
from research.validation.prediction.cells import (
    NEAR,
    QUANTITIES,
    Cell,
    by_cell,
    load,
    table,
    unexplained,
)
from research.validation.prediction.measure import FLENT, about, measure, middle, packets_per_s
from research.validation.stamp import Made, made_of

ROOT = Path(__file__).resolve().parents[3]
# 256 in each ring, by the router's `ethtool -g`, and 256 more in the tap device before it.
BASE = "ideal+bql=0+rx_ring_packets=512+tx_ring_packets=256"
# Emulated timers fire much later than a router's, by up to 1 ms: begin with steps of 80 us.
SEARCH = ("--highest", "1000", "--step", "80", "--fit", "timer_latency_us,rx_packet_ns")


def main() -> int:
    """Measure, fit, predict, print the page's part, and write it, and a CSV of the fitted cells
    beside it; or with --only a part of that: `measure` writes no page, `predict` uses the
    measurement that is there. Return the exit status, 1, with a line on standard error, if that
    fails."""
    parser = argparse.ArgumentParser(prog="python -m research.validation.prediction",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=("measure", "predict"))
    parser.add_argument("--repetitions", type=int, default=3, help="of each cell (default: 3)")
    parser.add_argument("--folder", type=Path, default=ROOT / "results" / "prediction")
    parser.add_argument("--output", type=Path, metavar="DOCS", default=ROOT / "docs")
    args = parser.parse_args()
    try:
        if args.only != "predict":
            measure(args.folder / "measured", args.repetitions)
        if args.only != "measure":
            text, fitted, made = predict(args.folder)
            print(text)
            page = args.output / "results" / "prediction.md"
            marked.replace(page, "prediction", text, made)
            page.with_suffix(".csv").write_text(as_csv(fitted))
    except (AqmError, OSError, ValueError) as error:
        print(f"prediction: {error}", file=sys.stderr)
        return 1
    return 0


def predict(folder: Path) -> tuple[str, list[str], Made]:
    """Fit a model to the cells for calibration, and run all cells with it and with an ideal router.
    Print what `flent-aqm calibrate` prints. Return the page's part, the lines of the fitted cells'
    table, and the stamp of the runs with the model.

    Args:
        folder: folder whose folder `measured` has the measurement. The lab's runs go to its folders
            `ideal` and `model`, whose old runs are deleted.

    Raises AqmError if the measurement is missing or incomplete, the lab's runs fail, or calibrate
    names no model.
    """
    measured = load(folder / "measured")
    # The lab's cells tell which were measured; calibrating and the model's runs take much longer.
    ideal = in_lab(folder / "ideal", "ideal")
    if set(measured) != set(ideal):
        raise ConfigError(f"{folder}: these runs are not the cells of batches/prediction.batch; "
                          "measure them again")
    points = [cell.point() for cell in measured.values() if cell.is_for_calibration]
    points.append(f"pps={middle(packets_per_s(folder / 'measured')):.0f}")
    printed = calibrate(points)
    print(printed)
    model = model_of(printed)
    runs = {"ideal": ideal, "model": in_lab(folder / "model", model)}
    return ("\n".join(lines(folder, measured, runs, points, model)),
            list(table(measured, runs["ideal"], runs["model"], calibration=True)),
            made_of([run for cell in runs["model"].values() for run in cell.runs]))


def lines(folder: Path, measured: Mapping[str, Cell], lab: Mapping[str, Mapping[str, Cell]],
          points: list[str], model: str) -> Iterator[str]:
    """Yield the lines of the page's part: how it was measured, the command line of `flent-aqm
    calibrate` and the model, the table of the predicted cells, and how many numbers of all cells,
    also the fitted ones, the model explains. Raises ConfigError if a file of the measurement can't
    be read, ConfigError and NotAvailable as Cell.values() and Cell.idle_ms do.

    Args:
        folder: folder whose folder `measured` has the measurement.
        measured: name of a cell -> its measured runs.
        lab: "ideal" and "model" -> name of a cell -> the lab's runs.
        points: measurements given to `flent-aqm calibrate`, as its arguments.
        model: the fitted router model, as text.
    """
    host, floods = about(folder / "measured"), packets_per_s(folder / "measured")
    each = max(len(cell.runs) for cell in measured.values())
    yield (f"Measured {host['date']}: {host['qemu']}, without KVM, on one core of {host['cpu']}; "
           f"in it Debian's {host['kernel']}. The machine's load average over the last "
           f"five minutes of it was {host['load']}. Runs of each cell: {each}. Packets of 64 "
           f"bytes a second: "
           f"{', '.join(f'{one:.0f}' for one in sorted(floods))}.")
    yield ""
    yield f"    flent-aqm calibrate {' '.join(points)} --base {BASE} {' '.join(SEARCH)}"
    yield ""
    yield f"chooses `{model}`, which predicts:"
    yield ""
    yield from by_cell(table(measured, lab["ideal"], lab["model"], calibration=False))
    yield ""
    left = list(unexplained(measured, lab["model"]))
    count = len(measured) * len(QUANTITIES)
    yield (f"Of the {count} numbers, with those of the fitted cells, {count - len(left)} are among "
           f"those of the repetitions, or within {100 * NEAR:g} %.")


def calibrate(points: list[str]) -> str:
    """Return the output of `flent-aqm calibrate` for these measurements, also if no model explains
    them. Raises ConfigError if it printed nothing to standard output.

    points: arguments of the command, such as those of Cell.point(), and pps=PACKETS_PER_S.
    """
    command = [str(FLENT.with_name("flent-aqm")), "calibrate", *points, "--base", BASE, *SEARCH]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if not done.stdout:
        raise ConfigError(f"flent-aqm calibrate ended with {end_of(done.returncode)}: "
                          f"{done.stderr.strip()[-500:] or 'it printed nothing'}")
    return done.stdout


def model_of(printed: str) -> str:
    """Return the router model that calibrate printed, or else the closest one, as text. Raises
    ConfigError if it printed none. printed: output of `flent-aqm calibrate`."""
    match = re.search(r"^router_model = (\S+)$|The closest is (\S+)\.$", printed, re.MULTILINE)
    if not match:
        raise ConfigError("the output of flent-aqm calibrate names no model; it ends with "
                          f"{printed.strip()[-200:]!r}")
    return match[1] or match[2]


def in_lab(folder: Path, router_model: str) -> Mapping[str, Cell]:
    """Run the cells of batches/prediction.batch in the lab with this router model, and return them
    by name. Old data files, *.flent.gz, in the folder are deleted. Raises ConfigError if the runs
    fail, BadResult if a data file is damaged."""
    for old in folder.glob("*.flent.gz"):
        old.unlink()
    status = subprocess.run(
        [str(FLENT), "-B", str(resource_dir("batches") / "prediction.batch"),
         "--batch-override", f"router_model={router_model}",
         "--batch-override", f"output_path={folder}"], check=False).returncode
    if status:
        raise ConfigError(f"the lab's runs with the router model {router_model} ended with "
                          f"{end_of(status)}; the reason is above")
    return load(folder)


if __name__ == "__main__":
    sys.exit(main())
