# SPDX-License-Identifier: GPL-3.0-or-later
"""Prove that no run is lost: kill a sweep again and again, and resume it until it is done.

    make kills                                        20 moments
    make kills KILLS_ARGUMENTS='--moments 100 --seed 7'

At random moments, which follow the seed, kill -9 hits flent, a job, a process of a guest, or
everything at once; or all stands still for a while (SIGSTOP). In the end each cell has to have one
data file, equal to that of an undisturbed sweep, and nothing else may be left: no process, no
temporary folder, no half-written file, no mount, no memory file.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flent_aqm.base.paths import resource_dir
from flent_aqm.results.data_file import SUFFIX, read_data_file
from flent_aqm.sweep.replay.compare import differences

FLENT = Path(sys.executable).with_name("flent")
BATCH = """[Batch::kills]
inherits = base
output_path = results-${{batch_time}}
test_name = iperf3_upload
length = 1
delay = 1
rate_mbps = 20
for_aqm = codel, sfq
repetitions = {repetitions}
jobs = 2
"""
STOPPED_S = 3.0
# How long what was killed may take to be gone.
GONE_S = 20.0
MEMORY = Path("/dev/shm")
KINDS = ("flent", "job", "guest", "everything", "stop")


def main() -> int:
    """Disturb sweeps as often as --moments says, and compare the results. Print each disturbance,
    each fault and their number. Return the exit status, 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=4, help="of two cells, in each sweep")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flent-aqm-kills-") as name:
        here = SweepFolder(Path(name), arguments.repetitions)
        faults = disturb(here, arguments.seed, arguments.moments,
                         lambda text: print(text, flush=True))
    for fault in faults:
        print(fault)
    print(f"{arguments.moments} moments: {len(faults)} faults")
    return 1 if faults else 0


@dataclass
class SweepFolder:
    """A folder with the batch, and with a temporary folder for its sweeps alone.

    Attributes:
        folder: the folder. It exists; batch and temporary folder are made in it.
        repetitions: repetitions of the two cells in each sweep.
        environment: further environment variables of the sweeps.
        temporary: the temporary folder.
    """

    folder: Path
    repetitions: int
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shutil.copy(resource_dir("batches") / "base.batch", self.folder)
        (self.folder / "kills.batch").write_text(BATCH.format(repetitions=self.repetitions))
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Start Flent on the batch and return its process, without waiting for it. Results that are
        there are resumed. Raises AssertionError if there are two results folders.

        Args:
            options: further options of Flent.
        """
        words: list[str | Path] = [FLENT, "-B", "kills.batch", *options]
        results = self.results()
        if results:
            words += ["--batch-resume", results.name]
        with (self.folder / "said").open("ab") as output:
            return subprocess.Popen(
                words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.temporary), **self.environment})

    def results(self) -> Path | None:
        """Return the results folder, None if there is none yet. Raises AssertionError if there are
        two."""
        folders = list(self.folder.glob("results-*"))
        assert len(folders) <= 1, folders
        return folders[0] if folders else None

    def files(self) -> dict[str, Any]:
        """Return the contents of the data files in the results folder, by the part of their names
        after the batch's time. Empty without any. Raises BadResult if a file is damaged,
        AssertionError if two have the same name."""
        by_name: dict[str, Any] = {}
        for path in sorted((self.results() or self.folder).glob(f"*{SUFFIX}")):
            name = path.name.split("-", 5)[-1]
            assert name not in by_name, f"two files of {name}"
            by_name[name] = read_data_file(path).whole
        return by_name

    def take(self) -> dict[str, Any]:
        """Return the contents of the data files by the part of their names after the batch's time,
        and remove the results folder. Raises FileNotFoundError if there is none, BadResult if a
        file is damaged, AssertionError if two have the same name or there are two folders."""
        files = self.files()
        shutil.rmtree(self.results() or self.folder / "none")
        return files

    def output(self) -> str:
        """Return everything that the sweeps have printed. start() comes first."""
        return (self.folder / "said").read_text(errors="replace")

    def left(self) -> list[str]:
        """Return descriptions of what shouldn't be there when no sweep is on: processes whose
        working folder is in this folder, temporary files, half-written files (hidden ones among the
        results) and mounts. Empty if there is none."""
        everywhere = [f"process {pid}: {name}" for pid, name in processes_below(self.folder)]
        everywhere += [str(path) for path in self.temporary.iterdir()]
        everywhere += [str(path) for path in (self.results() or self.temporary).glob(".*")]
        everywhere += [line for line in Path("/proc/mounts").read_text().splitlines()
                       if str(self.folder) in line]
        return everywhere


def disturb(here: SweepFolder, seed: int, moments: int, say: Callable[[str], None],
            kinds: Sequence[str] = KINDS) -> list[str]:
    """Run the sweep undisturbed, then disturb it at `moments` moments: a sweep that dies is
    resumed, and one that ends is compared with the undisturbed one and begun anew. The last is
    resumed until it ends, ten times at most.

    Args:
        here: the folder of the sweeps, without results.
        seed: seed of kinds and moments.
        moments: number of disturbances.
        say: function that is given a line about the undisturbed sweep, and one about each
            disturbance.
        kinds: kinds of disturbance, of KINDS.

    Returns:
        All faults, as texts: data files that are missing, too many or different, processes that
            stayed when a sweep was over, and what is left at the end, files in /dev/shm included.

    Raises AssertionError if the undisturbed sweep fails, TimeoutExpired if one takes 20 minutes,
    BadResult if a data file is damaged.
    """
    memory_before = set(MEMORY.iterdir())
    began_at = time.monotonic()
    assert here.start().wait(1200) == 0, here.output()
    undisturbed = here.take()
    longest_s = (time.monotonic() - began_at) / 2
    say(f"undisturbed: {len(undisturbed)} runs in {2 * longest_s:.0f} s")
    faults: list[str] = []
    dice = random.Random(seed)
    done = 0
    while done < moments:
        sweep = here.start()
        while sweep.poll() is None and done < moments:
            kind, wait_s = dice.choice(kinds), dice.uniform(0.2, longest_s)
            with contextlib.suppress(subprocess.TimeoutExpired):
                sweep.wait(wait_s)
                break
            done += 1
            say(f"{done}: {kind} after {wait_s:.2f} s")
            hit(kind, sweep, dice)
        sweep.wait(1200)
        faults += wait_for_orphans(here.folder)
        if sweep.returncode == 0:
            faults += compare(undisturbed, here.take())
    for _ in range(10):
        if here.results() is None or here.start().wait(1200) == 0:
            break
    faults += compare(undisturbed, here.take()) if here.results() else []
    faults += [f"left: {one}" for one in here.left()]
    faults += [f"left: {path}" for path in set(MEMORY.iterdir()) - memory_before
               if not vanishes(path)]
    return faults


def hit(kind: str, sweep: subprocess.Popen[bytes], dice: random.Random) -> None:
    """Disturb a sweep once: kill a process or all of them, or stop all for 3 s, for which it waits.
    Kill nothing if the sweep has no process of the kind at the moment.

    Args:
        kind: "flent", "job" or "guest" (a child of a job) to kill one, "everything" to kill all,
            "stop" to stop all.
        sweep: Flent's process.
        dice: chooses the job's or guest's process.
    """
    jobs = [pid for pid, name in children(sweep.pid) if name == "linux"]
    guests = [pid for job in jobs for pid, _ in children(job)]
    everything = [sweep.pid, *jobs, *guests]
    targets = {"flent": [sweep.pid], "job": jobs, "guest": guests, "everything": everything,
               "stop": everything}[kind]
    if kind == "stop":
        for pid in everything:
            send(pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        for pid in reversed(everything):
            send(pid, signal.SIGCONT)
    elif kind == "everything":
        for pid in everything:
            send(pid, signal.SIGKILL)
    elif targets:
        send(dice.choice(targets), signal.SIGKILL)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process. Do nothing if it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_for_orphans(folder: Path) -> list[str]:
    """Wait up to 20 s until no process works in the folder any more. Return a text for each that
    stays, empty if none does."""
    end = time.monotonic() + GONE_S
    while (left := processes_below(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    return [f"orphan {pid}: {name}" for pid, name in left]


def compare(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return a text for each data file that is missing, too many, or different.

    Args:
        was: name -> content in the undisturbed sweep.
        now: name -> content in the disturbed sweep.
    """
    faults = [f"{name}: missing" for name in was.keys() - now.keys()]
    faults += [f"{name}: too many" for name in now.keys() - was.keys()]
    return faults + [f"{name}: {differences(was[name], now[name])[0]}"
                     for name in was.keys() & now.keys() if differences(was[name], now[name])]


def children(parent: int) -> list[tuple[int, str]]:
    """Return id and name of each child of a process, without zombies."""
    return [(pid, name) for pid, name, one in _processes() if one == parent]


def processes_below(folder: Path) -> list[tuple[int, str]]:
    """Return id and name of each process whose working folder is `folder` or below it. Zombies, and
    processes that this user can't look into, are left out."""
    processes = []
    for pid, name, _ in _processes():
        with contextlib.suppress(OSError):
            where = os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")
            if Path(where).is_relative_to(folder):
                processes.append((pid, name))
    return processes


def vanishes(path: Path) -> bool:
    """Wait until a file of /dev/shm is gone, up to GONE_S (20 s), and return whether it is. The
    memory file of a lab that runs elsewhere on the machine soon goes: it has a name only when it is
    made."""
    end = time.monotonic() + GONE_S
    while path.exists() and time.monotonic() < end:
        time.sleep(0.1)
    return not path.exists()


def _processes() -> Iterator[tuple[int, str, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                first, _, rest = (entry / "stat").read_text().rpartition(")")
                if rest.split()[0] != "Z":
                    yield int(entry.name), first.partition("(")[2], int(rest.split()[1])


if __name__ == "__main__":
    sys.exit(main())
