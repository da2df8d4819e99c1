# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how far batches/gate.batch can be trusted: false alarms, and changes that it finds.

    python -m research.bench.gate false-alarms -o results/false-alarms
        12 sets of 5 seeds, 1140 runs
    python -m research.bench.gate false-alarms -o results/false-alarms --draws 1000
        of the same runs, too
    python -m research.bench.gate power -o results/power
        21 kernels: research/bench/defects.py
    python -m research.bench.gate others -o results/others
        14 defects of kinds that others have chosen: which of them are worse, and which never ran
    python -m research.bench.gate further -o results/further
        12 more, chosen without regard to what the cells find
    python -m research.bench.gate blind -o results/others
        10 by somebody who knew neither cells nor other defects; the bases are those of `others`
    python -m research.bench.gate blind-later -o results/blind-later
        10 by another one, after the cells had been changed by what the first ten showed
    python -m research.bench.gate harmless -o results/blind-later
        the changes without effect: "the same", and all their lines ran

All write research/bench/results/gate-WHAT-DATE.json, and their part of docs/results/gate.md, once
all changes of their kind are judged. Runs that are in the folder already are not made again. The
exit status is 1 if there was a false alarm, or a defect that was not found.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import cache_to_write, resource_dir
from flent_aqm.base.words import end_of, last_line
from flent_aqm.parts.kernels.verdict import pairs
from flent_aqm.parts.kernels.verdict.command import failed_runs, scored
from flent_aqm.parts.kernels.verdict.decide import SAME, UNTOLD, USUAL, WORSE, judge
from flent_aqm.parts.kernels.verdict.more_seeds import FOLDER
from flent_aqm.parts.kernels.verdict.page import sentence
from flent_aqm.parts.kernels.verdict.pairs import SEED, pair
from flent_aqm.results import status
from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.many_files import find_files
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.score.shown import ScoredFile
from flent_aqm.setup.kernel.compile import NOT_IN_KERNEL
from flent_aqm.setup.kernel.recipe import stock_source
from research.bench.defects import BLIND, BLIND_LATER, DEFECTS, FURTHER, OTHERS, Planted
from research.bench.gate_page import keep, write_part
from research.validation.stamp import Made, made_of

BIN = Path(sys.executable).parent
SEEDS = 5
# Argument of the command line -> defects that `flent-aqm verdict` itself judges.
_JUDGED: Mapping[str, Sequence[Planted]] = MappingProxyType(
    {"others": OTHERS, "further": FURTHER, "blind": BLIND, "blind-later": BLIND_LATER,
     "harmless": [planted for planted in DEFECTS if not planted.has_effect]})
# Argument of the command line -> the changes that its results are about.
_PLANTED: Mapping[str, Sequence[Planted]] = MappingProxyType({"power": DEFECTS, **_JUDGED})
# Folder of a changed kernel's runs.
_CHANGED = re.compile(rf"/({'|'.join(['change', *_JUDGED])})\d+/")
_SEED_LINE = re.compile(r"^seed = (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Comparison:
    """The result of one verdict.

    Attributes:
        name: name of the comparison or of the planted change.
        seen: each metric that was better, worse or mixed -> that word, and "runs failed" -> "worse"
            if more runs failed than on the base's side, and more than chance explains. If
            `flent-aqm verdict` judged a defect: one word, "worse", "not exercised", "a difference",
            "refused" or, if it judged nothing, "no verdict" -> the same text as `said`; empty for
            "the same" and "can't tell".
        said: the verdict's sentence. If `flent-aqm verdict` judged a defect: its output, or without
            any the first failed run's cause or "status N"; if its kernel was refused, the error
            message.
        wall_s: time of the runs of one side, the changed or later one. None if they were there
            already, or nothing was run.
        identical: number of pairs with identical samples, and of all pairs: one for each cell and
            seed, further seeds included. (0, 0) if `flent-aqm verdict` judged.
        aqm: queue of a planted change, "" for none.
        has_effect: True for a planted defect, see Planted. False for a harmless change, and if
            nothing is planted.
        right: whether the verdict is as it should be. Of a set of seeds compared with another one,
            False if they differ, which only main() fills in.
    """

    name: str
    seen: dict[str, str]
    said: str
    wall_s: float | None = None
    identical: tuple[int, int] = (0, 0)
    aqm: str = ""
    has_effect: bool = False
    right: bool = True


def main() -> int:
    """Make the comparisons that the command line names. If no planted change of their kind is
    missing, and --cells isn't given, keep the results in research/bench/results, in place of the
    earlier ones of their kind, and write their part of docs/results/gate.md. Return the exit
    status, 1 if any verdict is not as it should be. Raises the errors of false_alarms(), power() or
    judge_defects(), and ConfigError if there are no runs or the page can't be written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("false-alarms", "power", *_JUDGED))
    parser.add_argument("-o", "--output", type=Path, required=True, help="where the runs go")
    parser.add_argument("--comparisons", type=int, default=20,
                        help="of false-alarms (default: %(default)s)")
    parser.add_argument("--first-seed", type=int, default=1,
                        help="of false-alarms (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=0,
                        help="of false-alarms: compare so many pairs of sets more, of seeds that "
                             "are drawn from all runs (default: %(default)s)")
    parser.add_argument("--only", default="", help="of all but false-alarms: changes with this "
                        "in their names (results of power are kept only without this, those of the "
                        "others once the folder has all, too)")
    parser.add_argument("--named-cells", action="store_true",
                        help="of others, further, blind…: the cells that are named beside each "
                             "defect (default: all)")
    parser.add_argument("--cells", default="", metavar="NAME,...",
                        help="of power: these cells alone, such as one_flow,fair; the results are "
                             "not kept")
    parser.add_argument("--minutes", type=float, default=8.0,
                        help="of power: for further seeds of a change that five can't tell "
                             "(default: %(default)g)")
    parser.add_argument("--aqm", default="fq_codel", help="of false-alarms (default: %(default)s)")
    args = parser.parse_args()
    output = args.output.resolve()
    results: dict[str, object] = {}
    if args.what == "false-alarms":
        made, runs = false_alarms(output, args.comparisons, args.aqm, args.first_seed)
        if args.draws:
            results["drawn"] = compare_drawn_seeds(runs, args.draws)
        made = [replace(one, right=not one.seen) for one in made]
        good = sum(one.right for one in made)
        print(f"{good} of {len(made)} comparisons of a kernel with itself: not different")
    elif args.what in _JUDGED:
        made = judge_defects(output, args.what, args.only, args.named_cells)
        results["cells"] = "named" if args.named_cells else "all"
        good = sum(one.right for one in made)
        print(f"{good} of {len(made)}: as it should be")
    else:
        made = power(output, args.only, args.cells, args.minutes)
        results["cells"] = "all"
        good = sum(one.right for one in made)
        print(f"{good} of {len(made)} changes: as it should be")
    if not args.cells and len(made) >= len(_PLANTED.get(args.what, ())):
        results |= {"made": asdict(_provenance(output)),
                    "comparisons": [asdict(one) for one in made]}
        keep(args.what, results)
        write_part(args.what, results)
    else:
        print("not kept: changes or cells are missing")
    return int(good < len(made))


def _provenance(output: Path) -> Made:
    """Return date, kernels, versions and number of the runs below `output`. The number is that of
    all files; the rest is that of each folder's first file, without folders of planted changes, and
    the date that of the newest of these. Raises ConfigError without a run, BadResult if a file
    can't be read."""
    files = find_files([output])
    first = {file.parent: file for file in reversed(files)
             if not _CHANGED.search(f"/{file.relative_to(output)}")}
    return replace(made_of([as_run(read_data_file(file)) for file in first.values()]),
                   runs=len(files))


def false_alarms(output: Path, comparisons: int, aqm: str, first_seed: int
                 ) -> tuple[list[Comparison], dict[int, list[ScoredFile]]]:
    """Make sets of runs with five seeds each, as many sets as the comparisons need, except those
    that `output` has, and compare each set with the next two: the code is the same, chance is
    different. Print each verdict. Return the comparisons, all with the default `right`, and all
    runs by seed.

    Args:
        output: folder for the runs.
        comparisons: number of comparisons.
        aqm: queue of the runs.
        first_seed: first seed of the first set.

    Raises SystemExit if Flent ends before all runs are made, ConfigError if `output` has runs of
    another queue or other seeds, or if too many failed to compare the rest, BadResult for a damaged
    file.
    """
    text = (resource_dir("batches") / "gate.batch").read_text()
    base = (resource_dir("batches") / "base.batch").read_text()
    compared: list[Comparison] = []
    before: list[tuple[str, list[ScoredFile]]] = []
    by_seed: dict[int, list[ScoredFile]] = {}
    # n sets give 2n - 3 comparisons.
    for number in range(math.ceil((comparisons + 3) / 2)):
        folder = output / f"set{number}"
        folder.mkdir(parents=True, exist_ok=True)
        batch = folder / "gate.batch"
        # Flent reads the base.batch of the same folder.
        (folder / "base.batch").write_text(base)
        before_first = first_seed - 1 + number * SEEDS
        batch.write_text(_with_seeds_from(text, before_first))
        took_s = sweep(batch, folder / "runs", [f"aqm={aqm}"])
        runs = []
        for run in scored(find_files([folder / "runs"])):
            seed, queue = int(str(run.settings[SEED])), run.settings["aqm"]
            if queue != aqm or not before_first < seed <= before_first + SEEDS:
                raise ConfigError(f"{run.path}: a run of {queue} with seed {seed}; expected {aqm} "
                                  f"and seeds {before_first + 1} to {before_first + SEEDS}: give a "
                                  "folder of its own for other runs")
            by_seed.setdefault(seed, []).append(run)
            runs.append(_with_seed(run, seed - before_first))
        seeds = f"{before_first + 1} to {before_first + SEEDS}"
        compared += [_compare(f"seeds {name} and {seeds}", pair(others, runs), took_s)
                     for name, others in before]
        before = [*before[-1:], (seeds, runs)]
    return compared[:comparisons], by_seed


def compare_drawn_seeds(runs: Mapping[int, Sequence[ScoredFile]], draws: int) -> dict[str, int]:
    """Compare pairs of sets of five seeds, all ten of which are drawn at random from all seeds, and
    print how many pairs of sets differ. The comparisons share runs, but are many enough to show a
    rate of false alarms of one in a hundred. Draws are the same in each call with the same seeds.

    Args:
        runs: seed -> its runs, one per cell. At least ten seeds.
        draws: number of pairs of sets.

    Returns:
        "draws" -> number of pairs of sets, "alarms" -> in how many of them any metric differed, and
            name of each metric that differed -> in how many it did.
    """
    draw = random.Random(1)
    counts = Counter(draws=draws, alarms=0)
    for _ in range(draws):
        seeds = draw.sample(sorted(runs), 2 * SEEDS)
        base, test = ([_with_seed(run, place) for place, seed in enumerate(half, 1)
                       for run in runs[seed]] for half in (seeds[:SEEDS], seeds[SEEDS:]))
        seen = {one.metric.name for one in judge(pair(base, test), USUAL)
                if one.verdict not in (SAME, UNTOLD)}
        counts.update(seen, alarms=bool(seen))
    print(f"{counts['alarms']} of {draws} pairs of sets drawn from all runs: different")
    return dict(counts)


def _with_seeds_from(text: str, before_first: int) -> str:
    return _SEED_LINE.sub(lambda line: f"seed = {before_first + int(line[1])}", text)


def _with_seed(run: ScoredFile, seed: int) -> ScoredFile:
    """Return a copy of the run with another seed, because runs are paired only if both sides have
    the same seeds."""
    return replace(run, settings={**run.settings, SEED: seed})


def power(output: Path, only: str, cells: str, minutes: float) -> list[Comparison]:
    """Build a kernel for each change of DEFECTS whose runs `output` lacks, make them, and compare
    them with runs of set-up's kernel, which serve all changes with the same overrides. If five
    seeds show no difference but can't tell, more of them are made, once. Each kernel is removed
    after its comparison. Print each verdict, and return the comparisons.

    Args:
        output: folder for runs and patches.
        only: part of the names of the changes, "" for all.
        cells: cells of gate.batch, with commas between them, "" for those that a change's overrides
            name, otherwise all.
        minutes: longest time for further seeds of a change, 0 for none.

    Raises SystemExit if no kernel is set up, a change doesn't fit its source, or Flent ends before
    all runs are made. Raises CalledProcessError if a kernel can't be built, ConfigError if too many
    runs failed to compare the rest, BadResult for a damaged file.
    """
    tree = stock_tree()
    batch = resource_dir("batches") / "gate.batch"
    compared = []
    for number, planted in enumerate(DEFECTS):
        if only not in planted.name:
            continue
        folder = output / f"change{number}"
        base = base_folder(output, planted.overrides)
        patch = output / f"change{number}.patch"
        output.mkdir(parents=True, exist_ok=True)
        patch.write_text(planted.patch(tree))
        name = f"gate-change{number}"
        overrides = [*planted.overrides, *([f"for_check={cells}"] if cells else [])]
        with _removed_at_end(name):
            sweep(batch, base, overrides)
            build = [str(BIN / "flent-aqm"), "kernel", "build", name, "--patch", str(patch)]
            took_s = None
            if not is_there(folder):
                subprocess.run(build, check=True)
                took_s = sweep(batch, folder, [*overrides, f"kernel={name}"])
            one = _compare(planted.name, pair_folders(base, folder), took_s)
            # The folder of further seeds is there if this was done before.
            if minutes and not one.seen and UNTOLD in one.said.lower() and not (
                    folder / FOLDER).exists():
                subprocess.run(build, check=True)
                subprocess.run([BIN / "flent-aqm", "verdict", "--base", base, "--test", folder,
                                "--until-decided", f"{minutes:g}", "-o", folder / "verdict.md"],
                               check=False)
                one = _compare(planted.name, pair_folders(base, folder), took_s)
        compared.append(replace(one, aqm=planted.overrides[0].removeprefix("aqm="),
                                has_effect=planted.has_effect,
                                right=bool(one.seen) == planted.has_effect))
    return compared


# Statuses of `flent-aqm verdict` that don't call a defect harmless -> what the page says. 5 is
# "better", or counters that differ where samples are the same.
_NOT_MISSED = {1: "worse", 4: "not exercised", 5: "a difference"}
REFUSED, NO_VERDICT = "refused", "no verdict"


def judge_defects(output: Path, what: str, only: str, named_cells: bool) -> list[Comparison]:
    """Build a kernel for each defect, and have `flent-aqm verdict` judge it: by its samples, and
    with coverage if these don't show that it is worse. Right is "worse", "not exercised" (status 4:
    a line of the change never ran, or less than 20 times in each cell), or that `kernel build`
    refuses a change of which nothing is in the kernel. For a harmless change, right is "the same",
    with all lines run.

    Args:
        output: folder for runs, patches, verdicts' pages and notes. Defects with a note are not
            judged again.
        what: key of _JUDGED.
        only: part of the names of the defects to judge, "" for all.
        named_cells: run the cells that each defect names, otherwise all.

    Returns:
        The comparisons of these defects, and those that earlier calls noted of the others.

    Raises SystemExit if no kernel is set up, a defect doesn't fit its source, its kernel can't be
    built for another reason, or Flent ends before all runs are made.
    """
    tree = stock_tree()
    output.mkdir(parents=True, exist_ok=True)
    judged = []
    for number, planted in enumerate(_JUDGED[what]):
        note = output / f"{what}{number}.json"
        if only in planted.name and not note.exists():
            one = _judge_defect(output, f"{what}{number}", planted, tree, named_cells)
            note.write_text(json.dumps(asdict(one), indent=1) + "\n")
        if note.exists():
            kept = json.loads(note.read_text())
            judged.append(Comparison(**{**kept, "identical": tuple(kept["identical"])}))
    return judged


def _judge_defect(output: Path, short: str, planted: Planted, tree: Path, named_cells: bool
                  ) -> Comparison:
    """Build one defect's kernel, make the runs that are missing of it and of set-up's kernel, judge
    it, print the verdict, and remove the kernel. Return the comparison. If `kernel build` refuses
    the file because it isn't compiled, nothing is run, and the comparison is "refused" and right.
    If `flent-aqm verdict` prints none, it is "no verdict" and not right.

    Args:
        output: folder for runs, patch and the verdict's page.
        short: name of the defect's patch, page and folder of runs, such as others3. The kernel's
            name is gate-SHORT.
        planted: the defect.
        tree: source tree of set-up's kernel.
        named_cells: run the cells that the defect names, otherwise all.

    Raises SystemExit if the defect doesn't fit the source or its kernel can't be built for another
    reason, or Flent ends before all runs are made.
    """
    folder, base = output / short, base_folder(output, planted.overrides)
    patch, name = output / f"{short}.patch", f"gate-{short}"
    patch.write_text(planted.patch(tree))
    batch = resource_dir("batches") / "gate.batch"
    # A folder for each cell, so that another defect's cells find those that are there already.
    bases = {base / cell: [f"for_check={cell}"] for cell in planted.cells} if named_cells else {
        base / "all": []}
    chosen = [f"for_check={','.join(planted.cells)}"] if named_cells else []
    aqm = planted.overrides[0].removeprefix("aqm=")
    built = subprocess.run([BIN / "flent-aqm", "kernel", "build", name, "--patch", patch],
                           check=False, stderr=subprocess.PIPE, text=True)
    if built.returncode:
        said = last_line(built.stderr) or f"kernel build ended with {end_of(built.returncode)}"
        if NOT_IN_KERNEL not in said:
            raise SystemExit(f"bench.gate: {planted.name}: no kernel could be built: {said}")
        print(f"{planted.name}: refused: {said}", flush=True)
        return Comparison(planted.name, {REFUSED: said}, said, aqm=aqm,
                          has_effect=planted.has_effect)
    with _removed_at_end(name):
        for place, cells in bases.items():
            sweep(batch, place, [*planted.overrides, *cells])
        took_s = sweep(batch, folder, [*planted.overrides, *chosen, f"kernel={name}"])
        command = [str(BIN / "flent-aqm"), "verdict", "--base", *(str(place) for place in bases),
                   "--test", str(folder), "-o", str(folder.with_suffix(".md"))]
        done = subprocess.run([*command, "--no-coverage"], check=False, stdout=subprocess.PIPE,
                              text=True)
        if done.returncode != 1:
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    failed = list(failed_runs("test", [folder]))
    said = done.stdout.strip() or (failed[0].cause if failed else f"status {done.returncode}")
    # Without a verdict it prints nothing, however it ends.
    word = _NOT_MISSED.get(done.returncode, "") if done.stdout.strip() else NO_VERDICT
    print(f"{planted.name}: status {done.returncode}: {said}", flush=True)
    return Comparison(planted.name, {word: said} if word else {}, said, took_s, aqm=aqm,
                      has_effect=planted.has_effect,
                      right=word in ("worse", "not exercised") if planted.has_effect
                      else not word and done.returncode == 0)


@contextmanager
def _removed_at_end(name: str) -> Iterator[None]:
    """Remove an own kernel at the end of a with statement, however that ends, if there is one of
    this name."""
    try:
        yield
    finally:
        subprocess.run([BIN / "flent-aqm", "kernel", "remove", name], check=False,
                       stderr=subprocess.DEVNULL)


def stock_tree() -> Path:
    """Return the folder of the source of set-up's kernel, in this user's cache. Raises SystemExit
    if no kernel is set up, or the cache doesn't have its source."""
    source = stock_source()
    if source is None:
        raise SystemExit("bench.gate: no kernel is set up; run: make setup")
    tree = cache_to_write() / "trees" / f"{source.package}_{source.version}"
    if not tree.is_dir():
        raise SystemExit(f"bench.gate: {tree}, the source of set-up's kernel, is not there; build "
                         "a kernel of it, which unpacks it, such as: flent-aqm kernel build unpack "
                         f"--source {source.package}={source.version} --patch FILE")
    return tree


def base_folder(output: Path, overrides: Sequence[str]) -> Path:
    """Return the path, in `output`, of the folder for the runs of set-up's kernel with these batch
    overrides. Overrides that differ only in punctuation, or only after their first 20 characters,
    have the same folder."""
    return output / ("base-" + "-".join(re.sub(r"\W+", "_", one)[:20] for one in overrides))


def pair_folders(base: Path, test: Path) -> pairs.PairedSides:
    """Pair the runs of two folders as pair() does, and count those of each side that failed. Raises
    ConfigError if a folder has no run, no run has a partner, or two runs of a folder have the same
    settings and seed, BadResult for a damaged file."""
    sides = (("base", base), ("test", test))
    return replace(pair(*(scored(find_files([place])) for _, place in sides)), failed=Counter(
        run.side for side, place in sides for run in failed_runs(side, [place])))


def _compare(name: str, comparison: pairs.PairedSides, wall_s: float | None) -> Comparison:
    judged = judge(comparison, USUAL)
    one = Comparison(name, {each.metric.name: each.verdict for each in judged
                            if each.verdict not in (SAME, UNTOLD)}, sentence(comparison, judged),
                     wall_s, (comparison.identical, comparison.pairs))
    if comparison.fails_more:
        one = replace(one, seen={**one.seen, "runs failed": WORSE})
    took = "" if wall_s is None else f" ({wall_s:.0f} s a side)"
    print(f"{name}{took}: {one.said}", flush=True)
    return one


def sweep(batch: Path, folder: Path, overrides: Sequence[str]) -> float | None:
    """Run the batch, and return the wall time in s that it took. None if a sweep into the folder
    has ended before, and each of its runs is there or failed: then nothing is run.

    Args:
        batch: file of the batch.
        folder: folder for the runs, an absolute path.
        overrides: batch overrides, KEY=VALUE.

    Raises SystemExit if Flent ends before all runs are made. Runs that failed count as made.
    """
    if is_there(folder):
        return None
    begun_s = time.monotonic()
    done = subprocess.run([BIN / "flent", "-B", batch, f"--batch-override=output_path={folder}",
                           *(f"--batch-override={each}" for each in overrides)],
                          check=False, stdout=subprocess.DEVNULL)
    if not is_there(folder):
        # Runs that failed are a result.
        raise SystemExit(f"bench.gate: flent ended with status {done.returncode} before all "
                         "runs were made; see what it printed, and give the same command again")
    return time.monotonic() - begun_s


def is_there(folder: Path) -> bool:
    """Return whether a sweep into the folder has ended, and each of its runs is there or failed.
    False for an interrupted sweep, which lacks runs, and without a sweep.json."""
    sweep_status = status.read(folder)
    return (sweep_status is not None and sweep_status.ended_s is not None
            and status.count_done(folder) + len(sweep_status.failed) >= sweep_status.planned)


if __name__ == "__main__":
    sys.exit(main())
