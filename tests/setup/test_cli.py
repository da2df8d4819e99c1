# SPDX-License-Identifier: GPL-3.0-or-later
"""The command flent-aqm: its table, and what errors become."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm import cli
from flent_aqm.base.part import Command
from flent_aqm.cli import main
from flent_aqm.commands.table import COMMANDS
from tests.files import RUNS

MODULE = '''
from flent_aqm.base.errors import ConfigError

def add_arguments(parser):
    parser.add_argument("what")

def main(args):
    if args.what == "expected":
        raise ConfigError("rate_mbps: 'x' is not a number")
    if args.what == "defect":
        raise ZeroDivisionError("never")
    if args.what == "interrupt":
        raise KeyboardInterrupt
    return 42
'''


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A subcommand that fails as told; gives the user's cache folder."""
    (tmp_path / "cli_probe_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(COMMANDS, "probe", Command("cli_probe_module", "fail", "probe expected"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "flent-aqm"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_of_each_command_shows_its_example(
        name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every module in the table can be imported and shows how it is typed."""
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert "example:" in shown
    assert f"flent-aqm {name}" in shown.partition("example:")[2]


def test_status_of_the_command_is_passed_on(probe: Path) -> None:
    """flent-aqm lab ends as its command did."""
    assert main(["probe", "well"]) == 42


def test_expected_error_is_one_line(probe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user's mistake gets one sentence and status 1."""
    assert main(["probe", "expected"]) == 1
    assert capsys.readouterr().err == "flent-aqm: rate_mbps: 'x' is not a number\n"


def test_defect_leaves_a_log_with_traceback_and_versions(
        probe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Our own faults are told apart, and can be reported."""
    assert main(["probe", "defect"]) == 3
    [log] = (probe / "crashes").iterdir()
    text = log.read_text()
    assert "ZeroDivisionError: never" in text
    assert "flent: 2." in text
    assert str(log) in capsys.readouterr().err


def test_defect_when_the_cache_cannot_be_written_logs_elsewhere(
        probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """The log isn't lost with a full or forbidden home."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["probe", "defect"]) == 3
    [log] = tmp_path.glob("flent-aqm-*/crash-*.log")
    assert str(log) in capsys.readouterr().err


def test_interrupt_gives_130(probe: Path) -> None:
    """As shells expect it after ^C."""
    assert main(["probe", "interrupt"]) == 130


def test_unknown_command_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing mistake shows what there is."""
    with pytest.raises(SystemExit) as caught:
        main(["docter"])
    assert caught.value.code == 2
    assert "'doctor'" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted({"replay", "why"} & {*COMMANDS}))
@pytest.mark.parametrize(("files", "told"), [
    ("a b", "2 were given (a, b)"), ("a b c", "3 were given (a, b, c)"),
    ("a b c d e", "5 were given (a, b, c and 2 more)")])
def test_command_for_one_file_counts_what_a_pattern_gave_it(
        name: str, files: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A pattern of the page fits one file until the batch has run twice."""
    with pytest.raises(SystemExit) as caught:
        main([name, *files.split(), "--trace", "folder"])
    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        f"flent-aqm {name}: takes one file, {told}; name one\n")


def test_importing_the_command_line_loads_nothing_big() -> None:
    """Inside the guest each import costs wall time."""
    code = ("import sys, flent_aqm.cli; "
            "print(*{'numpy', 'rich', 'flent', 'matplotlib', 'subprocess'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          cwd=Path(cli.__file__).parents[1])
    assert done.stdout.strip() == ""


def test_reader_that_goes_away_causes_no_traceback() -> None:
    """flent-aqm doctor --json | head -n 1"""
    with subprocess.Popen([sys.executable, "-m", "flent_aqm.cli", "doctor", "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=Path(cli.__file__).parents[1]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait() == 141


@pytest.mark.parametrize(("most_kib", "message"), [
    (999_999, "flent-aqm: ulimit -v is 999999 KiB; expected an address space of 1000000 KiB or "),
    (3_000_000, ""),
])
def test_little_memory_is_refused_in_a_line(most_kib: int, message: str) -> None:
    """In which importing numpy and scipy fails with a traceback, or tries for ever."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most_kib << 10,) * 2)

    run = Path(cli.__file__).parents[1] / "tests" / "golden" / "runs" / "ndt7.flent.gz"
    done = subprocess.run([sys.executable, "-m", "flent_aqm.cli", "score", run], check=False,
                          cwd=Path(cli.__file__).parents[1], preexec_fn=limit, text=True,
                          capture_output=True)
    assert (done.returncode, done.stderr[:len(message)]) == (1 if message else 0, message)
    assert len(done.stderr.splitlines()) == (1 if message else 0)


def test_memory_that_runs_out_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is no defect, whose log would take more."""
    def run(words: list[str]) -> int:
        raise MemoryError

    monkeypatch.setattr(cli, "_run", run)
    assert main(["score"]) == 1
    assert capsys.readouterr().err == (
        "flent-aqm: out of memory; end other programs, raise the limit (ulimit -v), or give fewer "
        "files at once\n")


def test_full_disk_is_told_in_a_line(tmp_path: Path) -> None:
    """As it is no defect either. Standard output has no name."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "flent_aqm.cli", "score", "--list"], stdout=full, check=False,
            stderr=subprocess.PIPE, text=True, cwd=Path(cli.__file__).parents[1],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (
        1, "flent-aqm: No space left on device; make room on the disk, or write to another one\n")
    assert not list(tmp_path.rglob("*.log"))


@pytest.mark.parametrize(("error", "status", "text"), [
    (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
     1, ("flent-aqm: No usable temporary directory found in ['/tmp']; make room in one of these, "
         "or set TMPDIR to another folder\n")),
    (OSError(errno.EMFILE, "Too many open files", "/x"),
     1, "flent-aqm: /x: Too many open files; raise the limit: ulimit -n\n"),
    (OSError(errno.ENXIO, "No such device or address", "/x"), 3, "flent-aqm: a bug in flent-aqm")])
def test_what_the_machine_lacks_is_no_defect(
        error: OSError, status: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    def run(words: list[str]) -> int:
        raise error

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cli, "_run", run)
    assert main(["score"]) == status
    assert capsys.readouterr().err.startswith(text)


def test_plots_that_are_switched_off_are_no_defect(tmp_path: Path) -> None:
    """numpy is there, but not for a command of a program with this variable."""
    code = ("import sys, flent_aqm.bridge.hook as hook; "
            "sys.meta_path.insert(0, hook._NoPlotsFinder()); from flent_aqm.cli import main; "
            "sys.exit(main(['score', sys.argv[1]]))")
    done = subprocess.run(
        [sys.executable, "-c", code, RUNS / "ndt7.flent.gz"], check=False,
        capture_output=True, text=True, cwd=Path(cli.__file__).parents[1],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "FLENT_AQM_WITHOUT_PLOTS": "1"})
    assert done.stderr.startswith("flent-aqm: numpy is switched off by FLENT_AQM_WITHOUT_PLOTS")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


LONG = "x" * 300


@pytest.mark.parametrize(("words", "reason"), [
    (["report", LONG],
     f"{LONG}: File name too long; expected a data file or a folder of data files"),
    (["report", LONG, "-o", "x.html"],
     f"{LONG}: File name too long; expected a data file or a folder of data files"),
    (["share", str(RUNS / "ndt7.flent.gz"), "-o", LONG],
     f"can't make the copies: {LONG}: File name too long; name another folder with -o"),
    (["speedtest", "-o", f"{LONG}.flent.gz"],
     f"-o: {LONG}.flent.gz can't be written: File name too long; give another name"),
    (["speedtest", "-o", "folder.flent.gz"],
     "-o: folder.flent.gz is there and not a regular file; give another name"),
    (["scorecard", f"{LONG}.py"],
     f"{LONG}.py: File name too long; expected a Python file with a TOOL"),
])
def test_path_that_is_too_long_is_told_in_a_line(
        words: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    """As one of a file that isn't there: no defect."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.flent.gz").mkdir()
    assert main(words) == 1
    assert capsys.readouterr().err.splitlines() == [f"flent-aqm: {reason}"]


def test_doctor_asks_for_the_router_before_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--server", "host"]) == 1
    assert capsys.readouterr().err.startswith("flent-aqm: --server: needs --testbed, the router ")


@pytest.mark.parametrize(("words", "reason"), [
    (["--set", "modem_mbps"], "--set: 'modem_mbps'; expected KEY=VALUE, such as modem_mbps=20"),
    (["--set", "=20"], "--set: '=20'; expected KEY=VALUE, such as modem_mbps=20"),
    (["--set", "modem_mbps=20", "--set", "modem_mbps=30"],
     "--set: 'modem_mbps' is given twice; leave one out"),
    *((["--set", f"{key}=1", *option, "--server", "true"],
       f"--set: {key} is given by {option[0]}, too; leave one out") for key, option in (
           ("rate_mbps", ["--rate", "10"]), ("burst_shaping", ["--burst-shaping"]),
           ("aqm_target", ["--aqm-parameter", "target=9ms"]),
           ("router_program", ["--router", "true"]), ("server_program", ["--server", "true"]),
           ("server_ready_s", ["--ready", "1"]))),
    *((["--set", f"cross_traffic={given}"],
       ("cross_traffic: it starts with a test, or with a command that --record measures; add "
        f"--record FILE, or give it to flent: --test-parameter cross_traffic={kind}"))
      for given, kind in (("1", "bulk"), ("web", "web")))])
def test_option_of_lab_that_is_wrong_is_told_before_it_boots(
        words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a key that is given twice, one value would win unseen."""
    assert main(["lab", *words, "--", "true"]) == 1
    assert capsys.readouterr().err == f"flent-aqm: {reason}\n"


@pytest.mark.parametrize(("words", "reason"), [
    (["--rate", "fast"], "--rate (rate_mbps): 'fast' is not a number; "),
    (["--rate", "5", "--shaper", "none"], "--rate (rate_mbps) has no effect with shaper = none"),
    (["--set", "rate_mbps=fast"], "rate_mbps: 'fast' is not a number; "),
    (["--aqm", "codle"], "--aqm: unknown value 'codle'; "),
    (["--aqm-parameter", "targt=1ms"], "--aqm-parameter (aqm_targt): no_aqm has no such "),
    (["--ready", "x", "--server", "true"], "--ready (server_ready_s): 'x' is not a number"),
    (["--router", "'"], "--router (router_program): \"'\": no closing quotation mark"),
    (["--burst-shaping", "--shaper", "tbf"], "--burst-shaping: needs shaper = htb, not tbf")])
def test_value_of_an_option_of_lab_is_refused_by_the_options_name(
        words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And by the key's, which the rest of the message may name."""
    assert main(["lab", *words, "--", "true"]) == 1
    assert capsys.readouterr().err.startswith(f"flent-aqm: {reason}")


@pytest.mark.parametrize("command", ["lab", "try-router"])
@pytest.mark.parametrize("text", ["x", "-3", "0", "nan", "inf"])
def test_wall_limit_that_is_no_time_is_told_before_the_lab_boots(
        command: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--wall-limit", text, "--", "true"]) == 1
    assert capsys.readouterr().err == (f"flent-aqm: --wall-limit: {text!r}; expected a number of "
                                       "seconds above 0 and below 10^9\n")


def test_folder_that_refuses_files_is_told_before_the_line_is_measured(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
        ) -> None:
    """Root may write to any."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(["speedtest", "-o", str(tmp_path / "a.flent.gz")]) == 1
    assert capsys.readouterr().err == (
        f"flent-aqm: -o: {tmp_path}: this user may not write to this folder; name a file in "
        "another one\n")


def test_command_whose_library_debian_lacks_says_so(tmp_path: Path) -> None:
    """One line in place of a defect; any other missing module is one of ours."""
    code = ("import sys; sys.modules[sys.argv[1]] = None; from flent_aqm.cli import main; "
            "sys.exit(main(['export', 'tests', '-o', sys.argv[2]]))")
    ends = {name: subprocess.run(
        [sys.executable, "-c", code, name, tmp_path / "runs.parquet"], capture_output=True,
        text=True, check=False, cwd=Path(__file__).parents[2],
        env={"XDG_CACHE_HOME": str(tmp_path)}) for name in ("pyarrow", "orjson")}
    assert ends["pyarrow"].returncode == 1
    assert ends["pyarrow"].stderr.startswith(
        "flent-aqm: export needs the Python package pyarrow, which is not installed")
    assert ends["pyarrow"].stderr.count("\n") == 1
    assert ends["orjson"].returncode == 3
