# SPDX-License-Identifier: GPL-3.0-or-later
"""A test without data ends with a status other than 0, whoever noticed it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base import environment
from flent_aqm.bridge import exit_status
from flent_aqm.show.plots.frame import EMPTY
from tests.files import RUNS

from ..warm_flent import run_flent, run_flent_aqm

ODD_IPERF3 = """#!/bin/sh
# Real output, but in the form that WORD names.
case " $* " in *" -v "*|*" --version "*) exec /usr/bin/iperf3 "$@" ;; esac
/usr/bin/iperf3 "$@" >"$TMPDIR/iperf3.out"
status=$?
case WORD in
twice) cat "$TMPDIR/iperf3.out" "$TMPDIR/iperf3.out" ;;
cut) head -c 500 "$TMPDIR/iperf3.out" ;;
esac
exit $status
"""


@pytest.mark.parametrize(("words", "output"), [
    (("iperf3_upload", "-H", "127.0.0.1", "-l", "1"), "failed check"),
    (("ndt7", "-H", "127.0.0.1", "-l", "1"), "failed check"),
    (("rrul", "-H", "no-such-host.invalid", "-l", "1"), "no-such-host.invalid"),
    (("-i", "absent.flent.gz", "-p", "totals"), "absent.flent.gz"),
    (("no_such_test", "-H", "127.0.0.1"), "no_such_test"),
])
def test_test_that_does_not_run_ends_with_1(
        words: tuple[str, ...], output: str, tmp_path: Path) -> None:
    """No server, no such name, no such file; it writes no data file."""
    done = run_flent(*words, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert output in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*.flent.gz"))


def test_look_at_what_is_there_ends_with_0(tmp_path: Path) -> None:
    """Nothing failed."""
    assert run_flent("--list-tests", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("words", [
    ("-p", "all", RUNS / "ndt7.flent.gz"), ("-f", "plot", RUNS / "ndt7.flent.gz"),
    ("-p", "all", "iperf3_upload", "-H", "127.0.0.1")])
def test_name_that_is_no_pictures_is_refused_before_a_file_of_it_is_made(
        words: tuple[str | Path, ...], tmp_path: Path) -> None:
    """An old file of that name stays; nothing is measured first. Tables may have any name."""
    (tmp_path / "old.flent.gz").write_text("old")
    for name in ("old.flent.gz", "new.flent.gz"):
        done = run_flent(*words, "-o", name, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (
            1, (f"ERROR: -o: '{name}' is no name of a picture; expected one that ends with .png, "
                ".pdf, .svg, .svgz, .ps or .eps\n"))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("old.flent.gz", "old")]
    assert run_flent("-f", "csv", "-o", "x.txt", RUNS / "ndt7.flent.gz",
                     cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("words", [
    (RUNS / "ndt7.flent.gz",), ("-f", "csv", RUNS / "ndt7.flent.gz"),
    ("-p", "all", "-f", "stats", RUNS / "ndt7.flent.gz"), ("iperf3_upload", "-H", "127.0.0.1")])
def test_text_is_not_written_under_the_name_of_a_picture(
        words: tuple[str | Path, ...], tmp_path: Path) -> None:
    done = run_flent(*words, "-o", "x.png", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1, ("ERROR: -o: 'x.png' is the name of a picture, and what would be written is text; give "
            "a plot (-p PLOT, and no -f), or another name\n"))
    assert not list(tmp_path.iterdir())


def test_plots_that_are_switched_off_are_told_in_a_line(capsys: pytest.CaptureFixture[str]
                                                        ) -> None:
    """Without a traceback, and without a log of a defect."""
    text = "numpy is switched off by FLENT_AQM_WITHOUT_PLOTS in the environment"

    def stock(gui: bool) -> int:
        raise ModuleNotFoundError(text, name="numpy")

    assert exit_status.run_flent(stock)(True) == 1
    assert capsys.readouterr().err == f"ERROR: {text}\n"


@pytest.mark.parametrize(("test", "plot", "told"), [
    ("iperf3_upload", "delay_parts", "Nothing to plot: the file does not record where its probes"),
    ("speedtest_idle", "throughput", EMPTY), ("speedtest_idle", "all", "")])
def test_plot_of_nothing_says_so_ends_with_1_and_leaves_no_picture(
        test: str, plot: str, told: str, tmp_path: Path) -> None:
    """Of plots of this package and of Flent."""
    done = run_flent("-p", plot, RUNS / f"{test}.flent.gz", "-o", "x.png", cwd=tmp_path)
    assert done.returncode == int(bool(told)), done.stderr
    assert len(done.stderr.splitlines()) == int(bool(told))
    assert done.stderr.startswith(f"ERROR: {told}" if told else "")
    assert [path.name for path in tmp_path.glob("x.*")] == ([] if told else ["x.png"])
    if not told:
        assert (tmp_path / "x.png").stat().st_size > 5000


@pytest.mark.lab
@pytest.mark.parametrize(("form", "status"), [("twice", 0), ("cut", 1)])
def test_test_whose_tool_printed_nothing_usable_ends_with_1(
        form: str, status: int, tmp_path: Path) -> None:
    """With JSON that ends in the middle; the same twice can be used, and is told of."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "iperf3"
    program.write_text(ODD_IPERF3.replace("WORD", form))
    program.chmod(0o755)
    os.chmod(tmp_path, 0o755)
    done = run_flent_aqm(
        "lab", "--", "sh", "-c", f'PATH="{folder}:$PATH" flent iperf3_upload -H server -l 2 -d 1',
        cwd=tmp_path)
    text = done.stdout + done.stderr
    assert done.returncode == status, text
    [file] = tmp_path.glob("*.flent.gz")
    scored = run_flent_aqm("score", file.name, cwd=tmp_path).stdout
    if form == "twice":
        assert "iperf3's output has a second JSON document" in text
        assert "not available" not in scored.partition("throughput_upload")[2].partition("\n")[0]
    else:
        assert "iperf3's JSON is cut off or damaged" in text
        assert "iperf3's JSON is cut off or damaged" in scored


def test_tests_of_ours_are_known_without_numpy(tmp_path: Path) -> None:
    """As `flent-aqm speedtest` starts Flent, and runs in the lab's guest."""
    done = subprocess.run(
        [Path(sys.executable).with_name("flent"), "ndt7", "-H", "127.0.0.1", "-l", "1"],
        cwd=tmp_path, env={**os.environ, environment.WITHOUT_PLOTS: "1"}, capture_output=True,
        text=True, check=False)
    assert "failed check" in done.stdout + done.stderr
    assert "can't extend" not in done.stderr


@pytest.mark.lab
def test_data_file_that_cannot_be_written_ends_with_1(tmp_path: Path) -> None:
    """Flent logs the error, says "Data file written to None", and ended with 0."""
    done = run_flent_aqm("lab", "--", "flent", "ping", "-H", "server", "-l", "1", "-d", "0", "-D",
                         "missing/folder", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Unable to write results data file" in done.stdout + done.stderr
    assert not list(tmp_path.rglob("*.flent.gz"))
