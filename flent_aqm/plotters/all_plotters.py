# SPDX-License-Identifier: GPL-3.0-or-later
"""Our plotters by the name that a plot gives under the key 'type'. Flent's own names win."""

from __future__ import annotations

from flent_aqm.plotters.cdf import (
    AqmCdfPlotter,
    AqmLogCdfCombinePlotter,
    AqmLogCdfPlotter,
)
from flent_aqm.plotters.from_zero import (
    AqmBoxCombinePlotter,
    AqmBoxPlotter,
    AqmTimeseriesPlotter,
)

PLOTTERS: dict[str, type] = {
    "aqm_box": AqmBoxPlotter,
    "aqm_box_combine": AqmBoxCombinePlotter,
    "aqm_cdf": AqmCdfPlotter,
    "aqm_log_cdf": AqmLogCdfPlotter,
    "aqm_log_cdf_combine": AqmLogCdfCombinePlotter,
    "aqm_timeseries": AqmTimeseriesPlotter,
}
