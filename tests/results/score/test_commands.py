# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands score and assert, on real data files."""

from __future__ import annotations

import csv
import io
import json
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.cli import main
from flent_aqm.commands.score import USUAL
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.table import METRICS, Unavailable, values
from flent_aqm.results.score import shown
from tests.files import RUNS, at_another_time, load, save

Capture = pytest.CaptureFixture[str]


def score_lines(capsys: Capture, *words: str) -> list[str]:
    """Return the lines of `flent-aqm score` on one run."""
    assert main(["score", str(RUNS / "iperf3_upload.flent.gz"), *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_score_of_one_file_shows_what_it_has_and_its_grades_below(capsys: Capture) -> None:
    """Metrics without a value are counted."""
    lines = score_lines(capsys)
    listed = lines[1:lines.index("")]
    assert not [line for line in listed if "not available" in line]
    assert {line.split()[0] for line in listed} == {
        name for name, value in values(load_run(RUNS / "iperf3_upload.flent.gz")).items()
        if not isinstance(value, Unavailable)}
    grades, = (line for line in lines if line.startswith("Grades: "))
    assert "libreqos_rise_ms" in grades
    assert "Latency is that of Ping (ms) UDP irtt (irtt, every 10 ms)." in lines
    assert lines[-1] == (f"{len(METRICS) - len(listed)} metrics not shown, because this file has "
                         "no value; --metrics all says why.")


def test_score_of_one_file_tells_every_metric_or_why_not_if_asked(capsys: Capture) -> None:
    """A line per metric, with the reasons of those that are missing; nothing is left to count."""
    lines = score_lines(capsys, "--metrics", "all")
    assert {line.split()[0] for line in lines if line} >= set(METRICS)
    assert lines[-1] == "Latency is that of Ping (ms) UDP irtt (irtt, every 10 ms)."
    p99, = (line for line in lines if line.startswith("latency_loaded_p99_ms"))
    assert ("not available, because only 3 of 300 samples lie above p99; 10 are needed, which "
            "takes about 1,000 samples") in p99


def test_score_of_one_file_without_values_says_why_for_the_usual_metrics(
        tmp_path: Path, capsys: Capture) -> None:
    data = load(RUNS / "iperf3_upload.flent.gz")
    for samples in (data["raw_values"], data["results"], data["metadata"]["SERIES_META"]):
        samples.clear()
    data["metadata"]["AQM"] = {}
    assert main(["score", str(save(tmp_path / "none.flent.gz", data))]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = lines[1:lines.index("")] if "" in lines else lines[1:-1]
    assert [line.split()[0] for line in listed if "not available" in line] == list(USUAL)
    assert lines[-1] == (f"{len(METRICS) - len(USUAL)} metrics not shown, because this file has no "
                         "value; --metrics all says why.")


def test_score_of_chosen_metrics_repeats_no_grade_and_counts_none(capsys: Capture) -> None:
    text = "\n".join(score_lines(capsys, "--metrics", "libreqos_rise_ms"))
    assert "libreqos_rise_ms" in text
    assert "Grades" not in text
    assert "not shown" not in text


def test_upload_above_100_percent_is_explained(capsys: Capture) -> None:
    """netperf's sender counts what is in its kernel's buffer. Below 100 there is nothing to say."""
    for name, is_told in (("speedtest_sequential", True), ("iperf3_upload", False)):
        assert main(["score", "--metrics", "utilisation_upload_pct",
                     str(RUNS / f"{name}.flent.gz")]) == 0
        assert ("is above 100, because senders count" in capsys.readouterr().out) is is_told


def test_score_of_a_folder_has_a_line_per_file(capsys: Capture) -> None:
    """All golden runs, ours and Flent's."""
    assert main(["score", str(RUNS)]) == 0
    out = capsys.readouterr().out
    assert ("latency_loaded_p99_ms is not available in 12 files, such as aqm_flows: only 3 of 300 "
            "samples lie above p99; 10 are needed, which takes about 1,000 samples.") in out
    for file in RUNS.glob("*.flent.gz"):
        assert file.name.removesuffix(".flent.gz") in out


@pytest.mark.parametrize(("error", "text"), [
    (KeyError("aqm"), "a bug in flent-aqm: KeyError: 'aqm'; please report it"),
    (MemoryError(), "out of memory; end other programs, ")])
def test_file_that_work_stumbles_over_is_named_and_the_others_are_scored(
    error: Exception, text: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect of ours is no file's end but its own. Too little memory is no defect."""
    def stumble(run: Run) -> Mapping[str, Any]:
        if "ndt7" in run.path.name:
            raise error
        return values(run)

    monkeypatch.setattr(shown, "values", stumble)
    files = [str(RUNS / f"{name}.flent.gz") for name in ("ndt7", "stock_ping", "ping_exp")]
    assert main(["score", *files]) == 1
    output = capsys.readouterr()
    assert f"ndt7.flent.gz: {text}" in output.err
    assert "stock_ping" in output.out


@pytest.mark.parametrize("turned", [False, True])
def test_score_as_json_doesnt_depend_on_the_order_of_files(
    turned: bool, capsys: Capture
) -> None:
    """Each file's metrics stand under its name; grades are there as words."""
    files = sorted(map(str, RUNS.glob("*.flent.gz")), reverse=turned)
    assert main(["score", "--format", "json", *files]) == 0
    by_file = {one["file"]: one for one in json.loads(capsys.readouterr().out)}
    assert list(by_file) == files
    run = by_file[str(RUNS / "iperf3_upload.flent.gz")]
    assert run["settings"]["aqm"] == "no_aqm"
    assert run["metrics"]["throughput_upload_mbps"] == pytest.approx(47.746, abs=0.001)
    assert run["words"]["libreqos_rise_ms"] == "C"
    assert run["metrics"]["latency_loaded_p99_ms"] is None
    assert "10 are needed" in run["not_available"]["latency_loaded_p99_ms"]


def test_score_as_csv_has_every_metric(capsys: Capture) -> None:
    """Settings and metrics are columns; what isn't known is empty."""
    assert main(["score", "--format", "csv", str(RUNS)]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(lines) == len(list(RUNS.glob("*.flent.gz")))
    assert set(METRICS) <= set(lines[0])
    assert {line["aqm"] for line in lines} >= {"no_aqm", "fq_codel", "codel", "sfq"}


def test_score_skips_and_counts_damaged_files(tmp_path: Path, capsys: Capture) -> None:
    """The good ones are shown; the bad ones are named, and the exit status tells."""
    shutil.copy(RUNS / "ndt7.flent.gz", tmp_path)
    for name in ("a", "z"):
        (tmp_path / f"{name}.flent.gz").write_bytes(b"no data")
    assert main(["score", "--format", "csv", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert str(tmp_path / "a.flent.gz") in err
    assert "skipped 2 of 3 files, which can't be used" in err


def test_score_of_many_files_on_all_cores(tmp_path: Path, capsys: Capture) -> None:
    """Forty files and a damaged one go through other processes and come back in order."""
    for number in range(40):
        shutil.copy(RUNS / "iperf3_upload.flent.gz", tmp_path / f"{number:02}.flent.gz")
    (tmp_path / "20.flent.gz").write_bytes(b"")
    assert main(["score", "--format", "csv", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [Path(line["file"]).name[:2] for line in lines] == [
        f"{number:02}" for number in range(40) if number != 20]
    assert len({line["latency_loaded_median_ms"] for line in lines}) == 1
    assert "1 of 40 files" in err


@pytest.fixture
def repeated(tmp_path: Path) -> list[str]:
    """Two queues at two rates, each three times with another seed and somewhat other
    latencies; one queue more that ran once."""
    return [str(changed(tmp_path / f"{aqm}-{rate}-{seed}.flent.gz", aqm, rate, seed))
            for aqm, rate, seeds in (("codel", 50, 3), ("codel", 100, 3), ("no_aqm", 50, 3),
                                     ("no_aqm", 100, 3), ("sfq", 50, 1))
            for seed in range(seeds)]


def changed(path: Path, aqm: str, rate: float, seed: int, lost: float = 0.0) -> Path:
    """A golden run as if others had been asked for; later by seed, slower by queue. lost: so
    many of the probes don't come back."""
    whole = load(RUNS / "iperf3_upload.flent.gz")
    whole["metadata"]["AQM"]["requested"] |= {
        "aqm": aqm, "rate_up_mbps": rate, "rate_down_mbps": rate, "seed": seed}
    factor = (2 if aqm == "no_aqm" else 1) + seed / 100
    for place, one in enumerate(whole["raw_values"]["Ping (ms) UDP irtt"]):
        if "val" in one:
            one["val"] *= factor
            if place % 100 < 100 * lost:
                del one["val"]
    save(path, whole)
    return path


def test_score_by_groups_compares_where_all_else_is_alike(
    repeated: list[str], capsys: Capture
) -> None:
    """Rates stay apart without being named; each has its test, and p comes with a word."""
    assert main(["score", "--by", "aqm", "--metrics", "latency_loaded_mean_ms", *repeated]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert ["codel", "50", "3"] in [line[:3] for line in lines]
    assert ["codel", "100", "3"] in [line[:3] for line in lines]
    for text in ("aqm, rate_mbps 50: Kruskal-Wallis", "aqm, rate_mbps 100: Kruskal-Wallis",
                 "2 p-values: by chance alone one in 20 is below 0.05",
                 "chi-square approximation, rough with 1 run", "share of variance: aqm"):
        assert text in out
    assert "pooled over" not in out
    # One run has a number, but neither quartiles nor an interval.
    alone, = [line for line in lines if line[:1] == ["sfq"]]
    assert alone[-2:] == ["-", "-"]


@pytest.mark.parametrize("pool", ["rate", "all"])
def test_score_by_groups_pools_what_it_is_asked_to_and_says_so(
    pool: str, repeated: list[str], capsys: Capture
) -> None:
    """--pool names what runs of a line may differ in, or all that is not asked for."""
    assert main(["score", "--by", "aqm", "--pool", pool, "--metrics",
                 "latency_loaded_mean_ms", *repeated]) == 0
    out = capsys.readouterr().out
    assert "A line is pooled over rate_mbps." in out
    assert ["codel", "6"] in [line.split()[:2] for line in out.splitlines()]


def test_score_by_groups_of_single_runs_has_no_statistics(capsys: Capture) -> None:
    """A run each: their order is all there is, and no delta of 1 makes more of it."""
    assert main(["score", "--by", "aqm", "--metrics", "latency_loaded_mean_ms",
                 *(str(RUNS / f"{name}.flent.gz") for name in
                   ("iperf3_upload", "iperf3_download", "ndt7", "ndt7_upload"))]) == 0
    out = capsys.readouterr().out
    assert "no comparison, because no two runs repeat each other" in out
    assert "delta" not in out
    assert "Kruskal" not in out


def test_lost_percentile_is_worse_than_any_in_groups(tmp_path: Path, capsys: Capture) -> None:
    """The median run's p90 is a lost probe: the line says so, and isn't that of the others."""
    files = [str(changed(tmp_path / f"{seed}.flent.gz", "codel", 50, seed, 0.25 if seed else 0))
             for seed in range(3)]
    assert main(["score", "--by", "aqm", "--metrics", "latency_loaded_p90_ms", *files]) == 0
    line, = [line.split() for line in capsys.readouterr().out.splitlines()
             if line.startswith("codel")]
    assert line[1:3] == ["3", "lost"]
    assert main(["assert", "latency_loaded_p90_ms < 1s", files[1]]) == 1
    out = capsys.readouterr().out
    assert "latency_loaded_p90_ms lost" in out
    assert "can't be decided" not in out
    assert main(["assert", "latency_loaded_p90_ms > 1s", files[1]]) == 0


@pytest.mark.parametrize(("words", "why"), [
    ([], "no files given; name data files"), (["nowhere"], "nowhere: not found"),
    (["--metrics", "all,x", str(RUNS)], "unknown metric 'x'"),
    (["--by", ",", str(RUNS)], "--by: ',' names no setting; give one or more, such as --by aqm"),
    (["--by", "", "--pool", "seed", str(RUNS)], "--by: '' names no setting"),
    (["--by", "colour", str(RUNS)], "no run has the setting 'colour'; known: aqm"),
    (["--by", "aqm", "--pool", "colour", str(RUNS)], "no run has the setting 'colour'; known: aqm"),
])
def test_score_names_a_mistake_in_one_line(words: list[str], why: str, capsys: Capture) -> None:
    """What is wrong with the command is said."""
    assert main(["score", *words]) == 1
    err = capsys.readouterr().err
    assert why in err
    assert err.count("\n") == 1


def test_score_list_has_all_names(capsys: Capture) -> None:
    """The list that assert's errors point to."""
    assert main(["score", "--list"]) == 0
    assert set(METRICS) <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}


def test_assert_holds_and_fails_with_the_numbers(capsys: Capture) -> None:
    """fq_codel keeps the probe fast and drop-tail doesn't; the table says by how much."""
    good, bad = str(RUNS / "ndt7.flent.gz"), str(RUNS / "iperf3_upload.flent.gz")
    condition = "median(latency_loaded) < 20ms"
    assert main(["assert", condition, good]) == 0
    assert "holds for 1 file" in capsys.readouterr().out
    assert main(["assert", condition, good, bad]) == 1
    out = capsys.readouterr().out
    assert "iperf3_upload.flent.gz" in out
    assert "median(latency_loaded) = 77.7" in out
    assert "fails for 1 of 2 files" in out
    assert "ndt7.flent.gz" not in out


def test_assert_of_medians_by_group(capsys: Capture) -> None:
    """One line per queue that fails, with the count of its runs."""
    files = [str(RUNS / f"{name}.flent.gz")
             for name in ("iperf3_upload", "ndt7_download", "iperf3_download")]
    words = ["assert", "latency_loaded_mean_ms < 20ms", *files, "--median-by", "aqm,rate"]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "aqm no_aqm, rate_mbps 50, test iperf3_upload (1)" in out
    assert main([*words, "--pool", "test"]) == 1
    out = capsys.readouterr().out
    assert "aqm no_aqm, rate_mbps 50 (2)" in out
    assert "aqm sfq, rate_mbps 50" not in out


def test_group_is_not_named_by_settings_that_its_runs_do_not_record(
        tmp_path: Path, capsys: Capture) -> None:
    """Beside runs that have a limit; its empty value was shown."""
    whole = load(RUNS / "iperf3_upload.flent.gz")
    save(tmp_path / "a.flent.gz", whole)
    whole["metadata"]["AQM"]["requested"]["aqm_parameters"] = {"limit": "40"}
    whole["raw_values"]["Ping (ms) UDP irtt"][0]["val"] += 1
    save(tmp_path / "b.flent.gz", whole)
    assert main(["assert", "latency_loaded_mean_ms < 0ms", str(tmp_path), "--median-by", "aqm"]
                ) == 1
    out = capsys.readouterr().out
    assert "aqm no_aqm (1)" in out
    assert "aqm no_aqm, aqm_limit 40 (1)" in out


def test_assert_of_groups_of_damaged_files_names_them(tmp_path: Path, capsys: Capture) -> None:
    """Not a setting that no run would have."""
    (tmp_path / "a.flent.gz").write_bytes(b"no data")
    assert main(["assert", "latency_loaded_mean_ms < 20ms", str(tmp_path), "--median-by",
                 "aqm"]) == 1
    output = capsys.readouterr()
    assert "a.flent.gz" in output.out
    assert "no run has the setting" not in output.err


def test_assert_fails_for_what_is_not_known_and_for_damage(
    tmp_path: Path, capsys: Capture
) -> None:
    """Neither passes for a success."""
    assert main(["assert", "p99(latency_loaded) < 1s", str(RUNS / "iperf3_upload.flent.gz")]) == 1
    assert "not available, because only 3 of 300 samples" in capsys.readouterr().out
    (tmp_path / "bad.flent.gz").write_bytes(b"")
    assert main(["assert", "1 < 2", str(tmp_path)]) == 1
    assert "damaged" in capsys.readouterr().out


def test_assert_writes_a_test_case_for_each_file_and_condition(
    tmp_path: Path, capsys: Capture
) -> None:
    """As CI systems read it: what fails is a failure, what can't be decided an error."""
    good, bad = RUNS / "ndt7.flent.gz", RUNS / "iperf3_upload.flent.gz"
    damaged, junit = tmp_path / "bad.flent.gz", tmp_path / "latency.xml"
    damaged.write_bytes(b"")
    condition = "median(latency_loaded) < 20ms and (1 < 2 and 2 < 3) and p99(latency_loaded) < 1s"
    assert main(["assert", condition, str(good), str(bad), str(damaged),
                 "--junit", str(junit)]) == 1
    assert junit.read_text().startswith("<?xml version='1.0' encoding='utf-8'?>\n")
    suite = ElementTree.parse(junit).getroot()[0]
    assert suite.attrib == {
        "name": "flent-aqm assert", "tests": "9", "failures": "1", "errors": "4"}
    ends = {(case.get("classname"), case.get("name")): [(end.tag, end.get("message"))
                                                       for end in case] for case in suite}
    first, second, third = ("median(latency_loaded) < 20ms", "(1 < 2 and 2 < 3)",
                            "p99(latency_loaded) < 1s")
    assert ends[good.name, first] == ends[good.name, second] == ends[bad.name, second] == []
    (tag, seen), = ends[bad.name, first]
    assert tag == "failure"
    assert str(seen).startswith("median(latency_loaded) = 77.7")
    (tag, seen), = ends[bad.name, third]
    assert tag == "error"
    assert "only 3 of 300 samples" in str(seen)
    assert [tag for (name, _), end in ends.items() if name == damaged.name
            for tag, _ in end] == ["error"] * 3
    capsys.readouterr()
    either = "1 < 2 or median(latency_loaded) < 20ms and 2 < 1"
    assert main(["assert", either, str(bad), "--junit", str(junit)]) == 0
    case, = ElementTree.parse(junit).getroot()[0]
    assert (case.get("name"), len(case)) == (either, 0)


def test_false_condition_without_a_metric_fails(tmp_path: Path, capsys: Capture) -> None:
    """There are no values to show, and it holds for no file all the same."""
    run, junit = str(RUNS / "ndt7.flent.gz"), tmp_path / "a.xml"
    for condition, failed in (("50 < 20", [True]),
                              ("median(latency_loaded) < 20s and 2 < 1", [False, True])):
        assert main(["assert", condition, run, "--junit", str(junit)]) == 1
        assert "it is false for every file, as it names no metric" in capsys.readouterr().out or (
            len(failed) > 1)
        assert [len(case) == 1 for case in ElementTree.parse(junit).getroot()[0]] == failed


@pytest.mark.parametrize(("words", "why"), [
    (["1 < 2", str(RUNS / "ndt7.flent.gz"), "--junit", "/nowhere/a.xml"],
     "--junit: can't write /nowhere/a.xml: No such file or directory: folder /nowhere"),
    (["1 < 2", str(RUNS / "ndt7.flent.gz"), "--junit", "."],
     "--junit: can't write .: Is a directory"),
    (["p99(latency_loaded) < 20", str(RUNS)], "give the number a unit"),
    (["latency_loaded_p99_ms", str(RUNS)], "not a condition"),
    (["1 < 2", "nowhere"], "nowhere: not found"),
    (["1 < 2", str(RUNS), "--median-by", "colour"], "no run has the setting 'colour'"),
    (["1 < 2", str(RUNS), "--median-by", ""], "--median-by: '' names no setting; give one or more"),
    (["1 < 2", str(RUNS), "--median-by", ","], "--median-by: ',' names no setting; give one or"),
    (["1 < 2", str(RUNS), "--pool", "seed"], "--pool: needs --median-by, which groups the runs"),
    ([str(RUNS), "latency_loaded_p99_ms < 20ms"], "is a file or folder; give the condition first"),
])
def test_assert_ends_with_2_for_a_mistake(words: list[str], why: str, capsys: Capture) -> None:
    """Scripts can tell a wrong condition from a failed one."""
    assert main(["assert", *words]) == 2
    err = capsys.readouterr().err
    assert why in err
    assert err.count("\n") == 1


def test_value_is_not_shown_rounded_to_the_bound_that_it_violates(capsys: Capture) -> None:
    path = RUNS / "ndt7.flent.gz"
    name = "latency_loaded_mean_ms"
    value = METRICS[name].of(load_run(path))
    assert isinstance(value, float)
    shown, exact = f"{value:.6g}", f"{value:.15g}"
    sign = "<=" if float(shown) < value else ">="
    for expression, seen in ((f"{name} {sign} {shown}ms", exact), (f"{name} < 0ms", shown)):
        assert main(["assert", expression, str(path)]) == 1
        assert f"{name} = {seen} ms" in capsys.readouterr().out


def test_setting_of_a_strangers_file_cant_steer_the_terminal(
    tmp_path: Path, capsys: Capture
) -> None:
    """Control characters in a data file are shown as question marks."""
    whole = load(RUNS / "ndt7.flent.gz")
    whole["metadata"]["AQM"]["requested"]["aqm"] = "\x1b[2J[red]x"
    save(tmp_path / "run.flent.gz", whole)
    assert main(["score", "--by", "aqm", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "?[2J[red]x" in out


def test_setting_of_a_strangers_file_is_shown_as_it_is_where_runs_are_compared(
    tmp_path: Path, capsys: Capture
) -> None:
    """What rich would take for a colour stays, beside each test, too."""
    for seed in range(4):
        path = changed(tmp_path / f"{seed}.flent.gz", "codel" if seed < 2 else "pie", 50, seed)
        whole = load(path)
        whole["metadata"]["AQM"]["requested"]["router_model"] = "[red]x"
        save(path, whole)
    words = ["score", "--metrics", "latency_loaded_mean_ms", str(tmp_path), "--by"]
    assert main([*words, "aqm,router_model", "--pool", "all"]) == 0
    assert "aqm, router_model [red]x: Kruskal-Wallis" in capsys.readouterr().out


def test_score_leaves_out_logs_of_tools_that_a_pattern_matches(
    tmp_path: Path, capsys: Capture
) -> None:
    """`*.gz` matches what a sweep writes beside its data files, which isn't damaged."""
    shutil.copy(RUNS / "ndt7.flent.gz", tmp_path / "one.flent.gz")
    log = tmp_path / "one.debug.log.gz"
    beside = [log, *(tmp_path / name for name in ("one.log", "one.pcap", "sweep.json"))]
    for path in beside:
        path.write_bytes(b"")
    assert main(["score", "--format", "csv", *map(str, beside),
                 str(tmp_path / "one.flent.gz")]) == 0
    out, err = capsys.readouterr()
    assert (len(out.splitlines()), err) == (2, "")
    assert main(["score", str(log)]) != 0
    assert "not a data file; expected *.flent.gz" in capsys.readouterr().err


def test_groups_as_json_and_csv_have_medians_with_intervals(
    tmp_path: Path, capsys: Capture
) -> None:
    """Six runs have an interval of the median; both formats tell the same numbers."""
    for number in range(6):
        save(tmp_path / f"{number}.flent.gz",
             at_another_time(load(RUNS / "iperf3_upload.flent.gz"), 60.0 * number))
    words = [str(tmp_path), "--by", "aqm", "--metrics", "throughput_upload_mbps"]
    assert main(["score", "--format", "json", *words]) == 0
    one, = json.loads(capsys.readouterr().out)
    assert one["settings"]["aqm"] == "no_aqm"
    assert (one["runs"], one["values"], one["lost"]) == (6, 6, 0)
    assert one["median"] == one["interval_low"] == pytest.approx(47.746, abs=0.001)
    assert one["interval_level"] == pytest.approx(1 - 2 / 2 ** 6, abs=0.001)
    assert main(["score", "--format", "csv", *words]) == 0
    line, = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (line["aqm"], line["metric"]) == ("no_aqm", "throughput_upload_mbps")
    assert float(line["interval_high"]) == one["interval_high"]
