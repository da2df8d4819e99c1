# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of docs/results/papers.md, from runs of batches/papers.batch.

    .venv/bin/flent -B batches/papers.batch -b ware2019
    .venv/bin/python -m research.validation.papers ware2019 results/papers-… [-o docs]

Prints a paper's numbers beside the lab's and, with -o, writes them between the paper's marks on the
page and renews the list at the top of the page. --keep writes the data file that the tests use for
this paper.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.data_file import SUFFIX
from flent_aqm.results.metrics.run import Run
from research.validation import from_runs
from research.validation.papers import overview
from research.validation.papers.kept import keep
from research.validation.papers.table import PAPERS

PAGE = "results/papers.md"


def main() -> int:
    """Print the table of the paper that the command line names and, with -o, write it into its part
    of the page and renew the list at the top of the page. With --keep, write the paper's data file
    for the tests into that folder. Return the exit status, 1 if the runs can't be read or don't
    suit, or the page or the data file can't be written."""
    parser = argparse.ArgumentParser(prog="python -m research.validation.papers",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paper", choices=PAPERS)
    from_runs.add_arguments(parser, PAGE)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="the folder of the runs kept")
    args = parser.parse_args()
    paper = PAPERS[args.paper]

    def lines(runs: Sequence[Run]) -> Iterator[str]:
        yield from paper.lines(runs)
        if args.keep:
            path, = (run.path for run in runs if run.title == paper.golden)
            keep(path, args.keep / f"{paper.batch}{SUFFIX}")

    status = from_runs.make(args, PAGE, paper.batch, lines)
    if args.output and not status:
        try:
            overview.renew(args.output / PAGE)
        except ConfigError as error:
            print(error, file=sys.stderr)
            return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
