# SPDX-License-Identifier: GPL-3.0-or-later
"""One run: make its network, let Flent run the cell inside, finish its data file."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass

from flent_aqm.errors import LabError
from flent_aqm.metrics.scores import Scores
from flent_aqm.sweep import finish
from flent_aqm.sweep.cell import BATCH_NAME, Cell, as_batch_file
from flent_aqm.sweep.flent_settings import as_words
from flent_aqm.sweep.needs import needs_of
from flent_aqm.testbed.place import Place
from flent_aqm.testbed.protocol import FlentRun, Testbed


@dataclass(frozen=True)
class Done:
    """A finished run: its scores, seconds on the guest's clock if it has one, and on ours."""

    cell: Cell
    scores: Scores
    virtual_s: float | None
    wall_s: float


def run_cell(cell: Cell, testbed: Testbed, facts: finish.SweepFacts) -> Done:
    """Run a cell and write its data file.

    Raises an AqmError with the cause; then there is no data file. The log is written in
    both cases.
    """
    started = time.monotonic()
    place = testbed.place(cell.scenario, FlentRun(
        as_batch_file(cell), BATCH_NAME, as_words(cell.settings),
        needs_of(cell.test_name).servers, cell.length_s))
    with place, _log_kept(cell, place):
        outcome = place.run()
        files = list(place.results.glob("*.flent.gz"))
        if len(files) != 1:
            raise LabError(_cause(place))
        for capture in place.results.glob("*.pcap"):  # of a test with keep_pcap
            shutil.copyfile(capture, cell.folder / f"{cell.name}.pcap")
        # Last, as a run is done when its data file is there.
        scores = finish.finish(files[0], cell, facts, outcome)
    return Done(cell, scores, outcome.virtual_s, time.monotonic() - started)


def _cause(place: Place) -> str:
    """The first error that Flent reported, as one line."""
    text = place.stderr.read_text(errors="replace") if place.stderr.exists() else ""
    for mark in ("ERROR:", "Traceback"):
        for line in text.splitlines():
            if mark in line:
                return line.split("ERROR:")[-1].strip()
    last = text.strip().splitlines()[-1:]
    return f"Flent wrote no data file; its last words: {last[0] if last else 'none'}"


@contextlib.contextmanager
def _log_kept(cell: Cell, place: Place) -> Iterator[None]:
    """Keep what Flent and the guest said in the cell's log, and, packed, what the tools
    printed in full, which is Flent's debug log."""
    try:
        yield
    finally:
        tools = next(place.results.glob("*.debug.log"), place.results / "none")
        if cell.debug_log and tools.exists():
            with tools.open("rb") as plain, gzip.open(cell.tools_log_file, "wb", 6) as packed:
                shutil.copyfileobj(plain, packed)
        with contextlib.suppress(OSError), cell.log_file.open("a", errors="replace") as log:
            for title, path in (("flent", place.stdout), ("flent, errors", place.stderr),
                                ("guest's console", place.folder / "console")):
                if path.exists() and (text := path.read_text(errors="replace").strip()):
                    log.write(f"--- {title}\n{text}\n")
            for path in sorted(set(place.results.glob("*.log")) - {tools}):
                log.write(f"--- {path.name}\n{path.read_text(errors='replace').strip()}\n")
