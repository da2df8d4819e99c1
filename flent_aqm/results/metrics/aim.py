# SPDX-License-Identifier: GPL-3.0-or-later
"""Cloudflare's AIM scores: points for streaming, gaming and calls.

Source: cloudflare/speedtest 1.13, src/config/internalConfig.ts and src/Results/. Latency and jitter
are those of the idle link. Loaded latency is the median of the last 20 probes that are at least 400
ms apart. Its increase is that of the worse direction. Cloudflare's loss test runs apart from the
load. Here it is the probes' loss under load.
"""

from __future__ import annotations

import numpy

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import Numbers
from flent_aqm.results.metrics.jitter import mean_difference_ms
from flent_aqm.results.metrics.loss import loss_pct
from flent_aqm.results.metrics.run import Run, Samples
from flent_aqm.results.metrics.steps import step
from flent_aqm.results.metrics.throughput import throughput_mbps

LAST_PROBES = 20
APART_S = 0.4
# Probes every 400 ms are rarely sent at exactly this distance.
_SLACK_S = 0.005
_LATENCY = ((10, 20, 50, 100, 500), (20, 10, 5, 0, -10, -20))
_JITTER = ((10, 20, 100, 500), (10, 5, 0, -10, -20))
_LOSS = ((0.01, 0.05, 0.25, 0.5), (10, 5, 0, -10, -20))
_MBPS = ((1, 10, 50, 100), (0, 5, 10, 20, 30))
WORDS = ("bad", "poor", "average", "good", "great")
_CUTS = {"streaming": (15, 20, 40, 60), "gaming": (5, 15, 25, 30), "rtc": (5, 15, 25, 40)}


def loaded_latency_ms(run: Run, direction: str) -> float:
    """Return the median RTT in ms of the last 20 answered probes at least 400 ms apart, under the
    load of a direction. Raises NotAvailable."""
    return float(numpy.median(thinned_ms(run.loaded(direction))[-LAST_PROBES:]))


def thinned_ms(samples: Samples) -> Numbers:
    """Return the RTTs of answered probes at least 400 ms apart. Raises NotAvailable if none was
    answered."""
    answered = numpy.isfinite(samples.rtt_ms)
    sent_s, rtt_ms = samples.sent_s[answered], samples.rtt_ms[answered]
    if not sent_s.size:
        raise NotAvailable("none of the probes came back")
    kept = [0]
    while (following := int(numpy.searchsorted(
            sent_s, sent_s[kept[-1]] + APART_S - _SLACK_S))) < sent_s.size:
        kept.append(following)
    return rtt_ms[kept]


def increase_ms(run: Run) -> float:
    """Return the loaded latency of the worse direction less the idle latency, in ms. Raises
    NotAvailable without both directions."""
    return (max(loaded_latency_ms(run, "download"), loaded_latency_ms(run, "upload"))
            - idle_latency_ms(run))


def idle_latency_ms(run: Run) -> float:
    """Return the median RTT of the probes before the load, in ms. Raises NotAvailable."""
    return float(numpy.median(run.idle().answered_ms))


def streaming_points(run: Run) -> float:
    """Return AIM's points for streaming: of latency, loss, download and increase. Raises
    NotAvailable."""
    return points(idle_latency_ms(run), increase_ms(run), _loss(run),
                  download_mbps=throughput_mbps(run, "download"))


def gaming_points(run: Run) -> float:
    """Return AIM's points for gaming: of latency, loss and increase. Raises NotAvailable."""
    return points(idle_latency_ms(run), increase_ms(run), _loss(run))


def rtc_points(run: Run) -> float:
    """Return AIM's points for calls: of latency, jitter, loss and increase. Raises NotAvailable."""
    return points(idle_latency_ms(run), increase_ms(run), _loss(run),
                  jitter_ms=mean_difference_ms(run.idle()))


def _loss(run: Run) -> float | None:
    """Return the share of probes lost under load, 0 to 1. None if the probe can't tell losses."""
    loaded = run.loaded()
    return None if loaded.loss_unknown else loss_pct(loaded) / 100


def points(latency_ms: float, increase_ms: float, loss: float | None, *,
           download_mbps: float | None = None, jitter_ms: float | None = None) -> float:
    """Return the sum of the points for the given values, at least 0.

    Args:
        latency_ms: idle latency.
        increase_ms: increase of latency under load.
        loss: share of lost packets, 0 to 1. None if it was not measured, which counts 0 points.
        download_mbps: given for streaming only.
        jitter_ms: given for calls only.
    """
    return max(0.0, step(latency_ms, *_LATENCY) + step(increase_ms, *_LATENCY)
               + (0 if loss is None else step(loss, *_LOSS))
               + (0 if download_mbps is None else step(download_mbps, *_MBPS))
               + (0 if jitter_ms is None else step(jitter_ms, *_JITTER)))


def word(experience: str, points: float) -> str:
    """Return AIM's word for points: bad, poor, average, good or great. experience: "streaming",
    "gaming" or "rtc"."""
    return step(points, _CUTS[experience], WORDS)

