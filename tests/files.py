# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of the checkout and of golden files, and reading and writing of data files without the
package's own checks."""

from __future__ import annotations

import gzip
import json
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
