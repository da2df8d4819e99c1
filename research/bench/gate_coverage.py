# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the kernel lines that the cells of batches/gate.batch execute, and the best order of cells.

The lines are those of the kernel's queues and TCP. In the order, each next cell is the one that
adds most lines.

    make gate-coverage      one run of each cell for each queue of SETS, with an instrumented kernel

With all queues, writes research/bench/results/gate-coverage-DATE.json and the part `coverage` of
docs/results/gate.md. Runs that are in the folder already are not made again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from flent_aqm.base.paths import cache_to_write, resource_dir
from flent_aqm.parts.kernels.own import build_recording
from flent_aqm.parts.kernels.verdict.exercised import RARELY, function_at, recorded_blocks
from flent_aqm.parts.kernels.verdict.suggest import gate_cells
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.many_files import find_files
from flent_aqm.results.metrics.run import as_run
from flent_aqm.setup.install import locked
from flent_aqm.setup.kernel.coverage import (
    Instrumented,
    counts_of_blocks,
    object_of,
    read_instrumented,
)
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.kernel.named import NamedKernel, find_named
from research.bench.defects import Planted
from research.bench.gate import BIN, stock_tree, sweep
from research.bench.gate_page import PAGE, coverage_table, keep, write_part
from research.validation.stamp import made_of

# Name of the kernel whose files are instrumented: set-up's, with a comment more.
NAME = "gate-coverage"
# Queues with which each cell is run, and the overrides of each.
SETS = {
    "fq_codel": ("aqm=fq_codel",),
    "cake": ("aqm=cake", "aqm_isolation=dual-srchost", "aqm_ack_filter=yes"),
    "dualpi2": ("aqm=dualpi2",),
    "pie": ("aqm=pie",),
    "red": ("aqm=red",),
    "sfq": ("aqm=sfq",),
    "fq": ("aqm=fq",),
}
# Files whose lines count: net/sched, and TCP over IPv4 and IPv6.
GLOBS = ("net/sched/*.c", "net/ipv4/tcp*.c", "net/ipv6/tcp_ipv6.c")
MOST_FUNCTIONS = 4
Line = tuple[str, int]


def main() -> int:
    """Build the kernel, run each cell once with each queue of --queues (keys of SETS), unless
    --output has the runs, and record() the results. Return the exit status 0. Raises KeyError for
    an unknown queue, SystemExit if no kernel is set up or Flent ends before all runs are made,
    CalledProcessError or an AqmError if a kernel can't be built, an AqmError also if all runs of a
    queue failed, a file is damaged, or the page can't be written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("results/gate-coverage"),
                        help="where the runs go (default: %(default)s)")
    parser.add_argument("--queues", default=",".join(SETS), metavar="NAME,...",
                        help="of these sets alone; results of fewer are only printed (default: "
                             "%(default)s)")
    parser.add_argument("--jobs", type=int, help="runs side by side (default: one per core)")
    args = parser.parse_args()
    output = args.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    kernel, tree = _instrumented_kernel(output)
    code = read_instrumented(kernel.path.parent)
    names = {keys["check"]: name for name, keys in gate_cells().items()}
    ran: dict[str, set[Line]] = {}
    for queue in args.queues.split(","):
        sweep(resource_dir("batches") / "gate.batch", output / queue,
              [*SETS[queue], "for_draw=one", f"kernel={kernel.name}",
               *([f"jobs={args.jobs}"] if args.jobs else [])])
        for path in find_files([output / queue]):
            title = read_data_file(path).metadata["TITLE"]
            ran.setdefault(names[title], set()).update(_executed_lines(code, recorded_blocks(path)))
    files = find_files([output])
    # The kernel of the runs is set-up's, with a comment more.
    stock = find_kernel()
    made = replace(made_of([as_run(read_data_file(path)) for path in files]),
                   kernels=(f"{stock.version} ({stock.hash})",), runs=len(files))
    results = {"made": asdict(made), "queues": args.queues,
               **summary(code, ran, {path: (tree / path).read_text(errors="replace")
                                     for path in code.lines if (tree / path).is_file()})}
    record(results)
    return 0


def record(results: Mapping[str, Any], page: Path = PAGE) -> None:
    """Write results to research/bench/results, in place of the earlier ones, and to the page, if
    they are of all queues of SETS, otherwise only print their tables.

    Args:
        results: keys of summary(), "queues", and "made", the fields of a Made.
        page: the page.
    """
    if set(results["queues"].split(",")) >= set(SETS):
        keep("coverage", results)
        write_part("coverage", results, page)
    else:
        print("\n".join(coverage_table(results)))


def _instrumented_kernel(output: Path) -> tuple[NamedKernel, Path]:
    """Return a kernel that records which lines of the compiled files of GLOBS run, and the folder
    of the source of set-up's kernel. Builds the kernel `gate-coverage` first, and from it the
    recording one, unless the cache has that. Both stay. Raises SystemExit if no kernel is set up,
    CalledProcessError if the first can't be built, an AqmError such as SetupError if the second
    can't.

    Args:
        output: folder for the patch of `gate-coverage`. It must exist.
    """
    cache, tree = cache_to_write(), stock_tree()
    patch = output / "comment.patch"
    patch.write_text(Planted(NAME, "net/sched/sch_fifo.c", "\n#include <linux/module.h>\n",
                             "\n/* all files are instrumented */\n#include <linux/module.h>\n",
                             ()).patch(tree))
    subprocess.run([BIN / "flent-aqm", "kernel", "build", NAME, "--patch", patch], check=True)
    paths = [str(path.relative_to(tree)) for glob in GLOBS for path in sorted(tree.glob(glob))]
    with locked(cache):
        return build_recording(cache, find_named(NAME), [
            path for path in paths if object_of(tree, path).is_file()]), tree


def _executed_lines(code: Instrumented, blocks: Mapping[int, int]) -> Iterator[Line]:
    """Yield the lines, as (path, number), that a run executed 20 times or more.

    Args:
        code: basic blocks of the kernel and their lines.
        blocks: address after a block's call of the callback -> how often the block ran.
    """
    counts = counts_of_blocks(code, blocks)
    for path, lines in code.lines.items():
        for line, of_line in lines.items():
            if max(counts[block] for block in of_line) >= RARELY:
                yield path, line


def summary(code: Instrumented, ran: Mapping[str, set[Line]], texts: Mapping[str, str]
            ) -> dict[str, object]:
    """Return what the executed lines say about the cells and the kernel's files.

    Args:
        code: basic blocks of the kernel and their lines.
        ran: name of a cell -> the lines that it executes.
        texts: path -> content of the files.

    Returns:
        "cells": a list with a dict for each cell, in the order of greedy(): its name ("cell"), the
            numbers of lines that it executes ("lines"), adds to the cells before it ("adds") and
            alone executes ("only"), and up to MOST_FUNCTIONS functions with most of the latter, as
            "NAME() in FILE" ("functions").
        "files": path -> [number of lines that any cell executes, number of lines with code] for
            each .c file of `texts` that has code, sorted by path.
    """
    seen: set[Line] = set()
    cells = []
    for cell in greedy(ran):
        others: set[Line] = set().union(*(lines for name, lines in ran.items() if name != cell))
        only = ran[cell] - others
        functions = Counter(
            f"{function}() in {path.rpartition('/')[2]}" for path, line in only
            if path in texts and (function := function_at(texts[path], line)))
        cells.append({"cell": cell, "lines": len(ran[cell]), "adds": len(ran[cell] - seen),
                      "only": len(only), "functions": [
                          name for name, _ in functions.most_common(MOST_FUNCTIONS)]})
        seen |= ran[cell]
    by_file = {path: [len({line for file, line in seen if file == path}), len(lines)]
               for path, lines in sorted(code.lines.items()) if path in texts}
    return {"cells": cells, "files": {path: counts for path, counts in by_file.items()
                                      if path.endswith(".c")}}


def greedy(ran: Mapping[str, set[Line]]) -> Iterator[str]:
    """Yield the names of the cells. The next cell is always the one that adds most lines to those
    before it, of equals the first by name. `ran`: name of a cell -> the lines that it executes."""
    seen: set[Line] = set()
    left = dict(sorted(ran.items()))
    while left:
        cell = max(left, key=lambda name: len(left[name] - seen))
        seen |= left.pop(cell)
        yield cell


if __name__ == "__main__":
    sys.exit(main())
