# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare kernels that routers run with set-up's, by batches/gate.batch.

    python -m research.bench.kernel_watch -o results/watch linux-source-6.12 linux-source-7.2

Each SOURCE is as `flent-aqm kernel build --source` takes it. The runs of gate.py's `power` in -o
serve as set-up's side, if they are there. Writes docs/results/kernels.md.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.paths import resource_dir
from flent_aqm.base.words import counted
from flent_aqm.parts.kernels.verdict.decide import (
    BETTER,
    MIXED,
    SAME,
    UNTOLD,
    USUAL,
    WORSE,
    Effect,
    JudgedMetric,
    judge,
)
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.many_files import find_files
from flent_aqm.results.metrics.run import as_run
from flent_aqm.setup.kernel.named import find_named
from research.bench.gate import BIN, base_folder, is_there, pair_folders, sweep
from research.validation import marked
from research.validation.stamp import made_of

PAGE = Path(__file__).parents[2] / "docs" / "results" / "kernels.md"
QUEUES = ("fq_codel", "cake", "codel", "pie")
_MOST = 2


@dataclass(frozen=True)
class Watched:
    """A queue on a kernel, compared with the same queue on set-up's kernel.

    Attributes:
        version: version of the kernel.
        aqm: the queue.
        judged: the verdict on each metric.
        fails_more: whether more of its runs failed than of set-up's kernel, and than chance
            explains.
    """

    version: str
    aqm: str
    judged: Sequence[JudgedMetric]
    fails_more: bool


def main() -> None:
    """Make the runs of each source's kernel and each queue, and of set-up's kernel, unless --output
    has them, compare them, and write docs/results/kernels.md. Kernels are built for missing runs,
    and not removed. Runs that failed are counted. Raises CalledProcessError if a kernel can't be
    built, SystemExit if Flent ends before all runs are made. Raises AqmError if too few runs are
    left to compare, a file is damaged, a kernel whose runs are there is gone, or the page can't be
    written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    parser.add_argument("-o", "--output", type=Path, required=True, help="where the runs go")
    parser.add_argument("--queues", default=",".join(QUEUES), metavar="NAME,...")
    args = parser.parse_args()
    output = args.output.resolve()
    watched: list[Watched] = []
    # The folders of set-up's runs: those of a queue are compared with each source's.
    bases: dict[Path, None] = {}
    for source in args.sources:
        name = re.sub(r"[^a-z0-9]+", "-", source.rpartition("linux-")[2].lower()).strip("-")
        for aqm in args.queues.split(","):
            base, folder = base_folder(output, [f"aqm={aqm}"]), output / f"{name}-{aqm}"
            batch = resource_dir("batches") / "gate.batch"
            sweep(batch, base, [f"aqm={aqm}"])
            if not is_there(folder):
                subprocess.run([BIN / "flent-aqm", "kernel", "build", name, "--source", source],
                               check=True)
                sweep(batch, folder, [f"aqm={aqm}", f"kernel={name}"])
            comparison = pair_folders(base, folder)
            watched.append(Watched(find_named(name).version, aqm, judge(comparison, USUAL),
                                   comparison.fails_more))
            bases[base] = None
    marked.replace(PAGE, "kernels", "\n".join(table(watched)),
                   made_of([as_run(read_data_file(file)) for file in find_files(list(bases))]))


def table(watched: Sequence[Watched]) -> Iterator[str]:
    """Yield the lines of a Markdown table: header, and a row per kernel and queue. A row has "runs
    failed" if more did, the two largest effects for the worse, each with metric, relative
    difference and cell, and how many other metrics have one; the same effects for the better; and
    how many metrics are the same, and can't be told."""
    yield "| Linux | queue | worse than set-up's | better | the same/can't tell |"
    yield "|---|---|---|---|---|"
    for one in watched:
        worse = [*(["runs failed"] if one.fails_more else []),
                 *filter(None, [_largest_effects(one.judged, WORSE)])]
        yield (f"| {one.version} | {one.aqm} | {', '.join(worse)} | "
               f"{_largest_effects(one.judged, BETTER)} | {_count_verdicts(one.judged, SAME)}/"
               f"{_count_verdicts(one.judged, UNTOLD)} |")


def _largest_effects(judged: Sequence[JudgedMetric], verdict: str) -> str:
    effects = [(one.metric.name, effect) for one in judged
               if one.verdict in (verdict, MIXED) for effect in one.effects
               if effect.verdict == verdict]
    effects.sort(key=lambda pair: -abs(_relative_difference(pair[1])))
    shown = [f"`{name}` {_share_text(effect)} ({effect.cell})" for name, effect in effects[:_MOST]]
    more = len({name for name, _ in effects}) - len({name for name, _ in effects[:_MOST]})
    return ", ".join(shown) + (f" and {counted(more, 'more metric')}" if more > 0 else "")


def _count_verdicts(judged: Sequence[JudgedMetric], verdict: str) -> int:
    return sum(one.verdict == verdict for one in judged)


def _relative_difference(effect: Effect) -> float:
    """Return the mean difference as a share of the base's median. If that is 0 and the difference
    is not, infinity with the difference's sign. Infinity if lost probes leave the difference open.
    """
    if not effect.base:
        return math.copysign(math.inf, effect.difference) if effect.difference else 0.0
    share = effect.difference / abs(effect.base)
    return math.inf if math.isnan(share) else share


def _share_text(effect: Effect) -> str:
    """Return _relative_difference() as text: "+12%", "lost probes" if the difference isn't a finite
    number, or the difference itself, as "+0.5 from 0", if the base's median is 0."""
    if not math.isfinite(effect.difference):
        return "lost probes"
    share = _relative_difference(effect)
    return f"{share:+.0%}" if math.isfinite(share) else f"{effect.difference:+.3g} from 0"


if __name__ == "__main__":
    main()
