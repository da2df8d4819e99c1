# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scorecard reads of a run: the traffic in 10^6 bytes, and the name of a test that is
given by a command."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from flent_aqm.base.errors import BadResult, ConfigError, NotAvailable
from flent_aqm.cli import main
from flent_aqm.parts.scorecard import card, reading, steps
from flent_aqm.parts.scorecard.command import _parse_seeds
from flent_aqm.parts.scorecard.contestant import StatedVerdict, contestant, why_not
from flent_aqm.parts.scorecard.own_commands import _name_of, write_tool
from flent_aqm.parts.scorecard.places import AccessLine, Place
from flent_aqm.parts.scorecard.reading import WORSE, DirectionValues, Reading, _megabytes
from flent_aqm.parts.scorecard.worst import AIMS, Lines, Point
from flent_aqm.results.data_file import parse_data_file
from flent_aqm.results.metrics import latency
from flent_aqm.results.metrics.run import Samples, as_run
from tests.files import RUNS, load

GOLDEN = RUNS / "ndt7.flent.gz"


def megabytes(before: dict[str, Any], after: dict[str, Any]) -> float | None:
    """Of a run whose router counted these bytes, by direction."""
    whole = load(GOLDEN)
    for moment, counted in (("before", before), ("after", after)):
        counters = whole["metadata"]["AQM"][moment]["counters"]
        for way, device in (("download", "down"), ("upload", "up")):
            counters[device] = {"shaper": {"bytes": counted[way]}}
    return _megabytes(as_run(parse_data_file(json.dumps(whole).encode(), GOLDEN)))


def test_traffic_is_what_the_router_counted_during_the_run_in_both_directions() -> None:
    found = megabytes({"download": 1_000_000, "upload": 500_000},
                      {"download": 5_000_000, "upload": 750_000})
    assert found == 4.25


@pytest.mark.parametrize(("counters", "found"), [
    ({"shaper": {"bytes": 3e6}, "qdisc": {"bytes": 9e6}}, 6.0),
    ({"shaper": {}, "qdisc": {"bytes": 9e6}}, 18.0), ({"qdisc": {"bytes": 9e6}}, 18.0),
    ({"shaper": 5, "qdisc": {"bytes": 9e6}}, None), ({}, None)])
def test_traffic_is_that_of_the_shaper_or_else_of_the_queue(
        counters: dict[str, Any], found: float | None) -> None:
    """In both directions. What is no table of counters tells nothing."""
    run: Any = SimpleNamespace(counters=lambda moment, way: counters if moment == "after" else {
        device: {"bytes": 0} for device in counters})
    assert _megabytes(run) == found


@pytest.mark.parametrize("missing", ["before", "after"])
def test_traffic_that_was_not_counted_is_unknown(missing: str) -> None:
    """Not 0, which would look like a test that sends nothing."""
    counted: dict[str, dict[str, Any]] = {
        moment: {"download": 1000, "upload": None if moment == missing else 1000}
        for moment in ("before", "after")}
    assert megabytes(**counted) is None


def test_command_is_named_after_its_program_unless_a_name_is_given(tmp_path: Path) -> None:
    """Not after its arguments."""
    for name, file in ((None, "sh"), ("mine", "mine")):
        path = write_tool(tmp_path, name, "/bin/sh -c {host} {port}", "/bin/sleep {port}",
                          "json: down=download_mbps", 60)
        assert path == tmp_path / "own" / f"{file}.py"
        # Another program has another first line, so that its runs are not those of this one.
        digest = hashlib.sha256(Path("/bin/sh").read_bytes() + Path("/bin/sleep").read_bytes())
        assert path.read_text().splitlines()[0].endswith(
            f"and the files {digest.hexdigest()[:16]}.")


@pytest.mark.parametrize("longest_s", [math.nan, math.inf, 0.0, -1.0, 1e9])
def test_longest_duration_that_is_none_is_refused(longest_s: float, tmp_path: Path) -> None:
    """nan and inf are no numbers in the file's source, and 0 stood for the default."""
    with pytest.raises(ConfigError, match=r"^--longest: \S+; expected a number of seconds above 0"):
        write_tool(tmp_path, None, "/bin/sh -c {host} {port}", "/bin/sleep {port}",
                   "json: down=download_mbps", longest_s)


def test_seed_that_is_given_twice_is_one_run() -> None:
    assert _parse_seeds("4, 5,4") == [4, 5]
    assert _parse_seeds(None) == ()


def test_long_name_gives_a_file_that_can_be_written(tmp_path: Path) -> None:
    """Another folder, which the message names as remedy, wouldn't make the name shorter."""
    path = write_tool(tmp_path, "x" * 300, "/bin/sh -c {host} {port}", "/bin/sleep {port}",
                      "json: down=download_mbps", 60)
    assert path == tmp_path / "own" / f"{'x' * 60}.py"


def test_command_without_a_placeholder_is_quoted_as_it_was_written(tmp_path: Path) -> None:
    """Not with the paths that take the place of its words."""
    with pytest.raises(ConfigError, match=r"--client: 'sh run -H 192.0.2.1' has no \{host\}"):
        write_tool(tmp_path, None, "sh run -H 192.0.2.1", "sleep {port}",
                   "json: down=download_mbps", 60)


@pytest.mark.parametrize(("words", "name"), [
    (["/usr/bin/python3.11", "-u", "SCRIPT", "host"], "mine"), (["SCRIPT", "host"], "mine"),
    (["python3", "-m", "mine", "host"], "python3"), (["/opt/mytest", "SCRIPT"], "mytest"),
    (["bash", "SCRIPT"], "mine")])
def test_client_that_an_interpreter_runs_is_named_after_its_script(
        words: list[str], name: str, tmp_path: Path) -> None:
    """Else all that python3 runs would be one row, and displace each other."""
    script = tmp_path / "mine.py"
    script.touch()
    assert _name_of([str(script) if word == "SCRIPT" else word for word in words]) == name


NDT7 = contestant("ndt7")
PLACE = Place(AccessLine(50, 50, 40), "fq_codel")


def read_with(monkeypatch: pytest.MonkeyPatch, **shown: float | None) -> Reading:
    """The golden run, whose test showed these metrics instead of its own."""
    monkeypatch.setattr(reading, "_metric_or_none", lambda run, name: shown.get(name))
    return reading.read(NDT7, PLACE, parse_data_file(json.dumps(load(GOLDEN)).encode(), GOLDEN))


def test_possible_throughput_is_the_payload_of_the_lines_rate(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """1448 bytes of 1514 at 50 Mbit/s; beside a bulk flow, nobody knows."""
    ways = read_with(monkeypatch).ways
    assert ways["download"].possible_mbps == pytest.approx(50 * 1448 / 1514)
    beside = reading.read(NDT7, Place(PLACE.line, PLACE.queue, "cubic"), parse_data_file(
        json.dumps(load(GOLDEN)).encode(), GOLDEN))
    assert beside.ways["download"].possible_mbps is None


@pytest.mark.parametrize(("mbps", "is_read"), [
    (0.0, True), (0.5, True), (380.0, True), (-0.1, False), (383.0, False)])
def test_throughput_of_another_unit_is_refused(
        monkeypatch: pytest.MonkeyPatch, mbps: float, is_read: bool) -> None:
    """Eight times what is possible is 382.6 Mbit/s. A test may show 0."""
    name = next(iter(NDT7.shown.rates))
    if is_read:
        assert read_with(monkeypatch, **{name: mbps}).ways["download"].shown_mbps == mbps
    else:
        with pytest.raises(BadResult, match=(
                r"expected 0 or more, and less than 382\.\d+, 8 times that")):
            read_with(monkeypatch, **{name: mbps})


@pytest.mark.parametrize(("rpm", "good"), [
    (200.0, False), (500.0, None), (2000.0, True), (7000.0, True), (None, None)])
def test_verdict_is_that_of_the_tests_own_classes(
        monkeypatch: pytest.MonkeyPatch, rpm: float | None, good: bool | None) -> None:
    """Poor is bad, fair is neither. A number without words is good unless it is 0."""
    verdict = contestant("responsiveness").verdict
    assert verdict is not None
    monkeypatch.setattr(reading, "_metric_or_none", lambda run, name: rpm)
    run: Any = None
    assert reading._own_verdict(run, verdict) is good
    assert reading._own_verdict(run, None) is None
    for value in (0.0, 1.0):
        monkeypatch.setattr(reading, "_metric_or_none", lambda run, name, it=value: it)
        assert reading._own_verdict(run, StatedVerdict("throughput_upload_mbps")) is bool(value)


def test_load_without_a_length_has_no_rate_of_glitches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not an endless one; 3 in 10 s are 18 a minute."""
    monkeypatch.setattr(latency, "idle_median_ms", lambda run: 20.0)
    rtt_ms = numpy.full(1000, 20.0)
    rtt_ms[[100, 300, 500]] = 200.0
    for length_s, rate in ((10.0, 18.0), (0.5, 360.0), (0.0, None)):
        samples = Samples(numpy.arange(1000) / 100, rtt_ms, length_s, 10.0)
        run: Any = SimpleNamespace(loaded=lambda way, it=samples: it)
        assert reading._finite_or_none(
            partial(reading._glitches_per_minute, run, "upload")) == rate


@pytest.mark.parametrize(("rtt_ms", "rate"), [(120.0, 0.0), (120.5, 6.0)])
def test_probe_is_a_glitch_from_more_than_100_ms_above_the_idle_line(
        rtt_ms: float, rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes 20 ms; one in 10 s is 6 a minute."""
    monkeypatch.setattr(latency, "idle_median_ms", lambda run: 20.0)
    rtts_ms = numpy.full(1000, 20.0)
    rtts_ms[300] = rtt_ms
    run: Any = SimpleNamespace(loaded=lambda way: Samples(
        numpy.arange(1000) / 100, rtts_ms, 10.0, 10.0))
    assert reading._glitches_per_minute(run, "upload") == rate


def test_reading_has_the_numbers_of_its_file() -> None:
    """Those that the metrics of the golden run have, whose test shows no idle latency. Of both
    directions the larger value is the worse, of QoO the less."""
    one = reading.read(NDT7, PLACE, parse_data_file(json.dumps(load(GOLDEN)).encode(), GOLDEN))
    down, up, worse = (one.ways[name] for name in ("download", "upload", WORSE))
    assert (one.place, one.words, one.group, one.without_seed, one.beside, one.good) == (
        "50mbit-40ms-fq_codel-seed1", "50 Mbit/s, 40 ms, FQ-CoDel, seed 1", "50mbit-40ms-seed1",
        "50mbit-40ms-fq_codel", False, None)
    assert one.megabytes == 129.523707
    assert one.seconds == pytest.approx(20.198, abs=1e-3)
    assert down.shown_mbps == pytest.approx(47.7394, abs=1e-4)
    assert up.shown_mbps == pytest.approx(47.7407, abs=1e-4)
    assert [way.shown_ms for way in (down, up, worse)] == [0.021, 0.04, 0.04]
    assert [way.others_median_ms for way in (down, up, worse)] == [0.147712, 0.130816, 0.147712]
    assert [way.others_p95_ms for way in (down, up, worse)] == [0.1984, 0.20224, 0.20224]
    assert [way.idle_ms for way in (down, up, worse)] == [0.0064] * 3
    for way in (down, up, worse):
        assert (way.glitches_per_minute, way.others_loss_pct, way.qoo, way.shown_rise_ms) == (
            0.0, 0.0, 100.0, None)
    assert worse.shown_mbps is worse.possible_mbps is None


@pytest.mark.parametrize(("test", "shown", "latencies_ms", "rises_ms", "idle_ms"), [
    # A number of each direction, and the larger of two idle ones.
    ("bbperf", {"bbperf_loaded_rtt_download_ms": 50.0, "bbperf_loaded_rtt_upload_ms": 80.0,
                "bbperf_unloaded_rtt_download_ms": 20.0, "bbperf_unloaded_rtt_upload_ms": 30.0},
     (50.0, 80.0, 80.0), (20.0, 50.0, 50.0), 30.0),
    ("bbperf", {"bbperf_loaded_rtt_download_ms": 50.0, "bbperf_unloaded_rtt_upload_ms": 30.0},
     (50.0, None, 50.0), (20.0, None, 20.0), 30.0),
    ("bbperf", {"bbperf_loaded_rtt_download_ms": 50.0}, (50.0, None, 50.0), (None,) * 3, None),
    # 600 round trips per minute take 100 ms each; the number is that of no direction.
    ("responsiveness", {"responsiveness_rpm": 600.0, "responsiveness_idle_ms": 20.0},
     (None, None, 100.0), (None, None, 80.0), 20.0),
    ("responsiveness", {"responsiveness_rpm": 0.0, "responsiveness_idle_ms": 20.0},
     (None,) * 3, (None,) * 3, 20.0),
    # Its one number is that of the idle line, so that it shows no rise.
    ("librespeed", {"librespeed_ping_ms": 25.0}, (None, None, 25.0), (None,) * 3, 25.0),
    # A latency of 0 ms is one.
    ("ndt7", {"ndt7_latency_download_ms": 0.0}, (0.0, None, 0.0), (None,) * 3, None),
])
def test_latency_is_that_which_the_test_shows_for_a_direction_or_for_none(
        test: str, shown: dict[str, float], latencies_ms: tuple[float | None, ...],
        rises_ms: tuple[float | None, ...], idle_ms: float | None,
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Download, upload, and the worse of both."""
    monkeypatch.setattr(reading, "_metric_or_none", lambda run, name: shown.get(name))
    one = reading.read(contestant(test), PLACE,
                       parse_data_file(json.dumps(load(GOLDEN)).encode(), GOLDEN))
    ways = [one.ways[name] for name in ("download", "upload", WORSE)]
    assert tuple(way.shown_ms for way in ways) == latencies_ms
    assert tuple(way.shown_rise_ms for way in ways) == rises_ms
    assert one.shown_idle_ms == idle_ms


def test_largest_latency_of_a_direction_counts_and_none_is_negative(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a test that shows several."""
    several = replace(NDT7, shown=replace(NDT7.shown, latency=(
        "ndt7_latency_download_ms", "ndt7_rtt_download_ms")))
    run: Any = None
    shown = {"ndt7_latency_download_ms": 5.0, "ndt7_rtt_download_ms": 7.0}
    monkeypatch.setattr(reading, "_metric_or_none", lambda run, name: shown.get(name))
    assert reading._shown_latency_ms(several, run, "download") == 7.0
    assert reading._shown_latency_ms(several, run, "upload") is None
    shown["ndt7_latency_download_ms"] = -0.5
    with pytest.raises(BadResult, match=r"shows -0\.5 ms as ndt7_latency_download_ms; "
                                         "expected 0 or more"):
        reading._shown_latency_ms(several, run, "download")
    shown["responsiveness_rpm"] = -5.0
    with pytest.raises(BadResult, match="shows -5 RPM as responsiveness_rpm; expected 0 or more"):
        reading._shown_latency_ms(contestant("responsiveness"), run, "")


def test_direction_without_probes_has_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(way: str) -> Samples:
        raise NotAvailable("no probes")

    run: Any = SimpleNamespace(loaded=loaded)
    assert reading._read_direction(NDT7, run, "upload", PLACE) == DirectionValues()


@pytest.mark.parametrize(("change", "why"), [
    ({"place": 5}, "place of a reading is 5, not printable text"),
    ({"place": "a\nb"}, r"place of a reading is 'a\\nb', not printable text"),
    ({"words": "a\x00"}, r"words of a reading is 'a\\x00', not printable text"),
    ({"group": None}, "group of a reading is None, not printable text"),
    ({"without_seed": "\r"}, r"without_seed of a reading is '\\r', not printable text"),
    ({"ways": {"a\nb": {}}}, r"a direction of a reading is 'a\\nb', not printable text"),
    ({"megabytes": "5"}, "megabytes of a reading is '5', not a number or null"),
    ({"seconds": "5"}, "seconds of a reading is '5', not a number or null"),
    ({"lab_wall_s": []}, r"lab_wall_s of a reading is \[\], not a number or null"),
    ({"shown_idle_ms": "5"}, "shown_idle_ms of a reading is '5', not a number or null"),
    ({"ways": {"download": {"shown_ms": "5"}}},
     "shown_ms of download of a reading is '5', not a number or null"),
    ({"good": 2}, "good of a reading is 2, not true, false or null"),
    ({"beside": 1}, "beside of a reading is 1, not true or false"),
    ({"beside": None}, "beside of a reading is None, not true or false")])
def test_reading_with_a_value_of_another_kind_is_refused(change: dict[str, Any], why: str) -> None:
    """Each value of a card that somebody edited may be wrong by itself, and is named."""
    whole = Reading("place", "words", "group", "cell", False, {"download": DirectionValues()})
    with pytest.raises(ValueError, match=f"^{why}$"):
        Reading.from_dict(whole.as_dict() | change)


def test_card_has_a_reading_or_a_cause_for_each_place(tmp_path: Path) -> None:
    """Files of runs that failed are not read."""
    good, damaged, failed = (Place(PLACE.line, PLACE.queue, seed=seed) for seed in (1, 2, 3))
    for place, content in ((good, GOLDEN.read_bytes()), (damaged, b"x"),
                           (failed, GOLDEN.read_bytes())):
        (tmp_path / f"{place.name}.flent.gz").write_bytes(content)
    made = card.make_card(NDT7, [good, damaged, failed], tmp_path, {failed.name: "no network"},
                          "virtual")
    assert [one.place for one in made.readings] == [good.name]
    assert made.failed.keys() == {damaged.name, failed.name}
    assert made.failed[failed.name] == "no network"
    assert f"{damaged.name}.flent.gz" in made.failed[damaged.name]


def test_test_that_takes_an_hour_is_left_out_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words that make it run; others aren't, where their tools are there."""
    monkeypatch.setattr("flent_aqm.parts.scorecard.contestant.check_tools", lambda tools: None)
    assert why_not(contestant("cloudflare_browser")) == (
        "it takes an hour; name it: scorecard cloudflare_browser")
    assert why_not(NDT7) == ""


@pytest.mark.parametrize(("complete", "exit_status"), [((True, True), 0), ((True, False), 1)])
def test_command_fails_if_a_run_has_no_reading(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complete: tuple[bool, bool],
        exit_status: int) -> None:
    outcomes = iter(complete)
    monkeypatch.setattr(steps, "score", lambda *words: next(outcomes))
    assert main(["scorecard", "ndt7", "nuttcp", "-o", str(tmp_path)]) == exit_status


def test_shown_value_without_a_true_one_is_no_error() -> None:
    """Nor a true one that the test doesn't show."""
    def lines(way: DirectionValues) -> Point | None:
        one = Reading("place", "words", "group", "cell", False, {
            "download": way, "upload": DirectionValues(), WORSE: way})
        return Lines(AIMS["throughput"], lambda places: [one], 10).point(PLACE)

    assert lines(DirectionValues(shown_mbps=5.0)) is None
    assert lines(DirectionValues(possible_mbps=5.0)) is None
    found = lines(DirectionValues(shown_mbps=5.0, possible_mbps=10.0))
    assert found is not None
    assert (found.way, found.shown, found.true) == ("download", 5, 10)
