# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the newest kept result of `make bench` into docs/performance.md.

    .venv/bin/python -m bench.document
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from validation import marked

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def main() -> None:
    """Write the page."""
    path = max(RESULTS.glob("2*.json"))
    marked.replace(PAGE, "figures", section(path.stem, json.loads(path.read_text())))


def section(when: str, result: dict[str, Any]) -> str:
    """Text and table of one result."""
    machine = result["machine"]
    lines = [(f"Measured {when} on {machine['cores']} cores of {machine['cpu']}, host kernel "
             f"{machine['kernel']}, lab kernel {result['versions']['lab kernel']}; load average "
             f"before it: {result['load_before']:.1f}."), "",
             "| | unit | wall | processor | target |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {one['name']} | {one['unit']} | {one['value']:.2f} | {_number(one.get('cpu'))} | "
              f"{_number(one['target'])} |" for one in result["figures"]]
    if "peer" in result:
        lines += ["", f"Peer: {result['peer']}."]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
