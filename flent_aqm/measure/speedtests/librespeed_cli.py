# SPDX-License-Identifier: GPL-3.0-or-later
"""LibreSpeed's client for the command line, by its list of servers with one in it.

It shows a rate each second, a mean since the direction's start, and at the end its result.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from flent_aqm.base.errors import BadResult
from flent_aqm.measure.speedtests.programs import Line, ProgramCall, lines_of
from flent_aqm.measure.speedtests.report import Report

_NUMBERS = {"download_mbps": "download", "upload_mbps": "upload", "ping_ms": "ping",
            "jitter_ms": "jitter"}


def measure(asked: ProgramCall, report: Report) -> None:
    """Run it, and fill the report. Raises BadResult."""
    server = {"id": 1, "name": "server", "server": f"http://{asked.host_and_port}/",
              "dlURL": "backend/garbage.php", "ulURL": "backend/empty.php",
              "pingURL": "backend/empty.php", "getIpURL": "backend/getIP.php"}
    with tempfile.TemporaryDirectory(prefix="flent-aqm-librespeed-") as folder:
        servers = Path(folder) / "servers.json"
        servers.write_text(json.dumps([server]), encoding="utf-8")
        # With ICMP it would need rights that a user seldom has.
        read(lines_of("librespeed-cli", [
            asked.program, "--local-json", str(servers), "--server", "1", "--json-stream",
            "--no-icmp", "--concurrent", asked.options.get("streams", "3")]), report)


def read(lines: Iterable[Line], report: Report) -> None:
    """Read its events, one a line. It ends with status 0 also where it reached no server: raises
    BadResult then."""
    result, complaint = None, ""
    for line in lines:
        if not line.text.startswith("{"):
            complaint = complaint or line.text.strip()
            continue
        try:
            event = json.loads(line.text)
            kind, phase = event["event"], event.get("phase")
            if kind == "result":
                result = (event["reports"] or [None])[0]
            elif phase in ("download", "upload"):
                way = report.way(phase)
                way.begin(line.at_s)
                if kind == "progress":
                    # A mean since the start.
                    way.show(line.at_s, float(event["mbps"]))
        except (ValueError, LookupError, TypeError, AttributeError) as fault:
            raise BadResult(f"librespeed-cli: its event can't be read ({fault!r}): "
                            f"{line.text[:60]!r}") from None
    if not result or not report.way("download").rates or not report.way("upload").rates:
        raise BadResult(f"librespeed-cli gave no result: "
                        f"{complaint or 'it reached no server that answers'}")
    try:
        report.numbers = {name: float(result[key]) for name, key in _NUMBERS.items()}
    except (ValueError, LookupError, TypeError) as fault:
        raise BadResult(f"librespeed-cli: its result can't be read ({fault!r})") from None
    for name, way in report.ways.items():
        way.mbps = report.numbers[f"{name}_mbps"]
