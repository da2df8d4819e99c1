# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of docs/results/speed-tests.md, of golden runs."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult, NotAvailable
from flent_aqm.results.data_file import DataFile, as_data_file, read_data_file
from flent_aqm.results.metrics.run import as_run
from flent_aqm.results.metrics.table import METRICS
from research.validation import speedtests
from research.validation.stamp import parts_of

GOLDEN = Path(__file__).parent.parent / "golden" / "speedtests"


def golden(name: str, **requested: object) -> DataFile:
    """A run, as if its scenario had been another one."""
    whole = copy.deepcopy(read_data_file(GOLDEN / f"{name}.flent.gz").whole)
    whole["metadata"]["AQM"]["requested"].update(requested)
    return as_data_file(whole, Path(name))


@pytest.mark.parametrize("part", speedtests.PARTS)
def test_part_stands_on_its_page(part: str) -> None:
    """Where the program writes it."""
    page = Path(speedtests.__file__).parents[2] / "docs" / speedtests.PAGES[part]
    assert part in parts_of(page.read_text(encoding="utf-8"))


def test_rpm_of_raw_samples_is_what_the_client_told() -> None:
    """With the draft's trimming and the last four intervals; its window ends with an interval,
    ours with a probe."""
    file = golden("responsiveness")
    for way in ("download", "upload"):
        rpm = METRICS[f"responsiveness_rpm_{way}"].of(as_run(file))
        assert isinstance(rpm, float)
        assert speedtests._draft_rpm(file, way, 4.0, 0.95) == pytest.approx(rpm, rel=0.1)


def test_parameters_compare_the_worst_queue_with_the_full_one() -> None:
    """Here they are the same run, so that no trimming tells them apart."""
    lines = list(speedtests.parameters(
        [golden("responsiveness", aqm=aqm) for aqm in ("no_aqm", "codel", "cake")]))
    assert lines[0].startswith("| interval, s | connections |")
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert cells[3:8] == ["1.0"] * 5
    assert len(lines) == 3


@pytest.mark.parametrize("aqm", ["no_aqm", "codel"])
def test_parameters_need_the_full_queue_and_another(aqm: str) -> None:
    """One alone has nothing to be compared with."""
    with pytest.raises(BadResult, match=rf"runs of {aqm} only; expected no_aqm and another"):
        list(speedtests.parameters([golden("responsiveness", aqm=aqm)]))


def test_unsent_tells_all_values_of_the_worse_direction() -> None:
    """Here the download's; the full queue and the kernel's limit come first."""
    files = []
    for aqm, limit in (("codel", "draft"), ("codel", "kernel"), ("no_aqm", "draft")):
        file = golden("responsiveness", aqm=aqm)
        file.metadata["TEST_PARAMETERS"] = {"unsent": limit, "most_connections": "8"}
        for meta in file.series_meta.values():
            numbers = meta.get("SPEEDTEST", {}).get("numbers", {})
            numbers.update((name, 7.0) for name in numbers if name.endswith("rpm_download"))
        files.append(file)
    _, _, *rows = speedtests.unsent(files)
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| no_aqm", "draft", "8"], ["| codel", "kernel", "8"], ["| codel", "draft", "8"]]
    assert all(row.split(" | ")[3:] == ["7", "7", "7", "7", "7 |"] for row in rows)


def test_unsent_needs_runs_of_responsiveness() -> None:
    """Other tests have no RPM."""
    file = golden("nuttcp")
    file.metadata["TEST_PARAMETERS"] = {"unsent": "draft", "most_connections": "8"}
    with pytest.raises(BadResult, match="nuttcp: it has no RPM; expected a run of the test resp"):
        list(speedtests.unsent([file]))


def test_runs_without_probes_are_refused_with_the_file() -> None:
    """In one line."""
    with pytest.raises(BadResult, match="nuttcp: its download lacks foreign or self probes"):
        speedtests._draft_rpm(golden("nuttcp"), "download", 4.0, 0.95)


@pytest.mark.parametrize(("name", "kept"), speedtests.TRIMMINGS)
def test_period_without_probes_of_a_kind_has_no_rpm(name: str, kept: float | None) -> None:
    """Here the connections under test answered none of them at its end, whichever `name` counts."""
    file = golden("responsiveness")
    samples = file.raw_values["TCP download"]
    own = [one for one in samples if "self_http_ms" in one]
    file.raw_values["TCP download"] = [one for one in samples if one not in own[1:]]
    with pytest.raises(NotAvailable, match="the last 4 s of its download have no probe 'self_http"):
        speedtests._draft_rpm(file, "download", 4.0, kept)


def test_real_time_is_compared_by_its_best_run() -> None:
    """As disturbances only slow it down; a client without both has no line."""
    slower = golden("nuttcp", testbed="netns")
    for meta in slower.series_meta.values():
        for name in meta.get("SPEEDTEST", {}).get("numbers", {}):
            meta["SPEEDTEST"]["numbers"][name] *= 0.5
    lines = list(speedtests.real_time([
        golden("nuttcp"), slower, golden("nuttcp", testbed="netns"), golden("librespeed")]))
    line, = lines[2:]
    assert line.startswith("| nuttcp | ")
    assert line.count("+0.0 %") == 2


def test_estimates_are_shares_of_the_live_value_on_the_same_cell() -> None:
    """AIM's words by classes; a score without an estimate has no line."""
    ookla = golden("ookla_style")
    as_ndt7 = golden("ookla_style")
    as_ndt7.metadata["NAME"] = "ndt7"
    lines = list(speedtests.estimates([ookla, as_ndt7, golden("cloudflare")]))
    by_name = {line.split(" | ")[0].strip("| "): line for line in lines}
    assert "| 1 | 1.0" in by_name["Ookla-style, upload, ms"]
    assert "RPM, the draft's" not in by_name
    assert set(by_name) >= {"streaming", "gaming", "rtc"}


def test_estimate_that_is_several_classes_worse_counts_as_worse() -> None:
    """From good to bad, in a column that says so."""
    slow = golden("ookla_style")
    slow.metadata["NAME"] = "ndt7"
    for samples in slow.raw_values.values():
        for one in samples:
            if one.get("val") and "seq" in one:
                one["val"] *= 100
    *_, head, _, _, _, rtc = speedtests.estimates([slow, golden("cloudflare")])
    assert head.endswith(" | -1 or less | +0 | +1 | +2 | +3 | +4 |")
    assert rtc == "| rtc | 1 | 0 | 0 | 0 | 0 | 0 |"
