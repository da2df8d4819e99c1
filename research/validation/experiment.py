# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a shell script on the client of a lab, and return the files that it wrote."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import counted
from flent_aqm.lab.virtual import Lab
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario

HERE = Path(__file__).resolve().parent
_DROPPED = re.compile(r"^(\d+) packets? dropped by kernel", re.MULTILINE)


@contextlib.contextmanager
def experiment(script: str, **settings: object) -> Iterator[Path]:
    """Context manager: run the script on the client of a lab to its end, and yield the folder with
    its files, which is removed at the end of the with statement. The router's queue and the servers
    of iperf3 and irtt are in place before the script starts.

    Args:
        script: the script, which can use the functions of guest.sh. It starts in that folder, and
            ends at the first command that fails.
        settings: batch keys of the scenario.

    Raises BadResult if the script fails, or tcpdump lost packets of a capture or didn't say that it
    lost none, ConfigError if a setting is wrong, and another AqmError if the lab can't be started
    or fails.
    """
    scenario = Scenario.from_settings(settings)
    whole = f'cd "$RESULTS"; . "$VALIDATION/guest.sh"; {script}'
    with Lab(scenario, ["sh", "-c", whole], servers=("iperf3", "irtt"),
             prelude=[apply_command(scenario)], cwd=HERE, env={"VALIDATION": str(HERE)}) as lab:
        status = lab.run().status
        if status:
            output = lab.stderr.read_text(errors="replace").strip()[-400:]
            raise BadResult(f"a script in the lab ended with status {status}: "
                            f"{output or 'it printed no error'}")
        for log in lab.results.glob("*.pcap.log"):
            dropped = _DROPPED.search(log.read_text())
            if not dropped or int(dropped[1]):
                raise BadResult(f"{log.stem}: tcpdump lost packets, or ended without saying how "
                                "many; expected '0 packets dropped by kernel', and it printed: "
                                f"{log.read_text().strip()[-200:] or 'nothing'}")
        yield lab.results


def iperf3_intervals(path: Path) -> list[dict[str, Any]]:
    """Return each interval at iperf3's server, a dict with "start" and "end" in s and "bytes", the
    sum of all streams. The server is the receiver, unless the option -R is given. Raises BadResult
    if iperf3 failed, KeyError if the option --get-server-output was missing, ValueError if the file
    isn't JSON.

    path: file with iperf3's output in JSON (-J), made with --get-server-output.
    """
    data = json.loads(path.read_text())
    if "error" in data:
        raise BadResult(f"iperf3: {data['error']}")
    return [interval["sum"] for interval in data["server_output_json"]["intervals"]]


def iperf3_goodput_mbps(path: Path, from_s: float) -> float:
    """Return the receiver's mean payload rate in Mbit/s over the intervals that begin at `from_s`
    or later (in s since the test's begin), without the last one, from the file that
    iperf3_intervals() takes. Raises BadResult if iperf3 failed or none is left."""
    late = [one for one in iperf3_intervals(path) if one["start"] >= from_s - 1e-6]
    if len(late) < 2:
        raise BadResult(f"{path.name}: iperf3 reported {counted(len(late), 'interval')} from "
                        f"{from_s:g} s on; expected two or more, of which the last doesn't count: "
                        "let iperf3 run longer")
    # The last interval is shorter, or has only what was left in the queue.
    late = late[:-1]
    return float(sum(one["bytes"] for one in late) * 8e-6
                 / sum(one["end"] - one["start"] for one in late))
