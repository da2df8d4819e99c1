# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report compares, and how it draws that: numbers worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.results.data_file import read_data_file
from flent_aqm.results.grouping import NOT_TOLD, setting_text
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.show.report.findings import Condition, conditions
from flent_aqm.show.report.gather import ReportRow, row_of
from flent_aqm.show.report.html import top_html
from flent_aqm.show.report.model import Folder, _settings_line, build, progress
from flent_aqm.show.report.panels import panels, scale
from flent_aqm.show.report.slices import Dimension, dimensions, rates, with_sides
from flent_aqm.show.report.words import listed, number

from .conftest import write_run
from .made import LOST, output, row

FAST, SLOW = [1.0] * 1000, [50.0] * 900 + [200.0] * 100
PROBE = "Ping (ms) UDP irtt"


def conditions_of(rows: Sequence[ReportRow]) -> list[Condition]:
    """The conditions of some runs."""
    sided, names = with_sides(rows)
    return conditions(sided, dimensions(sided, names))


def test_runs_that_differ_in_a_setting_are_never_pooled() -> None:
    """Of each rate its own panel."""
    rows = [row("codel", FAST), row("no_aqm", SLOW),
            row("codel", SLOW, rate_mbps=10.0), row("no_aqm", FAST, rate_mbps=10.0),
            row("codel", FAST, rate_mbps=50.0), row("no_aqm", SLOW, rate_mbps=50.0)]
    assert [one.title for one in conditions_of(rows)] == ["10 Mbit/s", "50 Mbit/s", "100 Mbit/s"]
    assert [[line.within_ms(99) for line in one.lines] for one in conditions_of(rows)] == [
        [1, 200], [200, 1], [200, 1]]


@pytest.mark.parametrize("other", [
    {"cross_traffic": "video"}, {"tcp_ecn": True}, {"flows": "4"}, {"topology": "parking-lot"},
    {"length_s": 20.5}, {"host": "192.0.2.1"}, {"base_delay_ms": 20.0}])
def test_nothing_is_compared_unless_all_else_is_equal(other: dict[str, Any]) -> None:
    """Neither in the findings nor in the statistics, although the queue alone tells the runs apart.
    Each has a condition of its own that names what differs."""
    rows = [row("no_aqm", FAST), row("codel", FAST), row("codel", FAST), row("pie", SLOW, **other)]
    report = build(rows, [], [], "made")
    assert sorted([line.queue for line in one.lines] for one in conditions_of(rows)) == [
        ["no_aqm", "codel"], ["pie"]]
    assert "pie" not in " ".join(report.headline)
    assert all(len(entry["queues"]) < 3 for entry in report.data["statistics"])
    [(name, value)] = other.items()
    titles = " ".join(one.title for one in conditions_of(rows))
    assert setting_text(name, value) in titles


def test_a_queues_own_parameters_are_part_of_it() -> None:
    """CoDel with a target is compared with PIE that has another."""
    rows = [row("codel", FAST, aqm_target="5ms"), row("pie", FAST, aqm_target="15ms")]
    assert [len(one.lines) for one in conditions_of(rows)] == [2]
    more = [*rows, row("codel", FAST, aqm_target="20ms")]
    assert sorted(len(one.lines) for one in conditions_of(more)) == [1, 1, 1]


def test_files_tell_their_length_and_server(tmp_path: Path) -> None:
    """Which aren't among what was asked of a testbed."""
    def shorter(whole: dict[str, Any]) -> None:
        whole["metadata"] |= {"LENGTH": 5, "HOST": "elsewhere"}
    rows = [row_of(read_data_file(write_run(tmp_path / f"{at}.flent.gz", "ndt7", change)))
            for at, change in enumerate([lambda whole: None, shorter])]
    assert [one.settings["length_s"] for one in rows][1] == 5.0 != rows[0].settings["length_s"]
    assert rows[1].settings["host"] == "elsewhere"


def test_percentile_is_the_furthest_that_all_runs_have_samples_for() -> None:
    """100 probes have ten beyond the 90th percentile, and one beyond the 99th."""
    assert conditions_of([row("codel", FAST), row("no_aqm", [5.0] * 100)])[0].tail_pct == 90


@pytest.mark.parametrize(("lost", "percent"), [(0, 99), (20, 95), (80, 90), (400, 50), (600, 99)])
def test_percentile_is_the_furthest_that_came_back_with_every_queue(
    lost: int, percent: float
) -> None:
    """But for one that lost at least half of the probes: others are compared without it."""
    rows = [row("codel", FAST), row("pie", SLOW), row("sfq", [1.0] * (1000 - lost) + [LOST] * lost)]
    assert conditions_of(rows)[0].tail_pct == percent


def test_numbers_are_the_metrics_of_runs_in_both_directions(tmp_path: Path) -> None:
    """Probes under a download and an upload at once count once: some 150 of them have seven beyond
    the 95th percentile, and twice as many would have fifteen."""
    def fewer(whole: dict[str, Any]) -> None:
        start_s = whole["metadata"]["SERIES_META"]["TCP upload"]["LOAD_START"]
        probes = [one for one in whole["raw_values"][PROBE] if one["t"] >= start_s]
        whole["raw_values"][PROBE] = probes[:150]
    data = read_data_file(write_run(tmp_path / "a.flent.gz", "iperf3_bidirectional", fewer))
    mine, run = row_of(data), as_run(data)
    assert sum(one.size for one in mine.loaded_ms.values()) >= 200 > run.loaded().rtt_ms.size
    one, = conditions_of([mine])
    assert one.tail_pct == 90
    assert one.lines[0].within_ms(90) == METRICS["latency_loaded_p90_ms"].of(run)
    assert one.lines[0].middle_lost_pct == METRICS["loss_loaded_pct"].of(run)
    assert one.lines[0].middle_mbps("upload") == METRICS["total_upload_mbps"].of(run)


def test_rates_are_pooled_only_where_queues_have_as_many_runs_at_each() -> None:
    """A queue that ran at 10 Mbit/s alone would be called slower than one that ran at 100."""
    def pooled(rows: Sequence[ReportRow]) -> bool:
        return any(one["rate"] == "all rates"
                   for one in build(rows, [], [], "made").data["statistics"])
    even = [row(aqm, FAST, rate_mbps=rate) for aqm in ("codel", "pie") for rate in (10.0, 100.0)]
    assert pooled(even)
    assert not pooled(even[:3])
    assert not pooled([*even, row("codel", FAST, rate_mbps=10.0)])


def test_losses_are_medians_over_runs() -> None:
    """0, 0.4 and 2 % are 0.4, not the most of them."""
    rows = [row("codel", [1.0] * (1000 - lost) + [LOST] * lost) for lost in (0, 4, 20)]
    assert conditions_of(rows)[0].lines[0].middle_lost_pct == pytest.approx(0.4)
    assert panels(conditions_of(rows))["first"][0]["lines"][0]["lost_pct"] == "0.4"


@pytest.mark.parametrize(("probes", "tells"), [(30, False), (1000, True)])
def test_median_is_told_beside_another_percentile_alone(probes: int, tells: bool) -> None:
    """Of few probes it is the only one, and stood there twice."""
    page = top_html(build([row("codel", [7.0] * probes)], [], [], "made"))
    assert "7 ms" in page
    assert ("median 7 ms; " in page) is tells


def test_panels_tell_their_percentile_and_what_is_lost() -> None:
    """Each its own; the dot of a queue that lost half stands at the end."""
    rows = [row("codel", FAST), row("no_aqm", [LOST] * 1000),
            row("codel", [1.0] * 100, rate_mbps=10.0)]
    small, large = panels(conditions_of(rows))["first"]
    assert (small["tail"], large["tail"]) == ("90th percentile", "99th percentile")
    gone = next(line for line in large["lines"] if line["queue"] == "no_aqm")
    assert (gone["lost"], gone["from"], gone["to"], gone["lost_pct"]) == (True, 100.0, 100.0, "100")


def test_panel_has_both_directions_apart() -> None:
    """Also where they carry the same."""
    rows = [row("codel", FAST, {"download": 9.0, "upload": 9.0})]
    assert panels(conditions_of(rows))["first"][0]["lines"][0]["throughput"] == "9 / 9"


def test_configurations_are_compared_as_their_titles_call_them() -> None:
    """As in ping_exp's batch: the same queue with another shaper is another line."""
    rows = [row(aqm, FAST, load=load, shaper=shaper, title=f"{name} {load}")
            for load in ("upload", "download")
            for name, aqm, shaper in (("defaults", "no_aqm", "none"), ("small", "no_aqm", "htb"),
                                      ("fair", "sfq", "htb"))]
    sided, names = with_sides(rows)
    assert {one.side for one in sided} == {"defaults", "small", "fair"}
    assert names == ("aqm", "shaper")
    assert [(one.title, len(one.lines)) for one in conditions_of(rows)] == [
        ("load download", 3), ("load upload", 3)]
    output = build(rows, [], [], "made").headline
    assert "What is compared differs in shaper, too." in output
    assert any("1 of each configuration" in one for one in output)


def test_title_that_base_batch_made_is_no_name_of_a_configuration() -> None:
    """Without the words that are values of other settings, its rest makes no sense."""
    rows = [row(aqm, FAST, shaper_mbps=sqm, modem_down_mbps=30.0, rate_mbps=30.0, test=test,
                title=title)
            for test in ("ndt7", "ping")
            for aqm, sqm, title in (("cake", "off", "cake 30.0 Mbit/s burst 0 cross 0"),
                                    ("cake", "27", "cake 27.0 Mbit/s burst 0 cross 0"),
                                    ("codel", "27", "codel 27.0 Mbit/s burst 0 cross 0"))]
    assert [one.side for one in with_sides(rows)[0]][:3] == [
        "cake, SQM off", "cake, SQM 27 Mbit/s", "codel, SQM 27 Mbit/s"]
    own = [replace(one, settings={**one.settings, "title": f"{one.settings['title']} attic"})
           for one in rows]
    assert with_sides(own)[0][0].side.endswith("attic")


def test_runs_with_and_without_a_shaper_are_on_one_line() -> None:
    """Of a router whose line has no rate of its own that is known: SQM off and on are compared.
    Where others have two rates, it is not known which line was measured without one."""
    assert "cake kept latency under load lowest" in output([
        row("no_aqm", SLOW, rate_mbps="no shaper", shaper="none"),
        row("cake", FAST, rate_mbps=85.0, shaper="cake")])
    assert "Nothing to compare" in output([
        row("no_aqm", SLOW, rate_mbps="no shaper", shaper="none"),
        row("cake", FAST, rate_mbps=85.0, shaper="cake"),
        row("cake", FAST, rate_mbps=50.0, shaper="cake")])


def test_shapers_of_one_queue_are_compared() -> None:
    """SQM off and on differ in nothing else. With two queues, each shaper is a condition."""
    rows = [row("cake", SLOW, shaper_mbps="off"), row("cake", FAST, shaper_mbps="36/9")]
    sided, names = with_sides(rows)
    assert [one.side for one in sided] == ["cake, SQM off", "cake, SQM 36/9 Mbit/s"]
    assert names == ("aqm", "shaper_mbps")
    assert output(rows).startswith("cake, SQM 36/9 Mbit/s kept latency under load lowest")
    both = [*rows, *(replace(one, settings={**one.settings, "aqm": "sfq"}) for one in rows)]
    assert with_sides(both) == (both, ("aqm",))
    assert [one.title for one in conditions_of(both)] == ["SQM 36/9 Mbit/s", "SQM off"]


def test_line_without_sqm_is_not_called_after_its_queue() -> None:
    """Where each queue has one configuration, its name tells it; but the modem's is no no_aqm."""
    rows = [row(aqm, FAST, shaper_mbps=sqm, title=title) for aqm, sqm, title in (
        ("no_aqm", "off", "SQM off"), ("cake", "95/33", "95 % cake"))]
    sided, names = with_sides(rows)
    assert [one.side for one in sided] == ["SQM off", "95 % cake"]
    assert names == ("aqm", "shaper_mbps")
    rows = [row("no_aqm", FAST, shaper="none"), row("cake", FAST, shaper="cake")]
    assert not any(one.side for one in with_sides(rows)[0])


def test_runs_of_no_batch_are_compared_as_their_titles_call_them() -> None:
    """What `flent -t TITLE` says is the user's word for the queue. A batch's title says again what
    its settings are, and a title that several queues share tells none of them."""
    def sides(*runs: tuple[str, str, float], batch: str = "") -> list[str]:
        return [one.side for one in with_sides([
            row(aqm, FAST, title=title, rate_mbps=rate, batch=batch)
            for aqm, title, rate in runs])[0]]

    named = (("no_aqm", "SQM off 50.0", 50.0), ("cake", "tuesday 50.0", 50.0),
             ("cake", "tuesday 9.0", 9.0))
    assert sides(*named) == ["SQM off", "tuesday", "tuesday"]
    # As people write them.
    assert sides(*((aqm, title.replace(".0", ""), rate) for aqm, title, rate in named)) == [
        "SQM off", "tuesday", "tuesday"]
    assert sides(*named, batch="quick") == ["", "", ""]
    assert sides(("no_aqm", "here", 50.0), ("cake", "here", 50.0)) == ["", ""]
    assert sides(("cake", "monday", 50.0), ("cake", "tuesday", 50.0)) == ["", ""]
    assert sides(("no_aqm", "SQM off", 50.0), ("cake", "", 50.0)) == ["", ""]
    assert sides(("cake", "SQM on", 50.0)) == [""]


def test_what_is_tried_with_every_queue_is_a_condition() -> None:
    """ECN on and off with both queues: two panels of two lines."""
    rows = [row(aqm, FAST, tcp_ecn=ecn) for aqm in ("no_aqm", "codel") for ecn in (True, False)]
    assert [len(one.lines) for one in conditions_of(rows)] == [2, 2]


def test_cross_traffic_is_named_also_where_all_have_it() -> None:
    """In the line of what the runs were made under."""
    rows = [row("codel", FAST, cross_traffic=False), row("pie", FAST, cross_traffic=False)]
    assert "no cross traffic" in build(rows, [], [], "made").conditions
    rows = [row("codel", FAST, cross_traffic="video"), row("pie", FAST, cross_traffic="video")]
    assert "cross traffic video" in build(rows, [], [], "made").conditions


def test_what_runs_do_not_record_is_last() -> None:
    """Behind all texts, also those that the alphabet puts behind "not told"."""
    rows = [row("codel", FAST, rate_mbps="trace a.csv"), row("codel", FAST)]
    rows += [replace(row("codel", FAST), settings={"test": "iperf3_upload", "aqm": "codel"})]
    assert rates(rows) == [100.0, "trace a.csv", NOT_TOLD]
    rows = [row("codel", FAST), row("codel", FAST, host="zoo"), row("codel", FAST, host="a")]
    assert [one.values for one in dimensions(rows) if one.name == "host"] == [
        ["a", "zoo", NOT_TOLD]]


def test_scale_has_decades_around_all_latencies() -> None:
    """From 1 to 200 ms it goes from 1 to 1,000; 10 ms is a third of the way."""
    drawn = scale(conditions_of([row("fq_codel", FAST), row("no_aqm", SLOW)]))
    assert [text for _, text in drawn.ticks] == ["1", "10", "100", "1,000"]
    assert drawn.position(10.0) == pytest.approx(33.33)


@pytest.mark.parametrize(("value", "text"), [
    (0.1234, "0.123"), (5.0, "5"), (95.57, "95.6"), (1234.5, "1,230"), (0.0, "0"), (99.97, "100")])
def test_numbers_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    """Plain to read."""
    assert number(value) == text


def test_names_with_commas_are_told_apart() -> None:
    """As configurations have."""
    assert listed(["codel", "pie", "sfq"]) == "codel, pie and sfq"
    assert listed(["a, 1", "a, 2", "b, 1"]) == "a, 1; a, 2 and b, 1"


def test_folder_of_the_progress_has_its_name_also_as_a_point(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`flent-aqm report .` said ": 1 of 5 runs done"."""
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    assert [progress(Folder(Path(path), 0, None), 0.0)["folder"] for path in (".", "../mine")] == [
        "mine", "mine"]


def test_line_on_settings_of_no_runs_is_empty() -> None:
    """A page that follows a sweep said "0 runs: test ." before the first run."""
    assert _settings_line([], [Dimension("test", [])]) == ""


@pytest.mark.parametrize(("settings", "line"), [
    ([{"rate_mbps": 20.0}, {"rate_mbps": "100/20"}], "20, 100/20 Mbit/s"),
    ([{"rate_mbps": "trace t.csv"}], "trace t.csv"),
    ([{"rate_mbps": 20.0}, {"rate_mbps": "trace t.csv"}], "20 Mbit/s, trace t.csv"),
    ([{"rate_mbps": 50.0, "link_down_access": "lte", "link_up_access": "lte"}],
     "50 Mbit/s; link access lte"),
    ([{"rate_mbps": 50.0, "link_down_access": "", "link_up_access": "lte"}], "50 Mbit/s")])
def test_line_on_settings_names_what_limits_the_line(settings: list[dict[str, Any]], line: str
                                                     ) -> None:
    """A trace has no unit; a link's access is told if all runs have it in both directions."""
    rows = [replace(row("codel", FAST), settings=one) for one in settings]
    assert _settings_line(rows, []) == line
