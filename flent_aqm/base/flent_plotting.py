# SPDX-License-Identifier: GPL-3.0-or-later
"""What our plotters use of Flent. Apart from flent_api, as it imports matplotlib."""

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
