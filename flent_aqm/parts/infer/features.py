# SPDX-License-Identifier: GPL-3.0-or-later
"""Features of a download that depend on the queue. A person can read each of them off a plot.

The rise is the smoothed round-trip time minus the least one. It is the time in the queue, to which
other traffic contributes. Times are in ms, shares from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy

from flent_aqm.base.words import significant
from flent_aqm.parts.infer.reading import Download
from flent_aqm.results.data_file import Numbers

# A sender searches for the rate until this time, or for so many round trips if that is longer.
_STARTUP_S, _STARTUP_ROUND_TRIPS = 1.5, 8
# Least round-trip time to compute with. Shorter ones are below the delays of timers and network
# cards.
_LEAST_RTT_MS = 0.1
# Payload of a TCP segment with time stamps over Ethernet.
_SEGMENT_BYTES = 1448
# Least divisor of a share.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Feature:
    """A feature of a download.

    Attributes:
        words: name of the feature for people.
        of: function that computes the value.
        unit: unit for people, "" for none. With "%" the value is a ratio, of which 1 is 100 %. It
            may be above 1. Some features are -1 if they can't be computed.
    """

    words: str
    of: Callable[[_Quantities], float]
    unit: str = ""

    def shown(self, value: float) -> str:
        """Return a value of the feature as rounded text for people, with its unit. With the unit
        "%" the value is a ratio: 0.5 gives "50 %". A value of -1, which may mean that the feature
        can't be computed, is shown like any other."""
        if self.unit == "%":
            return f"{100 * value:.0f} %" if abs(value) >= 0.1 else f"{100 * value:.2g} %"
        return f"{significant(value)} {self.unit}".rstrip()


class _Quantities:
    """Quantities of one download that several features need. Arrays have an element per sample.

    Attributes:
        download: the download.
        base_ms: least round-trip time, at least 0.1.
        rise_ms: round-trip time of each sample minus base_ms, at least 0.
        late: True for samples after the sender's search for the rate, which ends after 1.5 s, or
            after 8 times base_ms if that is longer. If there are fewer than four, True for the
            samples of the second half.
        length_s: time since the previous sample, for the first one since the download began.
        rate_bytes_s: rate of acknowledged bytes since the previous sample.
        lost_bytes: bytes retransmitted since the previous sample.
        lost: True if there are any.
        typical_bytes_s: median rate of late samples, at least 1.
        in_flight_ms: bytes in flight divided by typical_bytes_s, in ms.
    """

    def __init__(self, download: Download) -> None:
        self.download = download
        self.base_ms = max(float(download.min_rtt_ms[-1]), _LEAST_RTT_MS)
        self.rise_ms = numpy.maximum(download.rtt_ms - self.base_ms, 0)
        self.late = download.at_s >= max(_STARTUP_S, _STARTUP_ROUND_TRIPS * self.base_ms / 1000)
        if self.late.sum() < 4:
            self.late = numpy.arange(download.at_s.size) >= download.at_s.size // 2
        edges = numpy.concatenate(([0.0], download.at_s))
        self.length_s = numpy.diff(edges)
        acked = numpy.diff(download.acked_bytes, prepend=0.0)
        self.rate_bytes_s = acked / numpy.maximum(self.length_s, _NOTHING)
        self.lost_bytes = numpy.diff(download.retransmitted_bytes, prepend=0.0)
        self.lost = self.lost_bytes > 0
        self.typical_bytes_s = max(float(numpy.median(self.rate_bytes_s[self.late])), 1.0)
        in_flight = download.sent_bytes - download.retransmitted_bytes - download.acked_bytes
        self.in_flight_ms = numpy.maximum(in_flight, 0) / self.typical_bytes_s * 1000

    def first_loss(self) -> int:
        """Return the index of the first sample with a loss before it. Without losses, return the
        index of the last sample."""
        at = numpy.flatnonzero(self.lost)
        return int(at[0]) if at.size else self.lost.size - 1


def _share(part: float, whole: float) -> float:
    """Return part / whole, 0 if the whole is not above _NOTHING."""
    return float(part / whole) if whole > _NOTHING else 0.0


def _quantile(share: float) -> Callable[[_Quantities], float]:
    """Return a function that computes this quantile (0 to 1) of the rises of the round-trip time
    above its least, in ms, over the samples after the sender's search for the rate
    (_Quantities.late)."""
    return lambda seen: float(numpy.quantile(seen.rise_ms[seen.late], share))


def _relative_quantile(share: float) -> Callable[[_Quantities], float]:
    """Return a function that computes this quantile (0 to 1) of the rises of the round-trip time
    above its least, divided by that least time, over the samples after the sender's search for the
    rate (_Quantities.late)."""
    return lambda seen: float(numpy.quantile(seen.rise_ms[seen.late], share) / seen.base_ms)


def _start_peak(seen: _Quantities) -> float:
    """Return the highest rise of the round-trip time above its least, in ms, during the sender's
    search for the rate: among the samples that aren't _Quantities.late. 0 without such samples."""
    return float(seen.rise_ms[~seen.late].max(initial=0.0))


def _variation(values: Numbers) -> float:
    """Return the coefficient of variation: standard deviation / mean. 0 if the mean is not above
    _NOTHING."""
    return _share(float(values.std()), float(values.mean()))


def _loss_late(seen: _Quantities) -> float:
    """Return the retransmitted bytes as a share (0 to 1) of the bytes that were sent after the
    sender's search for the rate: in the samples of _Quantities.late. 0 if nothing was sent then."""
    sent = numpy.diff(seen.download.sent_bytes, prepend=0.0)
    return _share(seen.lost_bytes[seen.late].sum(), sent[seen.late].sum())


def _loss_start(seen: _Quantities) -> float:
    """Return the retransmitted bytes as a share (0 to 1) of the bytes that were sent during the
    sender's search for the rate: in samples that are not in _Quantities.late. 0 if nothing was sent
    then."""
    sent = numpy.diff(seen.download.sent_bytes, prepend=0.0)
    return _share(seen.lost_bytes[~seen.late].sum(), sent[~seen.late].sum())


def _rise_at_loss(seen: _Quantities) -> float:
    """Return the median rise of the round-trip time (_Quantities.rise_ms) at the samples with
    losses after the sender's search for the rate (_Quantities.late), as a share of the download's
    highest rise. A sample counts with the higher of its own rise and that of the sample before. -1
    without such samples, 0 if nothing rises."""
    # Lost packets met the queue of the interval's beginning.
    before = numpy.concatenate((seen.rise_ms[:1], seen.rise_ms[:-1]))
    at = numpy.maximum(before, seen.rise_ms)[seen.late & seen.lost]
    return _share(float(numpy.median(at)), float(seen.rise_ms.max())) if at.size else -1.0


def _spread_at_loss(seen: _Quantities) -> float:
    """Return the coefficient of variation of the rises of the round-trip time at the samples with
    losses after the sender's search for the rate (_Quantities.late). A sample counts with the
    higher of its own rise and that of the sample before. -1 for fewer than three samples, 0 if
    nothing rises. It is small if a full queue causes the losses."""
    before = numpy.concatenate((seen.rise_ms[:1], seen.rise_ms[:-1]))
    at = numpy.maximum(before, seen.rise_ms)[seen.late & seen.lost]
    return _variation(at) if at.size > 2 else -1.0


def _rise_without_loss(seen: _Quantities) -> float:
    """Return the median rise of the round-trip time at samples without losses, divided by that at
    samples with losses, which counts as 0.1 ms at least. Only samples after the sender's search for
    the rate (_Quantities.late) count. A sample with losses counts with the higher of its own rise
    and that of the sample before. -1 if there is no sample with losses, or none without; otherwise
    0 if nothing rises."""
    before = numpy.concatenate((seen.rise_ms[:1], seen.rise_ms[:-1]))
    at = numpy.maximum(before, seen.rise_ms)[seen.late & seen.lost]
    other = seen.rise_ms[seen.late & ~seen.lost]
    if not at.size or not other.size:
        return -1.0
    return float(numpy.median(other) / max(float(numpy.median(at)), _LEAST_RTT_MS))


def _loss_burst(seen: _Quantities) -> float:
    """Return the median number of segments lost since the sample before, over the late samples with
    losses: bytes divided by those of a full segment, so it may be a fraction. 0 without late
    losses."""
    lost = seen.lost_bytes[seen.late & seen.lost]
    return float(numpy.median(lost)) / _SEGMENT_BYTES if lost.size else 0.0


def _near_top(seen: _Quantities) -> float:
    """Return the share of samples whose round-trip time rises above its least by more than 80 % of
    the highest rise. Samples after the sender's search for the rate (_Quantities.late) are counted;
    the highest rise is that of all samples. The share is large for a full queue, small for an AQM.
    """
    rise = seen.rise_ms[seen.late]
    return float((rise > 0.8 * seen.rise_ms.max()).mean())


def _first_fall(seen: _Quantities) -> float:
    """Return the median rise of the round-trip time at the 3rd to 8th sample after that of the
    first loss, divided by the largest rise at the first loss: at its sample, the one before and the
    one after. 0 if that is 0. -1 without losses, or without samples so long after it."""
    at = seen.first_loss()
    after = seen.rise_ms[at + 3:at + 9]
    top = float(seen.rise_ms[max(at - 1, 0):at + 2].max())
    return _share(float(numpy.median(after)), top) if after.size else -1.0


def _follows_in_flight(seen: _Quantities) -> float:
    """Return the correlation of the rise of the round-trip time and the bytes in flight, over the
    samples after the sender's search for the rate (_Quantities.late). It is near 1 if the queue
    holds only this flow. 0 if either is constant."""
    rise, flight = seen.rise_ms[seen.late], seen.in_flight_ms[seen.late]
    if rise.std() < 1e-6 or flight.std() < 1e-6:
        return 0.0
    return float(numpy.corrcoef(rise, flight)[0, 1])


def _excess_in_flight(seen: _Quantities) -> float:
    """Return the median of the bytes in flight divided by the path's bandwidth-delay product
    (typical rate times least round-trip time), over the samples after the sender's search for the
    rate (_Quantities.late)."""
    return float(numpy.median(seen.in_flight_ms[seen.late]) / seen.base_ms)


def _variation_in_flight(seen: _Quantities) -> float:
    """Return the coefficient of variation of the bytes in flight, over the samples after the
    sender's search for the rate (_Quantities.late). 0 if nothing is in flight. It is small if a
    window limits the sender, and for BBR."""
    return _variation(seen.in_flight_ms[seen.late])


def _early_rate(seen: _Quantities) -> float:
    """Return the highest rate during the sender's search for the rate divided by the median rate
    afterwards. Only samples more than 50 ms after the one before count for the highest rate. The
    burst of a token bucket raises it. 0 without such samples."""
    long_enough = ~seen.late & (seen.length_s > 0.05)
    return float(seen.rate_bytes_s[long_enough].max(initial=0.0) / seen.typical_bytes_s)


def _autocorrelation(seen: _Quantities) -> float:
    """Return the correlation of the rise of the round-trip time with itself one sample later, over
    the samples after the sender's search for the rate (_Quantities.late). Slow waves give a large
    value, noise a small one. 0 for fewer than four samples, or if all rises are equal, or all but
    the first or the last."""
    rise = seen.rise_ms[seen.late]
    first, second = rise[:-1], rise[1:]
    if first.size < 3 or first.std() < 1e-6 or second.std() < 1e-6:
        return 0.0
    return float(numpy.corrcoef(first, second)[0, 1])


def _slow_start_rtts_ms(seen: _Quantities) -> Numbers:
    """Return the round-trip times in ms up to and including the sample of the first loss, all of
    them without a loss."""
    return seen.download.rtt_ms[:seen.first_loss() + 1]


def _imc_difference(seen: _Quantities) -> float:
    """Return (highest - least) / highest round-trip time in slow start: up to and including the
    sample of the first loss, of all samples without a loss. 0 if the highest is 0."""
    rtt = _slow_start_rtts_ms(seen)
    return _share(float(rtt.max() - rtt.min()), float(rtt.max()))


def _imc_variation(seen: _Quantities) -> float:
    """Return the coefficient of variation of the round-trip times in slow start: up to and
    including the sample of the first loss, of all samples without a loss. 0 if they are 0."""
    return _variation(_slow_start_rtts_ms(seen))


FEATURES: dict[str, Feature] = {
    "bbr": Feature("whether BBR sends", lambda seen: float(seen.download.bbr)),
    "base_rtt_ms": Feature("the least round trip", lambda seen: seen.base_ms, "ms"),
    "rate_mbps": Feature("the rate", lambda seen: seen.typical_bytes_s * 8e-6, "Mbit/s"),
    "rise_q10_ms": Feature("the lowest rise of the round trip", _quantile(0.1), "ms"),
    "rise_q50_ms": Feature("the typical rise of the round trip", _quantile(0.5), "ms"),
    "rise_q90_ms": Feature("the highest rise of the round trip", _quantile(0.9), "ms"),
    "rise_q50_relative": Feature(
        "the typical rise, by the least round trip", _relative_quantile(0.5), "%"),
    "rise_q90_relative": Feature(
        "the highest rise, by the least round trip", _relative_quantile(0.9), "%"),
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
    "rise_without_loss": Feature("the rise without losses, by that at losses", _rise_without_loss,
                                 "%"),
    "rise_spread_at_loss": Feature("how much the rises at losses differ", _spread_at_loss, "%"),
    "follows_in_flight": Feature("how far the rise follows what is in flight (correlation)",
                                 _follows_in_flight),
    "in_flight": Feature("what is in flight, by what the path holds", _excess_in_flight, "%"),
    "in_flight_variation": Feature("how much the bytes in flight vary", _variation_in_flight, "%"),
    "early_rate": Feature("the rate of the start, by the later one", _early_rate, "%"),
    "rate_variation": Feature("how much the rate varies",
                              lambda seen: _variation(seen.rate_bytes_s[seen.late]), "%"),
}
# Features of S. Sundaresan et al., "TCP Congestion Signatures", IMC 2017: rise of the round-trip
# time in slow start relative to its highest value, and its variation there.
BASELINE: dict[str, Feature] = {
    "imc_difference": Feature("rise in slow start", _imc_difference, "%"),
    "imc_variation": Feature("variation in slow start", _imc_variation, "%"),
}


def features(download: Download) -> dict[str, float]:
    """Return name -> value of all features in FEATURES and BASELINE. All values are finite, as they
    are cut to -1e9 to 1e9. The download is taken as it is; for the model, pass the result of
    as_archived()."""
    seen = _Quantities(download)
    return {name: float(numpy.clip(feature.of(seen), -1e9, 1e9))
            for name, feature in {**FEATURES, **BASELINE}.items()}
