# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with nuttcp: a download over one TCP connection, then an upload.

`nuttcp -fparse -i` prints a line per interval, and one for the whole test.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable

from flent_aqm.base.defaults import NUTTCP_PORT as PORT
from flent_aqm.base.errors import BadResult
from flent_aqm.tools.client import NUMBER, Call, OutputLine, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.tool import DEBIAN, Number, Program, Server, Shown, Tool, both

INTERVAL_S = 0.5
_PAIR = re.compile(rf"(\w+)=({NUMBER})")
_NUMBERS = {"rate_Mbps": "{}_mbps", "retrans": "retransmits_{}", "rtt_ms": "rtt_ms"}


def measure(call: Call, report: ClientReport) -> None:
    """Run nuttcp for each direction and fill the report. Raises BadResult if it fails or read()
    refuses its output, OSError if it can't be started. The call's option `length`, the length of
    each direction in s, is required: raises KeyError without it."""
    for direction, word in (("download", "-r"), ("upload", "-t")):
        report.load(direction).begin(time.monotonic())
        read(lines_of("nuttcp", [
            call.program, *(["-6"] if ":" in call.host else []), "-fparse", "-i",
            f"{INTERVAL_S:g}", "-T", call.options["length"], "-P", str(call.port), "-p",
            str(call.port + 1), word, call.host]), direction, report, call.port)


def read(lines: Iterable[OutputLine], direction: str, report: ClientReport,
         port: int = PORT) -> None:
    """Read nuttcp's output for a direction into the report: rates of the intervals and of the whole
    test, and, as far as the output has them, the direction's retransmissions and the round trip.
    nuttcp reports the round trip for uploads only.

    Args:
        lines: the output, as of lines_of(), whose errors are raised here.
        direction: "download" or "upload".
        report: the report to fill. The direction's load must have begun in it: times are counted
            from there.
        port: the server's port, for the message.

    Raises BadResult if the output has no rates of the intervals, or none of the whole test, or if
    the rate of an interval is too large. Its message has nuttcp's error, if the output has one.
    """
    load, complaint, fault = report.load(direction), "", ""
    load.own_clock = True
    try:
        for line in lines:
            values = {name: float(value) for name, value in _PAIR.findall(line.text)}
            if {"real_sec", "rate_Mbps"} <= set(values):
                load.show(load.end_s + values["real_sec"], values["rate_Mbps"])
            elif {"real_seconds", "rate_Mbps"} <= set(values):
                report.numbers |= {number.format(direction): values[name]
                                   for name, number in _NUMBERS.items() if name in values}
                load.mbps = values["rate_Mbps"]
            elif "Error: " in line.text:
                fault = fault or line.text.partition("Error: ")[2]
            elif "Info: " not in line.text:
                complaint = complaint or line.text
    except BadResult:
        # The last line, which the message has otherwise, is only the error's number.
        if fault:
            raise _failure(direction, fault, port) from None
        raise
    if load.mbps is None or not load.rates:
        lacks = f"its output has no rate of {'the whole test' if load.rates else 'an interval'}"
        raise _failure(direction, fault or complaint or lacks, port)


def _failure(direction: str, why: str, port: int) -> BadResult:
    """Return the error to raise for a direction without results. A server that could not be
    connected to is to be started.

    Args:
        direction: "download" or "upload".
        why: the reason.
        port: the server's port.
    """
    start = (f"; check that its server runs there: nuttcp -S -P {port}"
             if re.search("connect: .*(refused|timed out)", why) else "")
    return BadResult(f"nuttcp reported no {direction}: {why}{start}")


SERVER = Server("nuttcp", {"NUTTCP_PORT": (PORT,)}, f"nuttcp -S --nofork -P {PORT}",
                program="nuttcp", parameter="nuttcp_port")
# Its data uses the port after that of its control connection.
TOOL = Tool(
    "nuttcp", SERVER,
    method=("Downloads over one TCP connection, then uploads. Its round trip is that of "
            "connecting."),
    source="nuttcp 6.1.2, nuttcp(8)",
    longest_s=10,
    takes_length=True,
    data_port=1,
    module=__name__,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {} at the receiver"),
        *both("retransmits_{}", "packets", "what its sender of the {} sent again"),
        Number("rtt_ms", "ms", "its round trip: of connecting, before the upload"),
    ),
    programs=(Program("nuttcp", DEBIAN, "nuttcp", "", "Bill Fink, Rob Scott", "GPL-2.0"),),
    shown=Shown("nuttcp", ("rtt_ms",), (("rtt_ms", "RTT {:.0f} ms"),)),
)

if __name__ == "__main__":
    sys.exit(main("nuttcp", measure))
