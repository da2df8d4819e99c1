# SPDX-License-Identifier: GPL-3.0-or-later
"""The table at the end of a sweep: what a line is of, and how wide it gets."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flent_aqm.base.errors import ConfigError
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.scores import Scores
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.spec.cell import Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import summary, sweep
from tests.files import RUNS

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
    for words in (["none", "1", "fq_codel"], ["htb", "1", "fq_codel"], ["htb", "3", "fq_codel"]):
        assert row(text, *words)[3] == "1"
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
    """With the keys that there are."""
    with pytest.raises(ConfigError, match="unknown key 'moon'; known: test, "):
        summary.parse_group_by("moon")
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
