# SPDX-License-Identifier: GPL-3.0-or-later
"""Can batches/gate.batch be trusted? Does it see changes where there are none, and does it see
those that are there?

    python -m bench.gate false-alarms -o results/false-alarms    21 sets of 5 seeds, 945 runs
    python -m bench.gate false-alarms -o results/false-alarms --draws 1000    of the same runs, too
    python -m bench.gate power -o results/power                  4 kernels with a planted defect

Both write their table to bench/results/gate-WHAT-DATE.json. The exit status is 1 if there was a
false alarm, or a defect that was not found.
"""

from __future__ import annotations

import argparse
import datetime
import difflib
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from flent_aqm.base.paths import cache_to_write, resource_dir
from flent_aqm.commands.verdict import scored
from flent_aqm.results.many_files import find_files
from flent_aqm.results.score.shown import ScoredFile
from flent_aqm.results.verdict.decide import SAME, UNTOLD, USUAL, judge
from flent_aqm.results.verdict.pairs import SEED, pair
from flent_aqm.setup.kernel.recipe import stock_source
from flent_aqm.show.verdict_page import sentence

RESULTS = Path(__file__).parent / "results"
BIN = Path(sys.executable).parent
SEEDS = 5
_SEED_LINE = re.compile(r"^seed = (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Defect:
    """A change to a file of the kernel that a gate has to see. old is there once; overrides
    choose the queue, for both sides."""

    name: str
    file: str
    old: str
    new: str
    overrides: tuple[str, ...]


DEFECTS = (
    Defect("CoDel with a target of 6 ms", "include/net/codel_impl.h",
           "codel_time_before(vars->ldelay, params->target) ||",
           "codel_time_before(vars->ldelay, params->target + MS2TIME(1)) ||", ("aqm=codel",)),
    Defect("FQ-CoDel that uses four of its queues", "net/sched/sch_fq_codel.c",
           "return reciprocal_scale(skb_get_hash(skb), q->flows_cnt);",
           "return reciprocal_scale(skb_get_hash(skb), 4);", ("aqm=fq_codel",)),
    Defect("PIE without its burst allowance", "include/net/pie.h",
           "vars->burst_time = PSCHED_NS2TICKS(150 * NSEC_PER_MSEC);", "vars->burst_time = 0;",
           ("aqm=pie",)),
    Defect("CAKE that forgets its overhead", "net/sched/sch_cake.c",
           "len = max((s32)len + q->rate_overhead, (s32)q->rate_mpu);",
           "len = max((s32)len, (s32)q->rate_mpu);",
           # Without the cell whose rate falls, which HTB makes.
           ("aqm=cake", "shaper=cake", "aqm_overhead=44",
            ("for_check=one_flow,fair,many_flows,round_trips,overload,bursts,comes_and_goes,"
             "ecn"))),
)


@dataclass(frozen=True)
class Comparison:
    """What one verdict said. seen: the metrics that weren't the same, with their verdicts; wall_s:
    of a side's runs, None where they were there already."""

    name: str
    seen: dict[str, str]
    said: str
    wall_s: float | None = None


def main() -> int:
    """Run what is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("false-alarms", "power"))
    parser.add_argument("-o", "--output", type=Path, required=True, help="where the runs go")
    parser.add_argument("--comparisons", type=int, default=20,
                        help="of false-alarms (default: %(default)s)")
    parser.add_argument("--first-seed", type=int, default=1,
                        help="of false-alarms (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=0,
                        help="of false-alarms: compare so many pairs of sets more, of seeds that "
                             "are drawn from all runs (default: %(default)s)")
    parser.add_argument("--only", default="", help="of power: defects with this in their names")
    parser.add_argument("--aqm", default="fq_codel", help="of false-alarms (default: %(default)s)")
    args = parser.parse_args()
    output = args.output.resolve()
    results: dict[str, object] = {}
    if args.what == "false-alarms":
        found, runs = false_alarms(output, args.comparisons, args.aqm, args.first_seed)
        if args.draws:
            results["drawn"] = drawn(runs, args.draws)
        good = sum(not one.seen for one in found)
        print(f"{good} of {len(found)} comparisons of a kernel with itself: not different")
    else:
        found = power(output, args.only)
        good = sum(bool(one.seen) for one in found)
        print(f"{good} of {len(found)} defects were found")
    RESULTS.mkdir(exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    (RESULTS / f"gate-{args.what}-{now:%Y-%m-%dT%H%M%SZ}.json").write_text(
        json.dumps({"comparisons": [asdict(one) for one in found], **results}, indent=1) + "\n")
    return int(good < len(found))


def false_alarms(output: Path, comparisons: int, aqm: str, first_seed: int
                 ) -> tuple[list[Comparison], dict[int, list[ScoredFile]]]:
    """Compare each set of seeds with the next one: the code is the same, chance is another. Return
    what was found, and all runs by seed."""
    text = (resource_dir("batches") / "gate.batch").read_text()
    base = (resource_dir("batches") / "base.batch").read_text()
    found: list[Comparison] = []
    before: list[ScoredFile] = []
    by_seed: dict[int, list[ScoredFile]] = {}
    for number in range(comparisons + 1):
        folder = output / f"set{number}"
        folder.mkdir(parents=True, exist_ok=True)
        batch = folder / "gate.batch"
        # Flent reads the base.batch of the same folder.
        (folder / "base.batch").write_text(base)
        before_first = first_seed - 1 + number * SEEDS
        batch.write_text(_with_seeds_from(text, before_first))
        took_s = _sweep(batch, folder / "runs", [f"aqm={aqm}"])
        runs = []
        for run in scored(find_files([folder / "runs"])):
            seed = int(str(run.settings[SEED]))
            by_seed.setdefault(seed, []).append(run)
            runs.append(_with_seed(run, seed - before_first))
        if before:
            found.append(_compared(f"seeds {before_first - SEEDS + 1} to {before_first} and the "
                                   "next five", before, runs, took_s))
        before = runs
    return found, by_seed


def drawn(runs: Mapping[int, Sequence[ScoredFile]], draws: int) -> dict[str, int]:
    """Compare pairs of sets whose seeds are drawn from all: these comparisons share runs, but a
    rate of one in a hundred shows. Return how many there were, in how many of them something was
    different ("alarms"), and each metric that wasn't."""
    draw = random.Random(1)
    found = Counter(draws=draws, alarms=0)
    for _ in range(draws):
        seeds = draw.sample(sorted(runs), 2 * SEEDS)
        base, test = ([_with_seed(run, place) for place, seed in enumerate(half, 1)
                       for run in runs[seed]] for half in (seeds[:SEEDS], seeds[SEEDS:]))
        seen = {one.metric.name for one in judge(pair(base, test), USUAL)
                if one.verdict not in (SAME, UNTOLD)}
        found.update(seen, alarms=bool(seen))
    print(f"{found['alarms']} of {draws} pairs of sets drawn from all runs: different")
    return dict(found)


def _with_seeds_from(text: str, before_first: int) -> str:
    return _SEED_LINE.sub(lambda line: f"seed = {before_first + int(line[1])}", text)


def _with_seed(run: ScoredFile, seed: int) -> ScoredFile:
    """As if both sides had the same seeds, without which there are no pairs."""
    return replace(run, settings={**run.settings, SEED: seed})


def power(output: Path, only: str) -> list[Comparison]:
    """Build a kernel for each defect, and compare it with set-up's."""
    source = stock_source()
    if source is None:
        raise SystemExit("bench.gate: no kernel is set up: make setup")
    tree = cache_to_write() / "trees" / f"{source.package}_{source.version}"
    found = []
    for number, defect in enumerate(DEFECTS):
        if only not in defect.name:
            continue
        folder = output / f"defect{number}"
        folder.mkdir(parents=True, exist_ok=True)
        patch = folder / "defect.patch"
        patch.write_text(_patch(tree, defect))
        name = f"gate-defect{number}"
        subprocess.run([BIN / "flent-aqm", "kernel", "build", name, "--patch", patch], check=True)
        base_s, test_s = (
            _sweep(resource_dir("batches") / "gate.batch", folder / side,
                   [*defect.overrides, f"kernel={which}"])
            for side, which in (("base", "stock"), ("test", name)))
        took_s = None if base_s is None or test_s is None else (base_s + test_s) / 2
        found.append(_compared(defect.name, scored(find_files([folder / "base"])),
                               scored(find_files([folder / "test"])),
                               took_s))
        subprocess.run([BIN / "flent-aqm", "kernel", "remove", name], check=True)
    return found


def _patch(tree: Path, defect: Defect) -> str:
    saved = tree / ".flent-aqm" / "before" / defect.file
    old = (saved if saved.is_file() else tree / defect.file).read_text()
    if old.count(defect.old) != 1:
        raise SystemExit(f"bench.gate: {defect.file}: expected {defect.old!r} once, found it "
                         f"{old.count(defect.old)} times; mend DEFECTS")
    new = old.replace(defect.old, defect.new)
    return "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                        f"a/{defect.file}", f"b/{defect.file}"))


def _compared(name: str, base: Sequence[ScoredFile], test: Sequence[ScoredFile],
              wall_s: float | None) -> Comparison:
    comparison = pair(base, test)
    judged = judge(comparison, USUAL)
    one = Comparison(name, {each.metric.name: each.verdict for each in judged
                            if each.verdict not in (SAME, UNTOLD)}, sentence(comparison, judged),
                     wall_s)
    took = "" if wall_s is None else f" ({wall_s:.0f} s a side)"
    print(f"{name}{took}: {one.said}", flush=True)
    return one


def _sweep(batch: Path, folder: Path, overrides: Sequence[str]) -> float | None:
    """Run the batch; return the wall seconds that it took, None where its runs are there already,
    of a comparison before that was stopped."""
    if folder.is_dir() and any(folder.glob("*.flent.gz")):
        return None
    begun_s = time.monotonic()
    subprocess.run([BIN / "flent", "-B", batch, f"--batch-override=output_path={folder}",
                    *(f"--batch-override={each}" for each in overrides)],
                   check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun_s


if __name__ == "__main__":
    sys.exit(main())
