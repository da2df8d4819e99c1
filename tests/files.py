# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of the checkout and of golden files, and reading and writing of data files without the
package's own checks."""

from __future__ import annotations

import copy
import gzip
import json
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
# Data files of real runs, one of each test.
RUNS = GOLDEN / "runs"


def load(path: Path) -> Any:
    """Return the content of a data file."""
    return json.loads(gzip.decompress(path.read_bytes()))


def packed(content: Any) -> bytes:
    """Return the bytes of a data file with this content."""
    return gzip.compress(json.dumps(content).encode(), 1)


def save(path: Path, content: Any) -> Path:
    """Write a data file, and return its path."""
    path.write_bytes(packed(content))
    return path


def at_another_time(content: Any, later_s: float) -> Any:
    """Return a copy of a data file's content in which all samples, and the load, are later."""
    moved = copy.deepcopy(content)
    for samples in moved["raw_values"].values():
        for one in samples:
            one["t"] += later_s
    for about in moved["metadata"]["SERIES_META"].values():
        for key in {"LOAD_START", "LOAD_END"} & about.keys():
            about[key] += later_s
    return moved


def assert_as_kept(file: Path, found: Any) -> None:
    """Assert that a value, as JSON, is that of a golden file. If KEEP_GOLDEN is set, write the file
    first."""
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("KEEP_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert json.loads(text) == json.loads(file.read_text())
