# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that the report offers for copying, out of folders of strangers."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.cli import main
from flent_aqm.commands.report import purpose_of
from flent_aqm.results import status
from flent_aqm.results.metrics.run import load_run
from flent_aqm.show.report.commands import offered_command, purpose, sweep_command
from flent_aqm.show.report.facts import Proof, RunFacts
from flent_aqm.show.report.gather import ReportRow, RunGlitch
from flent_aqm.show.report.html import glitches_html
from flent_aqm.show.report.model import MOST_GLITCHES, Folder, build
from flent_aqm.show.report.read import read
from flent_aqm.sweep.replay.recorded import looks_repeatable
from tests.files import RUNS, load

from .made import row

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


def test_report_on_a_folder_of_two_commands_offers_both(tmp_path: Path) -> None:
    """The second had other overrides, and the page offered only that one as "the same again"."""
    first, second = (["flent", "-B", OURS, "--batch-override", f"aqm={name}"]
                     for name in ("codel", "pie"))
    begun = status.Status(second, 1, 0, 0.0, earlier=(first,))
    folder = Folder(tmp_path, 0, begun)
    commands = [command for _, command in build([], [], [folder], "title").commands]
    assert commands[:2] == [shlex.join(first), shlex.join(second)]
    assert purpose_of([folder]) == ""
    assert purpose_of([Folder(tmp_path, 0, replace(begun, earlier=()))])


@pytest.mark.parametrize("words", [
    ["flent", "-B", OURS], ["flent", f"--batch-file={OURS}", "-b", "x"],
    ["flent", "-B", str(resource_dir("batches") / Path(OURS).name)]])
def test_page_is_called_after_what_its_batch_is_for(words: list[str]) -> None:
    assert purpose(words) == ("How the queue at the bottleneck changes what speed tests report")


@pytest.mark.parametrize(("overrides", "told"), [
    ([], ""), (["--batch-override", "share=95"], " (share=95)"),
    (["--batch-override=share=95", "--batch-override", "length=4"], " (share=95, length=4)"),
    (["--batch-override", "aqm_target=6ms", "--batch-override", "aqm_<b>=6ms"],
     " (aqm_target=6ms)"),
    # Where it runs, what the batch doesn't have, and what may be words of a stranger.
    (["--batch-override", "output_path=x", "--batch-override", "testbed=netns"], ""),
    (["--batch-override", "visit=evil.example"], ""),
    (["--batch-override", "share=<b>95", "--batch-override", "share"], " (share=…)"),
    (["--batch-override", "link_trace=seeded+mean_mbps=20", "--batch-override", "share=85,95",
      "--batch-override", "link_loss=2%"],
     " (link_trace=seeded+mean_mbps=20, share=85,95, link_loss=2%)")])
def test_overrides_are_told_that_make_its_purpose_another(
        overrides: list[str], told: str) -> None:
    """The page said 100, 90 and 85 % where 95 % had been run."""
    assert purpose(["flent", "-B", "batches/sqm_home.batch", *overrides]) == (
        "SQM at home: a speed test with SQM off, and at 100, 90 and 85 % of the line's rate" + told)


@pytest.mark.parametrize("words", [[], ["flent"], ["flent", "-B"], ["flent", "-B", "mine.batch"],
                                   ["flent", "-B", "results/evil/aqm_sweep.batch"],
                                   ["flent", "-B", f"batches/{'x' * 300}.batch"]])
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


def _offered(rows: Sequence[ReportRow], beside: Path | None = None) -> list[str]:
    """The commands of the list of glitches."""
    return [one.command for one in build(rows, [], [], "title", beside=beside).glitches]


def test_each_glitch_is_offered_with_the_command_that_explains_it(tmp_path: Path) -> None:
    """As many as the metric counts; no command where the run can't be repeated."""
    golden = Path(__file__).parents[2] / "golden" / "batches" / "quick"
    rows, _, _ = read([golden], 1)
    report = build(rows, [], [], "title", beside=tmp_path)
    for each in rows:
        minutes = load_run(each.path).loaded().length_s / 60
        counted = round(each.metrics.get("glitches_per_minute_30ms", 0) * minutes)
        assert len(each.glitches) == counted
        run = each.path.name.removesuffix(".flent.gz")
        assert sorted(one.command for one in report.glitches if one.run == run) == [
            offered_command("flent-aqm", "why", each.path, "--glitch", str(number + 1), "-o",
                            tmp_path / f"{run}-glitch-{number + 1}.html")
            for number in range(counted)]
    assert len(report.glitches) > 1
    lengths_ms = [one.glitch.length_ms for one in report.glitches]
    assert lengths_ms == sorted(lengths_ms, reverse=True)
    assert not _offered([one for one in rows if not one.glitches])
    assert set(_offered([replace(one, facts=replace(one.facts, repeatable=False))
                         for one in rows])) == {""}
    # Runs of one name would have one page, and a page that is served has none beside it.
    for commands in (_offered(rows * 2, tmp_path), _offered(rows)):
        assert commands
        assert not any(" -o " in one for one in commands)


def test_run_that_replay_refuses_is_not_offered_to_be_repeated() -> None:
    """Of a router or namespaces, written inside a lab, with commands of its user; of a mixture, a
    run that replay takes is named, and which others it takes."""
    golden = Path(__file__).parents[2] / "golden" / "batches" / "quick"
    path = min(golden.glob("*.flent.gz"))
    aqm = load(path)["metadata"]["AQM"]
    assert looks_repeatable(aqm)
    for change in ({"testbed": "netns"}, {"testbed": "ssh://router"}, {"schema": None},
                   {"run": {**aqm["run"], "commands": "router, mine"}},
                   {"requested": {**aqm["requested"], "client_program": "rm -r ."}}):
        assert not looks_repeatable({**aqm, **change}), change
        # Programs alone can be allowed, unless one was removed.
        assert looks_repeatable({**aqm, **change}, run_programs=True) == ("requested" in change)
    removed = {**aqm["requested"], "client_program": "removed"}
    assert not looks_repeatable({**aqm, "requested": removed}, run_programs=True)
    rows, _, _ = read([golden], 1)
    real = [replace(one, facts=replace(one.facts, repeatable=False)) for one in rows]
    def offered(rows: Sequence[ReportRow]) -> list[tuple[str, str]]:
        return [one for one in build(rows, [], [], "made").commands if " replay " in one[1]]
    assert not offered(real)
    (what, _), = offered(rows)
    assert what.endswith("likewise any other")
    (what, command), = offered([*real[:1], *rows[1:]])
    assert what.endswith("likewise any other of a batch in the virtual lab")
    assert rows[1].path.name in command


def test_glitch_of_a_run_with_programs_tells_what_it_takes(tmp_path: Path) -> None:
    """Not that it can't be repeated, and no command to copy that runs what a file names."""
    golden = Path(__file__).parents[2] / "golden" / "batches" / "quick"
    rows = [one for one in read([golden], 1)[0] if one.glitches]
    pages = {}
    for with_programs in (False, True):
        changed = [replace(one, facts=replace(one.facts, repeatable=False,
                                              with_programs=with_programs)) for one in rows]
        pages[with_programs] = glitches_html(build(changed, [], [], "made", beside=tmp_path))
    assert "can't be repeated" in pages[False]
    assert "--run-programs" not in pages[False]
    assert "can't be repeated" not in pages[True]
    assert "<code>--run-programs</code>, if you trust them" in pages[True]


def test_glitch_is_linked_to_the_page_that_explains_it(tmp_path: Path) -> None:
    """Once there is such a page beside the report."""
    glitches = tuple(RunGlitch(number, number * 1.0, 10.0 * number, 50.0, 0)
                     for number in range(1, MOST_GLITCHES + 3))
    one = replace(row("codel", [1.0] * 1000, testbed="virtual"), path=Path("r/a b.flent.gz"),
                  glitches=glitches,
                  facts=RunFacts({}, Proof("codel", 100.0, "", (), ""), True, 6.0, 6.0))
    name = f"a b-glitch-{MOST_GLITCHES}.html"
    before = glitches_html(build([one], [], [], "made", beside=tmp_path))
    assert "<a " not in before
    (tmp_path / name).touch()
    after = glitches_html(build([one], [], [], "made", beside=tmp_path))
    assert f'<a href="./{quote(name)}">' in after
    assert name not in after  # the link stands for the command
    assert after.count("<a ") == 1
    # The two shortest are counted.
    assert "2 still shorter glitches are not listed" in after
    assert f"{MOST_GLITCHES + 2} glitches in 1 run" in after
    # No page can have a name that is as long as this run's.
    assert "<a " not in glitches_html(build([replace(one, path=Path(f"r/{'x' * 246}.flent.gz"))],
                                            [], [], "made", beside=tmp_path))
    fewer = glitches_html(build([replace(one, glitches=glitches[:2])], [], [], "made"))
    assert "not listed" not in fewer
    assert "2 glitches in 1 run" in fewer
    assert not glitches_html(build([replace(one, glitches=())], [], [], "made")).strip()


def test_glitch_of_lost_probes_says_so() -> None:
    lost = replace(row("codel", [1.0] * 1000), glitches=(RunGlitch(1, 2.0, 20.0, None, 2),))
    slow = replace(lost, glitches=(RunGlitch(1, 2.0, 20.0, 77.7, 1),))
    shown = [glitches_html(build([one], [], [], "made")) for one in (lost, slow)]
    assert "lost <span class=\"quiet\">(2 probes)" in shown[0]
    assert "77.7 <span class=\"quiet\">(1 probe lost)" in shown[1]
    assert all("can&#39;t be repeated" in one or "can't be repeated" in one for one in shown)


@pytest.mark.parametrize(("words", "told"), [
    ([], "the folder ./results can't be read: No such file or directory; name data files"),
    (["reslts"], "reslts: not found"),
    ([str(RUNS / "ndt7.flent.gz")], "no page to write is named; add -o FILE")])
def test_report_on_nothing_names_what_is_missing(
        words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that isn't there is not one without data files, nor one without a page to write."""
    monkeypatch.chdir(tmp_path)
    assert main(["report", *words]) == 1
    assert told in capsys.readouterr().err


def test_report_without_a_name_tells_how_deep_it_looked(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
        ) -> None:
    (tmp_path / "results" / "a" / "b").mkdir(parents=True)
    shutil.copy(RUNS / "ndt7.flent.gz", tmp_path / "results" / "a" / "b")
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 1
    assert "or the folders in it; folders below these are not searched; name" \
        in capsys.readouterr().err
