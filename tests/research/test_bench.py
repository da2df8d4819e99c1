# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benchmarks of the gate, of repeated runs, kernels and hostile files make of their runs,
and when they keep it."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from flent_aqm.results import status
from research.bench import (
    defects,
    gate,
    gate_coverage,
    gate_page,
    hostile,
    identical,
    kernel_watch,
    pictures,
)
from tests.files import RUNS, load, save

PAGE = ("<!-- {0}: -->\n<!-- end of {0} -->\n\n"
        "*Measured with flent-aqm 0.2.0 on Linux 7.3.4 (abc), 2026-11-25: 1 run.*\n")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept results, with an earlier one of each kind."""
    folder = tmp_path / "kept"
    folder.mkdir()
    monkeypatch.setattr(gate_page, "RESULTS", folder)
    for what in ("power", "others", "coverage"):
        (folder / f"gate-{what}-2026-01-01T000000Z.json").write_text("{}")
    return folder


@pytest.mark.parametrize("words", [["power", "--only", "CoDel at"],
                                   ["power", "--cells", "one_flow"],
                                   ["others", "--only", "not compiled"]])
def test_part_of_the_changes_or_cells_replaces_nothing(
    words: list[str], kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is it an error if no run was made of them."""
    found = [gate.Comparison(one.name, {}, "the same") for one in defects.DEFECTS]
    monkeypatch.setattr(gate, "power", lambda output, only, *_: [
        one for one in found if only in one.name])
    monkeypatch.setattr(gate, "judge_defects", lambda *_: found[:1])
    monkeypatch.setattr(sys, "argv", ["gate", *words, "-o", str(tmp_path / "runs")])
    before = sorted(kept.iterdir())
    assert gate.main() == 0
    assert sorted(kept.iterdir()) == before
    assert capsys.readouterr().out.endswith("not kept: changes or cells are missing\n")


def test_lines_that_some_queues_run_replace_nothing(
        kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are printed. Those of all queues are kept, and on the page."""
    page = tmp_path / "gate.md"
    page.write_text(PAGE.format("coverage"))
    results = {"made": {"versions": ["0.2.0"], "kernels": ["7.3.4 (abc)"], "date": "2026-11-26",
                        "runs": 23}, "queues": "fq_codel", "cells": [], "files": {"a.c": [3, 4]}}
    before = sorted(kept.iterdir())
    gate_coverage.record(results, page)
    assert sorted(kept.iterdir()) == before
    assert page.read_text() == PAGE.format("coverage")
    assert "| a.c | 4 | 3 | 75% |" in capsys.readouterr().out
    gate_coverage.record({**results, "queues": ",".join(gate_coverage.SETS)}, page)
    assert len(list(kept.iterdir())) == len(before)
    assert sorted(kept.iterdir()) != before
    assert "| a.c | 4 | 3 | 75% |" in page.read_text()


@pytest.mark.parametrize(("script", "has_effect", "word", "right"), [
    ("exit 2", True, "no verdict", False), ("exit 2", False, "no verdict", False),
    ("exit 1", True, "no verdict", False), ("exit 0", False, "no verdict", False),
    ("echo Worse; exit 1", True, "worse", True), ("echo The same", False, "the same", True),
    ("echo These can\\'t tell; exit 3", True, "can't tell", False)])
def test_defect_of_which_there_is_no_verdict_is_not_the_same(
    script: str, has_effect: bool, word: str, right: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """However `flent-aqm verdict` ends that has printed none. Its runs are there already."""
    program = tmp_path / "flent-aqm"
    program.write_text(f'#!/bin/sh\n[ "$1" = verdict ] || exit 0\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setattr(gate, "BIN", tmp_path)
    (tmp_path / "a.c").write_text("old\n")
    planted = defects.Planted("name", "a.c", "old", "new", ("aqm=pie",), has_effect)
    for folder in (tmp_path / "others0", gate.base_folder(tmp_path, planted.overrides) / "all"):
        folder.mkdir(parents=True)
        status.write(folder, status.Status(["flent"], 0, 0, 1.0, 2.0))
    one = gate._judge_defect(tmp_path, "others0", planted, tmp_path, named_cells=False)
    assert one.right is right
    row = list(gate_page.defects_table({"comparisons": [asdict(one)]}))[2]
    assert row == f"| name | pie | {word if right else f'**{word}**'} |"


def test_kernel_on_which_more_runs_fail_is_worse(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the samples of those that are left are the same."""
    output = tmp_path / "runs"
    left, seeds = range(1, 6), range(1, 11)
    for folder, made in ((gate.base_folder(output, ["aqm=pie"]), seeds),
                         (output / "mine-6-1-pie", left)):
        for seed in made:
            whole = load(RUNS / "iperf3_upload.flent.gz")
            whole["metadata"]["AQM"]["requested"]["seed"] = seed
            whole["metadata"]["AQM"] |= {"flent_aqm": "0.2.0", "finished_at": "2026-11-25",
                                         "kernel": {"version": "7.3.4", "hash": "abc"}}
            folder.mkdir(parents=True, exist_ok=True)
            save(folder / f"{seed}.flent.gz", whole)
        status.write(folder, status.Status(["flent"], 10, 0, 1.0, 2.0, {
            f"{seed}.flent.gz": "iperf3 spins" for seed in seeds if seed not in made}))
    page = tmp_path / "kernels.md"
    page.write_text(PAGE.format("kernels"))
    monkeypatch.setattr(kernel_watch, "PAGE", page)
    monkeypatch.setattr(kernel_watch, "find_named", lambda name: type("", (), {"version": "6.1.9"}))
    monkeypatch.setattr(sys, "argv", ["kernel_watch", "-o", str(output), "--queues", "pie",
                                      "/nowhere/linux-mine-6.1"])
    kernel_watch.main()
    assert "| 6.1.9 | pie | runs failed |  |" in page.read_text()


def test_first_run_that_failed_is_forgotten_once_it_is_made(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Repeated runs that differed stay."""
    ends = iter(["full disk", ""])

    def repeated(name: str, circumstances: list[str]) -> Iterator[tuple[str, str]]:
        if why := next(ends):
            yield "first run for load", why
            return
        yield from ((circumstance, "") for circumstance in circumstances)

    monkeypatch.setattr(identical, "repeated_in_lab", repeated)
    name = next(iter(identical.LAB))
    before = identical.Verdict(name, 2, [("nothing", "line 1")])
    circumstances = ["nothing", "load", "load"]
    failed = identical.verdict_of(name, circumstances, "ideal", before)
    assert failed == identical.Verdict(name, 2, [*before.differed,
                                                 ("first run for load", "full disk")])
    assert capsys.readouterr().out.endswith(f"{name}: 1 of 2 identical\n")
    assert identical.verdict_of(name, circumstances, "ideal", failed) == identical.Verdict(
        name, 4, before.differed)
    assert capsys.readouterr().out.endswith(f"{name}: 3 of 4 identical\n")
    ends = iter(["full disk"])
    assert identical.verdict_of(name, circumstances, "ideal", None).runs == 1
    assert capsys.readouterr().out.endswith(f"{name}: none compared\n")


def test_a_single_run_is_no_proof(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to compare it with, so it isn't called identical."""
    monkeypatch.setattr(sys, "argv", ["identical", "--runs", "1", "--only", "rrul"])
    with pytest.raises(SystemExit):
        identical.main()
    assert "--runs 1: expected 2 or more" in capsys.readouterr().err
    monkeypatch.setattr(identical, "replayed", lambda *_, **__: iter(()))
    assert identical.verdict_of("rrul", [], "ideal", None).runs == 1
    assert capsys.readouterr().out == "rrul: none compared\n"


def test_process_that_a_signal_kills_hides_no_faults(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """15 faults and a SIGTERM add up to more than none."""
    monkeypatch.setattr(hostile, "_all", lambda command, files: (
        15 if command == "score" else os.kill(os.getpid(), signal.SIGTERM)))
    monkeypatch.setattr(sys, "argv", ["hostile", "--commands", "score,report", "--families",
                                      "numbers", "--every", "99", "--folder", str(tmp_path)])
    assert hostile.main() == 1


def test_words_of_a_path_are_no_placeholders() -> None:
    assert hostile._filled(["OUT/x", "FILE", "GOOD"], Path("/OUT/FILE"), Path("/GOOD")) == [
        "/GOOD/x", "/OUT/FILE", str(hostile.GOOD)]


@pytest.mark.parametrize("kind", ["file", "link", "fifo", "folder"])
def test_hostile_file_is_copied_if_it_can_not_be_linked(
        kind: str, tmp_path: Path) -> None:
    """As on another file system: a link and a pipe stay what they are."""
    there = Path("/dev/shm") if Path("/dev/shm").stat().st_dev != tmp_path.stat().st_dev else None
    if there is None:
        pytest.skip("there is no second file system")
    file, copy = tmp_path / "-o", there / f"flent-aqm-test-{os.getpid()}-{kind}"
    make: dict[str, Callable[[], None]] = {
        "file": file.touch, "link": lambda: file.symlink_to("/nowhere"), "folder": file.mkdir,
        "fifo": lambda: os.mkfifo(file)}
    make[kind]()
    try:
        hostile._place(file, copy)
        assert copy.lstat().st_mode == file.lstat().st_mode
    finally:
        copy.rmdir() if kind == "folder" else copy.unlink(missing_ok=True)


def test_command_of_one_word_that_fails_is_named() -> None:
    with pytest.raises(SystemExit, match=r"^false ended with status 1; see what it printed$"):
        pictures.command_cost("name", ["false"])


@pytest.mark.parametrize(("base", "difference", "share", "text"), [
    (20.0, 5.0, 0.25, "+25%"), (-20.0, 5.0, 0.25, "+25%"), (0.0, 0.5, math.inf, "+0.5 from 0"),
    (0.0, -0.5, -math.inf, "-0.5 from 0"), (0.0, 0.0, 0.0, "+0%"),
    (20.0, math.nan, math.inf, "lost probes"), (20.0, math.inf, math.inf, "lost probes")])
def test_share_of_a_base_of_zero_is_not_zero(
        base: float, difference: float, share: float, text: str) -> None:
    """Losses of 0 % on the older kernel: any loss on the newer one was "+0%", and listed last."""
    effect = SimpleNamespace(base=base, difference=difference)
    assert kernel_watch._relative_difference(effect) == share  # type: ignore[arg-type]
    assert kernel_watch._share_text(effect) == text  # type: ignore[arg-type]
