# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the lab's tests on Linux 6.12 LTS, an older kernel with set-up's architecture um in it.

    make older-check                     builds the kernel first: 3 minutes; tests: 10 to 20

What 6.12 doesn't have yet can't be tested on it, nor what is about set-up's own kernel; such tests
are listed here with the reason. Any other failure counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree  # of a file that pytest has just written
from pathlib import Path

from rich.console import Console
from rich.table import Table

from flent_aqm.base import environment
from flent_aqm.setup.kernel.named import find_named

BIN = Path(sys.executable).parent
SERIES = "6.12"
NAME = "older-check"
_OWN = "set-up's kernel must be the one that set-up has built"
# Parts of names -> why they fail on this kernel.
EXPECTED = {
    "test_settings_when_applied_are_proved_and_undone[dualpi2": "DualPI2 came with 6.17",
    "test_queue_of_the_upload_alone_gets_the_tc_that_it_needs": "DualPI2 came with 6.17",
    "test_each_queue_of_a_device_has_its_cake_and_the_seed": "cake_mq came with 7.0",
    "test_topology_accurate_ecn_is_asked_for_and_counted": "accurate ECN came with 6.18",
    "test_control_that_sends_ect0_is_told_and_recorded": "accurate ECN came with 6.18",
    "test_runs_by_workers_are_those_made_here_and_the_kernel_is_sent": _OWN,
    "test_the_same_queue_on_two_kernels_gives_the_same_samples": _OWN,
    "test_archive_holds_what_makes_its_data_again": _OWN,
    "test_an_allocation_that_may_sleep_is_worse_with_its_place": _OWN,
    "test_git_bisect_names_the_commit_that_brought_the_stall": _OWN,
    "test_damaged_program_is_missing_for_doctor_and_for_set_up": _OWN,
    "test_both_wheels_without_compiler_or_cache_run_the_lab": _OWN,
}


def main() -> int:
    """Build the kernel, run the tests, and print a table. Return the exit status, 1 if a failure
    was not expected, or no test passed. Once built, the kernel is removed at the end, after an
    error, too, unless --keep is given. Raises CalledProcessError if it can't be built or removed,
    FileNotFoundError if pytest writes no report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", action="store_true", help=f"keep the kernel {NAME}")
    arguments = parser.parse_args()
    subprocess.run([BIN / "flent-aqm", "kernel", "build", NAME, "--source",
                    f"linux-source-{SERIES}"], check=True)
    try:
        kernel = find_named(NAME)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.xml")
            subprocess.run([BIN / "pytest", "-m", "lab", "-n", "4", "--dist", "loadfile", "-q",
                            "--tb=short", f"--junitxml={report}"], check=False,
                           env={**os.environ, environment.KERNEL: str(kernel.path)})
            passed, failed = _read_report(report)
    finally:
        if not arguments.keep:
            subprocess.run([BIN / "flent-aqm", "kernel", "remove", NAME], check=True)
    unexpected = _print_failures(passed, failed)
    print(f"Linux {kernel.version}: {len(passed)} tests of the lab passed, {len(failed)} failed, "
          f"of them {len(failed) - unexpected} as expected")
    return 1 if unexpected or not passed else 0


def _read_report(report: Path) -> tuple[list[str], list[str]]:
    """Return the names of the tests that passed, and of those that failed or had an error, without
    their modules, from a JUnit report. Skipped tests are in neither."""
    passed, failed = [], []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(str(case.get("name")))
        elif case.find("skipped") is None:
            passed.append(str(case.get("name")))
    return passed, failed


def _print_failures(passed: list[str], failed: list[str]) -> int:
    """Print a table of the failures, and of each entry of EXPECTED whose tests passed. Return how
    many failures were not expected: their names begin with no key of EXPECTED.

    Args:
        passed: names of the tests that passed.
        failed: names of the tests that failed.
    """
    table = Table("test", "why it fails", box=None)
    unexpected = 0
    for name in failed:
        why = next((why for part, why in EXPECTED.items() if name.startswith(part)), "")
        unexpected += not why
        table.add_row(name, why or "NOT EXPECTED")
    for part in EXPECTED:
        if (any(name.startswith(part) for name in passed)
                and not any(name.startswith(part) for name in failed)):
            table.add_row(part, f"passed, though {EXPECTED[part]}")
    Console().print(table)
    return unexpected


if __name__ == "__main__":
    sys.exit(main())
