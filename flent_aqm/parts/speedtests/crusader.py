# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with Crusader: eight TCP connections per direction, and latency by UDP packets.

The server returns a UDP packet every 5 ms. Crusader can also test both directions at once. This
isn't done, because the load of a run has one direction after the other.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.tools.client import NUMBER, Call, OutputLine, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.tool import STREAMS, Number, Program, Server, Shown, Tool, both

PORT = 35481
LENGTH_S = 10
# So many of its samples, one every 60 ms, are joined to one of 0.3 s.
STEPS = 5
_WAYS = {"Download": "download", "Upload": "upload"}
_NUMBERS = (
    (re.compile(rf"\s*Throughput: ({NUMBER}) ([KMG]?)bps"), "{}_mbps"),
    (re.compile(rf"\s*Latency: ({NUMBER}) ms"), "latency_{}_ms"),
    (re.compile(rf"\s*Packet loss: ({NUMBER})%"), "loss_{}_pct"),
)
_SCALE = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3}


def measure(call: Call, report: ClientReport) -> None:
    """Run Crusader's test, export its saved result as JSON, and fill the report. Raises BadResult
    if Crusader fails, saves no result or several, or prints or exports another form, OSError if it
    can't be started. Option of the call: `streams` (default: 8), connections per direction."""
    with tempfile.TemporaryDirectory(prefix="flent-aqm-crusader-") as folder:
        # Crusader adds the time to the name of the file.
        tested_s = read_text(lines_of("crusader", [
            call.program, "test", "--download", "--upload", "--port", str(call.port),
            "--streams", call.options.get("streams", "8"), "--load-duration", str(LENGTH_S),
            "--out-name", f"{folder}/run", call.host], folder), report)
        saved = list(Path(folder).glob("run*.crr"))
        if len(saved) != 1:
            raise BadResult(f"crusader left {len(saved)} result files named run*.crr; expected 1: "
                            "does its version have the option --out-name?")
        for _line in lines_of("crusader", [call.program, "export", str(saved[0])], folder):
            pass
        exported = saved[0].with_suffix(".json")
        if not exported.is_file():
            raise BadResult(f"`crusader export` wrote no {exported.name}: does its version "
                            "export JSON?")
        read_export(exported.read_text(encoding="utf-8"), tested_s, report)


def read_text(lines: Iterable[OutputLine], report: ClientReport) -> float:
    """Read the numbers that Crusader prints into the report: throughput, latency under load and
    loss of each direction, and latency of the idle line. Return the time at which its download
    began, in monotonic s. Raises BadResult if that time, or the throughput or the latency under
    load of a direction is missing. Idle latency and loss may be missing."""
    direction, begin_s, last = "", None, ""
    for line in lines:
        last = line.text.strip() or last
        idle = re.search(rf"Idle latency to server ({NUMBER}) ms", line.text)
        part = re.match(r"-- (\w+) test --", line.text)
        if idle:
            report.numbers["idle_ms"] = float(idle[1])
        elif "Testing download" in line.text:
            begin_s = line.at_s
        elif part:
            direction = _WAYS.get(part[1], "")
        elif direction:
            for form, name in _NUMBERS:
                if match := form.match(line.text):
                    scale = _SCALE[match[2]] if form.groups == 2 else 1.0
                    report.numbers[name.format(direction)] = float(match[1]) * scale
    missing = [name.format(direction)
               for direction in _WAYS.values() for _form, name in _NUMBERS[:2]
               if name.format(direction) not in report.numbers]
    if missing or begin_s is None:
        raise BadResult("crusader's output lacks " + (
            f"the value of {missing[0]}" if missing else
            "the line 'Testing download', which tells when the download began")
            + (f"; its last line is {last[:200]!r}" if last else "; it printed nothing"))
    return begin_s


def read_export(text: str, tested_s: float, report: ClientReport) -> None:
    """Read Crusader's exported JSON into the report: rates of each direction, and a latency for
    each UDP packet that came back, under the direction that ran when the packet was sent, or under
    the idle line if none did.

    Args:
        text: the JSON, whose times are those of Crusader's own clock.
        tested_s: time at which the download began, in monotonic s.
        report: the report to fill. It has the throughputs already, see read_text().

    Raises BadResult if the JSON has another form.
    """
    try:
        data = json.loads(text)
        parts = {_WAYS[part["kind"]]: part for part in data["test_data"] if part["kind"] in _WAYS}
        offset_s = tested_s - _to_seconds(parts["download"]["start"])
        for group in data["stream_groups"]:
            if group["both"]:
                continue
            direction = "download" if group["download"] else "upload"
            load, part = report.load(direction), parts[direction]
            load.start_s = _to_seconds(part["start"]) + offset_s
            load.end_s = _to_seconds(part["end"]) + offset_s
            load.mbps = report.numbers[f"{direction}_mbps"]
            load.rates = _total_rates(group["streams"], offset_s)
        for ping in data["pings"]:
            total = (ping["latency"] or {}).get("total")
            if total is not None:
                at_s = _to_seconds(ping["sent"]) + offset_s
                report.at(at_s).probe("ping_ms", at_s, _to_seconds(total) * 1e3)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as fault:
        raise BadResult(f"crusader's exported JSON has an unexpected form ({cause_of(fault)}); it "
                        f"starts with {text[:60]!r}") from None


def _to_seconds(time: dict[str, Any]) -> float:
    """Return one of Crusader's times, {"secs": ..., "nanos": ...}, in s."""
    return float(time["secs"]) + float(time["nanos"]) * 1e-9


def _total_rates(streams: list[dict[str, Any]], offset_s: float) -> list[tuple[float, float, int]]:
    """Return samples of all streams' total rate, about one per 0.3 s: (end in monotonic s, duration
    in s, bytes). Empty if a stream has too few records for one.

    Each record has the bytes since its stream's start. Records with the same number are added,
    whatever their times, and get the time of the first stream's. Every fifth record counts, up to
    the last one that all streams have.

    Args:
        streams: the streams of one direction, at least one, as in the exported JSON.
        offset_s: what has to be added to Crusader's times for monotonic s.
    """
    counted = [[(_to_seconds(one["time"]), int(one["bytes"])) for one in stream["data"]]
               for stream in streams]
    steps = range(0, min(map(len, counted)), STEPS)
    at_s = [counted[0][step][0] for step in steps]
    total = [sum(stream[step][1] for stream in counted) for step in steps]
    return [(end_s + offset_s, end_s - start_s, now - before)
            for start_s, end_s, before, now in zip(at_s, at_s[1:], total, total[1:], strict=False)
            if end_s > start_s]


SERVER = Server("crusader", {"CRUSADER_PORT": (PORT,)}, f"crusader serve --port {PORT}",
                program="crusader", parameter="crusader_port", behind_ssh=False)
TOOL = Tool(
    "crusader", SERVER,
    method=("Eight TCP connections down, then up, 10 s each, and a UDP packet every 5 ms. Shows "
            "the highest of its smoothed latency, and loss."),
    source="Zoxc/crusader, April 2025",
    longest_s=45,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {}"),
        Number("idle_ms", "ms", "its latency of the idle line"),
        *both("latency_{}_ms", "ms", "its latency under {}"),
        *both("loss_{}_pct", "%", "its UDP packets that were lost under {}"),
    ),
    module=__name__,
    programs=(Program("crusader"),),
    parameters={"streams": STREAMS},
    shown=Shown("Crusader", ("latency_download_ms", "latency_upload_ms"),
                (("latency_download_ms", "down {:.0f} ms"), ("latency_upload_ms", "up {:.0f} ms"))),
)

if __name__ == "__main__":
    sys.exit(main("crusader", measure))
