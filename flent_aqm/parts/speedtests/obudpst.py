# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with OB-UDPST, by the authors of RFC 9946: UDP at a rate that follows loss and delay.

A call of the client tests one direction. The ports of its data are not known beforehand, so
captures don't have them. The times in its output are those of the client's clock.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.tools.client import Call, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.tool import Program, Server, Shown, Tool, both

PORT = 24601


def measure(call: Call, report: ClientReport) -> None:
    """Run udpst for the download, then for the upload, and fill the report. Raises BadResult if
    either fails, or read() refuses its output, OSError if it can't be started. An exit status other
    than 0 is no error if the output has a result."""
    for direction, flag in (("download", "-d"), ("upload", "-u")):
        lines: list[str] = []
        try:
            lines.extend(line.text for line in lines_of("udpst", [
                call.program, flag, "-f", "json", "-p", str(call.port), call.host]))
        except BadResult:
            # Its exit status is the number of a warning or an error, and its output explains it.
            if not any(line.lstrip().startswith("{") for line in lines):
                raise
        read("".join(lines), direction, report)


def read(text: str, direction: str, report: ClientReport) -> None:
    """Read the client's JSON output for a direction into the report: rate of each interval,
    throughput (that of the best second), the least and the mean round trip, and loss. The times in
    the output are those of this machine's clock.

    Args:
        text: the output.
        direction: "download" or "upload".
        report: the report to fill.

    Raises BadResult if it is empty, has an error in place of a result or another form, or if the
    rate of an interval is below 0 or too large.
    """
    epoch_s = time.time() - time.monotonic()
    if not text.strip():
        raise BadResult(f"udpst printed nothing about the {direction}; expected JSON: does its "
                        "version have the option -f json?")

    def to_monotonic_s(moment: str) -> float:
        """Return an ISO 8601 time as monotonic s. A time without an offset from UTC is local time.
        Raises ValueError if the text is no such time, TypeError if `moment` is no text."""
        return datetime.fromisoformat(moment).timestamp() - epoch_s

    try:
        document = json.loads(text)
        if "Output" not in document:
            why = document.get("ErrorMessage2") or document["ErrorMessage"]
            raise BadResult(f"udpst reported no {direction}: {why or 'it gives no reason'}")
        output, load = document["Output"], report.load(direction)
        load.begin(to_monotonic_s(output["BOMTime"]))
        for interval in output["IncrementalResult"]:
            load.show(to_monotonic_s(interval["TimeOfSubInterval"]),
                      float(interval["IPLayerCapacity"]))
        summary = output["Summary"]
        load.mbps = float(output["AtMax"]["MaxIPLayerCapacity"])
        least_s = float(summary["MinRTTSummary"])
        report.numbers |= {
            f"{direction}_mbps": load.mbps,
            f"min_rtt_{direction}_ms": 1000 * least_s,
            f"rtt_{direction}_ms": 1000 * (least_s + float(summary["RTTAvg"])),
            f"loss_{direction}_pct": 100 * float(summary["LossRatioSummary"])}
    except (ValueError, LookupError, TypeError, AttributeError) as fault:
        raise BadResult(f"udpst's output has an unexpected form ({cause_of(fault)}); it starts "
                        f"with {text[:60]!r}") from None


SERVER = Server("udpst", {"OBUDPST_PORT": (PORT,)}, f"udpst -p {PORT}", protocol="udp",
                program="udpst", parameter="obudpst_port", behind_ssh=False)
TOOL = Tool(
    "obudpst", SERVER,
    module=__name__,
    method=("UDP for 10 s each way, at a rate that follows loss and delay. Shows the best second, "
            "with IP's headers, the least round trip, and the mean rise above it, here added."),
    source="BroadbandForum/obudpst 9.0.0, RFC 9946",
    longest_s=40,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {} in the best second, with IP's headers"),
        *both("rtt_{}_ms", "ms", "its mean round trip under {}"),
        *both("min_rtt_{}_ms", "ms", "its least round trip under {}"),
        *both("loss_{}_pct", "%", "its packets that were lost under {}"),
    ),
    programs=(Program("udpst"),),
    shown=Shown("OB-UDPST", ("rtt_download_ms", "rtt_upload_ms"),
                (("rtt_download_ms", "RTT down {:.0f} ms"), ("rtt_upload_ms", "up {:.0f} ms"))),
)

if __name__ == "__main__":
    sys.exit(main("obudpst", measure))
