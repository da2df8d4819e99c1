# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the plots that this package adds."""

from __future__ import annotations

from collections.abc import Iterator

from flent_aqm.show.plots.catalogue import LATENCY, OURS, THROUGHPUT, Plot
from release.website.reference.rows import table

_FOR = (("latency", LATENCY), ("latency and throughput", THROUGHPUT),
        ("this package's tests", OURS))


def plots() -> Iterator[str]:
    """Yield the lines of a Markdown table, a row for each plot that this package adds: name, which
    tests it is for, description."""
    yield from table(("`flent -p`", "for tests with", "what it shows"), (
        (f"`{name}`", tests, str(plot["description"]))
        for tests, catalogue in _FOR for name, plot in catalogue.items()))


def described() -> dict[str, str]:
    """Return a dict: name of each plot that this package adds -> its description."""
    every: dict[str, Plot] = {**LATENCY, **THROUGHPUT, **OURS}
    return {name: str(plot["description"]) for name, plot in every.items()}
