# SPDX-License-Identifier: GPL-3.0-or-later
"""The plots that this package adds."""

from __future__ import annotations

from collections.abc import Iterator

from flent_aqm.show.plots.catalogue import LATENCY, OURS, THROUGHPUT, Plot
from release.website.reference.rows import table

_FOR = (("latency", LATENCY), ("latency and throughput", THROUGHPUT),
        ("this package's tests", OURS))


def plots() -> Iterator[str]:
    """Yield a row for each plot."""
    yield from table(("`flent -p`", "for tests with", "what it shows"), (
        (f"`{name}`", tests, str(plot["description"]))
        for tests, catalogue in _FOR for name, plot in catalogue.items()))


def described() -> dict[str, str]:
    """Return each plot's description by its name."""
    every: dict[str, Plot] = {**LATENCY, **THROUGHPUT, **OURS}
    return {name: str(plot["description"]) for name, plot in every.items()}
