# SPDX-License-Identifier: GPL-3.0-or-later
"""Distributions of TCP's own values, which Flent draws."""

from __future__ import annotations

from flent_aqm.base.flent_plotting import CdfPlotter
from flent_aqm.show.plots.comparing import Comparing
from flent_aqm.show.plots.frame import FlentDrawn


class AqmCdfPlotter(FlentDrawn, Comparing, CdfPlotter):
    """Flent's plotter `cdf`, with the colours of queues."""
