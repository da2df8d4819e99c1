# SPDX-License-Identifier: GPL-3.0-or-later
"""Put the newest kept result of `make bench` into docs/results/performance.md.

    .venv/bin/python -m research.bench.document
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from research.validation import marked
from research.validation.stamp import Made

RESULTS = Path(__file__).parent / "results"
UNITS = {"s per virtual s": "s/s"}
PAGE = Path(__file__).parents[2] / "docs" / "results" / "performance.md"


def main() -> None:
    """Put the newest kept result into its part of docs/results/performance.md. Raises ValueError if
    no result is kept, ConfigError if the page can't be changed."""
    path = max(RESULTS.glob("2*.json"))
    result = json.loads(path.read_text())
    versions = result["versions"]
    kernel = f"{versions['lab kernel']} ({result['kernel_hash']})"
    made = Made((versions["flent-aqm"],), (kernel,), path.stem[:10])
    marked.replace(PAGE, "figures", section(result), made)


def section(result: dict[str, Any]) -> str:
    """Return text and table of one result in Markdown. Figures without a target are left out,
    except those of the peer (ns-3), whose names begin with "peer". The table has the processor time
    of a figure, or its value if that wasn't measured. A line about the peer follows if the result
    has one.

    result: the content of a file that run.py writes.
    """
    machine = result["machine"]
    lines = [(f"On {machine['cores']} cores of {machine['cpu']}, host kernel "
             f"{machine['kernel']}; load average before: {result['load_before']:.1f}. "
             "`s/s`: seconds per second of virtual time."), "",
             "| processor time | unit | | target |", "|---|---|---|---|"]
    lines += [" | ".join((f"| {one['name']}", UNITS.get(one["unit"], one["unit"]),
                          _number(one["value"] if one.get("cpu") is None else one["cpu"]),
                          f"{_number(one['target'])} |")) for one in result["figures"]
              if one["target"] is not None or one["name"].startswith("peer")]
    if "peer" in result:
        lines += ["", f"Peer: {result['peer']}."]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
