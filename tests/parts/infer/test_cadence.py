# SPDX-License-Identifier: GPL-3.0-or-later
"""Downloads are thinned to the gaps of M-Lab's archive."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from flent_aqm.parts.infer.cadence import as_archived, thin
from flent_aqm.parts.infer.reading import Download


def _every(gap_s: float, length_s: float = 10.0) -> Download:
    at_s = numpy.arange(gap_s, length_s + gap_s / 2, gap_s)
    acked = at_s * 1e6
    return Download(name="x", bbr=True, at_s=at_s, rtt_ms=20 + at_s, min_rtt_ms=0 * at_s + 20,
                    acked_bytes=acked, sent_bytes=acked + 5, retransmitted_bytes=0 * at_s,
                    window_share=0.1)


def test_dense_download_becomes_as_thin_as_one_of_the_archive() -> None:
    """Of a sample each 0.1 s, about 25 are left, 0.39 s apart in the median."""
    draw = random.Random(3)
    thinned = [thin(_every(0.1), draw) for _ in range(200)]
    gaps_s = numpy.concatenate([numpy.diff(one.at_s) for one in thinned])
    assert 0.3 < numpy.median(gaps_s) < 0.45
    assert 22 < numpy.mean([one.at_s.size for one in thinned]) < 29
    assert 0.09 < gaps_s.min() < gaps_s.max() < 0.75


def test_samples_that_are_left_are_samples_of_before() -> None:
    """Each with all of its values; the last one, which has the totals, stays."""
    whole = _every(0.1)
    one = as_archived(whole)
    at = numpy.searchsorted(whole.at_s, one.at_s)
    assert 15 < one.at_s.size < 40
    for name in ("at_s", "rtt_ms", "acked_bytes", "sent_bytes", "retransmitted_bytes"):
        assert (getattr(one, name) == getattr(whole, name)[at]).all()
    assert one.at_s[-1] == whole.at_s[-1]
    assert (one.name, one.bbr, one.window_share) == ("x", True, 0.1)


def test_download_of_the_archive_stays_as_it_is() -> None:
    """Up to four samples a second; and what is thinned is thinned alike every time."""
    sparse = _every(0.25)
    assert as_archived(sparse) is sparse
    dense = _every(0.2)
    assert as_archived(dense).at_s.size < dense.at_s.size
    assert (as_archived(dense).at_s == as_archived(_every(0.2)).at_s).all()


def test_larger_gaps_leave_fewer_samples() -> None:
    counts = [thin(_every(0.05), random.Random(1), gap_s).at_s.size for gap_s in (0.2, 0.5, 1.0)]
    assert counts[0] > 1.5 * counts[1] > 2.2 * counts[2]


@pytest.mark.parametrize(("drawn", "mean_gap_s", "gap_s"), [
    # From -ln(1 - drawn) of the mean, but at least a twentieth and at most 1.25 times.
    (0.0, 0.5, 0.025), (0.04, 0.5, 0.025), (0.06, 0.5, 0.031), (1 - math.exp(-1), 0.5, 0.5),
    (0.7, 0.5, 0.602), (0.72, 0.5, 0.625), (0.99, 0.5, 0.625), (0.0, 1.0, 0.05),
    (1 - math.exp(-1), 1.0, 1.0), (0.99, 1.0, 1.25)])
def test_gap_is_drawn_within_its_bounds(drawn: float, mean_gap_s: float, gap_s: float) -> None:
    """The next sample after it is taken. Of a sample each millisecond."""
    draw: Any = SimpleNamespace(random=lambda: drawn)
    at_s = thin(_every(0.001, 4.0), draw, mean_gap_s).at_s
    assert at_s[0] == 0.001
    assert numpy.diff(at_s)[:-1] == pytest.approx(gap_s, abs=0.0015)
    assert numpy.diff(at_s)[:-1].min() > gap_s - 0.0006
    assert at_s[-1] == pytest.approx(4.0)


def test_sample_at_the_end_of_a_gap_is_taken() -> None:
    """Of eight a second, after a gap of exactly five eighths."""
    draw: Any = SimpleNamespace(random=lambda: 0.99)
    assert list(thin(_every(0.125, 2.0), draw).at_s) == [0.125, 0.75, 1.375, 2.0]
