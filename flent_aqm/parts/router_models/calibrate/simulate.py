# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures a router model in the virtual lab: goodput and rise of latency."""

from __future__ import annotations

import json
import shlex
import statistics
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import BadResult, LabError
from flent_aqm.lab.virtual import Lab
from flent_aqm.measure.parsers.iperf3 import parse_iperf3
from flent_aqm.parts.router_models.calibrate.points import MeasuredResult, Setting
from flent_aqm.router.hook import apply_command
from flent_aqm.spec.scenario import Scenario

# The load's first second (slow start) is not measured. The next three are.
_WARM_UP_S, _LENGTH_S = 1, 3
# Interval of the probes in ms. It is no multiple of a packet's transmission time at a round rate,
# so that probes don't always arrive at the same moment between two packets.
_PROBE_MS = 9.9
_AQM = "fq_codel"


def measure(model: str, settings: Sequence[Setting], *, latency: bool = True
            ) -> list[MeasuredResult]:
    """Measure a model in each setting, all in one boot of the lab.

    Return the goodput, and the rise of latency if `latency`, of each setting. `model` is the text
    of the router model. Raises LabError if a setting could not be measured.
    """
    scenarios = [Scenario.from_settings({
        "aqm": _AQM if latency else "no_aqm", "rate_mbps": one.rate_mbps,
        "burst_shaping": one.burst_shaping, "router_model": model}) for one in settings]
    probe = f"irtt client -Q -i {_PROBE_MS}ms -d {{}}s -o {{}} server:2112 >/dev/null"
    lines = ["set -e"]
    for number, (scenario, setting) in enumerate(zip(scenarios, settings, strict=True)):
        lines.append(f"{shlex.join(apply_command(scenario))} >/dev/null")
        if latency:
            lines.append(probe.format(1, f"/run/results/idle{number}.json"))
            loaded = probe.format(_LENGTH_S, f"/run/results/load{number}.json")
            lines.append(f"(sleep {_WARM_UP_S}; {loaded}) &")
        load = f"iperf3 -J -c server -P {setting.flows} -O {_WARM_UP_S} -t {_LENGTH_S}"
        lines += [f"{load} > /run/results/{number}.json", "wait"]
    with Lab(scenarios[0], ["sh", "-c", "\n".join(lines)], servers=["iperf3", "irtt"]) as lab:
        outcome = lab.run()
        if outcome.status:
            raise LabError(f"a router {model} could not be measured: "
                           f"{lab.stderr.read_text(errors='replace').strip()[-300:]}")
        return [MeasuredResult(_received_mbps((lab.results / f"{number}.json").read_text()),
                         _rise_ms(lab.results, number) if latency else None)
                for number in range(len(settings))]


def _received_mbps(text: str) -> float:
    """Return the goodput in iperf3's JSON output, in Mbit/s."""
    return parse_iperf3(text).totals["upload"].received_mbps


def _rise_ms(results: Path, number: int) -> float:
    """Return by how much the load raised the median round-trip time in the setting with this
    number, in ms, at least 0."""
    idle, load = (_median_ms(results / f"{name}{number}.json") for name in ("idle", "load"))
    return max(0.0, load - idle)


def _median_ms(path: Path) -> float:
    """Return the median round-trip time in a file of irtt, in ms. Raises BadResult if no reply
    came."""
    trips = json.loads(path.read_text())["round_trips"]
    rtt_ms = [one["delay"]["rtt"] / 1e6 for one in trips if "rtt" in one.get("delay", {})]
    if not rtt_ms:
        raise BadResult("no probe came back through the modelled router")
    return float(statistics.median(rtt_ms))
