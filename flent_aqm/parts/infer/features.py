# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a download tells about the queue: each a number that a person can read off a plot.

The rise is how far the smoothed round trip stands above the least one: what the queue holds, and
what other traffic put into it. Times in ms; shares from 0 to 1; nothing depends on a unit of rate,
so that a line is judged by its shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy

from flent_aqm.parts.infer.reading import Download
from flent_aqm.results.data_file import Numbers

# Until then a sender looks for the rate.
_STARTUP_S = 1.5
# Below it a round trip is shorter than what timers and cards add.
_LEAST_RTT_MS = 0.1
# Of TCP with time stamps over Ethernet.
_SEGMENT_BYTES = 1448
# Where a share would be of nothing.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Feature:
    """words: what it is, for readers; unit: of its value, share of 1 as %."""

    words: str
    of: Callable[[_Seen], float]
    unit: str = ""

    def shown(self, value: float) -> str:
        """Return the value for readers."""
        if self.unit == "%":
            return f"{100 * value:.0f} %" if abs(value) >= 0.1 else f"{100 * value:.2g} %"
        return f"{value:.3g} {self.unit}".rstrip()


class _Seen:
    """What several features take, of one download."""

    def __init__(self, one: Download) -> None:
        self.one = one
        self.base_ms = max(float(one.min_rtt_ms[-1]), _LEAST_RTT_MS)
        self.rise_ms = numpy.maximum(one.rtt_ms - self.base_ms, 0)
        self.late = one.at_s >= _STARTUP_S
        if self.late.sum() < 4:
            self.late = numpy.arange(one.at_s.size) >= one.at_s.size // 2
        edges = numpy.concatenate(([0.0], one.at_s))
        self.length_s = numpy.diff(edges)
        acked = numpy.diff(one.acked_bytes, prepend=0.0)
        self.rate_bytes_s = acked / numpy.maximum(self.length_s, _NOTHING)
        self.lost_bytes = numpy.diff(one.retransmitted_bytes, prepend=0.0)
        self.lost = self.lost_bytes > 0
        self.typical_bytes_s = max(float(numpy.median(self.rate_bytes_s[self.late])), 1.0)
        in_flight = one.sent_bytes - one.retransmitted_bytes - one.acked_bytes
        self.in_flight_ms = numpy.maximum(in_flight, 0) / self.typical_bytes_s * 1000

    def first_loss(self) -> int:
        """Return the index of the first sample after which something was lost, or the last one."""
        at = numpy.flatnonzero(self.lost)
        return int(at[0]) if at.size else self.lost.size - 1


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > _NOTHING else 0.0


def _quantile(share: float) -> Callable[[_Seen], float]:
    return lambda seen: float(numpy.quantile(seen.rise_ms[seen.late], share))


def _relative(share: float) -> Callable[[_Seen], float]:
    return lambda seen: float(numpy.quantile(seen.rise_ms[seen.late], share) / seen.base_ms)


def _start_peak(seen: _Seen) -> float:
    return float(seen.rise_ms[~seen.late].max(initial=0.0))


def _variation(values: Numbers) -> float:
    return _share(float(values.std()), float(values.mean()))


def _loss_late(seen: _Seen) -> float:
    sent = numpy.diff(seen.one.sent_bytes, prepend=0.0)
    return _share(seen.lost_bytes[seen.late].sum(), sent[seen.late].sum())


def _loss_start(seen: _Seen) -> float:
    sent = numpy.diff(seen.one.sent_bytes, prepend=0.0)
    return _share(seen.lost_bytes[~seen.late].sum(), sent[~seen.late].sum())


def _rise_at_loss(seen: _Seen) -> float:
    """How high it stood where something was lost, as a share of the highest."""
    # What an interval lost was in the queue at its beginning.
    before = numpy.concatenate((seen.rise_ms[:1], seen.rise_ms[:-1]))
    at = numpy.maximum(before, seen.rise_ms)[seen.late & seen.lost]
    return _share(float(numpy.median(at)), float(seen.rise_ms.max())) if at.size else -1.0


def _spread_at_loss(seen: _Seen) -> float:
    """How much the round trips at losses differ: hardly, where a full queue loses."""
    before = numpy.concatenate((seen.rise_ms[:1], seen.rise_ms[:-1]))
    at = numpy.maximum(before, seen.rise_ms)[seen.late & seen.lost]
    return _variation(at) if at.size > 2 else -1.0


def _loss_burst(seen: _Seen) -> float:
    """Bytes lost in a typical interval with losses, in full segments."""
    lost = seen.lost_bytes[seen.late & seen.lost]
    return float(numpy.median(lost)) / _SEGMENT_BYTES if lost.size else 0.0


def _near_top(seen: _Seen) -> float:
    """How often the rise stands close to its highest: a full queue's does, an AQM's doesn't."""
    rise = seen.rise_ms[seen.late]
    return float((rise > 0.8 * seen.rise_ms.max()).mean())


def _first_fall(seen: _Seen) -> float:
    """The rise a while after the first loss, by that at the loss."""
    at = seen.first_loss()
    after = seen.rise_ms[at + 3:at + 9]
    top = float(seen.rise_ms[max(at - 1, 0):at + 2].max())
    return _share(float(numpy.median(after)), top) if after.size else -1.0


def _follows_in_flight(seen: _Seen) -> float:
    """Correlation of the rise with what is in flight: 1 where it is this flow's own queue."""
    rise, flight = seen.rise_ms[seen.late], seen.in_flight_ms[seen.late]
    if rise.std() < 1e-6 or flight.std() < 1e-6:
        return 0.0
    return float(numpy.corrcoef(rise, flight)[0, 1])


def _excess_in_flight(seen: _Seen) -> float:
    return float(numpy.median(seen.in_flight_ms[seen.late]) / seen.base_ms)


def _early_rate(seen: _Seen) -> float:
    """The highest rate of the start, by the typical one: above 1 for a token bucket."""
    long_enough = ~seen.late & (seen.length_s > 0.05)
    return float(seen.rate_bytes_s[long_enough].max(initial=0.0) / seen.typical_bytes_s)


def _autocorrelation(seen: _Seen) -> float:
    """Of the rise with itself a sample later: slow waves against noise."""
    rise = seen.rise_ms[seen.late]
    first, second = rise[:-1], rise[1:]
    if first.size < 3 or first.std() < 1e-6 or second.std() < 1e-6:
        return 0.0
    return float(numpy.corrcoef(first, second)[0, 1])


def _slow_start(seen: _Seen) -> Numbers:
    """Round trips until the first loss."""
    return seen.one.rtt_ms[:seen.first_loss() + 1]


def _imc_difference(seen: _Seen) -> float:
    rtt = _slow_start(seen)
    return _share(float(rtt.max() - rtt.min()), float(rtt.max()))


def _imc_variation(seen: _Seen) -> float:
    return _variation(_slow_start(seen))


FEATURES: dict[str, Feature] = {
    "bbr": Feature("whether BBR sends", lambda seen: float(seen.one.bbr)),
    "base_rtt_ms": Feature("the least round trip", lambda seen: seen.base_ms, "ms"),
    "rate_mbps": Feature("the rate", lambda seen: seen.typical_bytes_s * 8e-6, "Mbit/s"),
    "rise_q10_ms": Feature("the lowest rise of the round trip", _quantile(0.1), "ms"),
    "rise_q50_ms": Feature("the typical rise of the round trip", _quantile(0.5), "ms"),
    "rise_q90_ms": Feature("the highest rise of the round trip", _quantile(0.9), "ms"),
    "rise_q50_relative": Feature(
        "the typical rise, by the least round trip", _relative(0.5), "%"),
    "rise_q90_relative": Feature(
        "the highest rise, by the least round trip", _relative(0.9), "%"),
    "start_peak_ms": Feature("the rise while the sender looked for the rate", _start_peak, "ms"),
    "start_peak_by_late": Feature(
        "the rise of the start, by the later one",
        lambda seen: _share(_start_peak(seen), max(_quantile(0.9)(seen), 0.1)), "%"),
    "rise_max_ms": Feature("the highest rise of all", lambda seen: float(seen.rise_ms.max()), "ms"),
    "near_top": Feature("how often the rise was close to its highest", _near_top, "%"),
    "first_fall": Feature("the rise after the first loss, by that before", _first_fall, "%"),
    "loss_burst": Feature("how much was lost at a time", _loss_burst, "segments"),
    "rise_variation": Feature("how much the rise varies",
                              lambda seen: _variation(seen.rise_ms[seen.late]), "%"),
    "rise_autocorrelation": Feature("how slowly the rise varies (its autocorrelation)",
                                    _autocorrelation),
    "loss_start": Feature("loss while the sender looked for the rate", _loss_start, "%"),
    "loss_late": Feature("loss afterwards", _loss_late, "%"),
    "loss_intervals": Feature("the share of intervals with losses",
                              lambda seen: float(seen.lost[seen.late].mean()), "%"),
    "rise_at_loss": Feature("the rise at losses, by the highest one", _rise_at_loss, "%"),
    "rise_spread_at_loss": Feature("how much the rises at losses differ", _spread_at_loss, "%"),
    "follows_in_flight": Feature("how far the rise follows what is in flight (correlation)",
                                 _follows_in_flight),
    "in_flight": Feature("what is in flight, by what the path holds", _excess_in_flight, "%"),
    "early_rate": Feature("the rate of the start, by the later one", _early_rate, "%"),
    "rate_variation": Feature("how much the rate varies",
                              lambda seen: _variation(seen.rate_bytes_s[seen.late]), "%"),
}
# Of S. Sundaresan et al., "TCP Congestion Signatures", IMC 2017: how far the round trip rises in
# slow start, by the highest one, and how much it varies there.
BASELINE: dict[str, Feature] = {
    "imc_difference": Feature("rise in slow start", _imc_difference, "%"),
    "imc_variation": Feature("variation in slow start", _imc_variation, "%"),
}


def features(one: Download) -> dict[str, float]:
    """Return each feature's value, and the baseline's; all are finite."""
    seen = _Seen(one)
    return {name: float(numpy.clip(feature.of(seen), -1e9, 1e9))
            for name, feature in {**FEATURES, **BASELINE}.items()}
