# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists this package's runners for Flent, by the name that a test definition uses.

Flent's own names have precedence.
"""

from __future__ import annotations

from flent_aqm.measure.runners.capture import AqmCaptureRunner
from flent_aqm.measure.runners.cpu import AqmCpuRunner
from flent_aqm.measure.runners.cross import AqmCallRunner, AqmCrossRunner
from flent_aqm.measure.runners.iperf3 import AqmIperf3Runner
from flent_aqm.measure.runners.ndt7 import AqmNdt7Runner
from flent_aqm.measure.runners.netperf import AqmNetperfRunner
from flent_aqm.measure.runners.part import AqmPartRunner
from flent_aqm.measure.runners.probes import AqmIrttRunner, AqmPingRunner
from flent_aqm.measure.runners.program import AqmProgramRunner
from flent_aqm.measure.runners.qdisc import AqmQdiscRunner
from flent_aqm.measure.runners.rates import AqmRatesRunner
from flent_aqm.measure.runners.speedtest import AqmSpeedtestRunner

RUNNERS: dict[str, type] = {
    "aqm_call": AqmCallRunner,
    "aqm_capture": AqmCaptureRunner,
    "aqm_cpu": AqmCpuRunner,
    "aqm_cross": AqmCrossRunner,
    "aqm_iperf3": AqmIperf3Runner,
    "aqm_irtt": AqmIrttRunner,
    "aqm_ndt7": AqmNdt7Runner,
    "aqm_netperf": AqmNetperfRunner,
    "aqm_part": AqmPartRunner,
    "aqm_ping": AqmPingRunner,
    "aqm_program": AqmProgramRunner,
    "aqm_qdisc": AqmQdiscRunner,
    "aqm_rates": AqmRatesRunner,
    "aqm_speedtest": AqmSpeedtestRunner,
}
