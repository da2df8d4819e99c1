# SPDX-License-Identifier: GPL-3.0-or-later
"""Make those results again that `make docs` doesn't: run batches, and write their tables.

    make results                                             all of them; takes hours
    .venv/bin/python -m research.validation.renew --only l4s wifi     some
    .venv/bin/python -m research.validation.renew --list              what each runs

Runs go into results/renew/NAME, which is deleted first. After an interruption, give the remaining
names to --only.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.parts.scorecard.places import QUEUES
from research.validation.papers.table import PAPERS

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SCORECARD = "scorecard"


@dataclass(frozen=True)
class Recipe:
    """How a table is made again. commands() adds the folders of the results and of the page.

    Attributes:
        page: path of the page in docs/.
        sweeps: the words of each sweep. For flent: name of a file in batches/ without folder and
            ending, then further options of flent. For `flent-aqm scorecard`: "scorecard" and its
            options.
        module: module of research.validation that writes the table, without the package's name,
            with its words before the folder of results.
        options: the module's words behind the folder.
    """

    page: str
    sweeps: tuple[str, ...]
    module: str
    options: str = ""

    def commands(self, folder: Path) -> list[list[str]]:
        """Return the words of each command: those of the sweeps and, last, that of the module that
        writes the table into the page in docs/. They are to be run in the source tree's top folder.

        Args:
            folder: folder of the results. Each sweep's go to a folder in it, 1, 2 and so on.
        """
        made = []
        for number, sweep in enumerate(self.sweeps, 1):
            file, *words = sweep.split()
            if file == SCORECARD:
                made.append([str(BIN / "flent-aqm"), *sweep.split(), "-o",
                             str(folder / str(number))])
                continue
            made.append([str(BIN / "flent"), "-B", f"batches/{file}.batch", *words,
                         "--batch-override", f"output_path={folder / str(number)}"])
        module, *words = self.module.split()
        return [*made, [sys.executable, "-m", f"research.validation.{module}", *words, str(folder),
                        *self.options.split(), "-o", "docs"]]


def _override_options(*settings: str) -> str:
    return " ".join(f"--batch-override {one}" for one in settings)


def _only_options(*cells: str) -> str:
    return " ".join(f"--only {one}" for one in cells)


_STUDY = "aqm_sweep -b paper --batch-repetitions"
_NDT7 = _override_options("test_name=ndt7", "router_model=20us")
_AT_900 = _override_options("aqm=fq_codel", "rate_mbps=900")
RECIPES: Mapping[str, Recipe] = {
    **{name: Recipe("results/papers.md", (f"papers -b {name}",), f"papers {name}")
       for name in PAPERS},
    "l4s": Recipe("results/l4s.md", ("papers -b l4s",), "l4s"),
    "l4s_links": Recipe("results/l4s.md", ("papers -b l4s_links",), "l4s --links"),
    "bbr": Recipe("results/bbr.md", ("bbr",), "bbr"),
    "cake_mq": Recipe("results/cake-mq.md", ("cake_mq",), "cake_mq"),
    # Its programs have to be built before: the page says how.
    "quic": Recipe("results/quic.md", ("quic", "quic"), "quic"),
    "wifi": Recipe("wifi.md", ("wifi",), "wifi"),
    "study": Recipe("results/study.md", (
        f"{_STUDY} 1 {_NDT7}",
        f"{_STUDY} 10 {_NDT7} {_AT_900} {_override_options('burst_shaping=0', 'cross_traffic=0')}",
        f"{_STUDY} 10 {_NDT7} {_AT_900} {_override_options('burst_shaping=1', 'cross_traffic=1')}",
        f"{_STUDY} 10 {_NDT7} {_override_options('rate_mbps=100', 'burst_shaping=1')}",
        f"{_STUDY} 1 {_NDT7} " + _override_options("rate_mbps=100", "base_delay_ms=20",
                                                   "burst_shaping=0",
                                                   "cross_traffic=0")), "study",
                                                   "--router-model 20us"),
    "estimates": Recipe("results/scores.md", ("speedtests -b all",), "speedtests estimates"),
    "parameters": Recipe("results/scores.md", (
        "speedtests -b parameters",), "speedtests parameters"),
    "unsent": Recipe("results/scores.md", ("speedtests -b unsent",), "speedtests unsent"),
    "scorecard": Recipe("scorecard.md", (
        "scorecard --all",
        "scorecard --all --seeds 11 " + _only_options(*(
            f"{line}-{queue}-seed" for line in ("50mbit-40ms", "10mbit-40ms") for queue in QUEUES)),
    ), "scorecard table"),
    # iperf3 tells no latency.
    "scorecard_worst": Recipe("scorecard.md", (
        ("scorecard ndt7 nuttcp librespeed ookla_style iperf2_bounceback cloudflare "
         "cloudflare_http2 responsiveness bbperf --worst latency --runs 40"),
        "scorecard iperf3_bidirectional --worst throughput --runs 40"), "scorecard worst"),
    "scorecard_browser": Recipe("scorecard.md", (
        "scorecard cloudflare cloudflare_browser --cells small",), "scorecard browser"),
    # As root, on a machine that does nothing else.
    "scorecard_real": Recipe("scorecard.md", (
        "scorecard --all --cells ten", "scorecard --all --cells ten --testbed netns"),
        "scorecard real_time"),
    "real_time": Recipe("results/speed-tests.md", ("speedtests -b real",),
                        "speedtests real_time"),
}


def main() -> int:
    """Run the recipes, all or those that --only names, or print their commands with --list. The
    results of each are deleted before it runs. Return the exit status, 1 if a program that writes a
    table ended with an error: it could not write the table, or it wrote one that lacks runs. The
    status of a sweep doesn't count. Raises OSError if a command can't be started."""
    parser = argparse.ArgumentParser(prog="python -m research.validation.renew",
                                     description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=RECIPES, default=RECIPES)
    parser.add_argument("--list", action="store_true", help="print the commands, and run none")
    args = parser.parse_args()
    failed = []
    for name in args.only:
        folder = ROOT / "results" / "renew" / name
        commands = RECIPES[name].commands(folder)
        if args.list:
            print(*(" ".join(words) for words in commands), sep="\n")
            continue
        shutil.rmtree(folder, ignore_errors=True)
        # A run that gave up doesn't keep the others from the table, which says what it lacks.
        statuses = [subprocess.run(words, cwd=ROOT, check=False).returncode for words in commands]
        if statuses[-1]:
            failed.append(name)
    if failed:
        print(f"renew: the programs that write the tables of {', '.join(failed)} ended with an "
              "error; the reasons are above", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
