# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with Microsoft's ethr: latency of the idle line, then a download, then an upload.

Each of these parts is a separate call of ethr. It prints the rate of each second and no total, so
this module computes their mean.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from math import fsum

from flent_aqm.base.errors import BadResult
from flent_aqm.tools.client import NUMBER, Call, OutputLine, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.tool import GO, Number, Program, Server, Shown, Tool, both

PORT = 8888
LATENCY_S, LENGTH_S = 2, 10
_RATE = re.compile(rf"\[\s*(\S+)\]\s+TCP\s+(\d{{1,9}})-(\d{{1,9}}) sec\s+({NUMBER})([KMGT]?)\s*$")
_SCALE = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
_TIME = re.compile(rf"({NUMBER})(ns|us|µs|ms|s)")
_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
# Indices of the mean and the longest in a row of the table of latencies, and its number of columns.
_MEAN, _LONGEST, _COLUMNS = 0, 8, 9


def measure(call: Call, report: ClientReport) -> None:
    """Run ethr three times, for the latency of the idle line, the download and the upload, and fill
    the report. Raises BadResult if ethr fails, or its output lacks the latencies, the rates of a
    direction, or the line that tells when it connected, OSError if it can't be started."""
    words = [call.program, "-c", call.host, "-port", str(call.port), "-no"]
    read_latency(lines_of("ethr", [*words, "-t", "l", "-i", "10", "-g", "200ms",
                                   "-d", f"{LATENCY_S}s"]), report)
    for direction, more in (("download", ["-r"]), ("upload", [])):
        read_rates(lines_of("ethr", [*words, "-dp", "2", "-d", f"{LENGTH_S}s", *more]),
                   direction, report)


def read_latency(lines: Iterable[OutputLine], report: ClientReport) -> None:
    """Read the table of latencies, a row per ten messages, into the report: the mean of the rows'
    means, the longest latency, and each row's mean as a ping of the idle line. Raises BadResult if
    the output has no row."""
    means, longest, fault = [], [], ""
    for line in lines:
        times = _TIME.findall(line.text)
        if len(times) == _COLUMNS:
            row = [float(number) * _MS[unit] for number, unit in times]
            means.append(row[_MEAN])
            longest.append(row[_LONGEST])
            report.idle.probe("ping_ms", line.at_s, row[_MEAN])
        fault = line.text if line.text.startswith("Error") else fault
    if not means:
        raise BadResult("ethr reported no latency: "
                        f"{fault or 'its output has no row with latencies'}")
    report.numbers |= {"latency_ms": _mean(means), "latency_max_ms": max(longest)}


def read_rates(lines: Iterable[OutputLine], direction: str, report: ClientReport) -> None:
    """Read a direction's rates, one per second, and their mean into the report. Raises BadResult if
    there are none, or no line that tells when ethr connected.

    Args:
        lines: output of ethr.
        direction: "download" or "upload".
        report: the report to fill.
    """
    load, shown_mbps, fault = report.load(direction), [], ""
    for line in lines:
        match = _RATE.match(line.text)
        if "connected to" in line.text:
            load.begin(line.at_s)
        elif match:
            length_s = int(match[3]) - int(match[2])
            mbps = float(match[4]) * _SCALE[match[5]]
            shown_mbps.append(mbps)
            load.rates.append((line.at_s, length_s, round(mbps * length_s * 125_000)))
            load.end_s = line.at_s
        fault = line.text if line.text.startswith("Error") else fault
    if not load.rates:
        raise BadResult(f"ethr reported no {direction}: {fault or 'its output has no rate'}")
    if load.start_s is None:
        raise BadResult(f"ethr's output of the {direction} lacks the line 'connected to', which "
                        "tells when it began")
    load.mbps = report.numbers[f"{direction}_mbps"] = _mean(shown_mbps)


def _mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean of the values, of which there is at least one."""
    # The module statistics isn't used, because it imports decimal and fractions, and each run in
    # the lab loads this module.
    return fsum(values) / len(values)


SERVER = Server("ethr", {"ETHR_PORT": (PORT,)}, f"ethr -s -no -port {PORT}", program="ethr",
                parameter="ethr_port", behind_ssh=False)
TOOL = Tool(
    "ethr", SERVER,
    method=("Messages there and back on the idle line, then one TCP connection down, then up, "
            "10 s each. An upload is what the kernel accepted; the mean of its seconds is ours."),
    source="microsoft/ethr, December 2025",
    longest_s=40,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {}: the mean of its seconds"),
        Number("latency_ms", "ms", "its latency: the mean on the idle line"),
        Number("latency_max_ms", "ms", "its longest latency of the idle line"),
    ),
    module=__name__,
    programs=(Program("ethr", GO, "github.com/microsoft/ethr", "v1.0.0", "Microsoft", "MIT"),),
    shown=Shown("ethr", ("latency_ms",), (("latency_ms", "latency {:.0f} ms"),)),
)

if __name__ == "__main__":
    sys.exit(main("ethr", measure))
