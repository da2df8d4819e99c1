# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab's router passes with a given timer latency."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from flent_aqm.asked.router_hook import apply_command
from flent_aqm.asked.router_model import with_latency
from flent_aqm.asked.scenario import Scenario
from flent_aqm.base.errors import LabError
from flent_aqm.measure.parsers.iperf3 import parse_iperf3
from flent_aqm.sweep.calibrate.points import Setting
from flent_aqm.testbed.virtual import Lab

# Slow start, which is left out, and the time that is measured.
_WARM_UP_S, _LENGTH_S = 1, 3


def goodputs_mbps(latency_ns: int, settings: Sequence[Setting]) -> list[float]:
    """The goodput of one iperf3 flow for each setting, all in one boot of the lab.

    Raises LabError when a setting could not be measured.
    """
    model = with_latency(latency_ns)
    scenarios = [Scenario(rate_up_mbps=one.rate_mbps, rate_down_mbps=one.rate_mbps,
                          burst_shaping=one.burst_shaping, router_model=model)
                 for one in settings]
    script = "set -e\n" + "\n".join(
        f"{shlex.join(apply_command(scenario))} >/dev/null\n"
        f"iperf3 -J -c server -O {_WARM_UP_S} -t {_LENGTH_S} > /run/results/{number}.json"
        for number, scenario in enumerate(scenarios))
    with Lab(scenarios[0], ["sh", "-c", script], servers=["iperf3"]) as lab:
        outcome = lab.run()
        if outcome.status:
            raise LabError(f"a router {model} late could not be measured: "
                           f"{lab.stderr.read_text(errors='replace').strip()[-300:]}")
        return [_received_mbps((lab.results / f"{number}.json").read_text())
                for number in range(len(settings))]


def _received_mbps(text: str) -> float:
    return parse_iperf3(text).totals["upload"].received_mbps
