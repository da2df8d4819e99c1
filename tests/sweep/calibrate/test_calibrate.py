# SPDX-License-Identifier: GPL-3.0-or-later
"""Router models fitted to measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.cli import main
from flent_aqm.sweep.calibrate.fit import fit
from flent_aqm.sweep.calibrate.points import Point, Setting, parse_point
from flent_aqm.sweep.calibrate.simulate import goodputs_mbps
from flent_aqm.sweep.calibrate.theory import default_burst_us, goodput_mbps


def by_theory(rates_mbps: Sequence[float], latency_us: float) -> list[float]:
    """Goodputs without burst shaping."""
    return [goodput_mbps(rate, latency_us, default_burst_us(rate)) for rate in rates_mbps]


def fit_theory(rates_mbps: Sequence[float], goodputs: Sequence[float]) -> tuple[int, int, int]:
    """The best latency and its bounds, in ns, when the lab is what the theory says."""
    points = [Point(Setting(rate, False), goodput)
              for rate, goodput in zip(rates_mbps, goodputs, strict=True)]

    def simulate(latencies: Sequence[int]) -> Mapping[int, Sequence[float]]:
        return {ns: by_theory(rates_mbps, ns / 1000) for ns in latencies}

    found = fit(points, 60_000, 5_000, 1_000, simulate)
    return found.latency_ns, found.lowest_ns, found.highest_ns


@pytest.mark.parametrize("latency_us", [17, 20, 33, 58])
def test_fit_of_a_known_router_finds_its_latency(latency_us: int) -> None:
    """A router that obeys the theory gets the latency that it was given."""
    rates = [800.0, 1000.0]
    assert fit_theory(rates, by_theory(rates, latency_us))[0] == latency_us * 1000


def test_fit_of_rates_that_tell_nothing_gives_the_whole_range() -> None:
    """Up to the depth of the bucket no latency shows, and the bounds say so."""
    rates = [100.0, 200.0]
    best, lowest, highest = fit_theory(rates, by_theory(rates, 0))
    assert (best, lowest, highest) == (0, 0, 60_000)


@pytest.mark.lab
def test_late_timer_limits_the_labs_router_as_the_token_bucket_says() -> None:
    """The goodput that the lab measures is that of the arithmetic, within 2 %."""
    rates = [800.0, 1000.0]
    measured = goodputs_mbps(20_000, [Setting(rate, False) for rate in rates])
    assert measured == pytest.approx(by_theory(rates, 20), rel=0.02)


@pytest.mark.lab
def test_calibrate_of_a_router_that_no_latency_explains_says_so(
        capsys: pytest.CaptureFixture[str]) -> None:
    """A measurement far from the model's is no fit, and the exit status tells."""
    assert main(["calibrate", "100=40", "200=190", "--highest", "1", "--step", "1"]) == 1
    assert "No latency from 0 to 1 us explains" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "message"), [
    ("800", "'800' is not a measurement"),
    ("800=900", "can't come through a shaper of 800"),
    ("800=1.2.3", "'1.2.3' is not a number"),
    ("0=0", "rate_up_mbps: 0 Mbit/s is out of range"),
])
def test_point_of_another_form_is_refused_with_the_form(text: str, message: str) -> None:
    """What was typed is named, with what is expected."""
    with pytest.raises(ConfigError, match=message):
        parse_point(text)


def test_calibrate_with_one_point_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """One measurement fits any model."""
    assert main(["calibrate", "800=676"]) == 1
    assert "give at least two" in capsys.readouterr().err
