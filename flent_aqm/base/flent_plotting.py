# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports the plotters and combiners of Flent that this package uses, under Flent's names.

They are not in flent_api.py because they import matplotlib, which runs in the lab do without.
"""

from __future__ import annotations

from flent.combiners import new as new_combiner
from flent.plotters import (
    COLOURS,
    BarPlotter,
    BoxPlotter,
    CdfPlotter,
    MetaPlotter,
    Plotter,
    TimeseriesPlotter,
)

__all__ = [
    "COLOURS",
    "BarPlotter",
    "BoxPlotter",
    "CdfPlotter",
    "MetaPlotter",
    "Plotter",
    "TimeseriesPlotter",
    "new_combiner",
]
