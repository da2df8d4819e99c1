# SPDX-License-Identifier: GPL-3.0-or-later
"""Router models fitted to measurements."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from statistics import mean
from unittest.mock import MagicMock

import pytest
from rich.console import Console

from flent_aqm.base.errors import ConfigError, LabError
from flent_aqm.cli import main
from flent_aqm.parts.router_models import calibrate
from flent_aqm.parts.router_models.calibrate import (
    BenchSetting,
    Fit,
    MeasuredPoint,
    MeasuredResult,
    Measurements,
    ModelParameter,
    Values,
    fit,
    measure,
    parse_measurements,
    parse_point,
    telling_setting,
)
from flent_aqm.parts.router_models.model import parse_router_model
from research.validation.token_bucket import default_burst_us, goodput_mbps


def test_file_that_cannot_be_written_is_refused_before_the_search(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which takes long. One that can be keeps what it has until there is a result."""
    searched = MagicMock(side_effect=LabError("no lab"))
    monkeypatch.setattr(calibrate, "fit", searched)
    assert main(["calibrate", "100=40", "200=190", "--csv", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (f"flent-aqm: --csv: {tmp_path} can't be written: Is a "
                                       "directory; name a file that can\n")
    searched.assert_not_called()
    kept = tmp_path / "kept.csv"
    kept.write_text("of another day")
    assert main(["calibrate", "100=40", "200=190", "--csv", str(kept)]) == 1
    searched.assert_called()
    assert kept.read_text() == "of another day"


def by_theory(rates_mbps: Sequence[float], latency_us: float) -> list[float]:
    """Goodputs without burst shaping."""
    return [goodput_mbps(rate, latency_us, default_burst_us(rate)) for rate in rates_mbps]


TIMERS = ModelParameter("timer_latency_us", 0, 60, 8, 1)
COST = ModelParameter("rx_packet_ns", 0, 100_000, 4000, 250)
RING = ModelParameter("rx_ring_packets", 64, 4096, 4, 1.4, geometric=True)


def fit_theory(rates_mbps: Sequence[float], goodputs: Sequence[float]) -> Fit:
    """The fit of late timers, when the lab is what the theory says."""
    points = [MeasuredPoint(BenchSetting(rate, False), MeasuredResult(goodput))
              for rate, goodput in zip(rates_mbps, goodputs, strict=True)]

    def simulate(models: Sequence[Values]) -> Mapping[Values, Sequence[MeasuredResult]]:
        return {model: [MeasuredResult(mbps) for mbps in by_theory(rates_mbps, model[0])]
                for model in models}

    return fit(Measurements(points), [TIMERS], simulate)


def saturating(models: Sequence[Values]) -> dict[Values, list[MeasuredResult]]:
    """A router that passes 900 Mbit/s until its processor is full, and then has a full ring:
    what theory says of cost and ring, at 900 and at 300 Mbit/s."""
    outcomes: dict[Values, list[MeasuredResult]] = {}
    for timers_us, cost_ns, ring in models:
        capacity_mbps = 1448 * 8e3 / cost_ns if cost_ns else 1e6
        full = capacity_mbps < 860
        outcomes[timers_us, cost_ns, ring] = [
            MeasuredResult(min(860, capacity_mbps), ring * cost_ns / 1e6 if full else 0.05),
            MeasuredResult(by_theory([300], timers_us)[0], 0.05)]
    return outcomes


@pytest.mark.parametrize("latency_us", [17, 20, 33, 58])
def test_fit_of_a_known_router_finds_its_latency(latency_us: int) -> None:
    """A router that obeys the theory gets the latency that it was given."""
    rates = [800.0, 1000.0]
    assert fit_theory(rates, by_theory(rates, latency_us)).best == (latency_us,)


def test_fit_of_rates_that_tell_nothing_gives_the_whole_range() -> None:
    """Up to the depth of the bucket no latency shows, and the ranges say so."""
    rates = [100.0, 200.0]
    fitted = fit_theory(rates, by_theory(rates, 0))
    assert fitted.best == (0,)
    assert fitted.ranges() == {"timer_latency_us": (0, 60)}


def test_fit_finds_cost_and_ring_of_a_saturated_router_and_says_what_it_cannot_know() -> None:
    """Goodput tells the cost, latency the ring; timers show nowhere here."""
    true: Values = (0, 20_000, 500)
    points = [MeasuredPoint(BenchSetting(900, True), saturating([true])[true][0]),
              MeasuredPoint(BenchSetting(300, True), saturating([true])[true][1])]
    fitted = fit(Measurements(points, packets_per_s=50_000), [TIMERS, COST, RING], saturating)
    assert fitted.best[1] == pytest.approx(20_000, rel=0.02)
    assert fitted.best[2] == pytest.approx(500, rel=0.15)
    ranges = fitted.ranges()
    assert ranges["rx_packet_ns"][1] - ranges["rx_packet_ns"][0] < 3000
    assert ranges["rx_ring_packets"][0] > 250
    assert ranges["rx_ring_packets"][1] < 1000
    assert ranges["timer_latency_us"][1] > 20


def test_telling_setting_is_the_one_in_which_plausible_models_differ_most() -> None:
    """Two models that agree on one setting and not on another."""
    settings = [BenchSetting(300, True), BenchSetting(900, True, 2)]
    candidates: dict[Values, list[MeasuredResult]] = {
        (1.0,): [MeasuredResult(286.0, 0.1), MeasuredResult(860.0, 5.0)],
        (2.0,): [MeasuredResult(286.0, 0.1), MeasuredResult(860.0, 20.0)]}
    telling = telling_setting(settings, candidates)
    assert telling is not None
    assert telling[:2] == (settings[1], "latency")
    assert telling_setting(settings[:1], {name: measured[:1]
                                          for name, measured in candidates.items()}) is None


@pytest.mark.lab
def test_late_timer_limits_the_labs_router_as_the_token_bucket_says() -> None:
    """The goodput that the lab measures is that of the arithmetic, within 2 %."""
    rates = [800.0, 1000.0]
    measured = measure("20us", [BenchSetting(rate, False) for rate in rates], latency=False)
    assert [one.goodput_mbps for one in measured] == pytest.approx(by_theory(rates, 20), rel=0.02)


@pytest.mark.lab
def test_calibrate_of_a_router_that_no_model_explains_says_so(
        capsys: pytest.CaptureFixture[str]) -> None:
    """A measurement far from the model's is no fit, and the exit status tells."""
    assert main(["calibrate", "100=40", "200=190", "--highest", "1", "--step", "1"]) == 1
    assert "No model explains these measurements" in capsys.readouterr().out


@pytest.mark.lab
def test_calibrate_finds_the_cost_of_a_modelled_router_that_is_its_own_witness(
        capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the lab measures with a known cost and ring gives these back, with ranges. A slow
    router, since each packet costs the lab, too; one measurement that might tell more, not 12."""
    monkeypatch.setattr(calibrate, "_MENU", (BenchSetting(300, True, 2),))
    settings = [BenchSetting(20, True), BenchSetting(6, True)]
    true = "ideal+rx_packet_ns=750000+rx_ring_packets=100"
    # Measured in either order: the rise at 6 Mbit/s hangs on where the probes meet the packets.
    either = zip(settings, measure(true, settings), measure(true, settings[::-1])[::-1],
                 strict=True)
    points = [f"{setting}={mean(one.goodput_mbps for one in both):.2f}"
              f"/{mean(one.rise_ms or 0 for one in both):.3f}" for setting, *both in either]
    assert main(["calibrate", *points, "pps=1333", "--fit", "rx_packet_ns,rx_ring_packets"]) == 0
    output = capsys.readouterr().out
    match = re.search(r"rx_packet_ns: (\S+); from (\S+) to (\S+) explains them as well", output)
    assert match
    best, low, high = map(float, match.groups())
    # The rise of the latency depends on where probes meet packets, and moves the range's ends.
    assert 0.99 * low <= 750_000 <= 1.01 * high
    assert best == pytest.approx(750_000, rel=0.03)
    ring = re.search(r"rx_ring_packets: (\S+); from (\S+) to (\S+) explains", output)
    assert ring
    assert float(ring[2]) <= 100 <= float(ring[3])
    assert "at 2x300+burst would narrow that" in output


def test_nothing_is_advised_where_all_has_been_measured(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """No lab is asked to measure in no setting, though several models are left."""
    fitted = fit_theory([5, 10], by_theory([5, 10], 0))
    assert len(fitted.plausible()) > 1
    monkeypatch.setattr(calibrate, "_MENU", tuple(point.setting for point in
                                                  fitted.measurements.points))
    output = Console(file=StringIO())
    models = calibrate._ModelsInLab("ideal", fitted.parameters, latency=False)
    calibrate._advise(fitted, models, output)
    assert isinstance(output.file, StringIO)
    assert output.file.getvalue() == ""


@pytest.mark.parametrize(("packet_ns", "text"), [
    (1_000_000, "1000000"), (999_999.5, "999999.5"), (812.5, "812.5"), (0.1 + 0.2, "0.3")])
def test_model_of_a_slow_router_is_written_without_an_exponent(packet_ns: float, text: str) -> None:
    """As of pps=1000: what stands after a + is the next parameter."""
    model = calibrate._ModelsInLab("ideal", [COST], latency=False).text_of((packet_ns,))
    assert model == f"ideal+rx_packet_ns={text}"
    assert parse_router_model(model).rx_packet_ns == pytest.approx(packet_ns)


@pytest.mark.parametrize(("text", "message"), [
    ("800", "'800' is not a measurement"),
    ("800=900", "the goodput is 900 Mbit/s; expected more than 0, and at most .* 800 Mbit/s"),
    ("800=0", "the goodput is 0 Mbit/s; expected more than 0"),
    ("1000=1000.0004", "the goodput is 1000.0004 Mbit/s; expected .* at most .* 1000 Mbit/s"),
    ("800=1.2.3", "'1.2.3' is not a number"),
    ("0=0", "'0=0': 0 Mbit/s is out of range"),
])
def test_point_of_another_form_is_refused_with_the_form(text: str, message: str) -> None:
    """What was typed is named, with what is expected."""
    with pytest.raises(ConfigError, match=message):
        parse_point(text)


@pytest.mark.parametrize(("words", "message"), [
    (["800=676"], "1 measured value can't determine 1 parameter; give at least 2\n"),
    (["800=676/1.5"], "2 measured values can't determine 3 parameters; give at least 3, or fit"),
    (["800=676", "800=670", "800=672"], "800 is given 3 times; give it once, with the median"),
    (["800=676", *["pps=50000"] * 3], "pps is given 3 times; give it once, with the largest"),
    (["pps=50000"], "no goodput at any rate is given; add [Nx]RATE"),
    (["800=676", "pps=12"], "'pps=12': expected pps=NUMBER, the most packets"),
    (["800=676", "900=700", "--fit", "speed"], "--fit: 'speed': expected names of timer_latency"),
    (["800=676", "900=700", "--base", "turris"], "--base: unknown value 'turris'"),
    (["800=676", "900=700", "--step", "0"], "expected 1 <= step"),
])
def test_calibrate_with_too_little_or_wrong_words_is_refused_in_a_line(
        words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was seen, and what is wanted; no lab is booted."""
    assert main(["calibrate", *words]) == 1
    output = capsys.readouterr().err
    assert message in output
    assert output.count("\n") == 1


def test_measurements_are_read_with_flows_bursts_and_latency() -> None:
    """All that the form allows."""
    read = parse_measurements(["2x900+burst=860/3.1", "800=676", "pps=66700"])
    assert read.points == [MeasuredPoint(BenchSetting(900, True, 2), MeasuredResult(860, 3.1)),
                           MeasuredPoint(BenchSetting(800, False), MeasuredResult(676))]
    assert (read.packets_per_s, read.values) == (66_700, 4)
    assert str(read.points[0].setting) == "2x900+burst"


@pytest.mark.parametrize(("printed", "errors", "why"), [
    ('{"start": {}, "intervals": [], "end": {}, "error": "unable to connect"}', "",
     "iperf3: unable to connect"),
    ("", "Warning: slow\nError: no reply from server\n", "Error: no reply from server"),
    ("", "", "they printed no error"),
])
def test_failed_lab_is_reported_with_the_programs_own_error(
        printed: str, errors: str, why: str, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    """`iperf3 -J` writes its error to its output, and all others to standard error."""
    lab = MagicMock(results=tmp_path, stderr=tmp_path / "stderr")
    (tmp_path / "0.json").write_text(printed)
    lab.stderr.write_text(errors)
    lab.run.return_value.status = 1
    monkeypatch.setattr(calibrate, "Lab", MagicMock(**{"return_value.__enter__.return_value": lab}))
    with pytest.raises(LabError, match=(
            f"a router 8us could not be .* with status 1: {why}; calibrate with another")):
        calibrate.measure("8us", [BenchSetting(800, False)], latency=False)


def test_names_to_fit_may_have_blanks_around_them() -> None:
    """As in a list that is quoted for the shell."""
    by_name = calibrate._fittable_parameters(60, 8)
    names = calibrate._names_to_fit("rx_packet_ns, timer_latency_us", parse_measurements(["8=7"]),
                                    by_name)
    assert names == ["timer_latency_us", "rx_packet_ns"]


def test_file_that_cannot_be_written_does_not_cost_the_result(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A search takes many minutes, and the disk may have become full meanwhile."""
    def told(*_: object) -> int:
        print("router_model = 8us")
        return 0

    def full(path: Path, fitted: Fit) -> None:
        raise ConfigError("No space left on device")

    empty = Fit((), parse_measurements(["800=700"]), (), {})
    monkeypatch.setattr(calibrate, "fit", lambda *_: empty)
    monkeypatch.setattr(calibrate, "_print_fit", told)
    monkeypatch.setattr(calibrate, "_write_csv", full)
    parser = argparse.ArgumentParser()
    calibrate.add_arguments(parser)
    with pytest.raises(ConfigError, match="No space left"):
        calibrate.main(parser.parse_args(["800=700", "400=390", "--csv", f"{tmp_path}/x"]))
    assert capsys.readouterr().out == "router_model = 8us\n"
