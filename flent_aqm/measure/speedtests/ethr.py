# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft's ethr: its latency test on the idle line, then a download, then an upload.

Each is a call of its own, as ethr does one thing at a time. It shows the rate of each second and
no total; this package takes their mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import fmean

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.speedtests.programs import Line, ProgramCall, lines_of
from flent_aqm.measure.speedtests.report import Report

LATENCY_S, LENGTH_S = 2, 10
_RATE = re.compile(r"\[\s*(\S+)\]\s+TCP\s+(\d+)-(\d+) sec\s+([0-9.]+)([KMGT]?)\s*$")
_SCALE = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
_TIME = re.compile(r"([0-9.]+)(ns|us|µs|ms|s)")
_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
# Columns of its table of latencies: the mean, and of nine the longest.
_MEAN, _LONGEST, _COLUMNS = 0, 8, 9


def measure(asked: ProgramCall, report: Report) -> None:
    """Run it three times, and fill the report. Raises BadResult."""
    words = [asked.program, "-c", asked.host, "-port", str(asked.port), "-no"]
    read_latency(lines_of("ethr", [*words, "-t", "l", "-i", "10", "-g", "200ms",
                                   "-d", f"{LATENCY_S}s"]), report)
    for direction, more in (("download", ["-r"]), ("upload", [])):
        read_rates(lines_of("ethr", [*words, "-dp", "2", "-d", f"{LENGTH_S}s", *more]),
                   direction, report)


def read_latency(lines: Iterable[Line], report: Report) -> None:
    """Read its table of latencies: a row for each ten messages. Raises BadResult."""
    means, longest, fault = [], [], ""
    for line in lines:
        found = _TIME.findall(line.text)
        if len(found) == _COLUMNS:
            row = [float(number) * _MS[unit] for number, unit in found]
            means.append(row[_MEAN])
            longest.append(row[_LONGEST])
            report.idle.probe("ping_ms", line.at_s, row[_MEAN])
        fault = line.text if line.text.startswith("Error") else fault
    if not means:
        raise BadResult(f"ethr reported no latency: {fault or 'its output has none'}")
    report.numbers |= {"latency_ms": fmean(means), "latency_max_ms": max(longest)}


def read_rates(lines: Iterable[Line], direction: str, report: Report) -> None:
    """Read the rates of a direction's seconds. Raises BadResult."""
    way, shown_mbps, fault = report.way(direction), [], ""
    for line in lines:
        found = _RATE.match(line.text)
        if "connected to" in line.text:
            way.begin(line.at_s)
        elif found:
            length_s = int(found[3]) - int(found[2])
            mbps = float(found[4]) * _SCALE[found[5]]
            shown_mbps.append(mbps)
            way.rates.append((line.at_s, length_s, round(mbps * length_s * 125_000)))
            way.end_s = line.at_s
        fault = line.text if line.text.startswith("Error") else fault
    if not way.rates or way.start_s is None:
        raise BadResult(f"ethr reported no {direction}: {fault or 'its output has none'}")
    way.mbps = report.numbers[f"{direction}_mbps"] = fmean(shown_mbps)
