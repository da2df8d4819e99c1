# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with Cloudflare's bbperf: a TCP connection that measures latency with its own data.

A call of bbperf tests one direction. All times in its file are those of the sender's clock.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.tools.client import MODULE_OF_OTHERS, Call, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.tool import PYPI, Program, Server, Shown, Tool, both

PORT = 5301
LENGTH_S = 10


def measure(call: Call, report: ClientReport) -> None:
    """Run bbperf for each direction and fill the report. Raises BadResult if the server has an IPv6
    address, bbperf isn't installed, fails or writes no result file, or read() refuses the file.
    Raises OSError if Python can't be started."""
    if ":" in call.host:
        raise BadResult(f"bbperf supports IPv4 only, but the server's address is {call.host}; "
                        "use an IPv4 address (Flent's option -4)")
    for direction, more in (("download", ["-R"]), ("upload", [])):
        with tempfile.TemporaryDirectory(prefix="flent-aqm-bbperf-") as folder:
            file = Path(folder) / "run.json"
            last = ""
            for line in lines_of("bbperf", [
                    sys.executable, "-P", "-m", "bbperf.bbperf", "-c", call.host, "-p",
                    str(call.port), "-t", str(LENGTH_S), "-J", str(file), *more], folder):
                last = line.text if line.text.startswith("ERROR") else last
            if not file.is_file():
                raise BadResult(f"bbperf wrote no result file of the {direction}, and "
                                + (f"printed: {last}" if last else
                                   "named no error: run it by hand: " + " ".join([
                                       sys.executable, "-m", "bbperf.bbperf", "-c", call.host,
                                       "-p", str(call.port), *more])))
            read(file.read_text(encoding="utf-8"), direction, report, last)


def read(text: str, direction: str, report: ClientReport, complaint: str = "") -> None:
    """Read a direction's results from the text of bbperf's file into the report: rates, round trips
    of the data, and of the file's summary the medians of rate, round trip under load and excess
    bytes, and the round trip before the load.

    Call it as soon as bbperf has ended: if the file's last time is 3 s or more before or after the
    present, because the sender has another clock, all times are shifted so that the test ends now.

    Args:
        text: content of the file, JSON.
        direction: "download" or "upload".
        report: the report to fill.
        complaint: an error that bbperf printed, for the message. "" for none.

    Raises BadResult if there are no results, the file has another form, or a rate of an entry is
    below 0 or too large.
    """
    now_s, epoch_s = time.monotonic(), time.time() - time.monotonic()
    try:
        data = json.loads(text)
        entries, summary = data["entries"], data.get("summary")
        if not summary:
            raise BadResult(f"bbperf reported no {direction}: "
                            f"{complaint or 'its result file has no summary'}")
        ended_s = entries[-1]["received_time_sec"] - epoch_s
        # The sender may have another clock: then assume that the test has ended just now.
        behind_s = 0.0 if abs(ended_s - now_s) < 3.0 else now_s - ended_s
        load = report.load(direction)
        # It sends only 1 kB at a time until it has measured the unloaded round-trip time.
        load.warms_up = True
        load.begin(entries[0]["sent_time_sec"] - epoch_s + behind_s)
        for entry in entries:
            load.show(entry["received_time_sec"] - epoch_s + behind_s,
                      entry["receiver_throughput_rate_mbps"])
            load.probe("rtt_ms", entry["sent_time_sec"] - epoch_s + behind_s,
                       entry["loaded_rtt_ms"])
        load.mbps = float(summary["receiver_throughput_rate_mbps"]["p50"])
        report.numbers |= {
            f"{direction}_mbps": load.mbps,
            f"unloaded_rtt_{direction}_ms": float(summary["unloaded_rtt_ms"]),
            f"loaded_rtt_{direction}_ms": float(summary["loaded_rtt_ms"]["p50"]),
            f"excess_{direction}_bytes": float(summary["excess_buffered_bytes"]["p50"])}
    except (ValueError, LookupError, TypeError, OverflowError) as fault:
        raise BadResult(f"bbperf's result file has an unexpected form ({cause_of(fault)}); it "
                        f"starts with {text[:60]!r}") from None


SERVER = Server(
    "bbperf", {"BBPERF_PORT": (PORT,)}, f"{MODULE_OF_OTHERS} bbperf.bbperf -s -p {PORT}",
    module="bbperf", parameter="bbperf_port", behind_ssh=False, words=("bbperf",))
TOOL = Tool(
    "bbperf", SERVER,
    module=__name__,
    method=("One TCP connection down, then up, Cubic, 10 s each once the rate is steady. Latency "
            "is that of the data itself, until the other end has told that it came. Medians."),
    source="cloudflare/bbperf 0.0.34",
    longest_s=130,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {} at the receiver"),
        *both("unloaded_rtt_{}_ms", "ms", "its round trip before the {}, the shortest"),
        *both("loaded_rtt_{}_ms", "ms", "its round trip under {}"),
        *both("excess_{}_bytes", "bytes",
              "what its {} had on the way beyond rate times unloaded round trip"),
    ),
    programs=(Program("bbperf", PYPI, "bbperf", "0.0.34", "Cloudflare", "Apache-2.0"),),
    shown=Shown("bbperf", ("loaded_rtt_download_ms", "loaded_rtt_upload_ms"),
                (("loaded_rtt_download_ms", "RTT down {:.0f} ms"),
                 ("loaded_rtt_upload_ms", "up {:.0f} ms"))),
)

if __name__ == "__main__":
    sys.exit(main("bbperf", measure))
