# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables beside docs/results/study.md: the study's cells without parts of the router model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.data_file import DataFile, a_number
from flent_aqm.results.grouping import collect
from flent_aqm.results.many_files import each_file
from flent_aqm.results.metrics.run import Run
from flent_aqm.show.figures.gather import FigureRow, row_of
from flent_aqm.show.looks import DASH
from research.validation.study import variation

# Router and hosts of batches/study_router.batch, in the order of the tables.
ROUTERS = {
    ("ideal", "ideal"): "`ideal`",
    ("26us", "ideal"): "timers 26 µs late, and nothing else",
    ("omnia", "ideal"): "**`omnia`**: 12 µs a packet",
    ("omnia+timer_latency_us=0", "ideal"): "`omnia` with timers on time",
    ("omnia+rx_packet_ns=9000", "ideal"): "11 µs a packet",
    ("omnia+rx_packet_ns=11000", "ideal"): "13 µs a packet",
    ("omnia+rx_packet_ns=14000", "ideal"): "16 µs a packet",
    ("omnia+rx_ring_packets=65536", "ideal"): "a ring without an end",
    ("omnia+cores=2", "ideal"): "two cores, one for each port",
    ("omnia+other_work_kind=interrupt+other_work_per_s=100+other_work_us=1000", "ideal"):
        "a tenth of the time taken by interrupts",
    ("omnia", "busy"): "hosts away for 0.5 ms, 100 times a second",
}
# Those of which the page has rows.
ON_PAGE = (("26us", "ideal"), ("omnia", "ideal"), ("omnia+rx_packet_ns=9000", "ideal"),
           ("omnia+rx_packet_ns=11000", "ideal"), ("omnia+rx_ring_packets=65536", "ideal"),
           ("omnia+cores=2", "ideal"))
QUEUES = ("no_aqm", "codel", "sfq", "fq_codel")
WAYS = ("download", "upload")


@dataclass(frozen=True)
class Seen:
    """A run of the tables.

    Attributes:
        row: the figures' row of the run.
        ring_drops: number of packets that the receive rings of both cards dropped until the last
            sample of the queues. 0 if that is not recorded.
    """

    row: FigureRow
    ring_drops: float

    def setting(self, name: str) -> str:
        """Return a setting as text, "" if the run doesn't have it."""
        return str(self.row.settings.get(name, ""))

    @property
    def router(self) -> tuple[str, str]:
        """The router's model, and "ideal" if the client's model is that, else "busy", in the form
        of ROUTERS' keys."""
        hosts = "ideal" if self.setting("client_model") == "ideal" else "busy"
        return self.setting("router_model"), hosts


@dataclass(frozen=True)
class Table:
    """A table with a row for each router and each value of a setting.

    Attributes:
        title: its title.
        batches: batches whose runs it shows.
        by: setting for the first column, "" for none.
        names: values of that setting and how the table shows them, in order. Runs with other values
            are left out.
    """

    title: str
    batches: tuple[str, ...]
    by: str = ""
    names: tuple[tuple[str, str], ...] = ()


TABLES = (
    Table("`fq_codel`, 900 Mbit/s, burst shaping, cross traffic both ways",
          ("deviation", "parts", "parts_off", "hosts")),
    Table("The same with the other queues", ("queues",), "aqm",
          tuple((queue, f"`{queue}`") for queue in QUEUES)),
    Table("`fq_codel`, and cross traffic in one direction only", ("directions", "directions_ideal"),
          "cross_direction",
          (("download", "download"), ("upload", "upload"))),
    Table("`fq_codel`, neither burst shaping nor cross traffic", ("neither",)),
    Table("iperf3 in the place of NDT7's download: BBR, which NDT7's server uses, and Cubic",
          ("congestion",), "tcp_cong_control", (("bbr", "BBR"), ("cubic", "Cubic"))),
)

KNOWN = ("rates", *(batch for table in TABLES for batch in table.batches))


def lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the Markdown table of `fq_codel` at 900 Mbit/s with burst shaping and
    cross traffic both ways, a row for each router of ON_PAGE that has runs. Raises ConfigError if
    the file of a run can't be read or used, or the run's router or batch belongs to no table,
    MissingRuns if the capture of an upload is missing, KeyError if a run lacks a throughput that
    another one has."""
    yield from _table_of_batches(TABLES[0],
                                 [one for one in _read_runs(runs) if one.router in ON_PAGE])


def other_tables(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of all Markdown tables, with all routers, each below its title; last one of
    latency at lower rates. Raises ConfigError if the file of a run can't be read or used, or the
    run's router or batch belongs to no table, MissingRuns if the capture of an upload is missing,
    KeyError if a run lacks a throughput that another one of its table has, or probes under load at
    the lower rates."""
    seen = _read_runs(runs)
    for table in TABLES:
        yield table.title
        yield from _table_of_batches(table, seen)
    yield "Latency with and without cross traffic at lower rates, omnia, burst shaping"
    yield from _rates([one for one in seen if one.setting("batch") == "rates"])


def _table_of_batches(table: Table, seen: Sequence[Seen]) -> Iterator[str]:
    yield from _table(table, [one for one in seen if one.setting("batch") in table.batches])


def _read_runs(runs: Sequence[Run]) -> list[Seen]:
    seen = []
    for path, one in each_file([run.path for run in runs], _read_run, None):
        if not isinstance(one, Seen):
            raise ConfigError(f"{path}: {one}")
        strange = (f"the router model {one.router[0]!r}" if one.router not in ROUTERS else
                   f"the batch {one.setting('batch')!r}")
        if one.router not in ROUTERS or one.setting("batch") not in KNOWN:
            raise ConfigError(f"{path}: no table has {strange}; expected a run of "
                              "batches/study_router.batch")
        seen.append(one)
    return seen


def _read_run(data: DataFile) -> Seen:
    samples = data.raw_values.get("Queues", [])
    last = samples[-1] if samples else {}
    drops = [a_number(last.get(f"{device}_ring_drops")) for device in ("down", "up")]
    return Seen(row_of(data), sum(one for one in drops if one is not None))


def _table(table: Table, seen: Sequence[Seen]) -> Iterator[str]:
    groups = collect(seen, lambda one: (one.setting(table.by) if table.by else "", one.router))
    ways = [way for way in WAYS if any(way in one.row.mbps for one in seen)]
    heads = ["router", "runs", *(f"{way}, Mbit/s" for way in ways),
             "irtt's median, ms", "lost at the rings"]
    if any(one.row.own_latency_ms for one in seen):
        heads.insert(-1, "NDT7's MinRTT, ms")
    if "upload" in ways:
        heads.append("upload over time varies by")
    if table.by:
        heads.insert(0, {"aqm": "queue", "cross_direction": "cross traffic",
                         "tcp_cong_control": "congestion control"}[table.by])
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for value, name in table.names or (("", ""),):
        for router, words in ROUTERS.items():
            group = groups.get((value, router))
            if group:
                cells = [name] if table.by else []
                cells += [words, str(len(group)), *_cells(group, ways)]
                yield f"| {' | '.join(cells)} |"


def _cells(group: Sequence[Seen], ways: Sequence[str]) -> Iterator[str]:
    rows = [one.row for one in group]
    for way in ways:
        yield deviation([row.mbps[way] for row in rows])
    yield _format_range([float(numpy.median(row.loaded_ms[way])) for row in rows for way in ways
                         if way in row.loaded_ms])
    if any(row.own_latency_ms for row in rows):
        yield _format_range([one for row in rows for one in row.own_latency_ms.values()])
    yield _format_range([one.ring_drops for one in group], "{:,.0f}")
    if "upload" in ways:
        yield _format_range([100 * variation(row) for row in rows], "{:.1f}") + " %"


def deviation(mbps: Sequence[float]) -> str:
    """Return mean and standard deviation as text, with the 95 % interval of the latter for normally
    distributed values (chi-square). With one or two values, return their range instead. `mbps` must
    not be empty."""
    mean, freedom = float(numpy.mean(mbps)), len(mbps) - 1
    if freedom < 2:
        return _format_range(mbps, "{:.0f}")
    from scipy import stats

    sd = float(numpy.std(mbps, ddof=1))
    low, high = (sd * math.sqrt(freedom / stats.chi2.ppf(share, freedom))
                 for share in (0.975, 0.025))
    return f"{mean:.0f}, sd {_digits(sd)} ({_digits(low)}{DASH}{_digits(high)})"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _format_range(values: Sequence[float], form: str = "") -> str:
    """Return lowest to highest as text, or one number if both look the same, or a dash without
    values.

    Args:
        values: the values.
        form: template of a number for str.format, such as "{:.0f}". "": no decimals from 10 on,
            one from 1 on, two below.
    """
    if not values:
        return DASH
    write: Callable[[float], str] = form.format if form else _digits
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low}{DASH}{high}"


def _rates(seen: Sequence[Seen]) -> Iterator[str]:
    groups = collect(seen, lambda one: (one.setting("aqm"), float(one.setting("rate_up_mbps"))))
    yield ("| queue | Mbit/s | irtt's median, ms: without | with | NDT7's MinRTT, ms: without | "
           "with | lost at the rings, with |")
    yield "|---|---|---|---|---|---|---|"
    for (aqm, rate), group in sorted(groups.items()):
        off, on = ([one for one in group if bool(one.row.settings["cross_traffic"]) is cross]
                   for cross in (False, True))
        medians = [_format_range([float(numpy.median(one.row.loaded_ms[way]))
                                  for one in some for way in WAYS]) for some in (off, on)]
        own = [_format_range([one for some_run in some
                              for one in some_run.row.own_latency_ms.values()])
               for some in (off, on)]
        yield (f"| `{aqm}` | {rate:g} | {medians[0]} | {medians[1]} | {own[0]} | {own[1]} | "
               f"{_format_range([one.ring_drops for one in on], '{:,.0f}')} |")
