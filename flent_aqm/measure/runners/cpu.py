# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples the processor load of the machine on which the test is run: a runner for Flent."""

from __future__ import annotations

import json
import os
import time
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.json_text import json_text
from flent_aqm.base.words import counted
from flent_aqm.measure.parsers.proc_stat import parse_cpus
from flent_aqm.measure.runners.process import DUE, KILLED, Parsed, SupervisedRunner, text_of

INTERVAL_S = 1.0
STAT = Path("/proc/stat")
FREQUENCIES = Path("/sys/devices/system/cpu")


class AqmCpuRunner(SupervisedRunner):
    """Samples this machine's processors for `length` seconds. Not for the virtual lab, in which
    computing takes no time.

    Keys of the data set:
        length: seconds.
        interval: seconds between samples.

    Series: cpu0, cpu1, …: busy time in percent since the previous sample. Raw samples have these by
    the same names, cpu0_mhz and so on if the system reports it, `dur` (s), and as `val` the mean of
    these percentages.
    """

    title = "the sampling of the processors' load"

    def __init__(self, *, length: float, interval: float = INTERVAL_S, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run_for_s = length
        self.interval_s = interval
        self.command = f"({STAT})"

    @property
    def out(self) -> str:
        """Text that Flent logs as standard output: the size of the stored samples, in place of
        these."""
        return f"({os.fstat(self.stdout.fileno()).st_size} bytes of samples)\n"

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Convert the stored samples to series, of the processors that the first sample has. Raises
        BadResult or ParseError as read_samples() does."""
        samples = read_samples(text_of(output))
        names = [name for name in samples[0] if name.startswith("cpu") and name[3:].isdigit()]
        series = {name: [[one["t"], one[name]] for one in samples if name in one]
                  for name in names}
        return series, samples, {}

    def _run_tool(self) -> None:
        """Sample the processors' times in place of a tool, into the file for its output. It ends
        when the runner is stopped, or at most one interval after `length`: `stopped_by` is KILLED
        or DUE then. Raises OSError if /proc/stat can't be read, or the file can't be written."""
        self.started_s = time.time()
        self.returncode = 0
        sources = {path.parent.parent.name: path
                   for path in FREQUENCIES.glob("cpu[0-9]*/cpufreq/scaling_cur_freq")}
        begin = time.monotonic()
        count = 0
        while count * self.interval_s <= (self.run_for_s or 0):
            sample = {"t": time.time(), "stat": STAT.read_text(),
                      "mhz": {name: _frequency_mhz(path) for name, path in sources.items()}}
            self.stdout.write(json_text(sample) + "\n")
            count += 1
            if self.kill_event.wait(max(0, begin + count * self.interval_s - time.monotonic())):
                self.stopped_by = KILLED
                break
        else:
            self.stopped_by = DUE
        self.stdout.flush()  # another process reads it


def _frequency_mhz(path: Path) -> float | None:
    """Return the frequency of a processor in MHz. None if it can't be read, as of a processor that
    was switched off meanwhile.

    path: the processor's file scaling_cur_freq.
    """
    try:
        return int(path.read_text()) / 1000
    except (OSError, ValueError):
        return None  # a processor that was switched off meanwhile


def read_samples(text: str) -> list[dict[str, Any]]:
    """Parse the lines that the runner stored, and return raw samples: for each line from the second
    on, the load since the line before.

    A sample has t (epoch seconds), dur (s), val (mean of the processors), and for each processor
    its load in percent (cpu0, cpu1, …) and if known its frequency in MHz (cpu0_mhz, …). Processors
    whose counts did not grow are left out, and lines without any other.

    Args:
        text: lines, each a JSON object with t (epoch seconds), stat (text of /proc/stat) and mhz
            (name of the processor -> MHz or null).

    Raises BadResult if no sample is left, as with fewer than two lines, ParseError if a text of
    /proc/stat is damaged, ValueError if a line isn't JSON.
    """
    taken = [json.loads(line) for line in text.splitlines()]
    samples: list[dict[str, Any]] = []
    for before, after in pairwise(taken):
        then, now = parse_cpus(before["stat"]), parse_cpus(after["stat"])
        busy_pct = {name: 100 * (ticks.busy - then[name].busy) / (ticks.total - then[name].total)
                    for name, ticks in now.items()
                    if name in then and ticks.total > then[name].total}
        if busy_pct:
            samples.append({
                "t": after["t"], "dur": after["t"] - before["t"],
                "val": sum(busy_pct.values()) / len(busy_pct), **busy_pct,
                **{f"{name}_mhz": mhz for name, mhz in after["mhz"].items() if mhz}})
    if not samples:
        raise BadResult("the processors' load is unknown: in "
                        f"{counted(len(taken), 'reading')} of /proc/stat, no processor's counts "
                        "grew; expected two readings or more, in a test of several seconds, and a "
                        "/proc/stat that this machine or container keeps up to date")
    return samples
