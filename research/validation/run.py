# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the checks and write docs/results/validation.md with its numbers and pictures.

    make validate                                       all of them
    .venv/bin/python -m research.validation.run --only goodput   one; prints numbers, writes no page
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.lab.place import end_threads
from flent_aqm.sweep.pool import cores_for
from research.validation.all_checks import CHECKS
from research.validation.check import Check, Outcome
from research.validation.page import PICTURES, allowed, counts, number, page, table
from research.validation.stamp import made_now

DOCS = Path(__file__).resolve().parents[2] / "docs" / "results"
_BY_NAME = {check.name: check for check in CHECKS}


def main() -> int:
    """Run the checks, print the numbers, and write the page, its CSV and its pictures (with --only,
    only if --output is given). Return the exit status, 1 if a check failed or could not run. Raises
    OSError if a file can't be written, and when it writes the page, ToolMissing if there is no
    kernel. Raises SystemExit for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m research.validation.run",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=sorted(_BY_NAME),
                        help="run these, and write no page unless --output is given")
    parser.add_argument("--jobs", type=int, metavar="N", default=len(os.sched_getaffinity(0)),
                        help="labs side by side (default: one per core)")
    parser.add_argument("--output", type=Path, metavar="DIR",
                        help="folder for the page (default: docs/results)")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error(f"--jobs {arguments.jobs}: expected 1 or more")
    selected = [check for check in CHECKS if not arguments.only or check.name in arguments.only]
    output = arguments.output or (None if arguments.only else DOCS)
    if output:
        (output / PICTURES).mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    outcomes = _run_all(selected, arguments.jobs)
    results = [(check, outcomes[check.name]) for check in selected]
    if output:
        made = made_now()
        for check, outcome in results:
            if isinstance(outcome, Outcome):
                _save_picture(check, outcome, output / PICTURES)
        (output / "validation.md").write_text(page(results, made))
        (output / "validation.csv").write_text(table(results))
        print(f"written: {output / 'validation.md'}")
    passed, checks, numbers_passed, numbers = counts(results)
    failed = [check.name for check, outcome in results
              if isinstance(outcome, str) or not outcome.passed]
    print(f"{passed} of {checks} checks passed, {numbers_passed} of {numbers} numbers, in "
          f"{time.monotonic() - started:.0f} s"
          + (f"; failed: {', '.join(failed)}" if failed else "") + ".")
    return 1 if failed else 0


def _run_all(checks: list[Check], jobs: int) -> dict[str, Outcome | str]:
    """Run each check on a core of its own, or all checks on all cores if `jobs` exceeds the number
    of cores, `jobs` at a time, and print numbers as they come. Return name of the check -> its
    outcome, or the reason why it could not run. On ^C, and on an error that is no AqmError, end all
    labs and raise it."""
    outcomes: dict[str, Outcome | str] = {}
    cores: queue.SimpleQueue[set[int]] = queue.SimpleQueue()
    for some in cores_for(jobs, sorted(os.sched_getaffinity(0))):
        cores.put(some)

    def keep_to_core() -> None:
        os.sched_setaffinity(0, cores.get())  # for this thread and the labs that it starts

    with ThreadPoolExecutor(jobs, initializer=keep_to_core) as threads:
        pending = {threads.submit(_measure_timed, check): check for check in checks}
        try:
            for future in as_completed(pending):
                check = pending[future]
                outcomes[check.name], wall_s = future.result()
                _print_outcome(check, outcomes[check.name], wall_s)
        except BaseException:  # ^C, or an error in a check
            end_threads(threads, pending)
            raise
    return outcomes


def _measure_timed(check: Check) -> tuple[Outcome | str, float]:
    started = time.monotonic()
    try:
        outcome: Outcome | str = check.measure()
    except AqmError as error:
        outcome = str(error)
    return outcome, time.monotonic() - started


def _print_outcome(check: Check, outcome: Outcome | str, wall_s: float) -> None:
    print(f"{check.name} ({wall_s:.0f} s)", flush=True)
    if isinstance(outcome, str):
        print(f"  FAIL  did not run: {outcome}")
        return
    for finding in outcome.findings:
        print(f"  {'ok  ' if finding.passed else 'FAIL'}  {finding.what}: "
              f"{number(finding.measured)} {finding.unit} ({allowed(finding)})", flush=True)


def _save_picture(check: Check, outcome: Outcome, folder: Path) -> None:
    # Without pyplot, which would look for a window system.
    from matplotlib.figure import Figure

    figure = Figure(figsize=check.size, layout="constrained")
    outcome.draw(figure)
    # Without Matplotlib's version, so that pictures are equal on other machines.
    figure.savefig(folder / f"{check.name}.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    sys.exit(main())
