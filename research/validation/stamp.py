# SPDX-License-Identifier: GPL-3.0-or-later
"""Stamps of the numbers on a page in docs/: what they were measured with.

A comment opens each part that a program writes, and one line for the whole page follows from the
comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from flent_aqm import __version__
from flent_aqm.results.metrics.run import Run
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.parts import tool_versions

LINE = "*Measured with "
# Part: versions; kernels; day; number of runs.
_COMMENT = re.compile(r"^<!-- (?P<part>[\w ]+): (?P<versions>[\w., ]+); (?P<kernels>[^;]+); "
                      r"(?P<date>\d{4}-\d\d-\d\d)(?:; (?P<runs>\d+))? -->$", re.MULTILINE)


@dataclass(frozen=True)
class Made:
    """What numbers were measured with.

    Attributes:
        versions: versions of this package.
        kernels: release and hash of each kernel, RELEASE (HASH). Kernels of runs in real time have
            "real time" in place of a hash.
        date: day of the newest run, YYYY-MM-DD.
        runs: number of runs, 0 if it doesn't matter.
    """

    versions: tuple[str, ...]
    kernels: tuple[str, ...]
    date: str
    runs: int = 0

    def comment(self, part: str) -> str:
        """Return the comment that opens a part of a page, <!-- PART: VERSIONS; KERNELS; DATE; RUNS
        -->, without the runs if their number is 0. part: name of the part."""
        runs = f"; {self.runs}" if self.runs else ""
        return (f"<!-- {part}: {', '.join(self.versions)}; {', '.join(self.kernels)}; "
                f"{self.date}{runs} -->")


def made_now() -> Made:
    """Return the stamp of numbers that are measured now, by this package and the kernel of
    find_kernel(), with today's date (UTC) and without a number of runs. Raises ToolMissing if there
    is no kernel."""
    # The hash tells apart kernels of one version with other options or patches.
    kernel = f"{tool_versions().get('lab kernel')} ({find_kernel().hash or 'unknown'})"
    return Made((__version__,), (kernel,), f"{datetime.now(UTC):%Y-%m-%d}")


def made_of(runs: Sequence[Run]) -> Made:
    """Return the stamp of numbers that come from these runs. Raises ValueError without a run."""
    kernels = [kernel for run in runs if isinstance(kernel := run.aqm.get("kernel"), dict)]
    return Made(
        tuple(sorted({str(run.aqm.get("flent_aqm")) for run in runs})),
        tuple(sorted({f"{one.get('version')} ({one.get('hash') or 'real time'})"
                      for one in kernels})),
        max(str(run.aqm.get("finished_at"))[:10] for run in runs), len(runs))


def parts_of(page: str) -> dict[str, Made]:
    """Return name of a part -> its stamp, for each stamped part of a page's text."""
    return {match["part"]: Made(tuple(match["versions"].split(", ")),
                                tuple(match["kernels"].split(", ")), match["date"],
                                int(match["runs"] or 0))
            for match in _COMMENT.finditer(page)}


def line(parts: Iterable[Made]) -> str:
    """Return the page's line: every version and kernel, the first and the last day, and the number
    of all runs, which is left out if it is 0. `parts`: the stamps of the page's parts, at least
    one."""
    parts = list(parts)
    versions, kernels = (", ".join(sorted({one for part in parts for one in getattr(part, name)}))
                         for name in ("versions", "kernels"))
    days = sorted({part.date for part in parts})
    runs = sum(part.runs for part in parts)
    when = " to ".join(dict.fromkeys((days[0], days[-1])))
    return (f"{LINE}flent-aqm {versions} on Linux {kernels}, {when}"
            + (f": {runs} runs.*" if runs else ".*"))


def renewed(page: str) -> str:
    """Return a page's text with the line that begins with "*Measured with " written again, from the
    stamps of the page's parts. Raises ValueError if it doesn't have exactly one such line, or has
    no part with a stamp."""
    lines = page.split("\n")
    places = [place for place, text in enumerate(lines) if text.startswith(LINE)]
    if len(places) != 1:
        raise ValueError(f"{len(places)} lines begin with {LINE!r}, where one is expected")
    parts = parts_of(page)
    if not parts:
        raise ValueError("no part of the page has a stamp; expected a line <!-- PART: VERSIONS; "
                         "KERNELS; DATE -->")
    lines[places[0]] = line(parts.values())
    return "\n".join(lines)
