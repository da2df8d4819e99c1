# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with iperf 2's bounceback: small messages to the server and back under TCP load.

The load, a download and then an upload, is a second iperf. iperf's own load (--bounceback-congest)
writes chunks as small as the messages, 100 bytes, and so loads a processor more than the line.
Output lines of `iperf -e -f m`, of the load and of bounceback:

    [ *1] 0.0000-1.0000 sec  5.34 MBytes  44.8 Mbits/sec  57970=0:0:0:3855:0:0:0:5
    [  1] 0.0000-1.0000 sec  0.004 MBytes  0.03 Mbits/sec    20=43.5/20.2/70.2/15.1 ms ... 23 rps

The line for the whole test comes last, and begins at 0 as well. --trip-times adds a line with the
messages' one-way delays in each direction, as mean/least/most/deviation of the whole test:

    [  1] 0.0000-10.0270 sec  OWD Delays (ms) Cnt=30 To=0.09/0.01/2.1/0.4 From=0.14/0.02/3.5/0.6 ...
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

from flent_aqm.base import environment
from flent_aqm.base.defaults import IPERF2_PORT as PORT
from flent_aqm.base.errors import BadResult
from flent_aqm.base.switch import switch
from flent_aqm.base.words import end_of, last_line
from flent_aqm.tools.client import NUMBER, Call, delayed, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.tool import DEBIAN, FLAG, Program, Server, Shown, Tool, both

# Reporting intervals in s. If a message isn't back after half an interval, iperf 2.1.8's bounceback
# fails with "read failed" and iperf never ends. With the usual interval of 1 s, a queue of 0.5 s
# would do that.
INTERVAL_S, LOAD_INTERVAL_S = 5, 1
OLDEST = (2, 1)
# Time in s for a full queue to drain after the load's end.
PATIENCE_S = 30
_LINE = re.compile(
    rf"\[ *\*?\d+\] +(?P<start>{NUMBER})-(?P<end>{NUMBER}) sec +[\d.]+ [KMG]?Bytes +"
    rf"(?P<mbps>{NUMBER}) Mbits/sec(?P<rest>.*)")
_BOUNCES = re.compile(
    rf" +\d+=(?P<mean>{NUMBER})/[\d.]+/(?P<most>{NUMBER})/[\d.]+ ms .* (?P<rps>{NUMBER}) rps")
_ONE_WAY = re.compile(
    rf"\[ *\d+\] .* OWD Delays \(ms\) .* To=(?P<to>-?{NUMBER})/\S+ From=(?P<back>-?{NUMBER})/")


def measure(call: Call, report: ClientReport) -> None:
    """For each direction, run a TCP load and beside it iperf 2's bounceback (small messages to the
    server and back), and fill the report. There is no timeout for the messages. Raises BadResult if
    the program isn't iperf 2.1 or newer, if iperf fails, if its output lacks the rates or the
    messages' times or has a rate that is too large, or if the load still runs 30 s after the
    messages, OSError if iperf can't be started. Options of the call: `length` of each direction in
    s, which is required, and `trip_times`, whether one-way delays are measured (default: in the lab
    only)."""
    refuse_old(call.program)
    # One-way delays need a common clock, which namespaces of one machine have.
    trip_times = switch(call.options.get("trip_times", environment.SCENARIO in os.environ))
    common = [call.program, "-c", call.host, "-p", str(call.port), "-e", "-f", "m", "-t",
              call.options["length"], *(["-V"] if ":" in call.host else [])]
    for direction, more in (("download", ["-R"]), ("upload", [])):
        report.load(direction).begin(time.monotonic())
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            with delayed(signal.SIGTERM):
                load = subprocess.Popen([*common, "-i", f"{LOAD_INTERVAL_S}", *more], text=True,
                                        stdin=subprocess.DEVNULL, stdout=output,
                                        stderr=subprocess.STDOUT)
            try:
                messages = "\n".join(line.text for line in lines_of("iperf", [
                    *common, "-i", f"{INTERVAL_S}", "--bounceback",
                    *(["--trip-times"] if trip_times else [])]))
                load.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise BadResult(f"iperf's load of the {direction} was still running {PATIENCE_S} s "
                                "after the bounceback messages had ended: iperf hangs, or the "
                                "queue takes longer to drain; repeat the run, with a shorter "
                                "queue if it happens again") from None
            finally:
                load.kill()
                load.wait()
            output.seek(0)
            read_load(output.read(), direction, report, call.port)
        read_messages(messages, direction, report, call.port)


def refuse_old(program: str) -> None:
    """Raise BadResult if the iperf at this path is older than 2.1, which has no --bounceback, or if
    its --version isn't that of iperf 2, such as iperf3's. Raises OSError if it can't be started."""
    done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    printed = done.stdout
    version = re.search(r"iperf version (\d+)\.(\d+)", printed)
    # iperf 2 itself ends with 0 or 1 after its version.
    if version is None and done.returncode not in (0, 1):
        raise BadResult(f"{program} --version ended with {end_of(done.returncode)}: "
                        f"{last_line(printed) or 'without a message'}; install iperf again")
    if version is None:
        raise BadResult(f"{program} is not iperf 2: its --version prints {printed[:40]!r}; the "
                        "test iperf2_bounceback needs iperf 2.1 or newer")
    if tuple(map(int, version.groups())) < OLDEST:
        raise BadResult(f"{program} is {version[0]}; the test iperf2_bounceback needs iperf 2.1 "
                        "or newer")


def read_load(text: str, direction: str, report: ClientReport, port: int = PORT) -> None:
    """Read the output of a direction's load into the report: the rate of each interval, and the
    mean of the whole test as iperf prints it. Before, the direction's load must have begun in the
    report: times are counted from there. As iperf starts later than that, the load gets own_clock.
    Raises BadResult if either rate is missing, or if that of an interval is too large.

    Args:
        text: output of iperf.
        direction: "download" or "upload".
        report: the report to fill.
        port: the server's port, for a message.
    """
    matches = _throughput_lines(text)
    if len(matches) < 2 or float(matches[-1]["start"]):
        raise _missing_output(text, "no throughput of each interval and of the whole test", port)
    load = report.load(direction)
    load.own_clock = True
    start_s = load.end_s
    for interval in matches[:-1]:
        load.show(start_s + float(interval["end"]), float(interval["mbps"]))
    load.mbps = report.numbers[f"{direction}_mbps"] = float(matches[-1]["mbps"])


def read_messages(text: str, direction: str, report: ClientReport, port: int = PORT) -> None:
    """Read the output of a direction's bounceback into the report: mean and greatest time of the
    messages in each interval and in the whole test; of the whole test also their number per second
    (rps), and, if the output has them, their mean one-way delays. Raises BadResult if the times of
    the intervals or of the whole test are missing. Before, the direction's load must have begun in
    the report: times are counted from there.

    Args:
        text: output of iperf.
        direction: "download" or "upload".
        report: the report to fill.
        port: the server's port, for a message.
    """
    messages = [(line, bounce) for line in _throughput_lines(text)
                if (bounce := _BOUNCES.match(line["rest"]))]
    if len(messages) < 2 or float(messages[-1][0]["start"]):
        raise _missing_output(
            text, "no bounceback times of each interval and of the whole test", port)
    load, numbers = report.load(direction), report.numbers
    for line, bounce in messages[:-1]:
        at_s = (load.start_s or 0.0) + float(line["end"])
        load.probe("bounceback_ms", at_s, float(bounce["mean"]))
        load.probe("bounceback_max_ms", at_s, float(bounce["most"]))
    whole = messages[-1][1]
    numbers |= {f"rps_{direction}": float(whole["rps"]),
                f"bounceback_{direction}_ms": float(whole["mean"]),
                f"bounceback_max_{direction}_ms": float(whole["most"])}
    if delays := next((one for line in text.splitlines() if (one := _ONE_WAY.match(line))), None):
        numbers |= {f"owd_to_server_{direction}_ms": float(delays["to"]),
                    f"owd_from_server_{direction}_ms": float(delays["back"])}


def _throughput_lines(text: str) -> list[re.Match[str]]:
    """Return a match for each line of iperf's output that shows a throughput, those of the
    intervals and that of the whole test. Its groups are texts: "start" and "end" in s, "mbps" in
    Mbit/s, and "rest", what follows on the line."""
    return [match for line in text.splitlines() if (match := _LINE.match(line))]


def _missing_output(text: str, missing: str, port: int) -> BadResult:
    """Return a BadResult for output that lacks something. If the output has a line with " failed",
    the message quotes that line, and tells how to start a server that could not be connected to.

    Args:
        text: output of iperf.
        missing: phrase for the message, such as "no throughput".
        port: the server's port.
    """
    printed = next((line for line in text.splitlines() if " failed" in line), "")
    begins = f"starts with {text[:60]!r}" if text.strip() else "is empty"
    start = (f"; check that its server runs there: iperf -s -e -p {port}"
             if "connect failed" in printed else "")
    return BadResult(f"iperf 2: {printed[:100]}{start}" if printed else
                     f"iperf 2 printed {missing}; its output {begins}")


SERVER = Server("iperf2", {"IPERF2_PORT": (PORT,)}, f"iperf -s -e -p {PORT}", program="iperf",
                parameter="iperf2_port")
TOOL = Tool(
    "iperf2_bounceback", SERVER,
    method=("Ten messages of 100 bytes a second, each after the one before, beside one TCP "
            "connection each way. Responses a second are 1 / their mean time; `trip_times` adds "
            "one-way times. Reports every 5 s, because 2.1.8 hangs on longer round trips than "
            "half of that."),
    source="iperf 2.1.8, iperf(1), --bounceback-congest",
    prefix="iperf2",
    longest_s=10,
    takes_length=True,
    module=__name__,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {}, the working load"),
        *both("rps_{}", "1/s", "its responses a second under {}"),
        *both("bounceback_{}_ms", "ms", "its mean bounceback under {}"),
        *both("bounceback_max_{}_ms", "ms", "its longest bounceback under {}"),
        *both("owd_to_server_{}_ms", "ms", "its messages' mean delay to the server under {}"),
        *both("owd_from_server_{}_ms", "ms",
              "its messages' mean delay back from the server under {}"),
    ),
    programs=(Program(
        "iperf", DEBIAN, "iperf", "", "iperf2's authors", "BSD-3-Clause", "iperf2",
        why="the test iperf2_bounceback needs iperf, version 2.1 or newer"),),
    parameters={"trip_times": replace(FLAG, for_client=True)},
    shown=Shown("iperf 2\nbounceback", ("bounceback_download_ms", "bounceback_upload_ms"),
                (("rps_download", "{:.1f} rps down"), ("rps_upload", "{:.1f} rps up"))),
)

if __name__ == "__main__":
    sys.exit(main("iperf2_bounceback", measure))
