# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/papers.md, from runs of batches/papers.batch.

    .venv/bin/flent -B batches/papers.batch -b ware2019
    .venv/bin/python -m validation.papers ware2019 results/papers-… [-o docs]

Prints what a paper says beside what the lab measured and, with -o, writes it between the
paper's two marks on the page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from flent_aqm.results.metrics.run import Run
from flent_aqm.results.metrics.shared_time import mean_mbps, told_window
from flent_aqm.results.metrics.window import Window
from validation import from_runs

PAGE = "papers.md"
WAY = "upload"
# How long flows get to find their shares.
SETTLED_S = 300.0
# Ware et al.: the share of a single BBR flow, and the median error of their model beside Cubic.
BBR_SHARE, BBR_ERROR = 0.40, 0.05


@dataclass(frozen=True)
class Paper:
    """A batch of batches/papers.batch. lines: the table's."""

    batch: str
    lines: Callable[[Sequence[Run]], Iterator[str]]


def bbr_share(run: Run) -> float:
    """What the flow of BBR has of all, once they have settled."""
    flows = run.way(WAY)
    whole = told_window(flows[0])
    window = Window(whole.start_s + SETTLED_S, whole.end_s)
    mbps = {flow.name: mean_mbps(flow, window) for flow in flows}
    return sum(value for name, value in mbps.items() if "bbr" in name) / sum(mbps.values())


def others(run: Run) -> int:
    """How many flows BBR's is against: of `1xbbr+4xcubic`, 4."""
    return int(str(run.settings["flows"]).partition("+")[2].partition("x")[0])


def _ware(runs: Sequence[Run]) -> Iterator[str]:
    yield "| against | BBR's share, published | BBR's share here | within 5 points |"
    yield "|" + " --- |" * 4
    for run in sorted(runs, key=others):
        share = bbr_share(run)
        agrees = abs(share - BBR_SHARE) <= BBR_ERROR
        yield (f"| {others(run)} Cubic | {BBR_SHARE:.0%} | {share:.1%} | "
               f"{'yes' if agrees else 'no'} |")


PAPERS = {paper.batch: paper for paper in (Paper("ware2019", _ware),)}


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper", choices=PAPERS)
    from_runs.add_arguments(parser, PAGE)
    args = parser.parse_args()
    return from_runs.make(args, PAGE, args.paper, PAPERS[args.paper].lines)


if __name__ == "__main__":
    sys.exit(main())
