# SPDX-License-Identifier: GPL-3.0-or-later
"""Data files for tests/golden/papers: the part of a run that its paper's numbers need.

    .venv/bin/python -m research.validation.papers ware2019 results/papers-… \\
        --keep tests/golden/papers
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from flent_aqm.results.data_file import read_data_file

# Fields kept in samples of the router's queues and of throughput. Other fields, other series, and
# the resampled form of all series are removed.
_FIELDS = ("t", "val", "dur", "up_backlog_bytes", "up_backlog_packets", "up_sent_bytes")
_NEEDED = ("Queues", "TCP upload", "UDP upload")


def keep(path: Path, target: Path) -> None:
    """Write the part of a data file that the paper's numbers need: metadata, and of the samples of
    queues and upload throughput the fields that these numbers use. Equal input gives equal bytes.
    Raises BadResult if the data file can't be read or is damaged, OSError if `target` can't be
    written.

    Args:
        path: the data file.
        target: the file to write. Its folder is created.
    """
    data = read_data_file(path)
    raw = {name: [_needed_fields(sample) for sample in samples]
           for name, samples in data.raw_values.items() if name.startswith(_NEEDED)}
    whole = {**data.whole, "raw_values": raw, "results": {}, "x_values": [],
             "metadata": {**data.metadata, "SERIES_META": {
                 name: meta for name, meta in data.series_meta.items() if name in raw}}}
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(json.dumps(whole).encode(), mtime=0))


def _needed_fields(sample: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in sample.items() if key in _FIELDS}
