# SPDX-License-Identifier: GPL-3.0-or-later
"""M-Lab's msak-client: a few WebSocket streams for each direction, one after the other.

It shows its rate, a mean since the direction's start, with each message of a measurement, and at
the end the last of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.speedtests.programs import Line, ProgramCall, lines_of
from flent_aqm.measure.speedtests.report import Report

LENGTH_S = 10
_RESULT = re.compile(r"(download|upload) rate: ([0-9.]+) Mb/s, rtt: ([0-9.]+)(?:ms)?, "
                     r"minrtt: ([0-9.]+)(?:ms)?")


def measure(asked: ProgramCall, report: Report) -> None:
    """Run it, and fill the report. Raises BadResult."""
    read(lines_of("msak-client", [
        asked.program, "-server", asked.host_and_port, "-scheme", "ws",
        "-duration", f"{LENGTH_S}s", "-streams", asked.options.get("streams", "2")]), report)


def read(lines: Iterable[Line], report: Report) -> None:
    """Read its output. It ends with status 0 also where it reached no server: raises BadResult
    then, with the first thing that it complained of."""
    complaint = ""
    for line in lines:
        start = re.match(r"Starting (download|upload) stream", line.text)
        found = _RESULT.search(line.text)
        if start:
            report.way(start[1]).begin(line.at_s)
        elif found and not line.text.startswith(" "):
            way = report.way(found[1])
            if line.at_s > way.end_s:
                # A mean since the start.
                way.show(line.at_s, float(found[2]))
                way.probe("rtt_ms", line.at_s, float(found[3]))
        elif found:
            way = report.way(found[1])
            way.mbps = report.numbers[f"{found[1]}_mbps"] = float(found[2])
            report.numbers[f"rtt_{found[1]}_ms"] = float(found[3])
            report.numbers[f"min_rtt_{found[1]}_ms"] = float(found[4])
        elif not re.match(r"Connected to|Stream \d|Test results|\s|$", line.text):
            complaint = complaint or line.text
    for name in ("download", "upload"):
        if not report.way(name).rates or report.way(name).mbps is None:
            raise BadResult(f"msak-client reported no {name}: "
                            f"{complaint or 'its output has none'}")
