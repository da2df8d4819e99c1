# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm verdict`: is the test side better, worse or the same as the base side?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import AqmError, BadResult, ConfigError
from flent_aqm.base.whole_file import write_text
from flent_aqm.commands.score import score
from flent_aqm.results.many_files import each_run, find_files
from flent_aqm.results.score.shown import ScoredFile
from flent_aqm.results.verdict.decide import USUAL, is_worse, judge
from flent_aqm.results.verdict.pairs import pair
from flent_aqm.show import verdict_page

# The exit status without a verdict: not that of "worse", which `git bisect run` would believe.
NO_VERDICT = 2
PAGES = {".md": lambda text: text, ".html": verdict_page.html}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--base", nargs="+", type=Path, metavar="RESULTS", required=True,
                        help="data files, or folders of them, before the change")
    parser.add_argument("--test", nargs="+", type=Path, metavar="RESULTS", required=True,
                        help="data files, or folders of them, after the change, with the same "
                             "settings and seeds")
    parser.add_argument("--metrics", metavar="NAME,...", help="compare these metrics")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="write the page to NAME.md or NAME.html (default: print it)")


def main(args: argparse.Namespace) -> int:
    """Print or write the page. Exit status 1 if a metric got worse, 2 without a verdict."""
    try:
        return _judge(args)
    except AqmError as error:
        print(f"flent-aqm: {error}", file=sys.stderr)
        return NO_VERDICT


def _judge(args: argparse.Namespace) -> int:
    form = PAGES.get(args.output.suffix) if args.output else PAGES[".md"]
    if form is None:
        raise ConfigError(f"--output: {args.output} ends with neither .md nor .html")
    names = tuple(args.metrics.replace(" ", "").split(",")) if args.metrics else USUAL
    comparison = pair(scored(args.base), scored(args.test))
    judged = judge(comparison, names)
    text = verdict_page.markdown(comparison, judged)
    if args.output:
        try:
            write_text(args.output, form(text))
        except OSError as error:
            raise ConfigError(f"--output: can't write {args.output}: {error.strerror}") from None
        print(verdict_page.sentence(judged))
    else:
        print(text, end="")
    return 1 if is_worse(judged) else 0


def scored(paths: Sequence[Path]) -> list[ScoredFile]:
    """Return all runs of a side. Raises BadResult for the first file that is damaged."""
    found = []
    for _, result in each_run(find_files(paths), score):
        if isinstance(result, BadResult):
            # A verdict that leaves runs out could be bought by damaging them.
            raise result
        found.append(result)
    return found
