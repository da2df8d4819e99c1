# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps that are disturbed lose no run: killed, stopped, out of disk, interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.words import counted
from research.bench.kills import SweepFolder, compare, disturb, wait_for_orphans

pytestmark = pytest.mark.lab

FLENT = Path(sys.executable).with_name("flent")
# The clock of programs that are started with it, moved by as many seconds as JUMP_FILE says.
JUMPING_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long jump_s(void)
{
    long seconds = 0;
    FILE *file = fopen(getenv("JUMP_FILE"), "r");
    if (file && fscanf(file, "%ld", &seconds) != 1)
        seconds = 0;
    if (file)
        fclose(file);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int status = next(clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += jump_s();
    return status;
}

time_t time(time_t *where)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where)
        *where = now.tv_sec;
    return now.tv_sec;
}
"""


def test_sweep_when_killed_at_random_moments_gives_each_run_once_and_unchanged(tmp_path: Path
                                                                               ) -> None:
    """kill -9 of flent, jobs, guests and all, with resume until done; and nothing is left."""
    here = SweepFolder(tmp_path, repetitions=1)
    output: list[str] = []
    assert disturb(here, seed=2, moments=4, say=output.append) == [], [*output, here.output()]


def test_clock_when_it_jumps_changes_no_run(tmp_path: Path) -> None:
    """The host's time goes a day back and a month ahead while a sweep is on."""
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(JUMPING_CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    jump = tmp_path / "jump"
    jump.write_text("0")
    here = SweepFolder(tmp_path, repetitions=2)
    assert here.start().wait(600) == 0, here.output()
    undisturbed = here.take()
    here.environment |= {"LD_PRELOAD": str(library), "JUMP_FILE": str(jump)}
    sweep = here.start()
    wait_until(lambda: here.results() is not None, sweep)
    jump.write_text("-86400")
    wait_until(lambda: here.files() != {}, sweep)
    jump.write_text("2592000")
    assert sweep.wait(600) == 0, here.output()
    finished_at = [file["metadata"]["AQM"]["finished_at"] for file in here.files().values()]
    assert max(finished_at) > max(file["metadata"]["AQM"]["finished_at"]
                                  for file in undisturbed.values())
    assert compare(undisturbed, here.take()) == []
    assert here.left() == []


def wait_until(condition: Callable[[], object], sweep: subprocess.Popen[Any]) -> None:
    """Until it holds, while the sweep is on."""
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        assert sweep.poll() is None
        time.sleep(0.02)


def sweep_of(bench: Any, count: int) -> subprocess.Popen[str]:
    """A sweep of so many short runs, one after the other, when the first has just ended."""
    bench.batch("test_name = iperf3_upload\nlength = 1\ndelay = 1\nrate_mbps = 20\naqm = sfq\n"
                f"repetitions = {count}\njobs = 1")
    sweep = subprocess.Popen([FLENT, "-B", "try.batch"], cwd=bench.folder, text=True,
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_until(bench.files, sweep)
    return sweep


def test_interrupt_once_ends_what_runs_and_starts_nothing_more(bench: Any) -> None:
    """The first ^C: the run that is on is finished and kept, and it says how to go on."""
    sweep = sweep_of(bench, 20)
    time.sleep(1)  # into the next run
    sweep.send_signal(signal.SIGINT)
    _, stderr = sweep.communicate(timeout=300)
    assert sweep.returncode == -signal.SIGINT
    assert "Interrupted: no new runs start; waiting for those that are running" in stderr
    count = len(bench.files())
    assert count >= 2
    done = counted(count, "run")
    assert f"Interrupted: {done} done, {20 - count} left; go on with" in stderr
    assert "0 failed" in stderr
    assert not list(bench.folder.glob("results/.*"))


def test_interrupt_twice_stops_now(bench: Any) -> None:
    """What runs is killed; finished files stay, and nothing half-written. The same by SIGTERM
    and SIGHUP is tested with the testbed netns."""
    sweep = sweep_of(bench, 2)
    for _ in range(2):
        sweep.send_signal(signal.SIGINT)
        time.sleep(0.1)
    _, stderr = sweep.communicate(timeout=60)
    assert sweep.returncode == -signal.SIGINT
    assert ("Interrupted: 1 run done, 1 left; go on with the same command and "
            "--batch-resume results") in stderr
    assert len(bench.files()) == 1
    assert not list(bench.folder.glob("results/.*"))


def test_interrupt_many_times_leaves_no_temporary_folder(bench: Any, tmp_path: Path) -> None:
    """Fifteen within a fraction of a second, to all of its processes, as a terminal sends them:
    those after the second interrupted the clean-up."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    bench.batch("test_name = iperf3_upload\nlength = 60\ndelay = 1\nrate_mbps = 20\naqm = sfq\n"
                "repetitions = 2")
    sweep = subprocess.Popen([FLENT, "-B", "try.batch"], cwd=bench.folder, text=True,
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             start_new_session=True, env={**os.environ, "TMPDIR": str(folder)})
    wait_until(lambda: any(folder.iterdir()), sweep)
    time.sleep(1)  # into the runs
    for _ in range(15):
        os.killpg(sweep.pid, signal.SIGINT)
        time.sleep(0.01)
    _, stderr = sweep.communicate(timeout=60)
    assert "Traceback" not in stderr
    assert "go on with the same command" in stderr
    assert list(folder.iterdir()) == []


def test_folder_when_removed_meanwhile_is_made_again_and_its_runs_are_told(bench: Any) -> None:
    """What was running is kept; the table's end says how many files are gone."""
    sweep = sweep_of(bench, 3)
    # At once: the sweep writes into it meanwhile.
    (bench.folder / "results").rename(bench.folder / "removed")
    shutil.rmtree(bench.folder / "removed")
    _, stderr = sweep.communicate(timeout=300)
    assert sweep.returncode == 1
    assert "1 of 3 finished data files has disappeared; run it again" in stderr
    assert len(bench.files()) == 2
    assert bench.flent("--batch-resume", "results").returncode == 0
    assert len(bench.files()) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_disk_when_full_stops_the_sweep_and_resume_does_the_rest(bench: Any) -> None:
    """One line instead of runs in vain; nothing half-written; with room again all is there."""
    bench.batch("test_name = iperf3_upload\nlength = 1\nrate_mbps = 20\naqm = sfq\n"
                "repetitions = 3\njobs = 1\ndebug_log = no")
    (bench.folder / "results").mkdir()
    done = subprocess.run(["unshare", "--mount", "sh", "-c", f"""
        mount -t tmpfs -o size=44k full results
        {FLENT} -B try.batch
        echo status $?
        ls -A results | grep -c '^[.]'
        ls results/*.flent.gz | wc -l
        mount -o remount,size=50m results
        {FLENT} -B try.batch --batch-resume results
        echo status $?
        ls results/*.flent.gz | wc -l
        """], cwd=bench.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    assert "can't write to the results folder" in done.stdout
    assert "No space left on device; " in done.stdout
    assert "runs left: mend this (make room, if the disk is full), then run them" in done.stdout
    first, hidden, some, second, in_the_end = [
        line for line in done.stdout.splitlines() if line.isdigit() or line.startswith("status")]
    assert (first, hidden, second, in_the_end) == ("status 1", "0", "status 0", "3"), done.stdout
    assert 0 < int(some) < 3


def test_resume_before_the_first_run_was_done_goes_on_under_its_time(tmp_path: Path) -> None:
    """Killed in its first run, a sweep has logs alone; they have the time of its folder."""
    here = SweepFolder(tmp_path, repetitions=1)
    end = time.monotonic() + 120
    while True:
        sweep = here.start()
        while not list(tmp_path.glob("results-*/*.log")):
            assert time.monotonic() < end
            time.sleep(0.02)
        sweep.kill()
        sweep.wait()
        assert wait_for_orphans(tmp_path) == []
        if here.files() == {}:
            break
        # The run's data followed its log before it was killed.
        for folder in tmp_path.glob("results-*"):
            shutil.rmtree(folder)
    assert here.start().wait(600) == 0, here.output()
    assert len(here.files()) == 2
