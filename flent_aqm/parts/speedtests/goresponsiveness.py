# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with goresponsiveness, the Network Quality project's client, over HTTP/2 and TLS.

The client prints its results, and writes CSV tables with all samples.
"""

from __future__ import annotations

import csv
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.tools.client import NUMBER, Call, OutputLine, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.shared import HTTPS
from flent_aqm.tools.tool import GO, STREAMS, Form, Number, Program, Shown, Tool, both

# Interval in s at which the client adds connections (-rpm.id), if no other is requested.
INTERVAL_S = 1.0
_WAYS = {"Download:": "download", "Upload:": "upload"}
_RPM = re.compile(r"\s*(Final )?RPM:\s*([-+.\w]+) \((P\d+|Single-Sided .*Trimmed Mean)\)")
_THROUGHPUT = re.compile(rf"\s*Throughput: ({NUMBER}) Mbps .*using ({NUMBER}) parallel connections")


def measure(call: Call, report: ClientReport) -> None:
    """Run goresponsiveness and fill the report with rates, latencies, results and notes. Raises
    BadResult if it fails, or its output or its tables can't be read, OSError if it can't be
    started. Options of the call: `interval_s`, `most_connections` and `probes_per_s`, each the
    client's own default if it isn't given."""
    words = [call.program, "-url", f"https://{call.host_and_port}/config"]
    for name, option in (("interval_s", "-rpm.id"), ("most_connections", "-rpm.mnp"),
                         ("probes_per_s", "-rpm.mps")):
        if name in call.options:
            words += [option, call.options[name]]
    with tempfile.TemporaryDirectory(prefix="flent-aqm-goresponsiveness-") as folder:
        read_text(lines_of("goresponsiveness",
                           [*words, "-logger-filename", f"{folder}/run.csv"]), report)
        read_tables(Path(folder), time.time() - time.monotonic(), report,
                    float(call.options.get("interval_s", INTERVAL_S)))


def read_text(lines: Iterable[OutputLine], report: ClientReport) -> None:
    """Read the results that the client prints into the report: RPM, throughput, number of
    connections and notes. RPM values that are NaN or infinite are left out. Raises BadResult if an
    RPM isn't a number, or the throughput of a direction is missing."""
    direction = last = ""
    for line in lines:
        text = line.text.rstrip()
        last = text.strip() or last
        direction = _WAYS.get(text, direction)
        rate, rpm = _THROUGHPUT.match(text), _RPM.match(text)
        if rate and direction:
            report.numbers[f"{direction}_mbps"] = report.load(direction).mbps = float(rate[1])
            report.numbers[f"connections_{direction}"] = float(rate[2])
        elif rpm and (rpm[1] or direction):
            name = "rpm" if rpm[3].startswith("P") else "trimmed_rpm"
            try:
                value = float(rpm[2])
            except ValueError:
                raise BadResult(f"goresponsiveness printed {rpm[2][:40]!r} as RPM; expected a "
                                "number") from None
            if isfinite(value):
                report.numbers[name if rpm[1] else f"{name}_{direction}"] = value
        elif text.strip().startswith("Note:") and direction:
            report.notes.append(f"{direction}: {text.strip().removeprefix('Note: ')}")
    for direction in _WAYS.values():
        if f"{direction}_mbps" not in report.numbers:
            raise BadResult(f"goresponsiveness printed no throughput of the {direction}; "
                            + (f"its last line is {last[:200]!r}" if last else
                               "it printed nothing at all"))


def read_tables(folder: Path, epoch_s: float, report: ClientReport,
                interval_s: float = INTERVAL_S) -> None:
    """Read the client's tables, files run-KIND-TIME.csv in `folder`, into the report: rates of each
    direction, or a rate of 0 and a note if it has none, and latencies, under the direction that ran
    at the time or under the idle line.

    Args:
        folder: folder with the tables.
        epoch_s: Unix time at which the monotonic clock was 0.
        report: the report to fill. It has both directions already, see read_text().
        interval_s: the client's interval (-rpm.id).

    Raises BadResult if a table has another form, or neither direction has a row.
    """
    try:
        for direction, load in report.loads.items():
            for row in _table_rows(folder, f"throughput-{direction}"):
                at_s = _epoch_s(row[0]) - epoch_s
                # A row stands at the end of its interval.
                load.begin(at_s - interval_s)
                if at_s > load.end_s:
                    load.rates.append((at_s, at_s - load.end_s,
                                       round(float(row[1]) * (at_s - load.end_s))))
                    load.end_s = at_s
        _fill_empty_directions(report)
        for kind, name in (("foreign", "foreign_ms"), ("self", "self_http_ms")):
            for row in _table_rows(folder, kind):
                at_s = _epoch_s(row[0]) - epoch_s
                # Duration divided by number of round trips: a new connection takes several.
                report.at(at_s).probe(name, at_s, float(row[2]) / float(row[1]) * 1e3)
    except (ValueError, LookupError, ArithmeticError, csv.Error) as fault:
        raise BadResult("goresponsiveness wrote a CSV table of an unexpected form "
                        f"({cause_of(fault)})") from None


def _fill_empty_directions(report: ClientReport) -> None:
    """Record a load without data for each direction that has no row in the tables, so that its load
    hasn't begun in the report: a rate of 0 for one second from the other direction's end on, and a
    note.

    The client gives a direction up and shows 0 Mbit/s if no connection is open within its first
    interval. Raises BadResult if it gave up both: then nothing says when it loaded the line.
    """
    if all(load.start_s is None for load in report.loads.values()):
        raise BadResult("goresponsiveness wrote no throughput of either direction to its tables; "
                        "expected a row per interval: if no connection was open within its "
                        "first interval, a longer interval_s leaves more time")
    for direction, load in report.loads.items():
        if load.start_s is None:
            other = report.loads["upload" if direction == "download" else "download"]
            load.start_s = other.end_s
            load.end_s = load.start_s + 1.0
            load.rates.append((load.end_s, 1.0, 0))
            report.notes.append(f"{direction}: no connection within its first interval")


def _table_rows(folder: Path, kind: str) -> Iterator[list[str]]:
    """Yield the rows of all tables of a kind as lists of texts, without headers and empty rows. The
    order of the tables is that of the file system. Nothing if there is no such table.

    Args:
        folder: folder with the tables.
        kind: such as "foreign", "self" or "throughput-download".
    """
    for path in folder.glob(f"run-{kind}-[0-9]*.csv"):
        with path.open(encoding="utf-8", newline="") as table:
            yield from (row for row in list(csv.reader(table))[1:] if row)


def _epoch_s(text: str) -> float:
    """Parse a time of the form 01-31-2026-00-00-23.223, in UTC. Return Unix time in s. Raises
    ValueError if it has another form."""
    return datetime.strptime(text.strip(), "%m-%d-%Y-%H-%M-%S.%f").replace(tzinfo=UTC).timestamp()


TOOL = Tool(
    "goresponsiveness", HTTPS,
    method=("The draft's test in Go, up to 16 connections. Shows the fastest 5 % of its times, "
            "and their 90th percentiles. Shows 0 for a direction whose first connection isn't "
            "open within a second."),
    source="network-quality/goresponsiveness, January 2024",
    longest_s=90,
    numbers=(
        Number("rpm", "RPM", "its final RPM, by 90th percentiles"),
        Number("trimmed_rpm", "RPM", "its final RPM, by trimmed means"),
        *both("rpm_{}", "RPM", "its RPM under {}, by 90th percentiles"),
        *both("trimmed_rpm_{}", "RPM", "its RPM under {}, by trimmed means"),
        *both("{}_mbps", "Mbit/s", "its {}"),
        *both("connections_{}", "", "connections that loaded the {} at the end"),
    ),
    module=__name__,
    programs=(Program(
        "goresponsiveness", GO, "github.com/network-quality/goresponsiveness",
        "v0.0.0-20240129151524-343954285090", "Network Quality", "GPL-2.0",
        # The name in its Makefile. A program by Apple has this name, too.
        also=("networkQuality",)),),
    parameters={
        "interval_s": Form("[1-9]|10", "a whole number of seconds, 1 to 10"),
        "most_connections": STREAMS,
        "probes_per_s": Form("[1-9][0-9]?|100", "1 to 100"),
    },
    shown=Shown("go-\nresponsiveness", ("trimmed_rpm",),
                (("rpm", "{:.0f} RPM (P90)"), ("trimmed_rpm", "{:.0f} RPM (mean)"))),
)

if __name__ == "__main__":
    sys.exit(main("goresponsiveness", measure))
