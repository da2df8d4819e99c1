# SPDX-License-Identifier: GPL-3.0-or-later
"""Make NDT7 downloads over random lines whose queue is known: the runs that train the model.

    .venv/bin/python -m research.infer.recipe make FOLDER [--first 0] [--runs 3000] [--jobs 2]
                                                          [--scheduler tcp://HOST:PORT]
    .venv/bin/python -m research.infer.recipe show 17       what the settings of a run are

The settings of a run follow from its number alone, so any part of the 20,000 can be made anywhere
and in any order; runs whose data files are there are not repeated.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from flent_aqm.base.errors import AqmError, ConfigError, cause_of
from flent_aqm.parts.infer.classes import AQM, DROP_TAIL, SHORT
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.missing import make_missing

ALL_RUNS = 20_000
TEST = "ndt7_download"
# Bump it where anything below changes: other runs then have these numbers.
_VERSION = 2

_Of = TypeVar("_Of")

# Before and after the test, in place of Flent's 5 s: nobody looks at it.
_IDLE_S = 1
# Bounds of the router's rate and of the round-trip time of the idle path.
RATES_MBPS, RTTS_MS = (4.0, 400.0), (3.0, 400.0)
# A drop-tail queue below this depth shows no delay that tells it from a policer.
SHALLOW_MS = 20.0

# What a download meets beside the router's queue. LOSS: packets lost at random, each on its own.
# BURSTS: lost in groups. WINDOW: the sender may have less in flight than fills the path.
# PARALLEL: another download without a rate limit.
PLAIN, LOSS, BURSTS, JITTER = "plain", "loss", "bursts", "jitter"
WINDOW, PARALLEL = "window", "parallel"
TWO_BOTTLENECKS, WIFI, SLOW_ROUTER = "two_bottlenecks", "wifi", "slow_router"
# World -> weight in the draw.
WORLDS = {PLAIN: 29, LOSS: 17, BURSTS: 10, JITTER: 8, WINDOW: 6, PARALLEL: 8, TWO_BOTTLENECKS: 8,
          WIFI: 7, SLOW_ROUTER: 7}


@dataclass(frozen=True)
class Line:
    """A run of the recipe.

    Attributes:
        number: number of the run, from 0.
        world: one of WORLDS.
        queue: class drawn for the router's queue: DROP_TAIL, AQM or SHORT. The truth is what
            table.py says: in WIFI no such queue is used, and with TWO_BOTTLENECKS the modem's may
            decide.
        rate_mbps: the router's shaped rate in the download's direction, not used in WIFI.
        rtt_ms: round-trip time of the idle path.
        depth_ms: depth drawn for a drop-tail queue, which holds two frames even if these are more;
            or depth of the queue of one flow, if the queue keeps one without AQM for each. At
            rate_mbps, not used in WIFI. None for a policer and for AQMs.
        settings: batch keys and their values.
    """

    number: int
    world: str
    queue: str
    rate_mbps: float
    rtt_ms: float
    depth_ms: float | None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the data file, without suffix: NUMBER-WORLD, such as "00017-plain"."""
        return f"{self.number:05d}-{self.world}"


def line(number: int) -> Line:
    """Return the run with this number, from 0. All of it follows from the number, so it is always
    the same."""
    draw = _Draw(number)
    rate_mbps, rtt_ms = draw.between(*RATES_MBPS), draw.between(*RTTS_MS)
    world = draw.one(WORLDS)
    queue, depth_ms, settings = _draw_queue(draw, rate_mbps)
    cross_traffic = draw.one({"0": 84, "video": 8, "web": 8})
    settings |= {
        "rate_down_mbps": rate_mbps,
        "rate_up_mbps": max(_round(rate_mbps / draw.one({1: 4, 2: 2, 5: 2, 10: 2})), 1.0),
        "base_delay_ms": rtt_ms,
        "ndt7_cc": draw.one({"bbr": 6, "cubic": 3, "reno": 1}),
        "cross_traffic": "bulk" if world == PARALLEL else cross_traffic,
        "seed": number + 1}
    if world == WIFI:  # the channel is the bottleneck, and the queue in front of it stays empty
        settings |= {"aqm": "no_aqm", "shaper": "none", "tbf_burst_ms": ""}
        del settings["rate_down_mbps"], settings["rate_up_mbps"]
        settings = {key: value for key, value in settings.items() if not key.startswith("aqm_")}
    return Line(number, world, queue, rate_mbps, rtt_ms, depth_ms,
                settings | _world_settings(world, draw, rate_mbps, rtt_ms))


def digest() -> str:
    """Return a hash over the settings of all runs, as 16 hexadecimal digits. It is equal as long as
    the recipe gives the same runs."""
    everything = json.dumps([vars(line(number)) for number in range(ALL_RUNS)], sort_keys=True)
    return hashlib.sha256(everything.encode()).hexdigest()[:16]


def cell(run: Line, folder: Path, changes: Mapping[str, object] | None = None) -> Cell:
    """Return the run in the form that a sweep takes. Raises ConfigError if the settings don't fit
    together.

    Args:
        run: the run.
        folder: folder for the data file.
        changes: batch keys -> values in place of the run's own, such as a kernel.
    """
    settings = {"testbed": "virtual", **run.settings, **(changes or {})}
    scenario = Scenario.from_settings(settings)
    parameters = {"cross_traffic": settings["cross_traffic"]}
    return Cell(
        name=run.name, folder=folder, test_name=TEST, scenario=scenario,
        settings={"HOSTS": ["server"], "LENGTH": 10, "DELAY": _IDLE_S,
                  "TEST_PARAMETERS": parameters},
        commands=ROUTER_COMMAND, metadata={"BATCH_NAME": "infer", "TITLE": run.name},
        length_s=15.0)


class _Draw:
    """Draws the random values of one run. The same calls in the same order give the same values for
    a number, in all versions of Python, until _VERSION is changed. For that, nothing of Python's
    generator but random() is used.

    Args:
        number: number of the run.
    """

    def __init__(self, number: int) -> None:
        self._random = random.Random(f"infer {_VERSION} {number}")

    def between(self, low: float, high: float) -> float:
        """Return a random value between `low` and `high`, both above 0, whose logarithm is uniform,
        rounded to three significant digits."""
        return _round(low * (high / low) ** self._random.random())

    def one(self, weights: Mapping[_Of, int]) -> _Of:
        """Return one of the keys of `weights`, with probabilities in proportion to the weights."""
        point = self._random.random() * sum(weights.values())
        for value, weight in weights.items():
            point -= weight
            if point < 0:
                return value
        return value


def _round(value: float) -> float:
    return float(f"{value:.3g}")


def _draw_queue(draw: _Draw, rate_mbps: float) -> tuple[str, float | None, dict[str, object]]:
    """Draw a queue. Return its class (DROP_TAIL, AQM or SHORT), its depth in ms, and its batch keys
    -> values. The depth is that of a drop-tail queue, for sfq and fq that of one flow's queue. It
    is None for AQMs and for a policer, whose class is SHORT.

    Args:
        draw: random numbers of the run.
        rate_mbps: the router's rate in the download's direction, at which the depth holds.
    """
    kind = draw.one({"deep": 24, "shallow": 12, "policer": 10, "sfq": 4, "fq": 3, "codel": 9,
                     "pie": 8, "red": 5, "sfb": 2, "fq_codel": 13, "cake": 10})
    if kind in ("deep", "shallow"):
        depth_ms = draw.between(*((SHALLOW_MS, 1500) if kind == "deep" else (2, SHALLOW_MS)))
        return _class_by_depth(depth_ms), depth_ms, {
            "aqm": "bfifo", "aqm_limit": _queue_bytes(rate_mbps, depth_ms)}
    if kind == "policer":
        return SHORT, None, {"aqm": "bfifo", "aqm_limit": 2 * 1514, "shaper": "tbf",
                             "tbf_burst_ms": draw.between(5, 500)}
    if kind in _FLOW_PACKETS:
        depth_ms = _round(_FLOW_PACKETS[kind] * 1514 / 125 / rate_mbps)
        return _class_by_depth(depth_ms), depth_ms, {"aqm": kind}
    if kind in ("codel", "fq_codel"):
        return AQM, None, {"aqm": kind, "aqm_target": draw.one({"5ms": 3, "15ms": 1})}
    if kind == "cake":
        return AQM, None, {"aqm": kind, "aqm_rtt": draw.one({"100ms": 3, "30ms": 1})}
    return AQM, None, {"aqm": kind}


# Queue that keeps a drop-tail queue for each flow -> packets that one flow may have in it.
_FLOW_PACKETS = {"sfq": 127, "fq": 100}


def _class_by_depth(depth_ms: float) -> str:
    """Return the class of a drop-tail queue of this depth: DROP_TAIL from SHALLOW_MS on, SHORT
    below."""
    return DROP_TAIL if depth_ms >= SHALLOW_MS else SHORT


def _queue_bytes(rate_mbps: float, depth_ms: float) -> int:
    # Two frames or more, as one can't be sent while another arrives.
    return max(round(rate_mbps * 125 * depth_ms), 2 * 1514)


def _world_settings(world: str, draw: _Draw, rate_mbps: float, rtt_ms: float) -> dict[str, object]:
    """Draw what a download meets beside the router's queue, and return its batch keys -> values. {}
    for PLAIN, and for PARALLEL, whose other download is the cross traffic that line() sets.

    Args:
        world: one of WORLDS.
        draw: random numbers of the run.
        rate_mbps: the router's rate in the download's direction.
        rtt_ms: round-trip time of the idle path.
    """
    if world in (LOSS, BURSTS):
        share = draw.between(1e-5, 0.02)
        return_share = 1 / draw.between(2, 20)  # 1 / mean number of packets in a group
        return {"link_down_loss": f"{100 * share:.6f}%" if world == LOSS else
                f"gemodel {100 * share * return_share / (1 - share):.6f}% "
                f"{100 * return_share:.4f}%"}
    if world == JITTER:
        return {"link_down_jitter_ms": draw.between(0.5, 20)}
    if world == WINDOW:
        # The kernel counts a segment's memory, about twice its data.
        most = max(round(2 * draw.between(0.25, 1.5) * rate_mbps * 125 * rtt_ms), 32_768)
        return {"server_program": f"sh -c 'echo 4096 16384 {most} >/proc/sys/net/ipv4/tcp_wmem'",
                "server_ready_s": 0}
    if world == TWO_BOTTLENECKS:
        modem_mbps = _round(max(rate_mbps * draw.between(0.8, 1.25), 1.0))
        return {"modem_down_mbps": modem_mbps, "modem_up_mbps": modem_mbps,
                "modem_down_buffer_ms": draw.between(SHALLOW_MS, 500)}
    if world == WIFI:
        return {"topology": "clients:2",
                "wifi_rates_mbps": f"2x{draw.one({'144.4': 2, '65': 2, '26': 1, '7.2': 1})}",
                "wifi_ap": draw.one({"fifo": 2, "fq_mac": 1, "airtime": 1})}
    if world == SLOW_ROUTER:
        return {"router_model": draw.one({"omnia": 1, "mt7621": 1, "100us": 1})}
    return {}


def make(folder: Path, numbers: range, keys: Mapping[str, object],
         changes: Mapping[str, object]) -> int:
    """Make the runs that have no complete data file, and print the plan and the progress. Return
    how many of these failed, without those that are not made because several runs of their kernel
    had the same fault. 0 if no run is missing. A data file that is damaged or incomplete is
    renamed.

    Args:
        folder: folder for the data files, created if it isn't there.
        numbers: numbers of the runs.
        keys: batch keys of the sweep, such as `jobs`.
        changes: batch keys -> values in place of those of each run.

    Raises AqmError if the runs can't be made. Raises KeyboardInterrupt after ^C, once the runs in
    progress have ended.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: {cause_of(error)}; give a folder that can be made and written"
                          ) from None
    return make_missing((cell(line(number), folder, changes) for number in numbers), keys)


def main() -> int:
    """Run the program: `make` makes runs, `show` prints one run as JSON. Return the exit status, 1
    if a run failed or, with a line on standard error, if the runs can't be made. Raises SystemExit
    for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m research.infer.recipe",
                                     description=(__doc__ or "").partition("\n")[0])
    parts = parser.add_subparsers(dest="what", required=True)
    making = parts.add_parser("make", help="make runs")
    making.add_argument("folder", type=Path)
    making.add_argument("--first", type=int, default=0, metavar="N")
    making.add_argument("--runs", type=int, default=3000, metavar="N")
    making.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="another setting for all, such as kernel=NAME")
    making.add_argument("--jobs", metavar="N")
    making.add_argument("--scheduler", metavar="ADDRESS")
    showing = parts.add_parser("show", help="print a run's settings")
    showing.add_argument("number", type=int)
    args = parser.parse_args()
    if args.what == "show":
        print(json.dumps(vars(line(args.number)), indent=2))
        return 0
    if not (args.first >= 0 and args.runs >= 1 and args.first + args.runs <= ALL_RUNS):
        parser.error(f"--first {args.first} --runs {args.runs}: the recipe has runs 0 to "
                     f"{ALL_RUNS - 1}; expected one or more of them")
    if odd := next((one for one in args.set if "=" not in one), None):
        parser.error(f"--set {odd}: expected KEY=VALUE, such as kernel=NAME")
    keys = {name: value for name, value in (("jobs", args.jobs), ("scheduler", args.scheduler))
            if value}
    changes = dict(one.partition("=")[::2] for one in args.set)
    try:
        numbers = range(args.first, args.first + args.runs)
        return 1 if make(args.folder, numbers, keys, changes) else 0
    except AqmError as error:
        print(f"infer: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
