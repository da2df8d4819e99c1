# SPDX-License-Identifier: GPL-3.0-or-later
"""The features of a download, worked out by hand from a few samples."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy
import pytest

from flent_aqm.parts.infer.features import FEATURES, features
from flent_aqm.parts.infer.model import calibrated, load_model
from flent_aqm.parts.infer.reading import Download

# In the interval before each sample 1 Mbit/s is acknowledged, at first 2. In flight is what the
# queue's delay takes at 1 Mbit/s.
RISE_MS = numpy.array([20.0, 40, 10, 20, 30, 40, 20, 10])
ACKED = 125_000 + 62_500 * numpy.arange(8.0)
RETRANSMITTED = numpy.array([0.0, 1448, 1448, 1448, 4344, 4344, 5792, 5792])
WORKED = Download(
    name="worked", bbr=False, at_s=numpy.arange(1, 9) / 2, rtt_ms=10 + RISE_MS,
    min_rtt_ms=numpy.array([12.0] * 7 + [10.0]), acked_bytes=ACKED,
    sent_bytes=ACKED + RETRANSMITTED + 125 * RISE_MS, retransmitted_bytes=RETRANSMITTED)


def download(at_s: list[float], rise_ms: list[float]) -> Download:
    """A download without losses, of 1 Mbit/s, and with nothing in flight."""
    at = numpy.array(at_s)
    acked = 125_000 * at
    return Download(name="", bbr=True, at_s=at, rtt_ms=10.0 + numpy.array(rise_ms),
                    min_rtt_ms=numpy.full(at.size, 10.0), acked_bytes=acked, sent_bytes=acked,
                    retransmitted_bytes=numpy.zeros(at.size))


@pytest.mark.parametrize(("name", "value"), [
    ("bbr", 0), ("base_rtt_ms", 10), ("rate_mbps", 1),
    # The six rises from 1.5 s on are 10, 10, 20, 20, 30 and 40.
    ("rise_q10_ms", 10), ("rise_q50_ms", 20), ("rise_q90_ms", 35), ("rise_max_ms", 40),
    ("rise_q50_relative", 2), ("rise_q90_relative", 3.5), ("near_top", 1 / 6),
    ("rise_variation", sqrt(3500 / 6 - (130 / 6) ** 2) / (130 / 6)),
    # 10, 20, 30, 40, 20 against 20, 30, 40, 20, 10.
    ("rise_autocorrelation", 120 / 520),
    ("start_peak_ms", 40), ("start_peak_by_late", 40 / 35), ("early_rate", 2),
    ("rate_variation", 0),
    ("loss_start", 1448 / 193_948), ("loss_late", 4344 / 375_594), ("loss_intervals", 2 / 6),
    ("loss_burst", 1.5),
    # After the first loss the rises are 30, 40, 20, 10, from the third sample on; 40 at it.
    ("first_fall", 25 / 40),
    # 30 and 40, of the samples before and at the two late losses; a spread needs three.
    ("rise_at_loss", 35 / 40), ("rise_spread_at_loss", -1),
    # Of the four late samples without a loss the rises are 10, 20, 40 and 10.
    ("rise_without_loss", 15 / 35),
    ("follows_in_flight", 1), ("in_flight", 2),
    ("in_flight_variation", sqrt(3500 / 6 - (130 / 6) ** 2) / (130 / 6)),
    ("imc_difference", 20 / 50), ("imc_variation", 10 / 40),
])
def test_feature_of_worked_samples(name: str, value: float) -> None:
    assert features(WORKED)[name] == pytest.approx(value, abs=1e-9)


def test_correlations_are_those_of_short_rises_too() -> None:
    """Of a hundredth: a tenth of a millisecond is not constant."""
    short = replace(WORKED, rtt_ms=10 + RISE_MS / 100, min_rtt_ms=numpy.full(8, 10.0),
                    sent_bytes=ACKED + RETRANSMITTED + 1.25 * RISE_MS)
    found = features(short)
    assert found["follows_in_flight"] == pytest.approx(1)
    assert found["rise_autocorrelation"] == pytest.approx(120 / 520)


def test_fall_is_measured_from_the_samples_beside_the_first_loss() -> None:
    """A higher rise two samples later is no part of it."""
    rise_ms = RISE_MS.copy()
    rise_ms[3] = 80
    assert features(replace(WORKED, rtt_ms=10 + rise_ms))["first_fall"] == pytest.approx(25 / 40)


def test_download_without_losses_has_no_values_of_losses() -> None:
    """And a rise that never changes is correlated with nothing."""
    found = features(download([1.0, 2, 3, 4, 5, 6], [7] * 6))
    assert {name: found[name] for name in (
        "rise_at_loss", "rise_spread_at_loss", "rise_without_loss", "loss_burst", "loss_late",
        "loss_start", "loss_intervals", "first_fall", "follows_in_flight", "rise_autocorrelation",
        "in_flight",
    )} == {"rise_at_loss": -1, "rise_spread_at_loss": -1, "rise_without_loss": -1,
           "loss_burst": 0, "loss_late": 0,
           "loss_start": 0, "loss_intervals": 0, "first_fall": -1, "follows_in_flight": 0,
           "rise_autocorrelation": 0, "in_flight": 0}


def test_slow_start_without_a_loss_lasts_to_the_end() -> None:
    """From 10 to 40 ms."""
    found = features(download([1.0, 2, 3, 4, 5], [0, 5, 10, 20, 30]))
    assert found["imc_difference"] == pytest.approx(30 / 40)


def test_download_whose_first_sample_is_late_has_no_start() -> None:
    found = features(download([2.0, 3, 4, 5, 6], [1, 2, 3, 4, 5]))
    assert (found["loss_start"], found["start_peak_ms"], found["early_rate"]) == (0, 0, 0)


def test_spread_at_three_losses_is_that_of_their_rises() -> None:
    """10, 20 and 30 ms, each the higher one of the sample and the one before."""
    one = download([2.0, 3, 4, 5, 6, 7], [0, 10, 0, 20, 0, 30])
    one.retransmitted_bytes[:] = [0, 1, 1, 2, 2, 3]
    assert features(one)["rise_spread_at_loss"] == pytest.approx(sqrt(200 / 3) / 20)


def test_loss_in_the_first_interval_counts() -> None:
    """Before it nothing was sent."""
    one = download([0.5, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    one.retransmitted_bytes[:] = 1000
    assert features(one)["loss_start"] == pytest.approx(1000 / 62_500)


@pytest.mark.parametrize(("at_s", "rise_ms", "median_ms"), [
    ([0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [0, 0, 10, 20, 30, 40], 25),
    # Only three are late enough, so the second half counts.
    ([0.5, 1.0, 1.4, 1.5, 2.0, 2.5], [0, 0, 0, 10, 50, 30], 30),
    ([0.1, 0.2, 0.3, 0.4], [90, 90, 10, 20], 15),
])
def test_samples_after_the_search_for_the_rate_count_or_the_second_half(
        at_s: list[float], rise_ms: list[float], median_ms: float) -> None:
    """Four samples suffice, also for the correlation with the next one."""
    found = features(download(at_s, rise_ms))
    assert found["rise_q50_ms"] == pytest.approx(median_ms)
    if len(at_s) == 6 and at_s[2] == 1.5:
        assert found["rise_autocorrelation"] == pytest.approx(1)


def test_search_for_the_rate_lasts_eight_round_trips() -> None:
    """Of 400 ms each, these are 3.2 s."""
    near = download([1.6, 2.4, 3.1, 3.3, 4.0, 5.0, 6.0], [70, 80, 90, 1, 2, 3, 4])
    assert features(near)["rise_q50_ms"] == 4
    far = replace(near, rtt_ms=near.rtt_ms + 390, min_rtt_ms=near.min_rtt_ms + 390)
    assert features(far)["rise_q50_ms"] == 2.5


def test_round_trip_of_nothing_counts_as_a_tenth_of_a_millisecond() -> None:
    one = download([2.0, 3, 4, 5], [1, 1, 1, 1])
    one.rtt_ms[:], one.min_rtt_ms[:] = 0.3, 0.0
    assert features(one)["base_rtt_ms"] == 0.1
    assert features(one)["rise_q50_relative"] == pytest.approx(2)


@pytest.mark.parametrize(("name", "value", "text"), [
    ("near_top", 0.5, "50 %"), ("near_top", 0.1, "10 %"), ("near_top", 0.0994, "9.9 %"),
    ("rise_q50_ms", 12.345, "12.3 ms"), ("rise_autocorrelation", 0.98765, "0.988")])
def test_value_is_shown_with_its_unit(name: str, value: float, text: str) -> None:
    assert FEATURES[name].shown(value) == text


def test_probabilities_of_several_rows_are_those_of_each_and_add_up_to_1() -> None:
    """Whatever their number, also of two rows that differ much."""
    model = load_model()
    shares = numpy.random.default_rng(5).dirichlet([0.3] * model.bias.size, 7)
    together = calibrated(model, shares)
    assert together.sum(axis=1) == pytest.approx(numpy.ones(7))
    for row, found in zip(shares, together, strict=True):
        assert found == pytest.approx(calibrated(model, row[numpy.newaxis])[0])


def lossy(at: int, rise_ms: list[float]) -> Download:
    """A sample each half second, of which one has the only loss before it."""
    one = download([step / 2 for step in range(1, len(rise_ms) + 1)], rise_ms)
    one.retransmitted_bytes[at:] = 1448
    return one


@pytest.mark.parametrize(("at", "rise_ms", "fall"), [
    # The highest of the sample, the one before and the one after, and the 3rd to 8th behind it.
    (0, [10.0, 20, 90, 5, 5, 5, 5], 5 / 20), (1, [40.0, 20, 10, 90, 5, 5, 5], 5 / 40),
    (2, [90.0, 20, 10, 40, 90, 5, 5], 5 / 40),
    (1, [0.0, 40, 0, 0, 2, 2, 2, 4, 4, 4, 90, 90], 3 / 40), (1, [0.0, 40, 0, 0, 8], 8 / 40),
    (1, [0.0, 40, 0, 0], -1), (1, [0.0, 0, 0, 7, 7, 7], 0)])
def test_fall_after_the_first_loss_is_that_of_six_samples_at_most(
        at: int, rise_ms: list[float], fall: float) -> None:
    assert features(lossy(at, rise_ms))["first_fall"] == pytest.approx(fall)


@pytest.mark.parametrize(("name", "late_ms", "value"), [
    # A rise of exactly four fifths of the highest is not near it.
    ("near_top", [40, 32, 33, 10], 2 / 4), ("near_top", [0, 0, 0, 0], 0),
    # Where nothing rises later, a tenth of a millisecond is the least.
    ("start_peak_by_late", [0, 0, 0, 0], 50), ("start_peak_by_late", [0.2, 0.2, 0.2, 0.2], 25)])
def test_rise_is_compared_with_the_highest_or_the_later_one(
        name: str, late_ms: list[float], value: float) -> None:
    """5 ms while the sender looked for the rate."""
    one = download([0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [0 if name == "near_top" else 5, 0, *late_ms])
    assert features(one)[name] == pytest.approx(value)


@pytest.mark.parametrize(("lost", "rise_ms", "without", "at_loss"), [
    # The higher rise of the sample with the loss and the one before.
    ([0, 0, 0, 1, 1, 1], [0, 0, 30, 20, 10, 10], 10 / 30, 30 / 30),
    ([0, 0, 0, 1, 1, 1], [0, 0, 10, 20, 10, 40], 10 / 20, 20 / 40),
    ([0, 0, 1, 2, 3, 4], [0, 0, 10, 20, 10, 40], -1, 20 / 40),
    ([0, 0, 0, 0, 0, 0], [0, 0, 10, 20, 10, 40], -1, -1),
    # Where nothing rises at a loss, a tenth of a millisecond is the least.
    ([0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 5, 5], 5 / 0.1, 0),
    # A loss while the sender looked for the rate counts for neither.
    ([0, 1, 1, 1, 1, 1], [0, 90, 10, 20, 10, 40], -1, -1)])
def test_rises_with_and_without_losses_are_compared(
        lost: list[float], rise_ms: list[float], without: float, at_loss: float) -> None:
    one = download([0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [float(one) for one in rise_ms])
    one.retransmitted_bytes[:] = lost
    found = features(one)
    assert found["rise_without_loss"] == pytest.approx(without)
    assert found["rise_at_loss"] == pytest.approx(at_loss)


@pytest.mark.parametrize(("first_s", "rate"), [(0.05, 1.0), (0.051, 3.0)])
def test_rate_of_the_start_is_that_of_intervals_above_50_ms(first_s: float, rate: float) -> None:
    """Three times as much is acknowledged in the first one."""
    one = download([first_s, 1.0, 2.0, 3.0, 4.0, 5.0], [0] * 6)
    one.acked_bytes[1:] += 2 * one.acked_bytes[0]
    one.acked_bytes[0] *= 3
    assert features(one)["early_rate"] == pytest.approx(rate, abs=0.01)


def test_what_is_not_there_counts_as_nothing_in_flight_and_a_byte_per_second() -> None:
    """More acknowledged than sent, as where a measurement is torn; and nothing acknowledged."""
    torn = replace(WORKED, sent_bytes=ACKED + RETRANSMITTED - 500)
    assert (features(torn)["in_flight"], features(torn)["in_flight_variation"]) == (0, 0)
    idle = replace(WORKED, acked_bytes=0 * ACKED, sent_bytes=RETRANSMITTED + 1.0)
    assert features(idle)["rate_mbps"] == pytest.approx(8e-6)
    assert features(idle)["in_flight"] == pytest.approx(1000 / 10)
    below = replace(WORKED, rtt_ms=0 * RISE_MS + 5)
    assert features(below)["rise_max_ms"] == 0
