# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes traces of cellular links from a seed, so that no trace with a licence is needed.

The model is the one by which Sprout forecasts cellular links (K. Winstein, A. Sivaraman, H.
Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks",
NSDI 2013, section 3.1): delivery opportunities are a Poisson process whose rate follows a Brownian
motion. A rate of 0 is an outage with a random end.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from flent_aqm.parts.links.units import OPPORTUNITY_BYTES
from flent_aqm.spec.model_words import parse_words

PREFIX = "seeded"
_TICK_MS = 20
_TICK_S = _TICK_MS / 1000


@dataclass(frozen=True)
class Seeded:
    """Parameters of a seeded trace."""

    # Mean rate over the whole trace.
    mean_mbps: float = 10.0
    # Standard deviation of the rate's change within one second. Sprout's value: 200 packets of 1500
    # bytes.
    sigma_mbps: float = 2.4
    # Mean length of an outage. Sprout's value.
    outage_s: float = 1.0
    # Length of the trace, after which it repeats.
    length_s: float = 120.0


_BOUNDS = {"mean_mbps": (0.1, 1000.0), "sigma_mbps": (0.0, 1000.0), "outage_s": (0.01, 60.0),
           "length_s": (1.0, 3600.0)}


def parse_seeded(key: str, text: str) -> Seeded | None:
    """Parse `seeded+NAME=VALUE+…`. Return None for any other text, which is a file's path.

    `key` names the key in messages. Raises ConfigError if a parameter is unknown or out of range.
    """
    if text.split("+")[0] != PREFIX:
        return None
    return parse_words(key, text, {PREFIX: Seeded()}, _BOUNDS)


def make(model: Seeded, seed: int, direction: str) -> tuple[dict[int, int], int]:
    """Make a trace from a model and a seed.

    Return (counts, length_ns): the time in ms -> number of delivery opportunities, and the length
    of the trace in ns. The directions "down" and "up" get different traces.
    """
    # Only random() of random.Random gives the same numbers in all versions of Python.
    chance = random.Random(f"{seed} {direction} link").random
    per_s = 1e6 / (8 * OPPORTUNITY_BYTES)
    length_ms = round(model.length_s * 1000)
    rates = _rates(model, -(-length_ms // _TICK_MS), chance)
    # The mean of the random rates differs from the requested one, so they are scaled to it.
    scale = model.mean_mbps * len(rates) / sum(rates) * per_s * _TICK_S
    counts = {0: 0}
    # Expected number of opportunities until the next one (an exponential distribution).
    wanted = -math.log(1 - chance())
    for tick, rate in enumerate(rates):
        have, used = rate * scale, 0.0
        while wanted <= have - used:
            used += wanted
            at_ms = min(_TICK_MS * tick + int(_TICK_MS * used / have), length_ms - 1)
            counts[at_ms] = counts.get(at_ms, 0) + 1
            wanted = -math.log(1 - chance())
        wanted -= have - used
    return counts, length_ms * 10**6


def _rates(model: Seeded, ticks: int, chance: Callable[[], float]) -> list[float]:
    """Return the rate of each tick of 20 ms in Mbit/s, before scaling to the mean."""
    rates, rate, most = [], model.mean_mbps, 2 * model.mean_mbps
    for _ in range(ticks):
        moved = model.sigma_mbps * math.sqrt(_TICK_S) * _normal(chance())
        if rate > 0:
            rate = max(0.0, rate + moved)
        elif chance() < 1 - math.exp(-_TICK_S / model.outage_s):
            rate = abs(moved)
        rate = max(0.0, 2 * most - rate) if rate > most else rate
        rates.append(rate)
    return rates


def _normal(share: float) -> float:
    """Return the quantile of the standard normal distribution for a share from 0 to 1.

    Uses Shore's approximation of 1982 (error below 0.02), which takes one random number per value.
    """
    side, share = (1, 1 - share) if share > 0.5 else (-1, share)
    share = max(share, 1e-12)
    return side * 5.5556 * (1 - math.pow(share / (1 - share), 0.1186))
