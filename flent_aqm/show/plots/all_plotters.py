# SPDX-License-Identifier: GPL-3.0-or-later
"""List this package's plotters by the name that a plot has under its key `type`.

Flent's own names win.
"""

from __future__ import annotations

from flent_aqm.show.plots.compare import AqmCompareSidesPlotter
from flent_aqm.show.plots.compare_ecdf import AqmCompareEcdfPlotter
from flent_aqm.show.plots.compare_metric import AqmCompareMetricPlotter
from flent_aqm.show.plots.delay_parts import AqmDelayPartsPlotter
from flent_aqm.show.plots.flents_own import (
    AqmBarCombinePlotter,
    AqmBoxCombinePlotter,
    AqmBoxPlotter,
    AqmCdfPlotter,
    AqmMetaPlotter,
    AqmTimeseriesPlotter,
)
from flent_aqm.show.plots.heat import AqmHeatPlotter
from flent_aqm.show.plots.instant import AqmInstantPlotter
from flent_aqm.show.plots.latency import (
    AqmGlitchesPlotter,
    AqmIdleLoadedPlotter,
    AqmLatencyCdfPlotter,
    AqmPercentilesOverTimePlotter,
    AqmTailPlotter,
)
from flent_aqm.show.plots.latency_and_throughput import AqmLatencyAndThroughputPlotter
from flent_aqm.show.plots.overlay import AqmOverlayPlotter
from flent_aqm.show.plots.queues import AqmQueuesPlotter
from flent_aqm.show.plots.side_by_side import AqmSideBySidePlotter
from flent_aqm.show.plots.tcp_info import AqmTcpInfoPlotter
from flent_aqm.show.plots.why import AqmWhyPlotter

PLOTTERS: dict[str, type] = {
    "aqm_bar_combine": AqmBarCombinePlotter,
    "aqm_box": AqmBoxPlotter,
    "aqm_box_combine": AqmBoxCombinePlotter,
    "aqm_cdf": AqmCdfPlotter,
    "aqm_compare_ecdf": AqmCompareEcdfPlotter,
    "aqm_compare_metric": AqmCompareMetricPlotter,
    "aqm_compare_sides": AqmCompareSidesPlotter,
    "aqm_delay_parts": AqmDelayPartsPlotter,
    "aqm_glitches": AqmGlitchesPlotter,
    "aqm_heat": AqmHeatPlotter,
    "aqm_idle_loaded": AqmIdleLoadedPlotter,
    "aqm_instant": AqmInstantPlotter,
    "aqm_latency_and_throughput": AqmLatencyAndThroughputPlotter,
    "aqm_latency_cdf": AqmLatencyCdfPlotter,
    "aqm_meta": AqmMetaPlotter,
    "aqm_overlay": AqmOverlayPlotter,
    "aqm_percentiles_over_time": AqmPercentilesOverTimePlotter,
    "aqm_queues": AqmQueuesPlotter,
    "aqm_side_by_side": AqmSideBySidePlotter,
    "aqm_tail": AqmTailPlotter,
    "aqm_tcp_info": AqmTcpInfoPlotter,
    "aqm_timeseries": AqmTimeseriesPlotter,
    "aqm_why": AqmWhyPlotter,
}
