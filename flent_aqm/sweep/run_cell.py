# SPDX-License-Identifier: GPL-3.0-or-later
"""One run in the virtual lab: boot, let Flent run the cell inside, finish its data file."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass

from flent_aqm import defaults
from flent_aqm.errors import LabError
from flent_aqm.metrics.scores import Scores
from flent_aqm.sweep import finish
from flent_aqm.sweep.cell import Cell, as_batch_file
from flent_aqm.testbed.guest_files import IN_GUEST, RESULTS_IN_GUEST
from flent_aqm.testbed.virtual import Lab

# Which servers a test needs besides irtt, by the beginning of its name. A server that
# isn't started costs no time; what isn't listed gets all of them.
_SERVERS = {
    "ndt7": ("irtt", "iperf3", "ndt7-cleartext"),
    "iperf3": ("irtt", "iperf3"),
    "rrul": ("irtt", "netserver"),
    "tcp_": ("irtt", "netserver"),
}
_ALL_SERVERS = ("irtt", "iperf3", "netserver", "ndt7-cleartext")


@dataclass(frozen=True)
class Done:
    """A finished run: its scores, seconds on the guest's clock, seconds on ours."""

    cell: Cell
    scores: Scores
    virtual_s: float
    wall_s: float


def run_cell(cell: Cell, facts: finish.HostFacts) -> Done:
    """Run a cell and write its data file.

    Raises an AqmError with the cause; then there is no data file. The log is written in
    both cases.
    """
    started = time.monotonic()
    lab = Lab(
        cell.scenario,
        ["flent", "-B", f"{IN_GUEST}/cell.batch", "-b", cell.batch_name,
         "-D", RESULTS_IN_GUEST, *cell.options],
        servers=servers_for(cell.test_name),
        env={"FLENT_AQM_WITHOUT_PLOTS": "1"},
        wall_limit_s=defaults.WALL_LIMIT_S,
    )
    with lab, _log_kept(cell, lab):
        (lab.folder / "cell.batch").write_text(as_batch_file(cell))
        outcome = lab.run()
        files = list(lab.results.glob("*.flent.gz"))
        if len(files) != 1:
            raise LabError(_cause(lab))
        for capture in lab.results.glob("*.pcap"):  # of a test with keep_pcap
            shutil.copyfile(capture, cell.folder / f"{cell.name}.pcap")
        # Last, as a run is done when its data file is there.
        scores = finish.finish(files[0], cell, facts, outcome)
    return Done(cell, scores, outcome.virtual_s, time.monotonic() - started)


def servers_for(test_name: str) -> tuple[str, ...]:
    """The servers that a test needs."""
    for beginning, servers in _SERVERS.items():
        if test_name.startswith(beginning):
            return servers
    return _ALL_SERVERS


def _cause(lab: Lab) -> str:
    """The first error that Flent reported, as one line."""
    text = lab.stderr.read_text(errors="replace") if lab.stderr.exists() else ""
    for mark in ("ERROR:", "Traceback"):
        for line in text.splitlines():
            if mark in line:
                return line.split("ERROR:")[-1].strip()
    last = text.strip().splitlines()[-1:]
    return f"Flent wrote no data file; its last words: {last[0] if last else 'none'}"


@contextlib.contextmanager
def _log_kept(cell: Cell, lab: Lab) -> Iterator[None]:
    """Keep what Flent and the guest said in the cell's log, and, packed, what the tools
    printed in full, which is Flent's debug log."""
    try:
        yield
    finally:
        tools = next(lab.results.glob("*.debug.log"), lab.results / "none")
        if tools.exists():
            with tools.open("rb") as plain, gzip.open(cell.tools_log_file, "wb", 6) as packed:
                shutil.copyfileobj(plain, packed)
        with contextlib.suppress(OSError), cell.log_file.open("a", errors="replace") as log:
            for title, path in (("flent", lab.stdout), ("flent, errors", lab.stderr),
                                ("guest's console", lab.folder / "console")):
                if path.exists() and (text := path.read_text(errors="replace").strip()):
                    log.write(f"--- {title}\n{text}\n")
            for path in sorted(set(lab.results.glob("*.log")) - {tools}):
                log.write(f"--- {path.name}\n{path.read_text(errors='replace').strip()}\n")
