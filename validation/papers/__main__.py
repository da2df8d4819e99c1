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

from validation import from_runs
from validation.papers.table import PAPERS

PAGE = "papers.md"


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m validation.papers",
                                     description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paper", choices=PAPERS)
    from_runs.add_arguments(parser, PAGE)
    args = parser.parse_args()
    return from_runs.make(args, PAGE, args.paper, PAPERS[args.paper].lines)


if __name__ == "__main__":
    sys.exit(main())
