# SPDX-License-Identifier: GPL-3.0-or-later
"""The table at the end of a sweep: what a line is of, and how wide it gets."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.advice.measured import Measured
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.scores import Scores
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import summary, sweep
from tests.files import RUNS, load, packed

NONE = Unavailable("the test has no download")
LOST = Unavailable("2 % of the probes were lost", lost=True)


def cell(folder: Path, number: int, test: str = "ndt7", parameters: Mapping[str, str] | None = None,
         name: str = "run-{}", **settings: object) -> Cell:
    """A run whose data file is there. name: its name, with {} for the number."""
    name = name.format(number)
    (folder / f"{name}.flent.gz").touch()
    return Cell(name=name, folder=folder, test_name=test, scenario=Scenario.from_settings(settings),
                settings={"TEST_PARAMETERS": dict(parameters or {})}, commands={}, metadata={},
                length_s=10)


def table(cells: Sequence[Cell], by_file: Mapping[Path, Scores], group_by: Sequence[str] = (),
          width: int = 80, failures: Mapping[Path, str] | None = None) -> str:
    """What is printed on a terminal of that width."""
    out = io.StringIO()
    summary.show(Console(file=out, width=width), cells, by_file, failures or {}, group_by)
    return out.getvalue()


def scores(cells: Sequence[Cell], *values: Scores) -> dict[Path, Scores]:
    return {cell.data_file: values[place % len(values)] for place, cell in enumerate(cells)}


def row(text: str, *begins: str) -> list[str]:
    """The words of the one line that begins with these."""
    line, = [line.split() for line in text.splitlines() if line.split()[:len(begins)] == [*begins]]
    return line


def test_line_has_only_runs_that_repeat_each_other(tmp_path: Path) -> None:
    """Shaper and tiers differ, as in a batch of one queue and rate: three lines, not one."""
    cells = [cell(tmp_path, 1, aqm="fq_codel", shaper="none"), cell(tmp_path, 2, aqm="fq_codel"),
             cell(tmp_path, 3, aqm="fq_codel", tiers=3)]
    by_file = {one.data_file: Scores(19.0, 7.0, ms, ms + 1)
               for one, ms in zip(cells, (577.0, 21.9, 23.8), strict=True)}
    text = table(cells, by_file)
    for words in (["no", "shaper", "1", "fq_codel"], ["100", "1", "fq_codel"],
                  ["100", "3", "fq_codel"]):
        assert row(text, *words)[len(words)] == "1"
    assert "577.0" in text
    assert "pooled" not in text


def test_parameters_of_queues_and_tests_tell_runs_apart(tmp_path: Path) -> None:
    """What the batch varies may be a parameter."""
    cells = [cell(tmp_path, 1, aqm="codel", aqm_target="5ms"),
             cell(tmp_path, 2, aqm="codel", aqm_target="1ms"),
             cell(tmp_path, 3, aqm="codel", aqm_target="5ms", parameters={"load": "both"})]
    text = table(cells, scores(cells, Scores(1.0, 1.0, 1.0, 1.0)), width=120)
    assert "aqm target" in text
    assert "load" in text
    assert len([line for line in text.splitlines() if "codel  " in line]) == 3


def test_setting_that_differs_together_with_another_is_shown(tmp_path: Path) -> None:
    """The rate already tells these runs apart; that one of them has cross traffic is told too, and
    not that none has."""
    cells = [cell(tmp_path, 1, aqm="codel", rate_mbps=10),
             cell(tmp_path, 2, aqm="codel", rate_mbps=20, cross_traffic=1)]
    by_file = scores(cells, Scores(9.0, 9.0, 5.0, 6.0))
    text = table(cells, by_file)
    assert row(text, "off", "10")
    assert row(text, "on", "20")
    assert "All runs: ndt7." in text
    by_rate = table(cells, by_file, group_by=["rate_mbps"])
    assert "All runs: ndt7.\n" in by_rate
    assert "Lines also differ in cross_traffic.\n" in by_rate
    assert "also differ" not in text


def test_summary_by_pools_and_says_over_what(tmp_path: Path) -> None:
    """Asked for by name: medians over rates, with a word on it."""
    cells = [cell(tmp_path, n, aqm="codel", rate_mbps=rate) for n, rate in enumerate((10, 20, 30))]
    by_file = {one.data_file: Scores(mbps, NONE, 5.0, 6.0)
               for one, mbps in zip(cells, (9.0, 19.0, 29.0), strict=True)}
    text = table(cells, by_file, summary.parse_group_by("test_name,aqm"))
    assert row(text, "ndt7", "codel") == ["ndt7", "codel", "3", "19.00", "5.00", "6.00"]
    assert "Medians over the runs of each line, pooled over rate_mbps." in text


def test_directions_have_columns_and_lost_percentiles_a_word(tmp_path: Path) -> None:
    """Of three repetitions two have a lost p99; the mean of directions stands nowhere."""
    cells = [cell(tmp_path, n, aqm="codel", seed=n) for n in range(3)]
    text = table(cells, scores(cells, Scores(10.0, 50.0, 7.0, 9.0),
                               Scores(10.0, 50.0, 7.0, LOST), Scores(10.0, 50.0, 7.0, LOST)))
    assert row(text, "codel") == ["codel", "3", "10.00", "50.00", "7.00", "lost"]
    assert "30.00" not in text
    assert '2 runs with "lost" as p99: 2 % of the probes were lost.' in text
    more = replace(LOST, because="3 % of the probes were lost")
    text = table(cells, scores(cells, Scores(10.0, 50.0, 7.0, 9.0),
                               Scores(10.0, 50.0, 7.0, more), Scores(10.0, 50.0, 7.0, LOST)))
    assert '2 runs with "lost" as p99: for example, 3 % of the probes were lost.' in text
    one_way = table(cells, scores(cells, Scores(NONE, 0.24, 7.0, 9.0)))
    assert "down" not in one_way
    assert "lost" not in one_way
    assert row(one_way, "codel")[2] == "0.24"
    assert "flow's" not in one_way
    own = table(cells, scores(cells, Scores(NONE, 0.24, 7.0, 9.0, 30.0)), width=100)
    assert row(own, "codel")[3:] == ["7.00", "9.00", "30.00"]


def test_percentile_of_too_few_probes_says_how_many_it_takes(tmp_path: Path) -> None:
    """Runs of 5 s have "-" as p99; with enough probes, or none for another reason, no line."""
    few = METRICS["latency_loaded_p99_ms"].of(load_run(RUNS / "iperf3_upload.flent.gz"))
    cells = [cell(tmp_path, n, aqm="codel", seed=n) for n in range(3)]
    text = table(cells, scores(cells, Scores(10.0, 50.0, 7.0, few)))
    assert row(text, "codel")[-1] == "-"
    assert ("3 runs without p99: only 3 of 300 samples lie above p99; 10 are needed, which takes "
            "about 1,000 samples.\n") in text
    for other in (9.0, LOST, NONE):
        assert "without" not in table(cells, scores(cells, Scores(10.0, 50.0, 7.0, other)))


def test_long_settings_are_folded_and_numbers_stay_whole(tmp_path: Path) -> None:
    """Such as the flows of many hosts, of which 60 characters are shown."""
    flows = "+".join(f"client{number}:{number}xcubic" for number in range(1, 9))
    cells = [cell(tmp_path, number, "aqm_flows", aqm="cake", rate_mbps=20,
                  parameters={"flows": flow}) for number, flow in enumerate((flows, "1xcubic"))]
    text = table(cells, scores(cells, Scores(9.131, 9.246, 504.9, 1177.0)))
    assert max(map(len, text.splitlines()[:6])) <= 80
    for number in ("9.13", "9.25", "504.9", "1177"):
        assert text.count(number) == 2
    words = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert f"{flows[:59]}…" in "".join(words)


@pytest.mark.parametrize(("algorithm", "is_told"), [("bbr", True), ("cubic", False), (None, False)])
def test_congestion_control_of_the_machine_is_told_beside_the_labs(
        tmp_path: Path, algorithm: str | None, is_told: bool) -> None:
    """What requests none, as NDT7's upload, differs by it from the lab, where it is Cubic."""
    cells = [cell(tmp_path, number, aqm="no_aqm", testbed=testbed)
             for number, testbed in enumerate(("virtual", "netns"))]
    data = load(next(RUNS.glob("*.flent.gz")))
    data["metadata"]["AQM"]["hosts"] = {"tcp_congestion_control": algorithm}
    cells[1].data_file.write_bytes(packed(data))
    text = table(cells, scores(cells, Scores(1.0, 1.0, 1.0, 1.0)), ["testbed"])
    assert ("Lines also differ in host_congestion_control." in text) is is_told


@pytest.mark.parametrize("width", [80, 160])
def test_standard_sweep_fits_80_columns(tmp_path: Path, width: int) -> None:
    """All that it varies differs, and a run has failed: no heading is cut."""
    cells = [cell(tmp_path, n, test, {"cross_traffic": str(int(cross))}, aqm=aqm, rate_mbps=rate,
                  cross_traffic=cross)
             for n, (test, aqm, rate, cross) in enumerate(
                 (test, aqm, rate, cross) for test in ("ndt7", "iperf3_upload")
                 for aqm in ("no_aqm", "fq_codel") for rate in (100, 1000)
                 for cross in (False, True))]
    text = table(cells, scores(cells, Scores(956.4, 956.4, 119.53, 1119.5, 1119.5)), width=width,
                 failures={cells[0].data_file: "why"})
    assert "…" not in text
    assert max(map(len, text.splitlines()[:20])) <= width
    for word in ("test", "cross", "Mbit/s", "AQM", "runs", "failed", "down", "up", "median", "p99"):
        assert word in text.splitlines()[1], word
    assert ("flow's" in text.splitlines()[0]) is (width > 80)


def test_summary_by_unknown_key_is_refused() -> None:
    """With the one that is meant, or the page that lists them: there are too many for a line."""
    with pytest.raises(ConfigError, match=(
            r"unknown key 'moon'; see docs/reference/keys\.md; expected test, ")) as refused:
        summary.parse_group_by("moon")
    assert len(str(refused.value)) < 250
    with pytest.raises(ConfigError, match=(
            r"unknown key 'rate_mbp'; did you mean 'rate_mbps'\?; .*, or parameters such as")):
        summary.parse_group_by("rate_mbp")
    with pytest.raises(ConfigError, match="unknown key 'length'; "):  # as the user has written it
        summary.parse_group_by("aqm, length")
    assert summary.parse_group_by("test_name, rate_mbps,aqm_target") == (
        "test", "rate_mbps", "aqm_target")


def test_summary_by_a_key_that_no_run_has_is_refused_before_the_first(tmp_path: Path) -> None:
    """It was after the last."""
    whole = sweep.Sweep()
    whole.plan(cell(tmp_path, 1), {"summary_by": "aqm, up_aqm_limit"})
    with pytest.raises(ConfigError, match="summary_by: no run has the setting 'up_aqm_limit'; kno"):
        whole.start()
    summary.check_group_by([cell(tmp_path, 1, up_aqm="sfq", up_aqm_limit="9")],
                           ["aqm", "up_aqm_limit"])
    summary.check_group_by([cell(tmp_path, 1)], [])


def test_throughput_beside_cross_traffic_is_a_share_of_what_all_carried(tmp_path: Path) -> None:
    """A fair queue's half of the line is told with the whole; on a narrow terminal, that it is a
    share."""
    cells = [cell(tmp_path, 1, aqm="sfq", cross_traffic=1),
             cell(tmp_path, 2, aqm="no_aqm", cross_traffic=1)]
    by_file = scores(cells, Scores(NONE, 430.2, 5.0, 6.0, total_upload_mbps=860.9),
                     Scores(NONE, 838.1, 5.0, 6.0, total_upload_mbps=860.5))
    text = table(cells, by_file)
    assert row(text, "sfq")[2:5] == ["430.2", "of", "860.9"]
    assert row(text, "no_aqm")[2:5] == ["838.1", "of", "860.5"]
    assert "throughput is the test's share of what all flows together carried." in text
    narrow = table(cells, by_file, width=40)
    assert row(narrow, "sfq")[2] == "430.2"
    assert "share of the line, and not a cost of the queue" in narrow
    alone = table(cells, scores(cells, Scores(NONE, 430.2, 5.0, 6.0)))
    assert "With cross traffic" not in alone


def test_runs_that_fall_into_two_groups_are_told_of(tmp_path: Path) -> None:
    """Their median is one of the two."""
    cells = [cell(tmp_path, n, aqm="cake", seed=n) for n in range(5)]
    def said(*mbps: float) -> str:
        return table(cells, scores(cells, *(Scores(NONE, one, 5.0, 6.0) for one in mbps)),
                     width=120)

    assert ("Runs fall into two groups in upload (cake): 129.0 in 3 runs, 172.0 in 2 runs"
            in said(172, 129, 129, 172, 129))
    assert "two groups" not in said(172, 129, 140, 150, 160)


def test_runs_that_repeat_none_have_no_medians(tmp_path: Path) -> None:
    """A single run shows what it shares with itself; two of a line are a median."""
    one, again = cell(tmp_path, 1, aqm="codel"), cell(tmp_path, 2, aqm="codel", seed=2)
    text = table([one], scores([one], Scores(9.0, 9.0, 5.0, 6.0)))
    assert "All runs: ndt7" in text
    assert "Medians" not in text
    both = table([one, again], scores([one, again], Scores(9.0, 9.0, 5.0, 6.0)))
    assert "Medians over the runs of each line." in both


def test_commands_to_open_the_files_name_one_queue_of_several(tmp_path: Path) -> None:
    """The last one's, as a pattern; of one queue there is nothing to choose."""
    cells = [cell(tmp_path, number, aqm=aqm, name=f"run-{aqm}-{{}}")
             for number, aqm in enumerate(("sfq", "codel", "pie"))]
    text = table(cells, scores(cells, Scores(9.0, 9.0, 5.0, 6.0)), width=300)
    assert text.splitlines()[-2:] == [f"  flent-gui {tmp_path}/*.flent.gz",
                                      f"  flent-gui {tmp_path}/*-pie-*.flent.gz"]
    unnamed = [cell(tmp_path, number, aqm=aqm, name="90percent-htb_{}")
               for number, aqm in enumerate(("sfq", "pie"))]
    text = table(unnamed, scores(unnamed, Scores(9.0, 9.0, 5.0, 6.0)), width=300)
    assert "pie-" not in text  # no file has the queue's name between dashes
    alone = table(cells[:1], scores(cells, Scores(9.0, 9.0, 5.0, 6.0)), width=300)
    assert alone.splitlines()[-1] == f"  flent-gui {tmp_path}/*.flent.gz"
    none = Cell("none", tmp_path / "none", "ndt7", Scenario(), {}, {}, {}, 10)
    assert "flent-gui" not in table([none], {})


def test_cause_is_told_in_one_line_the_most_frequent_first(tmp_path: Path) -> None:
    """However narrow the terminal, so that it can be searched for; numbers make no other cause."""
    cells = [cell(tmp_path, number, aqm="codel") for number in range(3)]
    why = "port 5201 is taken by [some] other program, as the line on it says, which is long"
    failures = {cells[0].data_file: "rare", cells[1].data_file: why,
                cells[2].data_file: why.replace("5201", "80")}
    text = table(cells, scores(cells, Scores(9.0, 9.0, 5.0, 6.0)), failures=failures, width=60)
    causes = [line for line in text.splitlines() if line.startswith("failed: ")]
    assert causes == [f"failed: 2 runs, such as run-1.flent.gz: {why}",
                      "failed: run-0.flent.gz: rare"]


@pytest.mark.parametrize("modem", [True, False])
def test_advice_is_for_lines_with_a_modem(tmp_path: Path, modem: bool) -> None:
    """As homes have one: the run adds little latency, which is good."""
    settings: Any = {"modem_mbps": 60, "shaper": "htb"} if modem else {}
    one = cell(tmp_path, 1, "ndt7", None, aqm="fq_codel", **settings)
    one.data_file.write_bytes((RUNS / "ndt7.flent.gz").read_bytes())
    text = " ".join(table([one], {}).split())
    assert ("What to do: Busy downloads or uploads add no more than" in text) is modem


def coloured(cells: Sequence[Cell], by_file: Mapping[Path, Scores], group_by: Sequence[str],
             width: int, failures: Mapping[Path, str] | None = None) -> str:
    """What is printed on a terminal with colours."""
    out = io.StringIO()
    summary.show(Console(file=out, width=width, force_terminal=True, color_system="standard",
                         highlight=False), cells, by_file, failures or {}, group_by)
    return out.getvalue()


def test_notes_are_whole_lines_whatever_is_in_them(tmp_path: Path) -> None:
    """Names of tests, parameters and folders are the user's: brackets in them are no markup. On a
    narrow terminal a line can still be searched for and copied."""
    folder = tmp_path / "[red]5 folders"
    folder.mkdir()
    test = "[red]a-test-of-5-words"
    cells = [cell(folder, number, test, {"[red]along5": aqm, "[red]pooled5": str(number)},
                  aqm=aqm, name="{}" + f"-[red]-{aqm}-")
             for number, aqm in enumerate(("sfq", "sfq", "sfq", "sfq", "pie"))]
    few = Unavailable("[red]only 3 of 300", too_few=True)
    by_file = scores(cells, *(Scores(NONE, mbps, 5.0, few) for mbps in (
        10.0, 10.1, 90.0, 90.1, 10.0)))
    cause = "[red]port 5201 is taken by another"
    text = coloured(cells, by_file, ["test", "aqm"], 30, {cells[0].data_file: cause})
    lines, two = text.splitlines()[4:], "10.05 in 2 runs, 90.05 in 2 runs, Mbit/s up."
    assert lines == [
        "All runs: no cross traffic, 100 Mbit/s.",
        "Lines also differ in [red]along5.",
        "Medians over the runs of each line, pooled over [red]pooled5.",
        "5 runs without p99: [red]only 3 of 300.",
        f"Runs fall into two groups in upload ({test}, sfq): {two}",
        f"\x1b[31mfailed:\x1b[0m {cells[0].data_file.name}: {cause}",
        "To look at them:", f"  flent-gui '{folder}'/*.flent.gz",
        f"  flent-gui '{folder}'/*-pie-*.flent.gz"]
    shared = coloured(cells, by_file, ["aqm"], 30).splitlines()
    assert f"All runs: {test}, no cross traffic, 100 Mbit/s." in shared


def test_table_has_its_last_column_where_it_fits(tmp_path: Path) -> None:
    """To the column. The totals beside cross traffic are left out next, and then nothing."""
    cells = [cell(tmp_path, 1, aqm="sfq", cross_traffic=1)]
    by_file = scores(cells, Scores(NONE, 430.2, 5.0, 6.0, 30.0, total_upload_mbps=860.9))

    def columns(width: int) -> list[str]:
        return table(cells, by_file, width=width).splitlines()[2].split()

    whole = ["sfq", "1", "430.2", "of", "860.9", "5.00", "6.00", "30.00"]
    wide = max(len(line.rstrip()) for line in table(cells, by_file).splitlines()[:3])
    assert columns(wide) == columns(200) == whole
    without_own = table(cells, by_file, width=wide - 1).splitlines()[:3]
    less = max(len(line.rstrip()) for line in without_own)
    assert columns(wide - 1) == columns(less) == whole[:-1]
    assert columns(less - 1) == ["sfq", "1", "430.2", "5.00", "6.00"]


def test_columns_are_closer_together_below_a_width_of_100(tmp_path: Path) -> None:
    """One blank between them instead of two."""
    cells = [cell(tmp_path, 1, aqm="sfq")]
    by_file = scores(cells, Scores(NONE, 430.2, 5.0, 6.0))
    rows = [table(cells, by_file, width=width).splitlines()[2] for width in (99, 100)]
    assert rows == ["sfq    1  430.2      5.00     6.00", "sfq     1   430.2       5.00      6.00"]


def test_rates_are_right_aligned_and_headings_of_directions_have_one_unit(tmp_path: Path) -> None:
    """Words are left aligned, and so is what is no rate."""
    cells = [cell(tmp_path, number, aqm="sfq", rate_mbps=rate, txqueuelen=length)
             for number, (rate, length) in enumerate(((5, 9), (1000, 9000)))]
    lines = table(cells, scores(cells, Scores(8.0, 9.0, 5.0, 6.0)),
                  ["rate_mbps", "txqueuelen", "aqm"], width=99).splitlines()
    assert [line.rstrip() for line in lines[:4]] == [
        "                           Mbit/s      RTT under load, ms",
        "Mbit/s txqueuelen AQM runs   down   up    median      p99",
        "     5 9          sfq    1   8.00 9.00      5.00     6.00",
        "  1000 9000       sfq    1   8.00 9.00      5.00     6.00"]


@pytest.mark.parametrize(("titles", "keys", "name"), [
    (("SQM off", "SQM off"), ["aqm"], "all: [red]SQM off"),
    (("SQM off", "other"), ["aqm"], "all: [red]sfq"),
    (("", ""), ["aqm"], "all: [red]sfq"), ((None, None), ["aqm"], "all: [red]sfq"),
    (("", ""), ["base_delay_ms"], "+20 ms: [red]sfq"),
    (("", ""), ["rate_mbps", "aqm", "base_delay_ms"], "60 Mbit/s, +20 ms: [red]sfq"),
    (("", ""), ["shaper", "rate_mbps", "aqm"], "60 Mbit/s: [red]sfq, shaper htb")])
def test_advice_names_a_line_by_the_title_of_all_its_runs(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, titles: tuple[str | None, ...],
        keys: list[str], name: str) -> None:
    """By the router's settings if they have several or none, and the others apart, with their
    units. A line without a finished run is left out."""
    cells = [replace(cell(tmp_path, number, aqm="sfq", modem_mbps=60, base_delay_ms=20),
                     metadata={"TITLE": title})
             for number, title in enumerate(titles)]
    cells += [Cell("none", tmp_path, "ndt7", Scenario.from_settings(
        {"aqm": "pie", "modem_mbps": 60}), {}, {}, {}, 10)]
    for one in cells[:2]:
        one.data_file.write_bytes((RUNS / "ndt7.flent.gz").read_bytes())
    monkeypatch.setattr(summary, "advise", lambda conditions: [
        f"{title or 'all'}: [red]{one.name}" for title, tried in conditions.items()
        for one in tried])
    text = table(cells, {}, keys, width=200)
    assert [line for line in text.splitlines() if line.startswith("What")] == [
        f"What to do: {name}"]


SET_RATE = ("Set SQM in your router to 8.1 Mbit/s for uploads (90 % of the 9 that were measured), "
            "then measure again.")


@pytest.mark.parametrize(("other", "where", "told"), [
    # Neither less traffic nor another line can be chosen.
    ({"cross_traffic": 0}, "no_aqm (with cross traffic)", SET_RATE),
    ({"modem_mbps": 80}, "no_aqm (10 Mbit/s)", SET_RATE),
    # A queue and its shaper can.
    ({"aqm": "cake", "shaper": "cake", "rate_mbps": 9}, "no_aqm, SQM off",
     "Set SQM to 9/9 Mbit/s (90 % of 10/10), with cake: here they then added 2 ms.")])
def test_advice_compares_settings_of_the_router_alone(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], where: str,
        told: str) -> None:
    slow = {"aqm": "no_aqm", "shaper": "none", "modem_mbps": 10, "cross_traffic": 1}
    cells = [cell(tmp_path, number, **settings)
             for number, settings in enumerate((slow, {**slow, **other}))]
    for one in cells:
        one.data_file.touch()
    found = {one.data_file: Measured(1.0, {"uploads": 1.0 + added_ms}, {"upload": 9.0})
             for one, added_ms in zip(cells, (300.0, 2.0), strict=True)}
    monkeypatch.setattr(summary, "_measured", found.__getitem__)
    text = table(cells, scores(cells, Scores(NONE, 9.0, 5.0, 6.0)), width=400)
    assert (f"What to do: Busy uploads add 300 ms with {where}: people in calls talk over each "
            f"other. {told}") in text.splitlines()


@pytest.mark.parametrize(("test", "is_said"), [("ndt7", True), ("iperf3_upload", False)])
def test_advice_on_both_directions_says_that_their_latency_is_of_both(
        tmp_path: Path, test: str, is_said: bool) -> None:
    """A test of one direction has only its own."""
    one = cell(tmp_path, 1, test, aqm="fq_codel", modem_mbps=60)
    one.data_file.write_bytes((RUNS / f"{test}.flent.gz").read_bytes())
    text = table([one], {}, width=200)
    assert "What to do: " in text
    assert ("RTT under load is of downloads and uploads together; advice" in text) is is_said


def test_scores_of_a_file_from_before_are_computed_and_a_damaged_one_has_none(
        tmp_path: Path) -> None:
    """As in a resumed sweep."""
    cells = [cell(tmp_path, number, aqm=aqm) for number, aqm in enumerate(("sfq", "pie"))]
    cells[0].data_file.write_bytes((RUNS / "ndt7.flent.gz").read_bytes())
    text = table(cells, {}, ["aqm"])
    assert row(text, "sfq") == ["sfq", "1", "47.74", "47.74", "0.15", "0.20"]
    assert row(text, "pie") == ["pie", "1", "-", "-", "-", "-"]


@pytest.mark.parametrize(("value", "keys"), [
    (None, ()), ("", ()), ("aqm", ("aqm",)), ("test_name", ("test",)), ("test", ("test",)),
    ("aqm_target, up_aqm_limit", ("aqm_target", "up_aqm_limit")),
    ("rate_mbps,moon", None), ("target", None)])
def test_keys_of_summary_by_are_settings_or_parameters_of_queues(
        value: object, keys: tuple[str, ...] | None) -> None:
    """None: refused."""
    if keys is None:
        with pytest.raises(ConfigError, match=r"^summary_by: unknown key"):
            summary.parse_group_by(value)
        return
    assert summary.parse_group_by(value) == keys


def test_runs_that_did_not_fail_or_end_are_not_counted(tmp_path: Path) -> None:
    """Of a line: those done, and those that failed. Runs that weren't made are neither."""
    cells = [cell(tmp_path, number, aqm=aqm) for number, aqm in enumerate(
        ("sfq", "sfq", "sfq", "pie"))]
    by_file = scores(cells, Scores(9.0, 9.0, 5.0, 6.0))
    for one in cells[1:3]:
        one.data_file.unlink()
    text = table(cells, by_file, ["aqm"], failures={cells[1].data_file: "why"})
    assert row(text, "sfq")[:3] == ["sfq", "1", "1"]
    assert row(text, "pie")[:3] == ["pie", "1", "0"]


def test_brackets_in_what_the_user_named_are_shown_in_the_table(tmp_path: Path) -> None:
    """A command of the client has them, or a parameter; they vanished, or ended the report."""
    cells = [cell(tmp_path, number, "program", client_program=program)
             for number, program in enumerate(("ls [/tmp]", "ls [a-z]"))]
    text = table(cells, scores(cells, Scores(9.0, 9.0, 5.0, 6.0)), ["client_program"], width=120)
    assert row(text, "ls", "[/tmp]")
    assert row(text, "ls", "[a-z]")
    cells = [cell(tmp_path, number, parameters={"[a]": str(number)}) for number in range(2)]
    text = table(cells, scores(cells, Scores(9.0, 9.0, 5.0, 6.0)), ["[a]"], width=120)
    assert text.splitlines()[1].startswith("[a] ")


def test_row_keeps_its_name_and_its_last_number_on_a_narrow_terminal(tmp_path: Path) -> None:
    """In one line: what has no room is cut, and nothing is pushed out or wrapped."""
    cells = [cell(tmp_path, number, aqm=aqm, txqueuelen=1000)
             for number, aqm in enumerate(("fq_codel", "no_aqm"))]
    lines = table(cells, scores(cells, Scores(8.0, 9.0, 5.0, 6.0)), ["aqm", "txqueuelen"],
                  width=30).splitlines()
    assert [(line[:2], line[-4:]) for line in lines[2:4]] == [("fq", "6.00"), ("no", "6.00")]
    assert lines[4].startswith("All runs: ")
