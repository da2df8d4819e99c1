# SPDX-License-Identifier: GPL-3.0-or-later
"""Read traces of links from files, and make traces of cellular links from a seed.

Two formats, distinguished by the first line:

    mahimahi    a line for each opportunity to deliver 1500 bytes: its time in ms (mm-link(1))
    CSV         a header, then rows: time_s, rate_mbps, and if wanted delay_ms and loss_pct

A file may come from anybody: its size is limited, and a fault is reported with line and column. Its
content is never quoted in messages, because the path may lead to a private file.

Seeded traces need no trace with a licence. Their model is the one by which Sprout forecasts
cellular links (K. Winstein, A. Sivaraman, H. Balakrishnan, "Stochastic Forecasts Achieve High
Throughput and Low Delay over Cellular Networks", NSDI 2013, section 3.1): delivery opportunities
are a Poisson process whose rate follows a Brownian motion. A rate of 0 is an outage with a random
end.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import random
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.base.words import counted
from flent_aqm.parts.links.keys import NS, OPPORTUNITY_BYTES, SEEDED, Seeded
from flent_aqm.parts.links.schedule import (
    MOST_STEPS,
    Schedule,
    Step,
    of_opportunities,
    schedule_of,
    unplayable,
)
from flent_aqm.spec.readers import number_or_nan

MOST_BYTES = 64 << 20
_TICK_MS = 20
_TICK_S = _TICK_MS / 1000
_MOST_S = 7 * 24 * 3600
_MOST_ROWS = MOST_STEPS // 4
_COLUMNS: dict[str, tuple[float, float]] = {
    "time_s": (0, _MOST_S), "rate_mbps": (0, defaults.MAX_RATE_MBPS),
    "delay_ms": (0, defaults.MAX_FAR_DELAY_MS), "loss_pct": (0, 100)}


@dataclass(frozen=True)
class Trace:
    """A trace file: its schedule, and the file's name (without folder), size and SHA-256."""

    schedule: Schedule
    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class _File:
    """A trace file by its path, for messages."""

    path: str

    def fault(self, line: int, column: int, message: str) -> _Fault:
        """Return the exception for a fault at a line and column, both counted from 1.

        Args:
            line: number of the line.
            column: number of the column.
            message: what is wrong, and what was expected.
        """
        return _Fault(f"{self.path}:{line}:{column}: {message}")


class _Fault(Exception):
    """A fault of a trace file. Its message doesn't name the batch's key."""


def read_trace(key: str, path: str, end: str) -> Trace:
    """Read the trace in the file at `path`.

    Args:
        key: the batch's key whose value is the path, for messages.
        path: path of the file.
        end: what follows the trace's end. "repeat": its beginning. "hold": the last row of a CSV
            holds for ever, and after the last line of mahimahi's nothing passes.

    Raises ConfigError if the file can't be read, is no regular file or is larger than 64 MiB, if
    its content is wrong, or if TCP would starve on it (nothing ever passes, or nothing for more
    than 924 s). For wrong content the message has line and column.
    """
    try:
        return _parse_trace(path, end, _read_content(key, path))
    except _Fault as fault:
        raise ConfigError(f"{key}: {fault}") from None


@functools.lru_cache(maxsize=4)
def _parse_trace(path: str, end: str, data: bytes) -> Trace:
    """Parse a file's content.

    The result is cached, so that both directions with the same file parse it once. Therefore the
    messages here don't contain the key.

    Args:
        path: path of the file, for messages.
        end: "repeat" or "hold", what follows the trace's end.
        data: the content.

    Raises _Fault if the content has another form, or lets TCP starve. Its text has line and column,
    unless nothing ever passes the link, or nothing for too long in a trace of mahimahi.
    """
    file = _File(path)
    lines = data.replace(b"\r\n", b"\n")
    if not lines.strip():
        raise file.fault(1, 1, "the file is empty or has blank lines alone; expected times in ms, "
                         "or a CSV with a header")
    is_csv = b"," in lines.partition(b"\n")[0]
    schedule = (_parse_csv if is_csv else _parse_mahimahi)(file, lines, end)
    fault = unplayable(schedule, prefix=f"{path}:")
    if fault:
        raise _Fault(fault)
    return Trace(schedule, Path(path).name, len(data), hashlib.sha256(data).hexdigest())


def _read_content(key: str, path: str) -> bytes:
    """Return the bytes of the file at `path`. Raises ConfigError, which names the batch key `key`,
    if it is no regular file, is larger than 64 MiB, or can't be read."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError(f"{key}: {path} is not a regular file; give the file of a trace")
            if status.st_size > MOST_BYTES:
                raise ConfigError(f"{key}: {path} has {status.st_size:,} bytes; expected at most "
                                  f"{MOST_BYTES:,}: shorten it")
            return file.read(MOST_BYTES)
    except (OSError, ValueError) as fault:
        raise ConfigError(f"{key}: can't read the trace {path}: {cause_of(fault)}; expected the "
                          f"path of a file that this user can read, or {SEEDED}") from None


def _without_waiting(path: str, flags: int) -> int:
    """Open the file at `path` without blocking on a named pipe, and return its descriptor. open()
    calls it as its `opener`. Raises OSError if it can't be opened."""
    # Nobody may ever open the other end of a named pipe.
    return os.open(path, flags | os.O_NONBLOCK)


def _parse_mahimahi(file: _File, data: bytes, end: str) -> Schedule:
    """Parse a trace of mahimahi: a delivery opportunity per line, its time in ms.

    As in mm-link(1), a repeating trace lasts until the time of the last line, at which the next
    round begins. The opportunities at that time are at the beginning of each round, also of the
    first.

    Args:
        file: the file's path, for messages.
        data: the content, with LF between lines.
        end: "repeat", or "hold" if nothing passes after the last line's time.

    Raises _Fault if a line is no time, a time is before the one above, all are 0, or there are too
    many different ones.
    """
    if not _is_numbers(data):
        raise _first_odd_line(file, data)
    # Parsed by numpy for speed: a minute at 300 Mbit/s has a million and a half lines.
    times = numpy.fromstring(data, dtype=numpy.int64, sep="\n")
    back = numpy.flatnonzero(numpy.diff(times) < 0)
    if back.size:
        at = int(back[0])
        raise file.fault(at + 2, 1, "the time is before that of the line above; expected "
                         "ascending times")
    last = int(times[-1])
    if not last:
        raise file.fault(len(times), 1, "all delivery opportunities are at 0 ms; expected later "
                                        "ones")
    counts = dict(zip(*(each.tolist() for each in numpy.unique(times, return_counts=True)),
                      strict=True))
    if len(counts) > _MOST_ROWS:
        raise file.fault(1, 1, f"there are delivery opportunities at {len(counts)} times; expected "
                         f"{_MOST_ROWS} times at most: shorten the file")
    if end == "repeat":
        # The opportunities at the end move to the beginning of the next round. The first round gets
        # them as well, but no packet has arrived by then.
        counts[0] = counts.get(0, 0) + counts.pop(last)
    counts.setdefault(0, 0)
    return of_opportunities(counts, last * 10**6 if end == "repeat" else 0)


def _is_numbers(data: bytes) -> bool:
    """Return whether each line is a number of one to nine digits."""
    if data.translate(None, b"0123456789\n"):
        return False
    whole = data if data.endswith(b"\n") else data + b"\n"
    ends = numpy.flatnonzero(numpy.frombuffer(whole, dtype=numpy.uint8) == ord("\n"))
    lengths = numpy.diff(ends, prepend=-1) - 1
    return bool(lengths.min() >= 1 and lengths.max() <= 9)


def _first_odd_line(file: _File, data: bytes) -> _Fault:
    """Return the fault for the first line that is no number of one to nine digits, with the column
    of the first wrong character. `data` must have such a line."""
    for number, line in enumerate(data.split(b"\n"), 1):
        match = re.match(rb"[0-9]{0,9}", line)
        good = match.end() if match else 0
        if good != len(line) or not line:
            return file.fault(number, good + 1, "not a time; expected a whole number of "
                              "ms below 1000000000, one a line, or a CSV with commas in its header")
    raise AssertionError  # the caller has checked that there is such a line


def _parse_csv(file: _File, data: bytes, end: str) -> Schedule:
    """Parse a CSV trace with the columns time_s, rate_mbps and, if wanted, delay_ms and loss_pct.
    Each row holds up to the time of the next one.

    The last row's time is the end of a trace that repeats. With `end` "hold" the last row lasts for
    ever.

    Args:
        file: the file's path, for messages.
        data: the content, with LF between lines.
        end: "repeat" or "hold".

    Raises _Fault if the header or a row is wrong, the first time isn't 0 or one isn't after that of
    the row above, there are too few or too many rows, or the last row is held for ever and lets no
    packet pass.
    """
    head, *rows = data.decode("utf-8-sig", "replace").rstrip("\n").split("\n")
    names = [name.strip() for name in head.split(",")]
    for number, (name, column) in enumerate(zip(names, _positions(head), strict=True)):
        if name not in _COLUMNS:
            raise file.fault(1, column, "this is not a known column of the header; expected "
                                        "time_s,rate_mbps and, if wanted, delay_ms and loss_pct in "
                                        "the first line")
        if name in names[:number]:
            raise file.fault(1, column, f"the column {name} stands twice; give it once")
    for name in ("time_s", "rate_mbps"):
        if name not in names:
            raise file.fault(1, 1, f"the header has no {name}; expected time_s,rate_mbps and, if "
                             "wanted, delay_ms and loss_pct")
    if len(rows) > _MOST_ROWS:
        raise file.fault(_MOST_ROWS + 2, 1, f"more than {_MOST_ROWS} rows; shorten the file")
    steps: list[Step] = []
    for line, text in enumerate(rows, 2):
        row = _parse_row(file, line, text, names)
        at_ns = round(row["time_s"] * NS)
        column = _positions(text)[names.index("time_s")]
        if not steps and at_ns:
            raise file.fault(line, column, "the first row's time is not 0; expected 0")
        if steps and at_ns <= steps[-1].at_ns:
            raise file.fault(line, column, "the time is not after that of the row above; expected "
                             "ascending times")
        steps.append(Step(at_ns, round(row["rate_mbps"] * 1e6),
                          round(row.get("delay_ms", 0) * 1e6), 0, row.get("loss_pct", 0) / 100,
                          line))
    if end == "repeat" and len(steps) < 2:
        raise file.fault(len(rows) + 1, 1, "too few rows; expected at least two, the last of "
                         "which ends the trace")
    if not steps:
        raise file.fault(len(rows) + 1, 1, "no row follows the header; expected at least one")
    if end == "repeat":
        return schedule_of(steps[:-1], steps[-1].at_ns)
    if not steps[-1].rate_bit_s or steps[-1].loss >= 1:
        raise file.fault(len(rows) + 1, 1, "the last row holds until the end and lets no packet "
                                           "pass; "
                                           "expected a rate above 0 and a loss below 100, or "
                                           "link_trace_end = repeat")
    return schedule_of(steps)


def _parse_row(file: _File, line: int, text: str, names: list[str]) -> dict[str, float]:
    """Return the values of a CSV row by the names of the header's columns.

    Args:
        file: the file's path, for messages.
        line: number of the row's line.
        text: the row.
        names: names of the columns.

    Raises _Fault if the number of values is wrong, or one is no number or out of range.
    """
    if not text.strip():
        raise file.fault(line, 1, "this line is blank; expected a row, or the file's end")
    cells = text.split(",")
    if len(cells) != len(names):
        raise file.fault(line, 1, f"{counted(len(cells), 'value')}; expected {len(names)}, as the "
                         "header has")
    row = {}
    for name, cell, column in zip(names, cells, _positions(text), strict=True):
        low, high = _COLUMNS[name]
        number = number_or_nan(cell)
        if not low <= number <= high:
            raise file.fault(line, column, f"{name} is not a number from {low:g} to {high:g}")
        row[name] = number
    return row


def _positions(text: str) -> list[int]:
    """Return the position in the line at which each value of a CSV row begins, counted from 1."""
    return [1, *(match.end() + 1 for match in re.finditer(",", text))]


def make_seeded(key: str, model: Seeded, seed: int, direction: str
                ) -> tuple[dict[int, int], int]:
    """Make a trace of a cellular link from a model and a seed.

    Args:
        key: the batch key of the trace, for messages.
        model: parameters of the trace.
        seed: seed of the random numbers.
        direction: "down" or "up". The directions get different traces.

    Returns:
        (counts, length_ns): time in ms -> number of delivery opportunities of 1500 bytes, always
            with the time 0, and the length of the trace.

    Raises ConfigError if the rates of this seed are all 0.
    """
    # Only random() of random.Random gives the same numbers in all versions of Python.
    chance = random.Random(f"{seed} {direction} link").random
    per_s = 1e6 / (8 * OPPORTUNITY_BYTES)
    length_ms = round(model.length_s * 1000)
    rates = _random_rates(model, -(-length_ms // _TICK_MS), chance)
    if not any(rates):
        raise ConfigError(f"{key}: the link is in an outage for all of its {model.length_s:g} s "
                          f"with seed {seed}; give a smaller sigma_mbps or outage_s, a larger "
                          "length_s, or another seed")
    # The mean of the random rates differs from the requested one, so they are scaled to it.
    scale = model.mean_mbps * len(rates) / sum(rates) * per_s * _TICK_S
    counts = {0: 0}
    # Expected number of opportunities until the next one (an exponential distribution).
    wanted = -math.log(1 - chance())
    for tick, rate in enumerate(rates):
        have, used = rate * scale, 0.0
        while wanted <= have - used:
            used += wanted
            at_ms = min(_TICK_MS * tick + int(_TICK_MS * used / have), length_ms - 1)
            counts[at_ms] = counts.get(at_ms, 0) + 1
            wanted = -math.log(1 - chance())
        wanted -= have - used
    return counts, length_ms * 10**6


def _random_rates(model: Seeded, ticks: int, chance: Callable[[], float]) -> list[float]:
    """Return the rate of each tick of 20 ms in Mbit/s, before scaling to the mean.

    Args:
        model: parameters of the trace.
        ticks: number of ticks.
        chance: function that returns random numbers from 0 to 1.
    """
    rates, rate, most = [], model.mean_mbps, 2 * model.mean_mbps
    for _ in range(ticks):
        moved = model.sigma_mbps * math.sqrt(_TICK_S) * _normal_quantile(chance())
        if rate > 0:
            rate = max(0.0, rate + moved)
        elif chance() < 1 - math.exp(-_TICK_S / model.outage_s):
            rate = abs(moved)
        rate = max(0.0, 2 * most - rate) if rate > most else rate
        rates.append(rate)
    return rates


def _normal_quantile(share: float) -> float:
    """Return the quantile of the standard normal distribution for a share from 0 to 1. It is finite
    for 0 and 1, too, about -5.35 and 5.35.

    Uses Shore's approximation of 1982 (error below 0.02 for shares from 0.00015 to 0.99985, larger
    beyond), which takes one random number per value.
    """
    side, share = (1, 1 - share) if share > 0.5 else (-1, share)
    share = max(share, 1e-12)
    return side * 5.5556 * (1 - math.pow(share / (1 - share), 0.1186))
