# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with M-Lab's msak-client: several WebSocket streams, a download and then an upload.

With each measurement the client prints the mean rate since the direction's start. At the end it
prints the last rate again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from flent_aqm.base.errors import BadResult
from flent_aqm.tools.client import NUMBER, Call, OutputLine, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.tool import Form, Program, Server, Shown, Tool, both

PORT = 8180
LENGTH_S = 10
_RESULT = re.compile(rf"(download|upload) rate: ({NUMBER}) Mb/s, rtt: ({NUMBER})(?:ms)?, "
                     rf"minrtt: ({NUMBER})(?:ms)?")


def measure(call: Call, report: ClientReport) -> None:
    """Run msak-client and fill the report. Raises BadResult if it fails or read() refuses its
    output, OSError if it can't be started. Option of the call: `streams` (default: 2), WebSockets
    at once."""
    read(lines_of("msak-client", [
        call.program, "-server", call.host_and_port, "-scheme", "ws",
        "-duration", f"{LENGTH_S}s", "-streams", call.options.get("streams", "2")]), report)


def read(lines: Iterable[OutputLine], report: ClientReport) -> None:
    """Read the client's output into the report: rates and round trips of each direction as it ran,
    and the final ones.

    The client exits with status 0 even if it reached no server. Raises BadResult if a rate while a
    direction ran is too large, or if a direction has no rates, or no final rate. In these two
    cases, the message quotes the client's first unexpected line of that direction, or else before
    both, if any.
    """
    complaints: dict[str, str] = {}
    running = ""
    for line in lines:
        start = re.match(r"Starting (download|upload) stream", line.text)
        match = _RESULT.search(line.text)
        if start:
            running = start[1]
            report.load(start[1]).begin(line.at_s)
        elif match and not line.text.startswith(" "):
            load = report.load(match[1])
            if line.at_s > load.end_s:
                # The client's rate is the mean since the direction's start.
                load.show(line.at_s, float(match[2]))
                load.probe("rtt_ms", line.at_s, float(match[3]))
        elif match:
            load = report.load(match[1])
            load.mbps = report.numbers[f"{match[1]}_mbps"] = float(match[2])
            report.numbers[f"rtt_{match[1]}_ms"] = float(match[3])
            report.numbers[f"min_rtt_{match[1]}_ms"] = float(match[4])
        elif not re.match(r"Connected to|Stream \d|Test results|\s|$", line.text):
            complaints.setdefault(running, line.text)
    for name in ("download", "upload"):
        load = report.load(name)
        if not load.rates or load.mbps is None:
            lacks = "its output has no final rate" if load.rates else "its output has no rates"
            complaint = complaints.get(name) or complaints.get("")
            raise BadResult(f"msak-client reported no {name}: {complaint or lacks}")


SERVER = Server(
    "msak", {"MSAK_PORT": (PORT,)},
    (f"msak-server -ws_addr :{PORT} -datadir /run/msak -latency_addr 127.0.0.1:0 "
     "-prometheusx.listen-address 127.0.0.1:0"),
    # The server writes records to -datadir, and serves its metrics on loopback.
    before="mkdir -p /run/msak", program="msak-server", parameter="msak_port", behind_ssh=False)
TOOL = Tool(
    "msak", SERVER,
    method=("Two WebSockets, 10 s down with BBR, 10 s up with Cubic. Shows the streams' sum, "
            "one last sample of TCP's round trip, and the smallest."),
    source="m-lab/msak, throughput1, February 2026",
    longest_s=30,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {}: the sum of its streams"),
        *both("rtt_{}_ms", "ms", "its round trip: TCP's at the end of the {}"),
        *both("min_rtt_{}_ms", "ms", "TCP's smallest round trip of the {}"),
    ),
    module=__name__,
    programs=(Program("msak-client"), Program("msak-server")),
    parameters={"streams": Form("[1-4]", "1 to 4")},
    shown=Shown("msak", ("rtt_download_ms", "rtt_upload_ms"),
                (("rtt_download_ms", "RTT down {:.0f} ms"), ("rtt_upload_ms", "up {:.0f} ms"))),
)

if __name__ == "__main__":
    sys.exit(main("msak", measure))
