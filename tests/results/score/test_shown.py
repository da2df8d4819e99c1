# SPDX-License-Identifier: GPL-3.0-or-later
"""What a table of scores calls its rows, and what is compared below it."""

from __future__ import annotations

import math
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flent_aqm.results.metrics.settings import Setting
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.results.score.group_formats import _statistics
from flent_aqm.results.score.leaves import Leaf, NumberKind
from flent_aqm.results.score.shown import (
    ScoredFile,
    _balanced,
    _comparisons,
    _distinct_names,
    _group_cells,
    _table,
    _why_no_comparison,
    groups_of,
    show_groups,
    show_table,
)


@pytest.mark.parametrize(("names", "labels"), [
    (["batch-quick-ndt7-codel", "batch-quick-nuttcp-codel"], ["ndt7-codel", "nuttcp-codel"]),
    # The last word stays, also where it is all that a longer name has besides.
    (["a-b", "a-b-c"], ["b", "b-c"]),
    (["a-b-c", "a-b"], ["b-c", "b"]),
    (["one-x", "other-x"], ["one-x", "other-x"]),
    (["a-b-c"], ["c"]),
    # Flent's own names: their titles, if all differ.
    (["rrul-2026-01-01T000004.000102.SQM_90__", "rrul-2026-01-01T000004.000103.SQM_off"],
     ["SQM_90__", "SQM_off"]),
    (["rrul-2026-01-01T000004.000102.x", "rrul-2026-01-02T000004.000103.x"],
     ["01T000004.000102.x", "02T000004.000103.x"]),
])
def test_labels_leave_out_the_words_that_all_begin_with(
        names: list[str], labels: list[str]) -> None:
    """Whole words, from the left."""
    assert _distinct_names([Path("results", f"{name}.flent.gz") for name in names]) == labels


@pytest.mark.parametrize(("titles", "named"), [
    (("SQM_off", "SQM_on"), ("SQM_off", "SQM_on")), (("SQM", "SQM"), ("no_aqm", "cake"))])
def test_runs_have_the_same_titles_on_a_terminal(
        titles: tuple[str, str], named: tuple[str, str]) -> None:
    """As elsewhere. Where they don't differ, settings take less room than paths."""
    files = [replace(one, path=Path(f"rrul-2026-01-01T000004.00010{at}.{title}.flent.gz"),
                     settings={"aqm": aqm})
             for at, (one, title, aqm) in enumerate(zip(
                 scored(2), titles, ("no_aqm", "cake"), strict=False))]
    lines = printed(show_table, files, ["latency_loaded_p99_ms"], 80)
    assert tuple(line.split()[0] for line in lines[-2:]) == named


def test_two_runs_each_are_enough_to_compare() -> None:
    """One of each is not."""
    two = _comparisons(["aqm"], {("codel",): [5.0, 6.0], ("pie",): [7.0, 8.0]}, "nothing")
    assert two[0].startswith("aqm: Kruskal-Wallis H = 2.4, p = 0.121; Cliff's delta: ")
    assert _comparisons(["aqm"], {("codel",): [5.0], ("pie",): [7.0]}, "nothing") == ["nothing"]


@pytest.mark.parametrize(("settings", "why"), [
    (["codel 5ms", "codel 20ms"], "; --by aqm_target,aqm compares those that differ in aqm_target"),
    (["codel 5ms", "pie 20ms"], None),
    (["codel 5ms", "codel 20ms", "pie 15ms"],
     "; --by aqm_target,aqm compares those that differ in aqm_target"),
])
def test_groups_that_differ_in_another_setting_say_how_to_compare_them(
        settings: list[str], why: str | None) -> None:
    """Groups are compared at equal other settings. It is said once."""
    lines = _comparisons(["aqm", "aqm_target"], {
        tuple(one.split()): [1.0 * at, 2.0] for at, one in enumerate(settings)}, "nothing")
    assert lines[0] == ("no comparison, because no two groups with values differ in aqm alone"
                        + (f"{why} alone" if why else ""))
    assert [line.split(":")[0] for line in lines[1:]] == ["share of variance"]
    alike = _comparisons(["aqm", "aqm_target"], {
        ("codel", "5ms"): [1.0, 2.0], ("pie", "5ms"): [3.0, 4.0], ("pie", "9ms"): [5.0, 6.0]}, "")
    assert [line.partition(":")[0] for line in alike[:2]] == ["aqm, aqm_target 5ms",
                                                             "aqm, aqm_target 9ms"]


def test_settings_that_are_shown_alike_are_groups_of_their_own() -> None:
    """The last displaced the others: numbers have six digits, texts 60 characters."""
    rates = _comparisons(["rate_mbps"], {
        (1.0000001,): [5.0, 6.0], (1.0000002,): [7.0, 8.0]}, "nothing")
    assert rates[0].startswith("rate_mbps: Kruskal-Wallis H = 2.4, p = 0.121; Cliff's delta: 1 and")


@pytest.mark.parametrize(("repeated", "because"), [
    (False, "no two runs repeat each other"),
    (True, "of the runs that repeat each other one at most has a value: too few probes")])
def test_why_nothing_is_compared_is_said_as_it_is(repeated: bool, because: str) -> None:
    """Runs may repeat each other and not tell this metric."""
    assert _why_no_comparison("too few probes", repeated) == f"no comparison, because {because}"


def test_metric_that_no_run_has_is_a_line_with_all_reasons() -> None:
    """Each with the number of its runs: what one test lacks is not said of the others. There is no
    table of dashes."""
    def printed(*reasons: str) -> str:
        out = StringIO()
        show_groups(Console(file=out, width=100), [
            ScoredFile(Path(f"{number}.flent.gz"), {"aqm": "codel"},
                       {"throughput_upload_mbps": Unavailable(reason)})
            for number, reason in enumerate(reasons)], ["aqm"], [], ["throughput_upload_mbps"])
        return out.getvalue()

    heading = "throughput_upload_mbps Mbit/s: " + METRICS["throughput_upload_mbps"].description
    assert printed("no upload", "stopped", "no upload").splitlines()[1:3] == [
        heading, "  no run has a value: no upload (2 runs); stopped (1 run)"]
    assert printed("no upload", "no upload").splitlines()[1:3] == [
        heading, "  no run has a value: no upload"]


def test_shares_of_variance_that_overlap_are_said_to() -> None:
    """Cake ran with one test and codel with another: either explains all of it."""
    apart = _comparisons(["aqm", "test"], {
        ("cake", "ndt7"): [5.0, 6.0], ("codel", "ndt7"): [6.0, 7.0], ("pie", "iperf3"): [70.0]},
        "nothing")
    assert apart[-1].startswith("share of variance: aqm 100%, test ")
    assert apart[-1].endswith("; they overlap, as not every combination has equally many runs")
    assert "with 2 runs in a group" in apart[-2], "pie is compared with nothing"
    whole = _comparisons(["aqm", "test"], {
        (aqm, test): [1.0 * len(aqm), 2.0 * len(test)]
        for aqm in ("cake", "codel") for test in ("ndt7", "iperf3")}, "nothing")
    assert "share of variance: " in whole[-1]
    assert "overlap" not in whole[-1]


def test_threshold_of_a_name_alone_is_none() -> None:
    """0 ms: only a call gives another."""
    assert Leaf("name", NumberKind.NUMBER, "function").threshold_ms == 0


def test_two_runs_have_quartiles_and_one_has_none() -> None:
    """Nor has one an interval."""
    metric = METRICS["latency_loaded_p99_ms"]
    assert _group_cells(metric, [4.0, 8.0])[:2] == ("6.00", "5.00 to 7.00")
    assert _group_cells(metric, [4.0]) == ("4.00", "-", "-")


def test_interval_of_a_median_tells_its_true_level() -> None:
    """Six runs have one of 96.9 %, five none; one that ends among lost probes says so."""
    metric = METRICS["latency_loaded_p99_ms"]
    assert _group_cells(metric, [1.0, 2.0, 3.0, 4.0, 5.0])[2] == "-"
    assert _group_cells(metric, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])[2] == "1.00 to 6.00 (96.9 %)"
    assert _group_cells(metric, [1.0, 2.0, 3.0, 4.0, 5.0, math.inf])[2] == "1.00 to lost (96.9 %)"


def test_numbers_stand_below_each_other_by_their_last_digit() -> None:
    """Names begin at the left, however many there are."""
    console = Console(file=StringIO(), width=80)
    table = _table("file", "kind", "mbps", left=2)
    for row in (("one", "x", "5.56"), ("other", "longer", "95.56")):
        table.add_row(*row)
    console.print(table)
    assert isinstance(console.file, StringIO)
    assert [line.rstrip() for line in console.file.getvalue().splitlines()] == [
        "file   kind     mbps", "one    x        5.56", "other  longer  95.56"]
    table = _table("file", "mbps", "ms")
    table.add_row("one", "5", "6")
    console = Console(file=StringIO(), width=80)
    console.print(table)
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().splitlines()[1].rstrip() == "one      5   6"


def scored(count: int, number: float = 95.5) -> list[ScoredFile]:
    """Files of so many queues at two lengths, with every metric."""
    return [ScoredFile(Path(f"batch-{at}-{'long' * 12}.flent.gz"),
                       {"test": "iperf3_upload", "aqm": f"queue{at}", "length_s": length},
                       dict.fromkeys(METRICS, number))
            for at in range(count) for length in (10.0, 20.0)]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("show", [show_table, lambda *words: show_groups(
    words[0], words[1], ["aqm"], [], words[2])])
def test_tables_fit_the_terminal(show: Any, width: int) -> None:
    """Columns go on below; no word and number is cut."""
    console = Console(file=StringIO(), width=width, force_terminal=True, color_system=None)
    names = list(METRICS)[:12]
    show(console, scored(3), names)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert text.count("95.50") >= 6 * len(names)


def test_one_file_on_a_narrow_terminal_has_what_there_is_then_why_the_rest_is_missing() -> None:
    one = scored(1)[0]
    names = list(METRICS)[:4]
    values = {**one.values, names[0]: Unavailable("too few probes"),
              names[2]: Unavailable("too few probes")}
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    show_table(console, [replace(one, values=values)], names)
    assert isinstance(console.file, StringIO)
    text = " ".join(console.file.getvalue().split())
    assert text.endswith(f"not available, because too few probes: {names[0]}, {names[2]}")
    assert text.count("95.50") == 2


def test_of_two_runs_that_repeat_each_other_one_has_a_value() -> None:
    """A group of two is one that repeats."""
    name = "throughput_upload_mbps"
    first, second = repeated(name, 129, 135)
    lost = replace(second, values={**second.values, name: Unavailable("it stopped")})
    assert ("no comparison, because of the runs that repeat each other one at most has a value: it "
            "stopped") in groups_text([first, lost], name)
    assert "no comparison, because no two runs repeat each other" in groups_text([first], name)


def test_runs_of_different_length_or_server_are_groups_of_their_own() -> None:
    keys, pooled, groups = groups_of(scored(2), ["aqm"], [])
    assert (keys, pooled, len(groups)) == (("aqm", "length_s"), [], 4)
    assert groups_of(scored(2), ["aqm"], ["length_s"])[1] == ["length_s"]


@pytest.mark.parametrize(("count", "testbed", "is_shown"), [
    (6, "virtual", True), (5, "virtual", False), (6, "ssh://router", False)])
def test_what_an_interval_over_seeds_tells_stands_below_the_groups(
    count: int, testbed: str, is_shown: bool
) -> None:
    """Where there is one, and the runs are the lab's."""
    files = [replace(one, settings={**one.settings, "aqm": "codel", "testbed": testbed})
             for one in scored(count)]
    out = StringIO()
    show_groups(Console(file=out, width=200), files, ["aqm"], [], ["throughput_upload_mbps"])
    assert ("Intervals: the lab's runs differ in their seeds alone" in out.getvalue()) == is_shown


def groups_text(files: list[ScoredFile], metric: str) -> str:
    """What --by aqm prints of a metric."""
    out = StringIO()
    show_groups(Console(file=out, width=200), files, ["aqm"], [], [metric])
    return out.getvalue()


def repeated(metric: str, *values: float, **settings: Any) -> list[ScoredFile]:
    """Runs of one queue that repeat each other."""
    return [ScoredFile(Path(f"{at}.flent.gz"), {"aqm": "cake", **settings},
                       {**dict.fromkeys(METRICS, 1.0), metric: value})
            for at, value in enumerate(values)]


def test_two_groups_of_runs_and_the_lack_of_an_interval_have_words() -> None:
    """Five runs have none, and the count of runs needs no explanation."""
    name = "throughput_upload_mbps"
    text = groups_text(repeated(name, 172, 129, 129, 172, 129), name)
    assert "cake: its runs fall into two groups, 129.0 in 3 and 172.0 in 2 runs" in text
    assert "No interval with 5 runs:" in text
    assert "5/5" not in text
    for values in ((129, 135, 141, 150, 155, 160), (129,)):
        text = groups_text(repeated(name, *values), name)
        assert "fall into two groups" not in text
        assert "No interval" not in text
    assert "No interval with 2 runs:" in groups_text(repeated(name, 129, 135), name)


def test_columns_go_on_below_only_if_there_is_no_room_for_them() -> None:
    """In a terminal as wide as the table they all stand side by side, with their labels once."""
    files, names = scored(2), list(METRICS)[:3]

    def text(width: int) -> str:
        console = Console(file=StringIO(), width=width, force_terminal=True, color_system=None)
        show_table(console, files, names)
        assert isinstance(console.file, StringIO)
        return console.file.getvalue()

    wide = text(500)
    needed = max(len(line.rstrip()) for line in wide.splitlines())
    assert [text(width).count("queue0") // wide.count("queue0") for width in (
        needed - 10, needed)] == [2, 1]


@pytest.mark.parametrize("shared", [True, False])
def test_throughput_of_a_shared_line_is_not_compared(shared: bool) -> None:
    """What all flows carried is."""
    def files(metric: str) -> list[ScoredFile]:
        return [replace(one, settings={**one.settings, "aqm": aqm}) for aqm in ("sfq", "codel")
                for one in repeated(metric, 430, 431, cross_traffic=shared)]

    share = "no comparison, because test and cross traffic share the line: compare total_upload"
    assert (share in groups_text(files("throughput_upload_mbps"), "throughput_upload_mbps")) \
        == shared
    assert "Kruskal-Wallis" in groups_text(files("total_upload_mbps"), "total_upload_mbps")


def test_files_of_different_probes_are_told_of() -> None:
    """And a file with a note is named; files alike in both have no word more."""
    files = scored(1)
    out = StringIO()
    show_table(Console(file=out, width=200), files, ["latency_loaded_p99_ms"])
    assert "probe" not in out.getvalue()
    assert "note" not in out.getvalue()
    files = [replace(one, settings={**one.settings, "probe": probe}, notes=notes)
             for one, probe, notes in zip(files, ("irtt", "ping"), ((), ("it stopped",)),
                                          strict=True)]
    show_table(Console(file=out, width=200), files, ["latency_loaded_p99_ms"])
    assert "different probes, so that it can't be compared between them: irtt in 1 file; ping" \
        in out.getvalue()
    assert "1 file with a note, such as batch-0-" in out.getvalue()


def printed(show: Any, files: list[ScoredFile], names: list[str], width: int) -> list[str]:
    """The lines on a terminal of this width."""
    console = Console(file=StringIO(), width=width, force_terminal=True, color_system=None)
    show(console, files, names)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_table_of_groups_that_just_fits_has_all_columns() -> None:
    """With a character less, the quartiles are left out; with much less, the interval, too."""
    name = "throughput_upload_mbps"
    files = repeated(name, 129, 135, 141, 150, 155, 160)

    def head(width: int) -> str:
        return next(line for line in printed(
            lambda *words: show_groups(words[0], words[1], ["aqm"], [], words[2]), files, [name],
            width) if line.startswith("aqm "))

    wide = next(line for line in printed(
        lambda *words: show_groups(words[0], words[1], ["aqm"], [], words[2]), files, [name], 100)
        if line.startswith("cake "))
    assert [part in head(len(wide)) for part in ("median", "quartiles")] == [True, True]
    assert "quartiles" not in head(len(wide) - 1)
    assert "the median" in head(len(wide) - 1)
    assert "the median" not in head(25)
    assert "quartiles" not in head(25)


def test_descriptions_have_room_from_110_characters_on() -> None:
    """Without it, what is missing follows by reason."""
    one = scored(1)[0]
    names = list(METRICS)[:2]
    missing = replace(one, values={**one.values, names[0]: Unavailable("too few probes")})
    for width, described in ((110, True), (109, False)):
        text = " ".join(" ".join(printed(show_table, [missing], names, width)).split())
        assert (METRICS[names[1]].description in text) is described
        assert (f"not available, because too few probes: {names[0]}" in text) is not described
        assert f"{names[0]} - " in text if described else f"{names[0]} - " not in text


@pytest.mark.parametrize(("values", "found"), [
    ([], (None, None, None, None)), ([4.0], (4.0, None, None, None)),
    ([4.0, 8.0], (6.0, 5.0, 7.0, None)), ([4.0, math.inf], (None, None, None, None)),
    ([1.0, 2.0, 3.0, 4.0, 5.0, math.inf], (3.5, 2.25, 4.75, 1.0))])
def test_statistics_of_a_group_are_those_that_its_runs_have(
        values: list[float], found: tuple[float | None, ...]) -> None:
    """Median, quartiles and the lower end of the interval; a lost probe is no number."""
    numbers = _statistics(9, values)
    assert tuple(numbers[name] for name in (
        "median", "lower_quartile", "upper_quartile", "interval_low")) == found
    assert (numbers["runs"], numbers["values"], numbers["lost"], numbers["interval_high"]) == (
        9, len(values), sum(map(math.isinf, values)), None)


@pytest.mark.parametrize(("numbers", "balanced"), [
    ({("a", 1): [1.0], ("a", 2): [1.0], ("b", 1): [1.0], ("b", 2): [1.0]}, True),
    ({("a", 1): [1.0], ("a", 2): [1.0], ("b", 1): [1.0]}, False),
    ({("a", 1): [1.0], ("a", 2): [1.0], ("b", 1): [1.0], ("b", 2): [1.0, 2.0]}, False),
    ({("a", 1): [1.0], ("b", 2): [1.0]}, False), ({("a",): [1.0], ("b",): [2.0]}, True)])
def test_runs_are_balanced_if_every_combination_has_as_many(
        numbers: dict[tuple[Setting, ...], list[float]], balanced: bool) -> None:
    assert _balanced(numbers) is balanced


SAME = "because all runs have the same value"


@pytest.mark.parametrize(("numbers", "lines"), [
    # A metric that is the same in all runs differs by no setting.
    ({("codel",): [5.0, 5.0], ("pie",): [5.0, 5.0]},
     [f"aqm: no comparison, {SAME}", f"no share of variance, {SAME}"]),
    # Groups of one run are in no comparison of their own.
    ({("codel", 1): [5.0, 6.0], ("pie", 1): [7.0, 8.0], ("codel", 2): [5.0], ("pie", 2): [7.0]},
     ["aqm, seed 1: Kruskal-Wallis H = 2.4, p = 0.121; Cliff's delta: codel and pie -1.00",
      "p is the chi-square approximation, rough with 2 runs in a group",
      ("share of variance: aqm 82%, seed 5%; they overlap, as not every combination has equally "
       "many runs")]),
    # The seed differs in none, so that it has no share.
    ({("codel", 1): [5.0, 6.0], ("pie", 1): [7.0, 8.0]},
     ["aqm, seed 1: Kruskal-Wallis H = 2.4, p = 0.121; Cliff's delta: codel and pie -1.00",
      "p is the chi-square approximation, rough with 2 runs in a group",
      "share of variance: aqm 80%"]),
    ({("codel",): [5.0, 6.0], ("pie",): []},
     ["aqm: no comparison, because fewer than two groups have a value"]),
])
def test_groups_are_compared_where_two_runs_repeat_each_other(
        numbers: dict[tuple[Setting, ...], list[float]], lines: list[str]) -> None:
    assert _comparisons(["aqm", "seed"][:len(next(iter(numbers)))], numbers, "nothing") == lines


def test_columns_of_a_wide_terminal_go_on_below_if_a_character_is_missing() -> None:
    """From 110 characters on there are two blanks between columns, however many there are."""
    files, names = scored(2), list(METRICS)[:14]
    wide = printed(show_table, files, names, 500)
    needed = max(map(len, wide))
    assert needed >= 110
    assert printed(show_table, files, names, needed) == wide
    parts = printed(show_table, files, names, needed - 1)
    assert len(parts) > len(wide)
    assert parts[0] != ""
    assert parts.count("") == 1


def test_columns_are_closer_together_below_110_characters() -> None:
    """One blank instead of two, of files and of groups."""
    name = "throughput_upload_mbps"
    files = repeated(name, 129, 135, 141)

    def rows(width: int) -> list[str]:
        by_file = printed(show_table, files, [name], width)
        by_group = printed(lambda *words: show_groups(
            words[0], words[1], ["aqm"], [], words[2]), files, [name], width)
        return [next(line for line in lines if line.startswith(start))
                for lines, start in ((by_file, "0 "), (by_group, "cake "))]

    assert rows(110) == rows(200)
    for narrow, wide in zip(rows(109), rows(110), strict=True):
        assert narrow.split() == wide.split()
        assert len(narrow) < len(wide)


def test_builds_of_a_kernel_that_count_as_repetitions_are_told() -> None:
    """Below the table, as by the report; one build, or none that is known, is no news."""
    def told(*kernels: tuple[str, str] | None) -> str:
        printed = StringIO()
        show_table(Console(file=printed, width=400), [
            ScoredFile(Path(f"{number}.flent.gz"), {"aqm": "codel"}, {"fairness_upload": 0.5},
                       kernel=kernel)
            for number, kernel in enumerate(kernels)], ["fairness_upload"])
        return printed.getvalue()

    assert ("These runs are of 2 builds of the kernel mine (a, b), and count as repetitions here: "
            "leave out those of the builds that you don't mean."
            ) in told(("mine", "a"), ("mine", "b"), ("other", "c"))
    assert "builds of the lab kernel (a, b)" in told(("stock", "a"), None, ("stock", "b"))
    assert "builds" not in told(("mine", "a"), ("mine", "a"), ("stock", "b"), None)
