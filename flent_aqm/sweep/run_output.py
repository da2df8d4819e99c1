# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a run, and returns its output as bytes.

The network is made, and Flent runs the cell in it. Another machine than this one may write the
output to files.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import AqmError, LabError
from flent_aqm.lab.place import Outcome, RunEnvironment
from flent_aqm.lab.protocol import FlentRun, Testbed
from flent_aqm.setup.optional import optional_of
from flent_aqm.spec.cell import BATCH_NAME, Cell, as_batch_file
from flent_aqm.spec.flent_settings import as_words
from flent_aqm.spec.needs import needs_of_run


@dataclass(frozen=True)
class RunOutput:
    """Output of a run as bytes: data file, log, capture, or the cause of its failure."""

    # The data file that Flent wrote, None if the run failed.
    data: bytes | None
    # Durations and reports of the network, None if the network failed.
    outcome: Outcome | None
    # Cause of the failure in one line, "" if the run succeeded.
    fault: str
    # Output of Flent and of the guest's kernel.
    log: str
    # Output of all tools, gzipped, if the cell asks for it.
    tools_log: bytes | None = None
    # Captured headers of packets as a pcap file, if the cell asks for it.
    capture: bytes | None = None


def make(cell: Cell, testbed: Testbed) -> RunOutput:
    """Run a cell on a testbed. An AqmError becomes the `fault` of the output. Other errors are
    raised."""
    data, outcome, fault = None, None, ""
    needs = needs_of_run(cell.test_name, cell.scenario, cell.test_parameters)
    with testbed.place(cell.scenario, FlentRun(
            as_batch_file(cell), BATCH_NAME, as_words(cell.settings), needs.servers, cell.length_s,
            programs=optional_of(needs.tools), browser="chromium" in needs.tools)) as place:
        try:
            outcome = place.run()
            data = _only(place, "*.flent")
            if data is None:
                raise LabError(_cause(place))
        except AqmError as error:
            fault = str(error)
        tools = _only(place, "*.debug.log") if cell.debug_log else None
        return RunOutput(data, outcome, fault, _log(place),
                    None if tools is None else gzip.compress(tools, 6, mtime=0),
                    _only(place, "*.pcap"))


def _only(place: RunEnvironment, pattern: str) -> bytes | None:
    """Return the content of the one result file that matches a pattern. None if there is none or
    several."""
    files = list(place.results.glob(pattern))
    return files[0].read_bytes() if len(files) == 1 else None


def _log(place: RunEnvironment) -> str:
    """Return the output of Flent, the guest's console and logs as one text with headings."""
    parts = [("flent", place.stdout), ("flent, errors", place.stderr),
             ("guest's console", place.folder / "console"),
             *((path.name, path) for path in sorted(place.results.glob("*.log"))
               if not path.name.endswith(".debug.log"))]
    return "".join(f"--- {title}\n{text}\n" for title, path in parts if (text := _text(path)))


# Flent's report of a failed command: the command line, and below it the command's output.
_OF_A_COMMAND = re.compile(
    r"ERROR: Essential command .*?\nOutput:\n((?: [^\n]*\n?)+)", re.DOTALL)
# A longer cause is cut: the output of a router may have a million characters.
LONGEST_CAUSE = 1000


def _cause(place: RunEnvironment) -> str:
    """Return the first error that Flent reported, in one line."""
    text = _text(place.stderr)
    if match := _OF_A_COMMAND.search(text):
        output = " ".join(match[1].split()).removesuffix(".")
        if output:
            return output[:LONGEST_CAUSE]
    for mark in ("ERROR:", "Traceback"):
        for line in text.splitlines():
            if mark in line:
                return line.split("ERROR:")[-1].strip()
    last = text.splitlines()[-1:]
    return f"Flent wrote no data file; its last words: {last[0] if last else 'none'}"


def _text(path: Path) -> str:
    """Return the text of a file, "" if it can't be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
