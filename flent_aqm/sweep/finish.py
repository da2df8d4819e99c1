# SPDX-License-Identifier: GPL-3.0-or-later
"""Completes the data file that Flent wrote in the guest, and writes it to the results folder.

Adds metadata that only the host knows, refuses incomplete runs, and writes the file atomically.
"""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flent_aqm import __version__
from flent_aqm.base.errors import BadResult
from flent_aqm.base.whole_file import written_whole
from flent_aqm.lab.package_copy import package_hash
from flent_aqm.lab.place import Outcome
from flent_aqm.lab.protocol import Facts
from flent_aqm.results.data_file import parse_data_file
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.scores import Scores, scores
from flent_aqm.spec.cell import Cell

# Version of the object AQM in a data file's metadata. Its history is in
# docs/reference/data-format.md.
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class SweepFacts:
    """Facts that are the same for all runs of a sweep on one testbed and kernel."""

    testbed: Facts
    tools: Mapping[str, str] = field(default_factory=dict)  # name -> version


def finish(made: bytes, cell: Cell, facts: SweepFacts, outcome: Outcome) -> Scores:
    """Complete the data file that the guest made, and write it as cell.data_file.

    Args:
        made: content of the file that Flent wrote.
        cell: the planned run.
        facts: facts of the testbed and this machine's tools.
        outcome: durations and reports of the run's network.

    Returns the run's scores. Raises BadResult if the file can't be read or the run is not complete,
    OSError if the file can't be written. In both cases no file is written.
    """
    file = parse_data_file(made, cell.data_file)
    data, metadata = file.whole, file.metadata
    refuse_incomplete(data)
    metadata.update(cell.metadata)
    metadata["DATA_FILENAME"] = cell.data_file.name
    _measure_length(data, metadata)
    _name_capture(metadata, cell.capture_file.name)
    inside = metadata.get("AQM", {})
    metadata["AQM"] = {
        "schema": SCHEMA_VERSION,
        **inside,
        "run": cell.as_metadata,
        "flent_aqm": __version__,
        "flent_aqm_hash": package_hash(),
        # In real time there is no model of the router, and a seed has no effect.
        **({"router_model": None, "seed": None} if outcome.virtual_s is None else {}),
        "kernel": dict(facts.testbed.kernel),
        "tools": dict(facts.tools),
        "hosts": {**facts.testbed.hosts,
                  "moderation_us": dict(outcome.host_moderation_us) or None},
        **{name: dict(reported) for name, reported in outcome.models.items()},
        **({"coverage": sorted(outcome.coverage.items())} if outcome.coverage else {}),
        "virtual_s": outcome.virtual_s,
        "wall_s": round(outcome.wall_s, 3),
        "samples_sha256": samples_sha256(data),
        "finished_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    run_scores = scores(as_run(file))
    metadata["AQM"]["warnings"] = [*inside.get("warnings", []), *run_scores.warnings]
    write_whole(cell.data_file, data)
    return replace(run_scores, router_warnings=tuple(map(str, inside.get("warnings", []))))


def _measure_length(data: Mapping[str, Any], metadata: dict[str, Any]) -> None:
    """Set TOTAL_LENGTH to the time of the last result if the test had a speed test, whose client
    decides when it ends. Flent records the longest possible duration, from which plots would
    compute the time under load."""
    if any("SPEEDTEST" in meta for meta in metadata.get("SERIES_META", {}).values()
           if isinstance(meta, dict)):
        metadata["TOTAL_LENGTH"] = min(metadata["TOTAL_LENGTH"], max(data["x_values"]))


def _name_capture(metadata: Mapping[str, Any], name: str) -> None:
    """Set the name of the capture file in the metadata, because the file is renamed when it leaves
    the guest."""
    for meta in metadata["SERIES_META"].values():
        capture = meta.get("CAPTURE") if isinstance(meta, dict) else None
        if isinstance(capture, dict) and "file" in capture:
            capture["file"] = name


def refuse_incomplete(data: Mapping[str, Any]) -> None:
    """Raise BadResult if a tool of the run failed, the router was not read back before and after
    the test, or the file has no samples. data: the content of a data file."""
    metadata = data["metadata"]
    series_meta = metadata.get("SERIES_META")
    causes = [f"{name}: {line}" for name, meta in (series_meta or {}).items()
              if isinstance(meta, dict) for line in meta.get("ERROR", [])]
    if not causes and metadata.get("FAILED_RUNNERS"):
        causes = [f"{metadata['FAILED_RUNNERS']} of the test's tools gave no data; see the log"]
    proof = metadata.get("AQM", {})
    if not causes and not ("before" in proof and "after" in proof):
        causes = [("the file has no read-back of the router (before, after): does the batch's "
                   "key commands name router?")]
    if not causes and not any(data.get("raw_values", {}).values()):
        causes = ["the file has no samples"]
    if causes:
        raise BadResult("; ".join(causes))


def samples_sha256(data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a data file's measurements: its samples, and the results that Flent
    computed from them."""
    measured = [data.get(key) for key in ("raw_values", "x_values", "results")]
    return hashlib.sha256(json.dumps(measured, sort_keys=True).encode()).hexdigest()


def write_whole(path: Path, data: Mapping[str, Any]) -> None:
    """Write a data file atomically, and make its folder if it doesn't exist. Raises OSError."""
    write_packed(path, json.dumps(data, allow_nan=False).encode())


def write_packed(path: Path, text: bytes) -> None:
    """Compress the JSON text of a data file and write it atomically, and make its folder if it
    doesn't exist. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (written_whole(path) as raw,
          # No name and time in the gzip header: the same data gives the same bytes.
          gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed):
        packed.write(text)
