# SPDX-License-Identifier: GPL-3.0-or-later
"""Each limit of the advice and of the speed test's report, on both sides and at its edge."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy
import pytest

from flent_aqm.results.advice.advice import advise
from flent_aqm.results.advice.measured import (
    BOTH,
    Configuration,
    Measured,
    Sqm,
    loads,
    measured,
    measured_of_samples,
    stood_still,
    throughput,
    tried,
)
from flent_aqm.results.advice.speedtest import (
    AGAIN,
    IN_LAB,
    NO_IDLE,
    NO_SAMPLE,
    advice,
    latency,
    load,
    pings,
    report,
)
from flent_aqm.results.data_file import DataFile, as_data_file
from flent_aqm.results.metrics.run import Run, Samples, as_run
from flent_aqm.results.metrics.table import Unavailable

START_S = 1_767_225_600.0


def made(flows: dict[str, tuple[float, float]], rtts_ms: list[float], cpus: Any = (),
         about: Any = None) -> DataFile:
    """Return a run: name of a flow -> its start and end, a ping a second, and samples of the
    processors."""
    meta: dict[str, Any] = {name: {
        "RUNNER": "AqmNetperfRunner", "UNITS": "Mbits/s", "MEAN_VALUE": 8.0,
        "LOAD_START": START_S + begin_s, "LOAD_END": START_S + end_s, "NETPERF": about}
        for name, (begin_s, end_s) in flows.items()}
    raw: dict[str, Any] = {name: [{"t": START_S + end_s, "val": 8.0, "dur": end_s - begin_s}]
                           for name, (begin_s, end_s) in flows.items()}
    if rtts_ms:
        raw["Ping (ms) ICMP"] = [{"t": START_S + at + rtt_ms / 1000, "val": rtt_ms, "seq": at}
                                 for at, rtt_ms in enumerate(rtts_ms)]
        meta["Ping (ms) ICMP"] = {"RUNNER": "AqmPingRunner", "UNITS": "ms"}
    raw["CPU"] = list(cpus)
    return as_data_file({"version": 4, "raw_values": raw, "metadata": {
        "NAME": "made", "SERIES_META": meta}}, Path("made.flent.gz"))


def made_run(flows: dict[str, tuple[float, float]], rtts_ms: list[float]) -> Run:
    """Return the run of made()."""
    return as_run(made(flows, rtts_ms))


@pytest.mark.parametrize(("upload", "found"), [
    ((5.0, 15.0), {"downloads": "download", "uploads": "upload"}),
    ((4.9, 15.0), {BOTH: None}), ((7.0, 11.0), {BOTH: None}), ((8.0, 12.0), {
        "downloads": "download", "uploads": "upload"}),
    ((20.0, 30.0), {"downloads": "download", "uploads": "upload"}), (None, {
        "downloads": "download"})])
def test_directions_that_overlap_for_more_than_half_are_one_load(
        upload: tuple[float, float] | None, found: dict[str, str | None]) -> None:
    """Of the shorter one's time. The download takes 10 s."""
    flows = {"TCP download": (0.0, 10.0), **({"TCP upload": upload} if upload else {})}
    run = made_run(flows, [5.0] * 40)
    assert loads(run) == found
    assert throughput(run) == dict.fromkeys(
        ("download", "upload") if upload else ("download",), 8.0)


def test_run_is_measured_with_an_idle_line_and_each_load() -> None:
    """Not without idle probes, without load, or where all of the run is load."""
    rtts_ms = [20.0] * 12 + [50.0] * 12 + [20.0]
    one = measured(made_run({"TCP download": (12.0, 24.0)}, rtts_ms))
    assert isinstance(one, Measured)
    assert (one.idle_ms, dict(one.loaded_ms), one.mbps) == (
        20.0, {"downloads": 50.0}, {"download": 8.0})
    assert (one.lost_pct, one.loss_unknown, one.added_ms("downloads")) == (
        {"downloads": 0.0}, "", 30.0)
    assert why_none(measured(made_run({}, rtts_ms))) == (
        "the test doesn't load the link")
    assert why_none(measured(made_run({"TCP cubic": (12.0, 24.0)}, rtts_ms))) == (
        "no flow has download or upload in its name, and the names of 'TCP cubic' tell no "
        "direction")
    assert why_none(measured(made_run({"TCP download": (12.0, 24.0)}, []))) == (
        "the run has no latency series of irtt, ping or netperf")
    assert why_none(measured(made_run({"TCP download": (-1.0, 40.0)}, rtts_ms))) == (
        "no probe was sent and answered before the load")


def why_none(found: Measured | Unavailable) -> str:
    """Return the reason why a run allows no advice."""
    assert isinstance(found, Unavailable)
    return found.because


@pytest.mark.parametrize(("still_s", "stood"), [(2.0, False), (2.001, True), (0.0, False)])
def test_probe_that_stood_for_over_a_tenth_does_not_describe_a_phase(
        still_s: float, stood: bool) -> None:
    """Of 20 s, idle or under load."""
    def samples(still_s: float) -> Samples:
        return Samples(numpy.arange(20.0), numpy.full(20, 5.0), 20.0, 1000.0, still_s=still_s)

    assert stood_still(samples(still_s)) is stood
    for idle_s, busy_s, phase in ((still_s, 0.0, "on the idle line"),
                                  (0.0, still_s, "while uploads keep the line busy")):
        found = measured_of_samples(samples(idle_s), {"uploads": samples(busy_s)}, {})
        if stood:
            assert why_none(found) == f"the probe was stopped for 2 of 20 s {phase}"
        else:
            assert isinstance(found, Measured)


def test_medians_are_in_the_middle_of_a_phase_and_texts_have_two_digits() -> None:
    """Of 1 to 41 ms, idle, and twice as much under load."""
    def samples(factor: float, still_s: float = 0.0) -> Samples:
        return Samples(numpy.arange(41.0), factor * numpy.arange(1.0, 42.0), 123.4, 1000.0,
                       still_s=still_s)

    one = measured_of_samples(samples(1), {"uploads": samples(2)}, {})
    assert isinstance(one, Measured)
    assert (one.idle_ms, one.loaded_ms["uploads"]) == (21.0, 42.0)
    assert why_none(measured_of_samples(samples(1, 56.78), {"uploads": samples(2)}, {})) == (
        "the probe was stopped for 57 of 120 s on the idle line")


@pytest.mark.parametrize(("idle", "busy", "why"), [
    (10, 10, ""), (9, 10, "it takes 10 probes on the idle line, and there are 9"),
    (1, 10, "it takes 10 probes on the idle line, and there is 1"),
    (10, 9, "it takes 10 probes while uploads keep the line busy, and there are 9")])
def test_each_phase_takes_ten_probes(idle: int, busy: int, why: str) -> None:
    def samples(count: int) -> Samples:
        return Samples(numpy.arange(float(count)), numpy.full(count, 5.0), 20.0, 1000.0)

    found = measured_of_samples(samples(idle), {"uploads": samples(busy)}, {})
    assert (why_none(found) if isinstance(found, Unavailable) else "") == why


def test_idle_line_that_loses_half_carries_no_advice() -> None:
    """Its median is a lost probe. A load's may be one."""
    def samples(lost: int) -> Samples:
        rtts_ms = numpy.where(numpy.arange(20) < lost, math.inf, 5.0)
        return Samples(numpy.arange(20.0), rtts_ms, 20.0, 1000.0)

    assert why_none(measured_of_samples(samples(11), {"uploads": samples(0)}, {})) == (
        "at least half of the probes on the idle line were lost")
    one = measured_of_samples(samples(5), {"uploads": samples(11)}, {})
    assert isinstance(one, Measured)
    assert (one.idle_ms, one.loaded_ms["uploads"]) == (5.0, math.inf)
    assert one.lost_pct["uploads"] == pytest.approx(30)


def test_share_of_a_shaper_is_the_larger_direction() -> None:
    assert Sqm("cake", 36, 9, 40, 12).share_pct == 90
    assert Sqm("cake", 36, 9, 60, 10).share_pct == 90


def test_configuration_has_what_all_runs_have() -> None:
    """Loads and throughput that one run lacks are left out. Medians over runs."""
    one = Measured(10.0, {"uploads": 20.0, "downloads": 11.0}, {"upload": 5.0, "download": 30.0},
                   {"uploads": 4.0})
    other = Measured(10.0, {"uploads": 40.0}, {"upload": 7.0})
    both = Configuration("x", [one, other])
    assert both.busy == ["uploads"]
    assert (both.added_ms("uploads"), both.lost_pct("uploads")) == (20.0, 2.0)
    assert (both.mbps("upload"), both.mbps("download")) == (6.0, None)
    assert Configuration("x", [one]).busy == ["downloads", "uploads"]


@pytest.mark.parametrize(("settings", "sqm", "managed"), [
    ({"aqm": "cake", "shaper": "cake", "modem_down_mbps": 40, "modem_up_mbps": 10.0,
      "rate_down_mbps": 36, "rate_up_mbps": 9}, Sqm("cake", 36, 9, 40, 10), True),
    ({"aqm": "cake", "shaper": "cake", "modem_down_mbps": 40, "modem_up_mbps": 10.0,
      "rate_down_mbps": 36}, None, True),
    ({"aqm": "cake", "shaper": "none", "modem_down_mbps": 40, "modem_up_mbps": 10,
      "rate_down_mbps": 36, "rate_up_mbps": 9}, None, False),
    ({"aqm": "cake", "shaper": "cake", "modem_down_mbps": math.inf, "modem_up_mbps": 10,
      "rate_down_mbps": 36, "rate_up_mbps": 9}, None, True),
    ({"aqm": "cake", "shaper": "cake", "modem_down_mbps": "40", "modem_up_mbps": 10,
      "rate_down_mbps": 36, "rate_up_mbps": 9}, None, True),
    ({"aqm": "cake", "up_aqm": "bfifo"}, None, False),
    ({"aqm": "bfifo", "up_aqm": "cake"}, None, False),
    ({"aqm": "cake", "up_aqm": ""}, None, True)])
def test_settings_of_the_first_run_tell_the_line(
        settings: dict[str, Any], sqm: Sqm | None, managed: bool) -> None:
    one = Measured(10.0, {"uploads": 20.0}, {})
    found = tried("x", [(settings, one), ({}, one)])
    assert (found.name, list(found.runs)) == ("x", [one, one])
    assert (found.sqm, found.managed, found.fixed_rate) == (sqm, managed, True)
    assert not found.no_advice
    found = tried("x", [(settings, one), (settings, Unavailable("it rained"))])
    assert (found.busy, found.no_advice) == ([], "in 1 of 2 runs it rained")
    assert tried("x", [(settings, Unavailable("it rained"))]).no_advice == "it rained"


SHARE = ("Set SQM in your router to 90 % of the line's rate for uploads, measured one direction at "
         "a time, then measure again.")
MEASURED_RATE = ("Set SQM in your router to 7.2 Mbit/s for uploads (90 % of the 8 that were "
                 "measured), then measure again.")
NOTHING = "Nothing else was measured that could be advised instead."


def loaded_line(settings: dict[str, Any], cross: dict[str, tuple[float, float]],
                **aqm: Any) -> Run:
    """An upload from 20 s to 40 s that adds 100 ms, beside cross traffic."""
    data = made({"TCP upload": (20.0, 40.0), **cross}, [10.0] * 20 + [110.0] * 20)
    data.metadata["AQM"] = {"requested": settings, **aqm}
    return as_run(data)


@pytest.mark.parametrize(("settings", "cross", "aqm", "remedy"), [
    ({}, {}, {}, MEASURED_RATE),
    # Cross traffic of the same direction is counted, and an upload's acknowledgements wait behind
    # a download, if it is there for more than half of the time.
    ({}, {"Cross upload": (20.0, 40.0)}, {}, MEASURED_RATE.replace("7.2", "14").replace("8", "16")),
    ({}, {"Cross download": (20.0, 40.0)}, {}, SHARE),
    ({}, {"Cross download": (20.0, 29.0)}, {}, MEASURED_RATE),
    # docsis and lte delay packets, and change no rate.
    ({"link_down_access": "docsis", "link_up_access": "lte+cycle_ms=2"}, {}, {}, MEASURED_RATE),
    ({"link_up_access": "docsis"}, {}, {"links": {"up": {"steps": 1}}}, MEASURED_RATE),
    ({"link_up_access": "docsis+period_s=9"}, {}, {}, NOTHING),
    ({"link_up_access": "starlink"}, {}, {"links": {"up": {"steps": 9}}}, NOTHING),
    *(({name: "1"}, {}, {}, NOTHING) for name in (
        "link_down_trace", "link_up_trace", "link_outages_s", "wifi_rates_mbps", "wifi_ap",
        "rates_mbps"))])
def test_rate_to_set_is_that_of_a_direction_alone_on_a_line_with_a_steady_rate(
        settings: dict[str, Any], cross: dict[str, tuple[float, float]], aqm: dict[str, Any],
        remedy: str) -> None:
    run = loaded_line(settings, cross, **aqm)
    assert advise({"": [tried("x", [({}, measured(run))])]}) == [
        "Busy uploads add 100 ms: games and calls suffer.", remedy]


def configuration(name: str, added_ms: float, mbps: dict[str, float] | None = None,
                  lost_pct: float = 0.0, busy: str = "uploads", **more: Any) -> Configuration:
    """Return a configuration of one run."""
    return Configuration(name, [Measured(10.0, {busy: 10.0 + added_ms}, mbps or {},
                                         {busy: lost_pct})], **more)


BAD = configuration("bad", 100.0, {"download": 100.0, "upload": 10.0})
SENTENCES: list[tuple[dict[str, list[Configuration]], list[str]]] = [
    ({"": [BAD, configuration("good", 2, {"download": 10.0, "upload": 10.0})]},
     ["Busy uploads add 100 ms with bad: games and calls suffer.",
      "Use good: here they then added 2 ms, at 90 % less download throughput."]),
    ({"": [BAD, configuration("good", -1, {"download": 100.0, "upload": 10.0})]},
     ["Busy uploads add 100 ms with bad: games and calls suffer.",
      "Use good: here they then added 0 ms."]),
    ({"": [BAD, configuration("good", 0.00051, {"download": 100.0, "upload": 10.0})]},
     ["Busy uploads add 100 ms with bad: games and calls suffer.",
      "Use good: here they then added less than 0.1 ms."]),
    # Where the upload gains as much as the download loses, both are named.
    ({"": [BAD, configuration("good", 2, {"download": 10.0, "upload": 19.0})]},
     ["Busy uploads add 100 ms with bad: games and calls suffer.",
      ("Use good: here they then added 2 ms, at 90 % less download and 90 % more upload "
       "throughput.")]),
    # A title tells one condition from others, and a single one needs none.
    ({"evening": [configuration("x", 90, managed=True)]},
     ["Busy uploads add 90 ms: games and calls suffer.",
      "Nothing else was measured that could be advised instead."]),
    ({"evening": [Configuration("x", [], no_advice="it rained"), configuration("y", 2)]},
     [("Busy uploads add no more than 2 ms in the median: calls and games run well, and nothing "
       "has to be changed."),
      "This leaves out x: it rained."]),
    # 95 % of the line's rate leave room enough, though 90 % would add as little.
    ({"": [BAD, *(configuration(f"{share} %", added_ms, {"download": 100.0, "upload": 10.0},
                                sqm=Sqm("cake", share, share, 100, 100))
                  for share, added_ms in ((96, 1), (95, 2), (90, 3)))]},
     ["Busy uploads add 100 ms with bad: games and calls suffer.",
      ("Set SQM to 95/95 Mbit/s (95 % of 100/100), with cake: here they then added 2 ms.")]),
    # A hundredth less throughput is as fast, and more is slower.
    ({"": [BAD, configuration("a", 2, {"upload": 5.0}), configuration("b", 1, {"upload": 4.9})]},
     ["Busy uploads add 100 ms with bad: games and calls suffer.",
      "Use b: here they then added 1 ms, at 51 % less throughput."]),
    ({"": [BAD, configuration("a", 2, {"upload": 5.0}), configuration("b", 1, {"upload": 4.89})]},
     ["Busy uploads add 100 ms with bad: games and calls suffer.",
      ("Use a: here they then added 2 ms, at 50 % less throughput. It costs the least "
       "throughput, to within 1 %, of 2 settings that add less than 30 ms.")]),
    # Shares of the line's rates are the same if they are to a tenth of a percent.
    *(({"": [BAD, configuration("good", 2, {"upload": 10.0}, sqm=Sqm("cake", 36, up, 40, 10))]},
       ["Busy uploads add 100 ms with bad: games and calls suffer.",
        f"Set SQM to 36/{up:g} Mbit/s{of_line}, with cake: here they then added 2 ms."])
      for up, of_line in ((9.004, " (90 % of 40/10)"), (9.006, ""))),
    # Runs that differ by a tenth are steady, and by more not.
    ({"": [Configuration("x", [Measured(10.0, {"uploads": 110.0}, {"download": 5.0, "upload": up})
                               for up in (9.0, 10.0)])]},
     ["Busy uploads add 100 ms: games and calls suffer.",
      ("Set SQM in your router to 8.6 Mbit/s for uploads (90 % of the 9.5 that were measured), "
       "then measure again.")]),
    ({"": [Configuration("x", [Measured(10.0, {"uploads": 110.0}, {"download": 5.0, "upload": up})
                               for up in (8.99, 10.0)])]},
     ["Busy uploads add 100 ms: games and calls suffer.",
      ("Set SQM in your router to 90 % of the line's rate for uploads, measured one direction at a "
       "time, then measure again.")]),
    # A loss of 3 % counts, one below doesn't.
    ({"": [configuration("x", 5, lost_pct=3.0)]},
     ["Busy uploads lose 3 % of the probes: words in calls get lost.",
      "Nothing else was measured that could be advised instead."]),
    ({"": [configuration("x", 5, lost_pct=2.9)]},
     [("Busy uploads add no more than 5 ms in the median: calls and games run well, and nothing "
       "has to be changed.")]),
    ({"": [configuration("x", -5), configuration("y", -6, busy="downloads")]},
     [("Busy uploads or downloads add no more than 0 ms in the median, in any of these runs: calls "
       "and games run well, and nothing has to be changed.")]),
    # 150 ms one way, of which 5 are the idle line's.
    ({"": [configuration("x", 145.0, managed=True)]},
     ["Busy uploads add 140 ms: games and calls suffer.",
      "Nothing else was measured that could be advised instead."]),
    # Among faults the largest latency is named, and at equal ones the largest loss.
    ({"": [configuration("x", 5, lost_pct=4), configuration("y", 6, lost_pct=9)]},
     ["Busy uploads lose 9 % of the probes with y: words in calls get lost.",
      "Nothing that was measured kept losses below 3 %."]),
    ({"": [configuration("x", 90, fixed_rate=False), configuration("y", 60)]},
     ["Busy uploads add 90 ms with x: games and calls suffer.",
      "Nothing that was measured kept it below 30 ms; least added y, 60 ms."]),
    ({"": [configuration("x", math.inf)]},
     ["At least half of the probes are lost while uploads keep the line busy.",
      ("Set SQM in your router to 90 % of the line's rate for uploads, measured one direction at a "
       "time, then measure again.")]),
    ({"": [configuration("x", 90, managed=False)], "b": [configuration("x", 50)]},
     ["Busy uploads add 90 ms with x: games and calls suffer.",
      ("Set SQM in your router to 90 % of the line's rate for uploads, measured one direction at a "
       "time, then measure again.")]),
]


@pytest.mark.parametrize(("conditions", "sentences"), SENTENCES)
def test_sentences_as_a_whole(
        conditions: dict[str, list[Configuration]], sentences: list[str]) -> None:
    assert advise(conditions) == sentences


CPUS = [{"t": START_S + at, "dur": 1.0, "cpu0": 10.0 * at, "cpu10": 1.0, "cpu2": 2.0, "cpux": 5,
         "xcpu": 1, "cpu2_mhz": 999.5} for at in (1.0, 2.0, 3.0)]


def test_report_in_the_lab_has_the_throughput_that_advice_is_about() -> None:
    """An upload counts what is written to the socket, and stood as more than its line carries."""
    data = made({"TCP upload": (0.0, 3.0)}, [4.0, 6.0, 8.0, 10.0])
    data.metadata["AQM"] = {"requested": {"testbed": "virtual", "shaper": "none",
                                          "modem_up_mbps": 8, "modem_down_mbps": 8}}
    assert report(data, [["upload"]], in_lab=True).startswith(
        f"   Upload:   {throughput(as_run(data))['upload']:.2f} Mbps")
    assert throughput(as_run(data))["upload"] == pytest.approx(8 * 1448 / 1514)


def test_report_of_both_directions_has_the_processors_in_order() -> None:
    """cpu2 before cpu10. A frequency where one is known. The second block is the idle line."""
    data = made({"TCP download": (0.0, 3.0), "TCP upload": (0.0, 3.0)}, [4.0, 6.0, 8.0, 10.0],
                CPUS, {"cpu_s": 0.9})
    assert report(data, [["download", "upload"], []], in_lab=True) == """\
 Download:   8.00 Mbps
   Upload:   8.00 Mbps
  Latency: [in msec, 4 pings, 0.00% packet loss]
      Min:   4.000
    10pct:       -
   Median:       -
      Avg:   7.000
    90pct:       -
      Max:  10.000
 CPU Load: [in % busy (avg +/- std dev) @ avg frequency, 3 samples]
     cpu0:  20.0 +/-  8.2
     cpu2:   2.0 +/-  0.0  @ 1000 MHz
    cpu10:   1.0 +/-  0.0
 Overhead: [in % used of total CPU available]
  netperf:  20.0

  Latency: [in msec, 4 pings, 0.00% packet loss]
      Min:   4.000
    10pct:       -
   Median:       -
      Avg:   7.000
    90pct:       -
      Max:  10.000
 CPU Load: [in % busy (avg +/- std dev) @ avg frequency, 3 samples]
     cpu0:  20.0 +/-  8.2
     cpu2:   2.0 +/-  0.0  @ 1000 MHz
    cpu10:   1.0 +/-  0.0
 Overhead: [in % used of total CPU available]
  netperf:   0.0
"""


@pytest.mark.parametrize(("directions", "count"), [
    (["download"], 4), (["upload"], 6), (["download", "upload"], 9)])
def test_report_of_directions_has_the_pings_while_any_of_them_ran(
        directions: list[str], count: int) -> None:
    """A ping a second, a download from 0 to 3 s and an upload from 3 to 8 s, both included."""
    data = made({"TCP download": (0.0, 3.0), "TCP upload": (3.0, 8.0)}, [0.0] * 12)
    assert f"[in msec, {count} pings, 0.00% packet loss]" in report(data, [directions], in_lab=True)


@pytest.mark.parametrize(("cpu", "counts"), [
    ({"t": START_S + 2, "dur": 1.0}, True), ({"t": START_S + 1, "dur": 1.0}, True),
    ({"t": START_S + 3, "dur": 1.0}, True), ({"t": START_S + 3.01, "dur": 1.0}, False),
    ({"t": START_S + 0.99, "dur": 1.0}, False), ({"t": START_S + 2}, False),
    ({"dur": 1.0}, False)])
def test_processors_count_from_the_start_to_the_end_of_the_load(
        cpu: dict[str, float], counts: bool) -> None:
    data = made({"TCP download": (0.0, 3.0)}, [5.0] * 4, [{**cpu, "cpu0": 7.0}], "odd")
    found = load(data, as_run(data).flows)
    assert (found is not None) is counts
    if found:
        assert (found.samples, found.netperf_pct) == (1, 0.0)
        assert [(one.name, one.busy_pct, one.deviation_pct, one.mhz)
                for one in found.processors] == [("cpu0", 7.0, 0.0, None)]
    text = report(data, [["download"]], in_lab=False)
    assert (f" CPU Load: [{NO_SAMPLE}]\n Overhead: [{NO_SAMPLE}]\n" in text) is not counts
    text = report(data, [["download"]], in_lab=True)
    assert (f" CPU Load: [{IN_LAB}]\n Overhead: [{IN_LAB}]\n" in text) is not counts


@pytest.mark.parametrize(("answers", "has_percentiles"), [(9, False), (10, True)])
def test_percentiles_take_ten_answers(answers: int, has_percentiles: bool) -> None:
    rtts_ms = numpy.array([float(at) for at in range(answers)] + [math.inf] * 5)
    found = latency(Samples(numpy.arange(rtts_ms.size, dtype=float), rtts_ms, 15.0, 1000.0))
    assert (found.count, found.min_ms, found.max_ms, found.mean_ms) == (
        answers + 5, 0.0, answers - 1, (answers - 1) / 2)
    assert found.lost_pct == pytest.approx(100 * 5 / (answers + 5))
    assert (found.p10_ms is not None, found.median_ms is not None, found.p90_ms is not None) == (
        (has_percentiles,) * 3)


def test_pings_are_those_of_the_direction() -> None:
    """Of a run without streams all."""
    run = made_run({"TCP download": (0.0, 3.0), "TCP upload": (6.0, 9.0)},
                   [1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 9.0, 9.0, 9.0, 5.0])
    assert pings(run, "download").rtt_ms.max() == 5.0
    assert pings(run, "upload").rtt_ms.min() == 5.0
    assert pings(run, "upload").rtt_ms.max() == 9.0
    assert pings(made_run({}, [1.0, 2.0]), None).rtt_ms.tolist() == [1.0, 2.0]


def test_advice_of_a_speed_test() -> None:
    """It takes the idle line, and ten pings of each."""
    idle = made({}, [20.0] * 20)
    busy = made({"TCP download": (0.0, 30.0)}, [520.0] * 30)
    assert advice(None, busy) == [NO_IDLE]
    # The user's server may be another one than the default.
    assert "again with -i, and with -s or -c" in NO_IDLE
    assert advice(made({}, [20.0] * 9), busy) == [
        "No advice: it takes 10 probes on the idle line, and there are 9. " + AGAIN]
    assert advice(made({}, []), busy) == [
        "No advice: none of the pings was answered: the run has no series of them. " + AGAIN]
    text, = advice(idle, busy)
    assert text == ("Busy downloads add 500 ms: calls break. Set SQM in your router to 7.2 Mbit/s "
                    "for downloads (90 % of the 8 that were measured), then measure again.")
