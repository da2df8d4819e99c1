# SPDX-License-Identifier: GPL-3.0-or-later
"""Prove that a kernel that checks itself finds mistakes made on purpose, and none in other queues.

    make debug-check                                  builds the kernel first: about ten minutes

The kernel is made with `flent-aqm kernel build … --config debug` and has a queue with mistakes,
tests/own_code/sch_faulty.c. Each mistake must be the cause of a failed run, with its location. Then
each queue that the lab knows is run once on the same kernel, where nothing may be found.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from flent_aqm.base.paths import resource_dir
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.setup.kernel.named import find_named
from flent_aqm.spec.queues.table import QUEUES

BIN = Path(sys.executable).parent
FAULTY = Path(__file__).parents[2] / "tests" / "own_code" / "sch_faulty.c"
NAME = "debug-check"
# cake_mq wants a device of several queues; it is CAKE's code.
AQMS = [name for name, queue in QUEUES.items() if not queue.per_queue]
# By the length of the device's queue, which chooses the mistake: what the run's log must say.
FAULTS = {
    1001: ("warns", r"WARNING: .*sch_faulty\.c"),
    1002: ("loses a packet", r"faulty on up \S+ 1p"),
    1003: ("reads at address 0", r"sch_faulty\.c line \d+"),
    1005: ("writes to freed memory", r"KASAN: slab-use-after-free in faulty_use_freed"),
    1006: ("may sleep where it must not", r"inconsistent lock state.*faulty_enqueue, sch_faulty"),
    1007: ("takes two locks in both orders", r"circular locking.*faulty_lock"),
}
BATCH = """\
[Batch::common]
abstract = yes
inherits = base
output_path = results
test_name = iperf3_upload
rate_mbps = 20
base_delay_ms = 20
length = 5
kernel = {kernel}
{faults}
[Batch::faults]
inherits = common
aqm = faulty
for_fault = {names}
filename_extra = ${{txqueuelen}}
[Batch::clean]
inherits = common
for_aqm = {queues}
filename_extra = ${{aqm}}
"""


def main() -> int:
    """Build the kernel (NAME) from the source of --source, by default set-up's, make the runs, and
    print a table. Return the exit status, 1 if a result is not as expected. Removes the kernel at
    the end, also after an error in the runs, unless --keep is given. Raises CalledProcessError if
    it can't be built or removed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", action="store_true", help=f"keep the kernel {NAME}")
    parser.add_argument("--source", help="of the kernel, as for flent-aqm kernel build; default: "
                                         "that of set-up's kernel")
    arguments = parser.parse_args()
    begin = time.monotonic()
    subprocess.run([BIN / "flent-aqm", "kernel", "build", NAME, "--qdisc", FAULTY,
                    "--config", "debug", *(["--source", arguments.source] if arguments.source
                                           else [])], check=True)
    built_s = time.monotonic() - begin
    absent = find_named(NAME).absent_kinds
    aqms = [name for name in AQMS if QUEUES[name].kind not in absent]
    try:
        with tempfile.TemporaryDirectory() as name:
            missed = _run_and_compare(Path(name), aqms)
    finally:
        if not arguments.keep:
            subprocess.run([BIN / "flent-aqm", "kernel", "remove", NAME], check=True)
    print(f"built in {built_s:.0f} s, run in {time.monotonic() - begin - built_s:.0f} s: "
          f"{missed} of {len(FAULTS) + len(aqms)} not as expected")
    return 1 if missed else 0


def _run_and_compare(folder: Path, aqms: list[str]) -> int:
    """Run each mistake of FAULTS and each queue of `aqms` once on the kernel, which must be built,
    and print the table. Return how many results are not as expected: mistakes that aren't the cause
    of a failed run, and queues whose run failed. If Flent ended before it made its folder of
    results, the end of its error output is printed, too.

    Args:
        folder: folder for batch and results.
        aqms: queues of the lab that the kernel has.
    """
    shutil.copy(resource_dir("batches") / "base.batch", folder)
    (folder / "debug.batch").write_text(BATCH.format(
        kernel=NAME, names=", ".join(f"fault{length}" for length in FAULTS),
        faults="\n".join(f"[Arg::fault{length}]\ntxqueuelen = {length}" for length in FAULTS),
        queues=", ".join(aqms)))
    done = subprocess.run([BIN / "flent", "-B", "debug.batch", "-b", "faults", "-b", "clean"],
                          cwd=folder, check=False, capture_output=True, text=True)
    results = folder / "results"
    table = Table("queue", "expected", "found", "", box=None)
    missed = 0
    for length, (what, expected) in FAULTS.items():
        cause = _failure_cause(results, str(length))
        missed += _add_row(table, f"faulty: {what}", expected, cause,
                           re.search(expected, cause) is not None)
    for aqm in aqms:
        ran = any(results.glob(f"*-{aqm}-{NAME}{SUFFIX}"))
        missed += _add_row(table, aqm, "nothing", "nothing" if ran
                           else _failure_cause(results, aqm), ran)
    Console().print(table)
    if not results.is_dir():
        print(done.stderr[-2000:])
    return missed


def _add_row(table: Table, queue: str, expected: str, seen: str, good: bool) -> int:
    table.add_row(queue, expected, seen, "ok" if good else "NO")
    return 0 if good else 1


def _failure_cause(results: Path, end: str) -> str:
    """Return what a failed run's log gives as its cause, or the whole log if it gives none. "" if
    the run didn't fail, "no log" without a log.

    Args:
        results: folder of the results.
        end: what the names of the run's files have in front of the kernel's name: transmit queue
            length or AQM.
    """
    if any(results.glob(f"*-{end}-{NAME}{SUFFIX}")):
        return ""
    log = next(iter(results.glob(f"*-{end}-{NAME}.log")), None)
    return log.read_text().rpartition("--- failed\n")[2].strip() if log else "no log"


if __name__ == "__main__":
    sys.exit(main())
