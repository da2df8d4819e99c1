# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in a plot: which line is whose, and what is said of how they differ."""

from __future__ import annotations

from dataclasses import replace
from string import Template

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.results.grouping import (
    Settings,
    alike_in,
    along_with,
    check_keys,
    factors,
    grouped,
    heading,
    own_title,
    parse_keys,
    pooled_over,
    router_models,
    setting_text,
    sorted_values,
    unpooled,
)
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.settings import Setting
from flent_aqm.show.groups import by_run, groups, spread, with_own_colours
from flent_aqm.spec.kernel import STOCK
from tests.files import GOLDEN

QUICK = GOLDEN / "batches" / "quick"


def run(name: str) -> Run:
    """A golden run."""
    return load_run(QUICK / f"{name}.flent.gz")


def test_lines_of_one_queue_are_all_different() -> None:
    """A run of one test, two of another: the colour is the queue's, so lines tell them apart."""
    names = ("iperf3_upload-no_aqm", "ndt7-no_aqm", "ndt7-no_aqm", "ndt7-codel")
    *groups, codel = by_run([run(name) for name in names], 10)
    assert [one.label for one in groups] == [
        "iperf3_upload, no_aqm", "ndt7, no_aqm #1", "ndt7, no_aqm #2"]
    assert codel.look.colour != groups[0].look.colour
    assert len({one.look.colour for one in groups}) == 1
    assert len({one.look.line for one in groups}) == 3


def test_groups_of_one_queue_get_colours_of_their_own() -> None:
    """Where lines mean something else. A queue alone keeps its own."""
    names = ("ndt7-no_aqm", "iperf3_upload-no_aqm", "ndt7-codel")
    made = groups([run(name) for name in names], ("aqm", "test"))
    own = with_own_colours(made)
    assert [one.label for one in own] == ["no_aqm, iperf3_upload", "no_aqm, ndt7", "codel, ndt7"]
    assert own[0].look.colour == made[0].look.colour
    assert own[2].look == made[2].look
    assert len({one.look.colour for one in own}) == 3
    assert own[0].look.hatch != own[1].look.hatch
    many = [replace(one, label=f"{number}") for number in range(6) for one in made[1:]]
    assert len({one.look.colour for one in with_own_colours(many)}) == len(many)


def test_label_has_no_setting_that_its_runs_do_not_record() -> None:
    """Beside runs that do. Without any, it says that none is told."""
    plain = run("ndt7-codel")
    limited = replace(plain, settings={**plain.settings, "aqm_limit": 40})
    made = groups([plain, limited], ("aqm", "aqm_limit"))
    assert [one.label for one in made] == ["codel, aqm_limit 40", "codel"]
    assert [one.label for one in groups([plain, limited], ("aqm_limit",))] == [
        "aqm_limit 40", "not told"]


def test_each_queue_is_among_the_first_groups() -> None:
    """However many groups another one has before it."""
    no_aqm, codel = groups([run("ndt7-no_aqm"), run("ndt7-codel")], ("aqm",))
    made = [*(replace(no_aqm, label=f"no_aqm {number}") for number in range(4)), codel]
    assert [one.label for one in spread(made, 3)] == ["no_aqm 0", "no_aqm 1", "codel"]
    assert spread(made, 5) == spread(made, 9) == made


def test_settings_that_differ_only_together_with_others_are_named() -> None:
    """What is told, what is pooled, what belongs to a queue, and what one run knows is not."""
    one: Settings = {"test": "ndt7", "aqm": "codel", "aqm_target": "5ms", "rate_mbps": 10.0,
                     "router_model": "ideal", "seed": 1, "cross_traffic": False}
    other: Settings = {"test": "ndt7", "aqm": "cake", "aqm_target": "1ms", "rate_mbps": 20.0,
                       "router_model": "omnia", "seed": 2, "cross_traffic": False, "flows": "4"}
    assert along_with([one, other], ["aqm"]) == ["rate_mbps", "router_model"]
    assert along_with([one, other], ["aqm", "rate_mbps"]) == ["router_model"]
    assert along_with([one, {**other, "aqm": "codel"}], ["aqm"]) == ["router_model"]
    assert along_with([one, {**one, "seed": 3}], ["aqm"]) == []


def test_words_that_begin_with_a_number_are_sorted_by_it() -> None:
    """A line at 85, 90 and 100 % of its rate, and off."""
    assert sorted_values("title", ["SQM off", "100 % cake", "90 % cake", "85 % cake"]) == [
        "85 % cake", "90 % cake", "100 % cake", "SQM off"]


RUNS: list[Settings] = [
    {"test": "ndt7", "aqm": "codel", "rate_mbps": 10.0, "seed": 1, "title": "a"},
    {"test": "ndt7", "aqm": "cake", "rate_mbps": 20.0, "seed": 2, "title": "b"},
    {"test": "ndt7", "aqm": "cake", "rate_mbps": 5.0, "seed": 3, "title": "b", "more": "x"}]


def test_settings_that_distinguish_runs() -> None:
    """As few as do, known ones first. Titles only where nothing else differs."""
    assert factors(RUNS) == ["aqm", "rate_mbps"]
    assert factors(RUNS, ["rate_mbps"]) == []
    assert factors(RUNS, ["more"]) == ["aqm"]
    assert factors(RUNS[1:]) == ["rate_mbps"]
    same: list[Settings] = [{"seed": 1, "title": "a"}, {"seed": 2, "title": "b"}]
    assert factors(same) == ["title"]
    assert factors(same, ["seed"]) == []
    assert factors(same[:1]) == []
    assert factors([{}, {"kernel": STOCK}]) == []
    assert pooled_over(RUNS, ["aqm"]) == ["rate_mbps"]
    assert pooled_over(same, []) == []
    assert unpooled(RUNS, ["aqm"]) == (("aqm", "rate_mbps"), [])
    assert unpooled(RUNS, ["aqm"], ["rate_mbps"]) == (("aqm",), ["rate_mbps"])
    assert unpooled(RUNS, ["aqm"], ["all"]) == (("aqm",), ["rate_mbps"])
    assert unpooled(RUNS, [], ["aqm"]) == (("rate_mbps",), [])


def test_settings_that_compared_runs_share() -> None:
    """Those that distinguish runs beyond what is compared, and no others."""
    runs: list[Settings] = [
        {"aqm": aqm, "aqm_target": aqm, "rate_mbps": rate, "twice": 2 * rate, "title": "a"}
        for aqm in ("codel", "cake") for rate in (10.0, 20.0)]
    assert alike_in(runs, ["aqm"], []) == ["rate_mbps"]
    assert alike_in(runs, ["aqm"], ["rate_mbps"]) == []
    assert alike_in(runs, ["aqm", "rate_mbps"], []) == ["twice"]
    assert alike_in(runs[:1], ["aqm"], []) == []


def test_groups_are_sorted_numbers_first() -> None:
    """Numbers by size, then texts. A run without the setting has an empty one."""
    values: list[Settings] = [{"x": "b"}, {"x": 10}, {"x": 9.5}, {"x": "a"}, {}, {"x": True}]
    found = grouped([(one, str(at)) for at, one in enumerate(values)], ["x"])
    assert list(found.items()) == [((True,), ["5"]), ((9.5,), ["2"]), ((10,), ["1"]),
                                   (("",), ["4"]), (("a",), ["3"]), (("b",), ["0"])]
    words = grouped([({"x": text}, "") for text in ("40xcubic", "10xcubic", "none", "2xcubic")],
                    ["x"])
    assert list(words) == [("2xcubic",), ("10xcubic",), ("40xcubic",), ("none",)]
    with pytest.raises(ConfigError, match=r"^no run has the setting 'y'; known: x$"):
        grouped([(values[0], "")], ["y"])
    with pytest.raises(ConfigError) as caught:
        check_keys([{f"s{number:02}": 1 for number in range(61)}], ["y"])
    assert str(caught.value).endswith("s58, s59, …")
    with pytest.raises(ConfigError, match=r"known: none$"):
        check_keys([], ["y"])
    with pytest.raises(ConfigError, match=r"setting 'rate_mbps' \(in short 'rate'\); known: x$"):
        check_keys([{"x": 1}], parse_keys("rate"))


@pytest.mark.parametrize(("name", "values", "in_order"), [
    ("aqm", ["zzz", "cake", "no_aqm", "codel", None, "aaa"],
     ["no_aqm", "codel", "cake", "aaa", "zzz", None]),
    ("rate_mbps", ["x", 10, "9", 2.5, None, False], [False, 2.5, 10, "9", "x", None]),
    ("title", ["2.5 b", "2.5 a", "2.25", "b"], ["2.25", "2.5 a", "2.5 b", "b"])])
def test_values_in_the_order_of_an_axis(
        name: str, values: list[Setting | None], in_order: list[Setting | None]) -> None:
    assert sorted_values(name, values) == in_order


@pytest.mark.parametrize(("name", "value", "text"), [
    ("x", True, "x on"), ("x", False, "x off"), ("x", 1234567.0, "x 1.23457e+06"), ("x", 3, "x 3"),
    ("rate_mbps", 100.0, "100 Mbit/s"), ("rate_mbps", "no shaper", "no shaper"),
    ("shaper_mbps", "off", "SQM off"), ("shaper_mbps", "40/8", "SQM 40/8 Mbit/s"),
    ("x", None, "not told"), ("test", "ndt7", "ndt7"),
    ("x", "", "no x"), ("x", "a\x07" + "b" * 70, "x a?" + "b" * 57 + "…")])
def test_setting_in_words(name: str, value: Setting | None, text: str) -> None:
    assert setting_text(name, value) == text


@pytest.mark.parametrize(("title", "own"), [
    ("codel 100.0 Mbit/s burst 0 cross 0", ""), ("fq_codel trace Mbit/s burst 1 cross call", ""),
    ("85 % cake", "85 % cake"), ("codel, 100 Mbit/s", "codel, 100 Mbit/s"), (None, ""), ("", "")])
def test_title_of_settings_is_not_the_users(title: str | None, own: str) -> None:
    assert own_title(title) == own


def test_usual_title_of_batches_is_one_of_settings() -> None:
    """The one that base.batch gives."""
    text = (resource_dir("batches") / "base.batch").read_text()
    title, = [line.removeprefix("title = ") for line in text.splitlines()
              if line.startswith("title = ")]
    values = {"aqm": "codel", "rate_down_mbps": "20", "burst_shaping": "0", "cross_traffic": "0"}
    assert own_title(Template(title).substitute(values)) == ""


def test_headings_and_names_of_settings() -> None:
    assert [heading(name) for name in ("some_thing", "base_delay_ms", "shaper_mbps")] == [
        "some thing", "delay ms", "SQM"]
    assert parse_keys(" rate, aqm,,cross ,") == ("rate_mbps", "aqm", "cross_traffic")


def test_models_are_of_the_labs_routers() -> None:
    """A real router has none, whatever the batch says."""
    assert router_models([
        {"router_model": "omnia"}, {"router_model": "ideal", "testbed": "virtual"},
        {"router_model": "x", "testbed": "ssh://root@x"}, {}]) == ["ideal", "omnia"]
