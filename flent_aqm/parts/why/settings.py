# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the settings of a run for readers of an explanation: queue with its limit, rate, base RTT,
and all that differs from its default."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flent_aqm.base.words import plain
from flent_aqm.parts.why.flow_names import DIRECTION
from flent_aqm.results.metrics.run import Run
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.cross_traffic import BULK, parse_cross_traffic
from flent_aqm.spec.scenario import Scenario

# Settings that have lines of their own.
_TOLD = ("seed", "aqm", "aqm_parameters", "up_aqm", "up_aqm_parameters", "rate_down_mbps",
         "rate_up_mbps", "base_delay_ms", "cross_traffic")
# Ending of a parameter's name as the kernel reports it -> divisor and unit for readers.
_UNITS = {"_packets": (1, "packets"), "_us": (1000, "ms"), "_bytes": (1000, "kB"),
          "_ms": (1, "ms"), "_pct": (1, "%")}


def settings_of(cell: Cell, run: Run) -> Sequence[tuple[str, str]]:
    """Return (name, value) of a run's settings for readers, the most important first: Test, Queue
    (if the directions differ: "Queue, upload" and "Queue, download"), Rate, Base RTT, Cross
    traffic, Other settings (if any), Seed.

    Args:
        cell: the run as it was requested.
        run: the run as it was measured, with what the router's kernel reported.
    """
    scenario = cell.scenario
    router = scenario.router
    parameters = {name: value for name, value in cell.test_parameters.items()
                  if name != "cross_traffic"}
    test = cell.test_name + "".join(f", {name} {value}" for name, value in parameters.items())
    queues = {way: _queue(router.queue(way)[0], run.applied(DIRECTION[way]))
              for way in ("up", "down")}
    if queues["up"] == queues["down"]:
        told = [("Queue", queues["up"])]
    else:
        told = [(f"Queue, {DIRECTION[way]}", text) for way, text in queues.items()]
    cross = parse_cross_traffic("cross_traffic", cell.test_parameters.get("cross_traffic", False))
    others = [f"{name} {_text(value)}" for name, value in scenario.differing().items()
              if name not in _TOLD]
    return [(name, plain(value)) for name, value in (
        ("Test", test), *told, ("Rate", _rates(scenario, run)),
        ("Base RTT", f"{scenario.path.base_delay_ms:g} ms, without any queue"),
        ("Cross traffic", BULK if cross is True else cross or "none"),
        *([("Other settings", "; ".join(others))] if others else []),
        ("Seed", str(scenario.lab.seed)))]


def _rates(scenario: Scenario, run: Run) -> str:
    """Return the rate of the router's shaper, or that it doesn't shape, and the rate of the trace
    that a link plays, else of the modem, else of the Wi-Fi channel, if there is one: a packet waits
    before the slower one.

    Args:
        scenario: the settings of the run.
        run: the run as it was measured.
    """
    router, path = scenario.router, scenario.path
    if run.settings.get("link_down_trace") or run.settings.get("link_up_trace"):
        line = f"of the link: {run.settings['rate_mbps']}"
    elif path.modem_up_mbps:
        line = f"of the modem: {_both(path.modem_up_mbps, path.modem_down_mbps)}"
    elif channel := run.settings.get("wifi_rates_mbps"):
        line = f"of the Wi-Fi channel: {channel} Mbit/s"
    else:
        line = ""
    if router.shaper == "none":
        return f"{line or 'not limited'}; the router does not shape"
    shaped = _both(router.rate_up_mbps, router.rate_down_mbps)
    return f"of the shaper: {shaped}; {line}" if line else shaped


def _both(up_mbps: float, down_mbps: float | None) -> str:
    """Return the rates of the directions, once if they are the same."""
    return (f"{up_mbps:g} Mbit/s" if up_mbps == down_mbps
            else f"{up_mbps:g} Mbit/s upload, {down_mbps:g} download")


def in_short(settings: Sequence[tuple[str, str]]) -> str:
    """Return the settings of settings_of() as one text, with "; " between them, the most important
    first. It is shorter than they are: without names of qdiscs, and without cross traffic if there
    is none. Queues that differ begin with their direction, such as "upload codel"."""
    known = dict(settings)
    # The qdisc's own name is the longest, and says the least.
    queues = [(f"{name.removeprefix('Queue, ')} " if name != "Queue" else "")
              + re.sub(r" \([\w-]+\)", "", value, count=1)
              for name, value in settings if name.startswith("Queue")]
    first = [known["Test"], *queues, known["Rate"], f"base RTT {known['Base RTT'].split(',')[0]}"]
    return "; ".join([*first, *(f"{name.lower()} {value}" for name, value in settings
                                if name in ("Cross traffic", "Other settings", "Seed")
                                and value != "none")])


def _queue(name: str, applied: Mapping[str, Any]) -> str:
    """Return the name of a direction's queue with the parameters that the kernel reported, such as
    "codel, limit 1000 packets, interval 100 ms, target 5 ms".

    Args:
        name: the queue's name as requested. The qdisc's name follows in brackets if the kernel
            reported another one.
        applied: settings that the kernel reported of the direction, see Run.applied(). Parameters
            are left out if it has none.
    """
    reported = applied.get("qdisc_parameters", {})
    words = [name] if applied.get("qdisc") in (None, name) else [f"{name} ({applied['qdisc']})"]
    # The limit first: it is what a queue that isn't managed has.
    for parameter, value in sorted(reported.items(), key=lambda one: (
            not one[0].startswith("limit"), one[0])):
        ending = next((one for one in _UNITS if parameter.endswith(one)), "")
        label = parameter.removesuffix(ending).replace("_", " ")
        if ending and isinstance(value, (int, float)):
            divisor, unit = _UNITS[ending]
            # The kernel reports 5 ms as 4999 us.
            words.append(f"{label} {round(value / divisor, 2):g} {unit}")
        else:
            words.append(f"{label} {_text(value)}")
    return ", ".join(words)


def _text(value: object) -> str:
    """Return a setting's value in the words of batch files: yes or no for booleans, "NAME=VALUE
    NAME=VALUE" for parameters, str() of all others."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={one}" for name, one in value.items())
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
