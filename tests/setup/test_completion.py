# SPDX-License-Identifier: GPL-3.0-or-later
"""Completion in a real bash, and what flent-aqm alone says to do next."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flent_aqm.base.errors import ToolMissing
from flent_aqm.cli import main
from flent_aqm.commands import next_step
from flent_aqm.commands.table import COMMANDS
from flent_aqm.results import status
from flent_aqm.results.status import Status
from flent_aqm.setup.kernel.locate import Kernel
from tests.files import RUNS

GOLDEN = RUNS


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    """What `flent-aqm completion bash` prints."""
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "completion"
    path.write_text(capsys.readouterr().out)
    return path


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of the words after flent-aqm."""
    line = ["flent-aqm", *words]
    code = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_flent_aqm; '
            'printf "%s\\n" "${COMPREPLY[@]}"')
    return set(subprocess.run(
        ["bash", "-c", code, script, *line], cwd=script.parent, capture_output=True, text=True,
        check=True).stdout.split())


def test_bash_completes_commands_options_and_files(script: Path) -> None:
    """By the parsers themselves: all commands, and what each takes."""
    assert completed(script, "re") == {"replay", "report", "restore"}
    assert {name for name in COMMANDS if name.startswith("s")} == completed(script, "s")
    assert completed(script, "report", "--t") == {"--title"}
    assert completed(script, "score", "--format", "j") == {"json"}
    (script.parent / "mine.flent.gz").touch()
    assert "mine.flent.gz" in completed(script, "score", "mi")
    (script.parent / "mine.patch").touch()
    for option in ("--patch", "--qdisc", "--tcp", "--tc", "--config", "--source"):
        assert "mine.patch" in completed(script, "kernel", "build", "x", option, "mine.p"), option


def test_zsh_knows_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The script begins as zsh finds it."""
    assert main(["completion", "zsh"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("#compdef flent-aqm")
    assert [name for name in COMMANDS if f"    {name}:'" not in text] == []


def test_next_is_set_up_where_nothing_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before anything else."""
    def missing() -> Kernel:
        raise ToolMissing("the lab kernel is not built")

    monkeypatch.setattr(next_step, "find_kernel", missing)
    assert next_step.next_step(tmp_path).endswith("\n  flent-aqm setup")


def test_next_is_to_mend_the_variable_that_names_no_kernel(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Set-up wouldn't help."""
    monkeypatch.setenv("FLENT_AQM_KERNEL", str(tmp_path))
    text = next_step.next_step(tmp_path)
    assert text.startswith(f"The lab has no kernel: FLENT_AQM_KERNEL: {tmp_path} is not a file")
    assert "unset it, or give the path" in text
    assert "flent-aqm setup" not in text


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder on a machine where the lab is set up."""
    monkeypatch.setattr(next_step, "find_kernel", lambda: Kernel(Path("/linux"), "9.9", "0" * 16))
    return tmp_path


def test_next_is_a_first_batch_where_there_are_no_results(here: Path) -> None:
    """By its place as seen from here."""
    text = next_step.next_step(here)
    batch = text.splitlines()[-1].split()[2]
    assert text.endswith("-b quick")
    assert (here / batch).samefile(Path(__file__).parents[2] / "batches" / "aqm_sweep.batch")


def test_batch_of_a_system_package_is_named_by_its_shorter_path(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A way up to the root and down again is no help."""
    monkeypatch.setattr(next_step, "resource_dir", lambda name: Path("/usr/lib/flent_aqm", name))
    assert "\n  flent -B /usr/lib/flent_aqm/batches/aqm_sweep.batch -b quick" in (
        next_step.next_step(here))


def test_next_is_the_report_on_the_newest_results(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a sweep that goes on, or was interrupted, how to follow it or go on."""
    folder = here / "results" / "quick-2026-01-31T120000"
    folder.mkdir(parents=True)
    (folder / "one.flent.gz").write_bytes((GOLDEN / "stock_ping.flent.gz").read_bytes())
    monkeypatch.chdir(here)
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "are 1 run in results/quick-2026-01-31T120000." in shown
    assert "  flent-aqm report results/quick-2026-01-31T120000 -o report.html\n" in shown
    assert all(f"  {name} " in shown for name in COMMANDS)
    # A report without a name is of the same folder, which needs no "-" in its name.
    other = here / "results" / "mine"
    other.mkdir()
    (other / "one.flent.gz").write_bytes((GOLDEN / "stock_ping.flent.gz").read_bytes())
    os.utime(folder, (1, 1))
    assert main(["report"]) == 0
    assert "1 run in results/mine/report.html" in capsys.readouterr().out
    assert "are 1 run in results/mine." in next_step.next_step(here)
    shutil.rmtree(other)
    status.write(folder, Status(["flent"], 8, 0, 1.0))
    assert "1 run in results/quick-2026-01-31T120000, of 8 planned." in next_step.next_step(here)
