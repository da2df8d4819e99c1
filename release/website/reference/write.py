# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the parts of README.md and docs/reference/ again that follow from the code.

    make reference
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from release.website.reference import columns, commands, demo, keys, metrics, plots, queues, tools
from research.validation import marked

ROOT = Path(__file__).resolve().parents[3]
# Page and part -> what yields its lines.
PARTS: Mapping[tuple[str, str], Callable[[], Iterator[str]]] = {
    ("README.md", "demo"): demo.demo,
    ("docs/reference/keys.md", "keys"): keys.keys,
    ("docs/reference/keys.md", "test parameters"): keys.test_parameters,
    ("docs/reference/queues.md", "queues"): queues.queues,
    ("docs/reference/tools.md", "tests"): tools.tests,
    ("docs/reference/tools.md", "methods"): tools.methods,
    ("docs/reference/tools.md", "servers"): tools.servers,
    ("docs/reference/tools.md", "optional"): tools.optional,
    ("docs/reference/metrics.md", "metrics"): metrics.metrics,
    ("docs/reference/plots.md", "plots"): plots.plots,
    ("docs/reference/commands.md", "commands"): commands.commands,
    ("docs/reference/data-format.md", "columns of runs"): columns.run_columns,
    ("docs/reference/data-format.md", "columns of samples"): columns.sample_columns,
}


def text(page: str, part: str) -> str:
    """Return a part's text as the code gives it, without a line end at its end. Raises KeyError if
    PARTS doesn't have the part.

    Args:
        page: path of the page from the source tree's top.
        part: name of the part.
    """
    return "\n".join(PARTS[page, part]()).rstrip("\n")


def written(page: str, part: str) -> str | None:
    """Return a part's text as its page has it, None if the page lacks the part. Raises OSError if
    there is no page.

    Args:
        page: path of the page from the source tree's top.
        part: name of the part.
    """
    found = re.search(rf"^<!-- {part}: .*-->\n(.*?)\n<!-- end of {part} -->$",
                      (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return found[1] if found else None


def main() -> None:
    """Write the parts of PARTS into their pages, in place of what these have. Raises ConfigError if
    a page lacks a part's marks or can't be written."""
    for page, part in PARTS:
        marked.replace(ROOT / page, part, text(page, part))


if __name__ == "__main__":
    main()
