# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed test with librespeed-cli, LibreSpeed's client for the command line.

The client gets a list of servers with one entry. Each second it prints the mean rate since the
direction's start, and at the end its results, as JSON lines.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.base.json_text import json_text
from flent_aqm.tools.client import Call, OutputLine, lines_of, main
from flent_aqm.tools.report import ClientReport
from flent_aqm.tools.shared import HTTP, HTTP_PARAMETERS, HTTPS, http_server
from flent_aqm.tools.tool import GO, STREAMS, Number, Program, Shown, Tool, both

_NUMBERS = {"download_mbps": "download", "upload_mbps": "upload", "ping_ms": "ping",
            "jitter_ms": "jitter"}


def measure(call: Call, report: ClientReport) -> None:
    """Run librespeed-cli, and fill the report. Raises BadResult if it fails or read() refuses its
    output, OSError if it can't be started. Option of the call: `streams` (default: 3), connections
    at once."""
    server = {"id": 1, "name": "server", "server": f"{call.url}/",
              "dlURL": "backend/garbage.php", "ulURL": "backend/empty.php",
              "pingURL": "backend/empty.php", "getIpURL": "backend/getIP.php"}
    with tempfile.TemporaryDirectory(prefix="flent-aqm-librespeed-") as folder:
        servers = Path(folder) / "servers.json"
        servers.write_text(json_text([server]), encoding="utf-8")
        # Pings by ICMP would need rights that users seldom have.
        read(lines_of("librespeed-cli", [
            call.program, "--local-json", str(servers), "--server", "1", "--json-stream",
            "--no-icmp", "--concurrent", call.options.get("streams", "3"),
            *(["--skip-cert-verify"] if call.tls else [])]), report)


def read(lines: Iterable[OutputLine], report: ClientReport) -> None:
    """Read the client's events, a JSON object per line, into the report: rates of each direction as
    it ran, and the final rates, ping and jitter.

    The client exits with status 0 even if it reached no server. Raises BadResult if there is no
    result or no rate of a direction, if an event has another form, or if a rate while a direction
    ran is below 0 or too large. The message quotes the client's first line that is no event, if
    there is no result.
    """
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
                load = report.load(phase)
                load.begin(line.at_s)
                if kind == "progress":
                    # The client's rate is the mean since the direction's start.
                    load.show(line.at_s, float(event["mbps"]))
        except (ValueError, LookupError, TypeError, AttributeError) as fault:
            raise BadResult("librespeed-cli printed an event of an unexpected form "
                            f"({cause_of(fault)}): {line.text[:60]!r}") from None
    if not result:
        raise BadResult("librespeed-cli printed no result: "
                        f"{complaint or 'it gives no reason; does the server respond?'}")
    for name in ("download", "upload"):
        if not report.load(name).rates:
            raise BadResult(f"librespeed-cli printed no rate of its {name} while it ran; expected "
                            "one a second: does its version have the option --json-stream?")
    try:
        report.numbers = {name: float(result[key]) for name, key in _NUMBERS.items()}
    except (ValueError, LookupError, TypeError) as fault:
        raise BadResult("librespeed-cli printed a result of an unexpected form "
                        f"({cause_of(fault)}): {str(result)[:60]!r}") from None
    for name, load in report.loads.items():
        load.mbps = report.numbers[f"{name}_mbps"]


TOOL = Tool(
    "librespeed_cli", HTTP,
    method=("Ten requests on the idle line, 15 s of three downloads, then of three uploads; the "
            "mean of all bytes, uncorrected."),
    source="librespeed/speedtest-cli, August 2026",
    longest_s=50,
    numbers=(
        *both("{}_mbps", "Mbit/s", "its {}"),
        Number("ping_ms", "ms", "its ping: the mean on the idle line"),
        Number("jitter_ms", "ms", "its jitter of the idle line"),
    ),
    module=__name__,
    programs=(Program(
        "librespeed-cli", GO, "github.com/librespeed/speedtest-cli", "v1.0.14", "LibreSpeed",
        "LGPL-3.0", why="the test librespeed_cli needs librespeed-cli",
        # The name of its Go module. Another project's program has this name, too.
        also=("speedtest-cli",)),),
    servers=(HTTPS,),
    choose=http_server,
    parameters={**HTTP_PARAMETERS, "streams": STREAMS},
    shown=Shown("librespeed-cli", ("ping_ms",),
                (("ping_ms", "ping {:.0f} ms"), ("jitter_ms", "jitter {:.1f} ms"))),
)

if __name__ == "__main__":
    sys.exit(main("librespeed_cli", measure))
