# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep from plan to report, on a testbed that only counts; signals; and what is printed where
there is no terminal."""

from __future__ import annotations

import gzip
import io
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, Self

import pytest
from rich.console import Console

from flent_aqm.base.errors import AqmError, ConfigError, LabError, StorageError, ToolMissing
from flent_aqm.lab.place import CommandResult
from flent_aqm.lab.protocol import Facts
from flent_aqm.results import status
from flent_aqm.results.metrics.scores import Scores
from flent_aqm.results.metrics.table import Unavailable
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep import preflight, sweep
from flent_aqm.sweep.pool import Interrupts, Pool, cores_for
from flent_aqm.sweep.progress import SweepProgress
from flent_aqm.sweep.run import FinishedRun, SweepFacts, make_output, run_cell
from flent_aqm.sweep.speedtest import _run_flent
from flent_aqm.sweep.sweep import Stopped, Sweep, _without_resume
from tests.limits import ending_within_s

SCORES = Scores(Unavailable("the test has no download"), 95.6, 0.1, 0.13)


class Counting:
    """Prepares and cleans up nothing, and counts how often."""

    title, tools = "a test", ()

    def __init__(self, *, real_time: bool = False) -> None:
        self.real_time = real_time
        self.calls: list[str] = []

    def check(self, cells: object) -> list[str]:
        self.calls.append("check")
        return ["the router is slow"]

    def prepare(self) -> None:
        self.calls.append("prepare")

    def facts(self, kernel: str) -> Facts:
        return Facts({}, {})

    def clean_up(self) -> None:
        self.calls.append("clean up")


@pytest.fixture
def testbed(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """The testbed of all sweeps, in which a run writes an empty data file."""
    testbed = Counting()

    def run(cell: Cell, bed: object, facts: object) -> FinishedRun:
        assert bed is testbed
        cell.data_file.touch()
        return FinishedRun(cell, SCORES, 10.0, 1.0)

    monkeypatch.setattr(sweep, "open_testbed", lambda name: testbed)
    monkeypatch.setattr(sweep, "run_cell", run)
    return testbed


def cell(folder: Path, name: str, **settings: object) -> Cell:
    return Cell(name=name, folder=folder, test_name="iperf3_upload",
                scenario=Scenario.from_settings({"aqm": "codel", "seed": 1, **settings}),
                settings={}, commands=ROUTER_COMMAND, metadata={}, length_s=10)


def planned(cells: list[Cell], **more: Any) -> Sweep:
    made = Sweep(**more)
    for one in cells:
        made.plan(one, {"jobs": "1"})
    return made


def run_all(made: Sweep, capsys: pytest.CaptureFixture[str]) -> str:
    """What a sweep prints."""
    with made:
        made.start()
        for one in made.planned.values():
            made.submit(one)
        made.drain()
    made.report()
    return capsys.readouterr().err


def test_sweep_runs_each_cell_and_reports(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Once; the folder's status has the command, and that all are done."""
    monkeypatch.setattr(sys, "argv", ["/usr/bin/flent", "-B", "x.batch"])
    cells = [cell(tmp_path, name) for name in ("one", "two")]
    made = planned(cells)
    text = run_all(made, capsys)
    assert "2 runs in a test.\nwarning: the router is slow\n" in text
    assert "ok     1/2 one (10 s in 1.0 s)" in text
    assert "ok     2/2 two (10 s in 1.0 s)\n" in text
    assert "2 done, 0 failed: 20 virtual seconds in " in text
    assert testbed.calls == ["check", "prepare", "clean up"]
    assert [made.take_count(), made.take_count()] == [2, 0]
    kept = status.read(tmp_path)
    assert kept is not None
    assert kept.command == ["flent", "-B", "x.batch"]
    assert dict(kept.failed) == {}


def test_resumed_sweep_says_what_is_there_and_counts_the_rest(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "set_aside_unfinished", lambda planned: ())
    cells = [cell(tmp_path, name) for name in ("one", "two", "three")]
    cells[0].data_file.touch()
    made = planned(cells)
    with made:
        made.start(resume=True)
        for one in cells[1:]:
            made.submit(one)
        made.drain()
    text = capsys.readouterr().err
    assert "3 runs in a test, 1 of them there already.\n" in text
    assert "ok     2/2 three" in text
    again = planned(cells)
    with again:
        again.start()
    assert "there already" not in capsys.readouterr().err


def test_failed_run_is_told_with_how_to_go_on(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Others run; a command that resumes by itself needs no option. A shell takes the folder."""
    folder = tmp_path / "my runs"
    folder.mkdir()
    real: Callable[..., FinishedRun] = vars(sweep)["run_cell"]  # that of the fixture

    def run(cell: Cell, bed: Any, facts: Any) -> FinishedRun:
        if cell.name == "one":
            raise LabError("it broke")
        return real(cell, bed, facts)

    monkeypatch.setattr(sweep, "run_cell", run)
    cells = [cell(folder, name) for name in ("one", "two")]
    for resumes, option in ((False, f" and --batch-resume '{folder}'"), (True, "")):
        made = planned(cells, resumes=resumes)
        with pytest.raises(AqmError) as raised:
            run_all(made, capsys)
        assert str(raised.value) == (
            "1 of 2 runs failed; mend the cause above, and run it again with the same "
            f"command{option}")
        assert "FAILED 1/2 one: it broke" in capsys.readouterr().err
        kept = status.read(folder)
        assert kept is not None
        assert dict(kept.failed) == {"one.flent.gz": "it broke"}
    assert str(made.failed[0][1]) == "it broke"


def test_data_files_that_disappeared_are_told(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell(tmp_path, name) for name in ("one", "two")]
    made = planned(cells)
    run_all(made, capsys)
    cells[0].data_file.unlink()
    with pytest.raises(AqmError, match=r"^1 of 2 finished data files has disappeared; run it"):
        made.report()


def test_full_disk_ends_the_sweep(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """No further run begins."""
    def run(cell: Cell, bed: object, facts: object) -> FinishedRun:
        raise StorageError("no space")

    monkeypatch.setattr(sweep, "run_cell", run)
    cells = [cell(tmp_path, name) for name in ("one", "two", "three")]
    made = planned(cells)
    with made:
        made.start()
        made.submit(cells[0])
        made.drain()
        with pytest.raises(Stopped):
            made.submit(cells[1])
    with pytest.raises(StorageError, match="no space; 3 of 3 runs left"):
        made.report()


@pytest.mark.parametrize(("real_time", "cores"), [(False, 1), (True, None)])
def test_runs_in_virtual_time_keep_to_a_core(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch, real_time: bool, cores: int | None) -> None:
    """In real time they may use all, and how long it takes is known."""
    testbed.real_time = real_time
    own, seen = os.sched_getaffinity(0), []

    def run(cell: Cell, bed: object, facts: object) -> FinishedRun:
        seen.append(os.sched_getaffinity(0))
        cell.data_file.touch()
        return FinishedRun(cell, SCORES, None, 1.0)

    monkeypatch.setattr(sweep, "run_cell", run)
    text = run_all(planned([cell(tmp_path, "one")]), capsys)
    assert (", about 0:00:10." in text) is real_time
    assert "ok     1/1 one (1.0 s)" in text
    assert [len(each) for each in seen] == [cores or len(own)]
    assert os.sched_getaffinity(0) == own


def test_more_jobs_than_cores_share_all() -> None:
    assert cores_for(2, [3, 5]) == [{3}, {5}]
    assert cores_for(1, [3, 5]) == [{3}]
    assert cores_for(3, [3, 5]) == [{3, 5}] * 3


def test_pool_has_no_more_runs_than_there_is_room() -> None:
    """Room that comes later is found without a word of it."""
    room, running, most, crowded = [1], [0], [0], [False]
    lock, free, both = threading.Lock(), threading.Event(), threading.Event()

    def run(cell: Any) -> Any:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
            crowded[0] |= running[0] > room[0]
            if running[0] == 2:
                both.set()
        assert free.wait(60)
        with lock:
            running[0] -= 1

    pool = Pool(run, 3, room=lambda: room[0], keep_to_core=False, ended=lambda cell, result: None)
    assert pool.submit("one")  # type: ignore[arg-type]
    threading.Timer(0.2, lambda: room.__setitem__(0, 2)).start()
    assert pool.submit("two")  # type: ignore[arg-type]
    assert both.wait(60)
    free.set()
    pool.drain()
    pool.take_no_more()
    assert not pool.submit("three")  # type: ignore[arg-type]
    pool.close()
    assert (most[0], crowded[0]) == (2, False)


@contextmanager
def handlers(**numbers: Any) -> Iterator[None]:
    """Signal handlers for a while."""
    before = {name: signal.signal(getattr(signal, name), handler)
              for name, handler in numbers.items()}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def test_second_interrupt_ends_the_sweep_once() -> None:
    """The first one only says so, and after the second no more is raised. Handlers come back."""
    calls: list[str] = []
    with handlers(SIGINT=signal.default_int_handler, SIGTERM=signal.SIG_DFL, SIGHUP=signal.SIG_IGN):
        with Interrupts(lambda: calls.append("once")):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # as nohup had it
            signal.raise_signal(signal.SIGINT)
            assert calls == ["once"]
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with Interrupts(lambda: calls.append("again")), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert calls == ["once"]


def test_another_thread_leaves_signals_alone() -> None:
    """Only the main one can set handlers."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with Interrupts(lambda: None):
                pass
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == []


def test_words_of_others_are_printed_as_they_are(tmp_path: Path) -> None:
    """A testbed's title or a name in brackets is no markup; nor is a cause."""
    out = io.StringIO()
    progress = SweepProgress([cell(tmp_path, "[red]one")], Console(file=out, width=200))
    progress.announce(1, 0, 2, "[bold]lab[/]", ["[red]w"], needs_s=3661.4)
    progress.ended(cell(tmp_path, "[red]one"), ValueError("[red]why\nso"))
    progress.say_total()
    lines = out.getvalue().splitlines()
    assert lines[:3] == [
        "1 run in [bold]lab[/], about 1:01:01.", "warning: [red]w",
        "FAILED 1/1 [red]one: ValueError: [red]why so"]
    assert lines[3].startswith("0 done, 1 failed: 0 s")


def test_bar_is_full_though_runs_of_a_kernel_that_was_given_up_are_not_made(tmp_path: Path
                                                                             ) -> None:
    out = io.StringIO()
    cells = [cell(tmp_path, "one"), cell(tmp_path, "two"), cell(tmp_path, "three")]
    with SweepProgress(cells, Console(file=out, width=100, force_terminal=True, color_system=None)
                       ) as progress:
        progress.ended(cells[0], ValueError("why"))
        progress.not_made(cells[1])
        progress.not_made(cells[2])
    assert "3/3" in out.getvalue()
    assert "1 failed" in out.getvalue()


class Place(SimpleNamespace):
    """The environment of a run, in which Flent wrote these files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def own_output(self) -> str:
        return "--- guest\nbye\n"


@pytest.mark.parametrize("debug_log", [True, False])
def test_output_of_a_run_is_its_files(tmp_path: Path, debug_log: bool) -> None:
    """The tools' log is packed without the time, so that it repeats; empty logs are left out."""
    for name, text in (("x.flent", "{}"), ("x.debug.log", "tools"), ("x.pcap", "capture"),
                       ("a.log", "a's"), ("b.log", ""), ("out", " it ran \n"), ("err", "")):
        (tmp_path / name).write_text(text)
    place = Place(flent_files=tmp_path, folder=tmp_path, stdout=tmp_path / "out",
                  stderr=tmp_path / "err")
    bed: Any = SimpleNamespace(place=lambda scenario, run: place)
    one = cell(tmp_path, "one")
    object.__setattr__(one, "debug_log", debug_log)
    result = CommandResult(0, 1.0, 1.0, {})
    output = make_output(one, bed, lambda place: result)
    assert (output.data, output.command, output.fault, output.capture) == (
        b"{}", result, "", b"capture")
    assert output.log == "--- flent\nit ran\n--- a.log\na's\n--- guest\nbye\n"
    if debug_log:
        assert output.tools_log is not None
        assert output.tools_log[4:8] == bytes(4)  # no time, by RFC 1952
        assert gzip.decompress(output.tools_log) == b"tools"
    else:
        assert output.tools_log is None
    (tmp_path / "err").write_text("ERROR: it broke")
    (tmp_path / "x.flent").rename(tmp_path / "x.other")
    failed = make_output(one, bed, lambda place: result)
    assert (failed.data, failed.command, failed.fault) == (None, result, "it broke")
    for name in ("x.flent", "y.flent"):
        (tmp_path / name).write_text("{}")
    failed = make_output(one, bed, lambda place: result)
    assert (failed.data, failed.fault) == (None, (
        "expected one data file of Flent, and there are 2: x.flent, y.flent; a command of the "
        "batch must not write *.flent to the folder of Flent's data file"))


def test_progress_of_a_folder_counts_data_files_of_other_batches_apart(
        tmp_path: Path, testbed: Counting) -> None:
    """Before the sweep's first run has ended nothing is known of its pace, and runs are left."""
    earlier = {"first.batch": "abc"}
    for name in ("first", "second", "third"):
        (tmp_path / f"{name}.flent.gz").touch()
    status.write(tmp_path, status.Status(["flent"], 3, 0, 0.0, 1.0, batches=(earlier,)))
    made = planned([cell(tmp_path, name) for name in ("one", "two")])
    made.batch_files = {"mine.batch": "def"}
    with made:
        made.start(resume=True)
        begun = status.read(tmp_path)
        assert begun is not None
        assert (begun.planned, begun.before, status.count_done(tmp_path)) == (5, 3, 3)
        assert begun.left_s(status.count_done(tmp_path), begun.began_s + 1) is None
        assert begun.batches == (earlier, made.batch_files)


def test_run_whose_guest_cannot_be_made_leaves_a_log(tmp_path: Path) -> None:
    """Its kernel has disappeared while the sweep ran, for example."""
    def fail(scenario: Any, run: Any) -> NoReturn:
        raise ToolMissing("kernel: the program of mine is gone from the cache")

    one = cell(tmp_path, "one")
    bed: Any = SimpleNamespace(place=fail)
    with pytest.raises(AqmError, match="program of mine is gone"):
        run_cell(one, bed, SweepFacts(Facts({}, {})))
    assert one.log_file.read_text() == (
        "--- failed\nkernel: the program of mine is gone from the cache\n")


CHILD = """
import subprocess, sys, time
print(subprocess.Popen(["sleep", "600"]).pid, file=open(sys.argv[1] + "~", "w"))
import os
os.rename(sys.argv[1] + "~", sys.argv[1])
time.sleep(600)
"""


def _when_there(path: Path, do: Callable[[], object]) -> None:
    def wait() -> None:
        while not path.exists():
            threading.Event().wait(0.01)
        do()

    threading.Thread(target=wait, daemon=True).start()


def test_killed_speed_test_leaves_no_tool_behind(tmp_path: Path) -> None:
    """Which would go on loading the line."""
    pid_file = tmp_path / "pid"
    before = signal.getsignal(signal.SIGTERM)
    _when_there(pid_file, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with ending_within_s(60), pytest.raises(KeyboardInterrupt):
        _run_flent([sys.executable, "-c", CHILD, str(pid_file)], {}, dots=False)
    assert signal.getsignal(signal.SIGTERM) is before
    stat = Path("/proc", pid_file.read_text().strip(), "stat")
    for _ in range(500):
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        threading.Event().wait(0.01)
    else:
        pytest.fail("the tool runs on")


def test_output_of_flent_is_returned_with_the_variables_that_it_was_given() -> None:
    words = [sys.executable, "-c", "import os, sys; print(os.environ['OURS'], file=sys.stderr)"]
    variables: Mapping[str, str] = {"OURS": "yes"}
    assert _run_flent(words, dict(variables), dots=False) == "yes\n"


def failing(monkeypatch: pytest.MonkeyPatch, causes: Mapping[str, Exception | None],
            began: list[str]) -> None:
    """Have runs of these names end with these errors, and note which runs began."""
    real: Callable[..., FinishedRun] = vars(sweep)["run_cell"]  # that of the fixture

    def run(cell: Cell, bed: Any, facts: Any) -> FinishedRun:
        began.append(cell.name)
        if error := causes[cell.name]:
            raise error
        return real(cell, bed, facts)

    monkeypatch.setattr(sweep, "run_cell", run)


def test_kernel_whose_runs_end_thrice_by_one_fault_is_given_up(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers aside; another kernel's runs, and faults of another text, are counted apart."""
    def crash(where: str) -> LabError:
        return LabError(f"the kernel mine crashed in {where}")

    causes = {"m1": crash("x at 0xff12"), "m2": crash("x at 0xee34"), "m3": crash("y"),
              "o1": crash("x at 1"), "m4": crash("x at 77"), "m5": None, "m6": None, "o2": None}
    began: list[str] = []
    failing(monkeypatch, causes, began)
    made = planned([cell(tmp_path, name, kernel="mine" if name[0] == "m" else "stock")
                    for name in causes])
    with pytest.raises(AqmError) as raised:
        run_all(made, capsys)
    assert began == ["m1", "m2", "m3", "o1", "m4", "o2"]
    assert str(raised.value) == (
        "5 of 8 runs failed, 2 more were not made: mend the kernel mine and build it again")
    text = capsys.readouterr().err
    assert text.count("3 runs ended by the same fault of the kernel mine crashed in x at 77; no "
                      "more runs of this kernel are made\n") == 1
    kept = status.read(tmp_path)
    assert kept is not None
    assert {name: kept.failed[f"{name}.flent.gz"] for name in ("m5", "m6")} == dict.fromkeys(
        ("m5", "m6"), "not made: the kernel mine crashed in x at 77")
    assert len(kept.failed) == 7
    assert made.take_count() == 1


def test_fault_that_is_not_a_kernels_gives_nothing_up(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it comes."""
    causes = {f"r{number}": LabError("it broke") for number in range(5)}
    began: list[str] = []
    failing(monkeypatch, causes, began)
    with pytest.raises(AqmError, match=r"^5 of 5 runs failed; mend the causes above, and run them"):
        run_all(planned([cell(tmp_path, name) for name in causes]), capsys)
    assert began == [*causes]


@contextmanager
def raising_interrupts() -> Iterator[None]:
    """^C raises KeyboardInterrupt before and after, as in a program of a terminal."""
    with handlers(SIGINT=signal.default_int_handler):
        yield


def interrupt_after_first(made: Sweep, cells: Sequence[Cell]) -> None:
    """Make the first cell's run, press ^C, and see that the second doesn't start."""
    with raising_interrupts(), made:
        made.start()
        made.submit(cells[0])
        made.drain()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Stopped):
            made.submit(cells[1])
    with pytest.raises(KeyboardInterrupt):
        made.report()


def test_interrupt_counts_runs_whose_older_data_files_are_there(
        tmp_path: Path, testbed: Counting, capfd: pytest.CaptureFixture[str]) -> None:
    """They were to be made again. The sweep ended as if it had made them."""
    cells = [cell(tmp_path, name) for name in ("one", "two", "three")]
    for one in cells:
        one.data_file.write_bytes(b"older")
    interrupt_after_first(planned(cells), cells)
    assert "1 run done, 2 left; go on with the same command\n" in capfd.readouterr().err


@pytest.mark.parametrize("is_there", [False, True])
def test_refused_sweep_leaves_no_folder_that_it_made(
        tmp_path: Path, testbed: Counting, monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    """A router that another sweep holds is asked after the folder was made."""
    def refuse() -> None:
        assert folder.is_dir()
        raise ConfigError("held")

    folder = tmp_path / "results" / "quick"
    if is_there:
        folder.mkdir(parents=True)
    monkeypatch.setattr(testbed, "prepare", refuse)
    made = planned([cell(folder, "one")])
    with pytest.raises(ConfigError), made:
        made.start()
    assert [*tmp_path.rglob("*")] == ([folder.parent, folder] if is_there else [])


def test_interrupt_of_a_command_that_plans_its_runs_counts_none_as_left(
        tmp_path: Path, testbed: Counting, capfd: pytest.CaptureFixture[str]) -> None:
    """It may have more to make than this sweep's: a scorecard's first and last run said 0 left."""
    cells = [cell(tmp_path, name) for name in ("first", "last")]
    made = planned(cells, resumes=True)

    def run_all_and_interrupt() -> None:
        with raising_interrupts(), made:
            made.start()
            for one in cells:
                made.submit(one)
            made.drain()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all_and_interrupt()
    assert "Interrupted: 2 runs done; go on with the same command\n" in capfd.readouterr().err


def test_first_interrupt_ends_the_sweep_after_the_running_cell(
        tmp_path: Path, testbed: Counting, capfd: pytest.CaptureFixture[str]) -> None:
    """And says how to go on, in one line of any length; a folder's name is no markup."""
    folder = tmp_path / f"[red]{'long-' * 30}"
    folder.mkdir()
    cells = [cell(folder, name) for name in ("one", "two", "three")]
    interrupt_after_first(planned(cells), cells)
    text = capfd.readouterr().err
    assert "\nInterrupted: no new runs start; waiting for those that are running. Press" in text
    assert text.endswith("\nInterrupted: 1 run done, 2 left; go on with the same command and "
                         f"--batch-resume {shlex.quote(str(folder))}\n")


def test_interrupt_after_the_last_run_has_begun_is_none(
        tmp_path: Path, testbed: Counting, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is left to go on with."""
    made = planned([one := cell(tmp_path, "one")])
    with raising_interrupts(), made:
        made.start()
        made.submit(one)
        signal.raise_signal(signal.SIGINT)
        made.drain()
    made.report()
    assert "go on with" not in capfd.readouterr().err


@pytest.mark.parametrize(("error", "is_said"), [(KeyboardInterrupt, True), (ValueError, False)])
def test_error_kills_the_runs_and_only_an_interrupt_says_how_to_go_on(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch, error: type[BaseException], is_said: bool) -> None:
    """Testbeds are cleaned up, and the folder's status has an end."""
    entered, killed = threading.Event(), threading.Event()

    def run(cell: Cell, bed: object, facts: object) -> FinishedRun:
        entered.set()
        assert killed.wait(60)
        raise LabError("killed")

    monkeypatch.setattr(sweep, "run_cell", run)
    monkeypatch.setattr(sweep, "kill_all", killed.set)
    made = planned([one := cell(tmp_path, "one")])

    def submit_and_fail() -> None:
        with made:
            made.start()
            made.submit(one)
            assert entered.wait(60)
            raise error

    with pytest.raises(error):
        submit_and_fail()
    assert killed.is_set()
    assert testbed.calls == ["check", "prepare", "clean up"]
    kept = status.read(tmp_path)
    assert kept is not None
    assert kept.ended_s is not None
    assert ("Interrupted: 0 runs done, 1 left; go on with" in capsys.readouterr().err) is is_said


def test_interrupt_before_the_first_run_says_nothing_of_runs(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str]) -> None:
    made = planned([cell(tmp_path, "one")])
    with pytest.raises(KeyboardInterrupt), made:
        raise KeyboardInterrupt
    assert capsys.readouterr().err == ""


def test_end_without_an_error_kills_nothing(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a stop: runs that have begun end by themselves."""
    real: Callable[..., FinishedRun] = vars(sweep)["run_cell"]
    begun = threading.Event()

    def run(cell: Cell, bed: Any, facts: Any) -> FinishedRun:
        begun.set()
        threading.Event().wait(0.2)  # longer than an abort would wait before it kills
        return real(cell, bed, facts)

    monkeypatch.setattr(sweep, "run_cell", run)
    monkeypatch.setattr(sweep, "kill_all", lambda: pytest.fail("a run was killed"))
    for stopped in (False, True):
        made = planned([one := cell(tmp_path, f"stopped {stopped}")])
        begun.clear()
        with suppress(Stopped), made:
            made.start()
            made.submit(one)
            assert begun.wait(60)
            if stopped:
                raise Stopped
        made.report()
        assert made.take_count() == 1


def test_testbed_that_cannot_be_cleaned_up_is_told_at_once_and_at_the_end(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    def stay() -> NoReturn:
        raise LabError("the bridge\nstays")

    monkeypatch.setattr(testbed, "clean_up", stay)
    with pytest.raises(AqmError, match=r"^all runs are done, but: the bridge stays$"):
        run_all(planned([cell(tmp_path, "one")]), capsys)
    assert "testbed: the bridge stays\n" in capsys.readouterr().err


def test_sweep_without_runs_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    made = Sweep()
    with made:
        made.start()
        made.drain()
    made.report()
    assert made.take_count() == 0
    assert capsys.readouterr().err == ""


def test_sweep_is_started_once(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str]) -> None:
    made = planned([cell(tmp_path, "one")])
    with made:
        made.start()
        made.start()
    assert testbed.calls == ["check", "prepare", "clean up"]


def test_each_testbed_checks_its_own_runs(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in real time makes the whole sweep one of real time."""
    beds = {"virtual": Counting(), "netns": Counting(real_time=True)}
    checked: dict[str, list[str]] = {}
    for name, bed in beds.items():
        monkeypatch.setattr(bed, "check", lambda cells, name=name: checked.setdefault(
            name, [one.name for one in cells])[:0])
    monkeypatch.setattr(sweep, "open_testbed", beds.__getitem__)
    made = planned([cell(tmp_path, "v", seed=1), cell(tmp_path, "n", testbed="netns", seed=None),
                    cell(tmp_path, "w", seed=2)])
    with made:
        made.start()
    assert checked == {"virtual": ["v", "w"], "netns": ["n"]}
    assert "3 runs in a test and a test, about 0:00:30.\n" in capsys.readouterr().err


def test_resumed_sweep_in_real_time_needs_what_is_left(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """10 s for each of two runs; without --batch-resume all three are made."""
    testbed.real_time = True
    monkeypatch.setattr(sweep, "set_aside_unfinished", lambda planned: ())
    cells = [cell(tmp_path, name) for name in ("one", "two", "three")]
    cells[1].data_file.touch()
    for resume, line in ((True, "3 runs in a test, 1 of them there already, about 0:00:20."),
                         (False, "3 runs in a test, about 0:00:30.")):
        made = planned(cells)
        with made:
            made.start(resume=resume)
        assert f"{line}\n" in capsys.readouterr().err


class Cluster:
    """Makes runs of threads of this process, as many at once as there is room."""

    title = "two machines"

    def __init__(self, room: int) -> None:
        self.together = threading.Barrier(room, timeout=10)
        self.most = room
        self.cores: list[int] = []
        self.calls: list[str] = []

    def refuse(self, cell: Cell) -> None:
        self.calls.append(f"refuse {cell.name}")

    def start(self, facts: SweepFacts, say: Callable[[str], None]) -> None:
        say("both machines are there")

    def run(self, cell: Cell) -> FinishedRun:
        self.cores.append(len(os.sched_getaffinity(0)))
        self.together.wait()
        cell.data_file.touch()
        return FinishedRun(cell, SCORES, 10.0, 1.0)

    def room(self) -> int:
        return self.most

    def stop(self) -> None:
        self.calls.append("stop")

    def close(self) -> None:
        self.calls.append("close")


@pytest.mark.parametrize("jobs", [None, "all"])
def test_runs_elsewhere_are_as_many_at_once_as_there_is_room(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch, jobs: str | None) -> None:
    """However many cores this machine has, which need no files for them, either."""
    own = len(os.sched_getaffinity(0))
    cluster, checked = Cluster(own + 2), []
    monkeypatch.setattr(sweep, "elsewhere_of", lambda section: cluster)
    monkeypatch.setattr(preflight, "check", lambda cells, jobs: checked.append(jobs))
    made = Sweep()
    cells = [cell(tmp_path, f"run{number}") for number in range(own + 2)]
    for one in cells:
        made.plan(one, {"jobs": jobs and str(own + 2)})
    text = run_all(made, capsys)
    assert f"{own + 2} runs in a test, by two machines.\n" in text
    assert "both machines are there\n" in text
    assert (checked, cluster.cores) == ([1], [own] * (own + 2))
    assert cluster.calls == [*(f"refuse {one.name}" for one in cells), "close"]


def test_jobs_limit_what_runs_elsewhere(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    """To fewer than there is room for. They keep to no core, either."""
    cluster, at_once, most, cores = Cluster(1), [0], [0], set()
    cluster.most = 9
    monkeypatch.setattr(sweep, "elsewhere_of", lambda section: cluster)

    def run(cell: Cell) -> FinishedRun:
        cores.add(len(os.sched_getaffinity(0)))
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        threading.Event().wait(0.05)
        at_once[0] -= 1
        cell.data_file.touch()
        return FinishedRun(cell, SCORES, 10.0, 1.0)

    monkeypatch.setattr(cluster, "run", run)
    run_all(planned([cell(tmp_path, name) for name in ("one", "two", "three")]), capsys)
    assert most == [1]
    assert cores == {len(os.sched_getaffinity(0))}


def test_cluster_makes_runs_of_one_kernel(
        tmp_path: Path, testbed: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "elsewhere_of", lambda section: Cluster(1))
    made = planned([cell(tmp_path, "one"), cell(tmp_path, "two", kernel="mine")])
    with pytest.raises(ConfigError, match=(
            r"^scheduler: a cluster makes the runs of one testbed with one kernel, and these have "
            r"testbed virtual, kernel stock and testbed virtual, kernel mine; run them")), made:
        made.start()


@pytest.mark.parametrize(("folders", "common"), [
    (("a/b", "a/c"), "a"), (("a", "b"), "."), (("a", "{}/b"), "{}")])
def test_folder_to_go_on_in_is_that_of_all_runs(
        tmp_path: Path, testbed: Counting, monkeypatch: pytest.MonkeyPatch,
        folders: tuple[str, ...], common: str) -> None:
    """--batch-resume refuses a folder that a run would be written outside of."""
    monkeypatch.chdir(tmp_path)
    made = planned([cell(Path(folder.format(tmp_path)), "one") for folder in folders])
    assert made._resume_command() == (
        f"the same command and --batch-resume {common.format(tmp_path)}")


def test_all_data_files_that_disappeared_are_told(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str]) -> None:
    made = planned([cell(tmp_path, name) for name in ("one", "two", "three")])
    run_all(made, capsys)
    for path in list(made.planned)[:2]:
        path.unlink()
    with pytest.raises(AqmError, match=r"^2 of 3 finished data files have disappeared; run them"):
        made.report()


@pytest.mark.parametrize(("resumes", "is_old", "again"), [
    (True, False, "run it again with the same command"),
    (True, True, "run it again with the same command"),
    (False, False, "run it again with the same command and --batch-resume "),
    (False, True, "run it again with the same command")])
def test_full_disk_of_the_last_run_is_told(
        tmp_path: Path, testbed: Counting, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch, resumes: bool, is_old: bool, again: str) -> None:
    """A data file of an earlier sweep may be there, which --batch-resume would keep. The folder is
    that of all runs."""
    real: Callable[..., FinishedRun] = vars(sweep)["run_cell"]

    def run(cell: Cell, bed: Any, facts: Any) -> FinishedRun:
        if cell.name == "two":
            raise StorageError("no space")
        return real(cell, bed, facts)

    monkeypatch.setattr(sweep, "run_cell", run)
    cells = [cell(tmp_path / name, name) for name in ("one", "two")]
    for one in cells:
        one.folder.mkdir()
    if is_old:
        cells[1].data_file.touch()
    with pytest.raises(StorageError) as raised:
        run_all(planned(cells, resumes=resumes), capsys)
    left = "" if resumes else "1 of 2 runs left: "
    assert str(raised.value) == (f"no space; {left}mend this (make room, if the disk is "
                                 f"full), then {again}{tmp_path if again.endswith(' ') else ''}")


@pytest.mark.parametrize(("there", "others", "counted"), [
    ((), (), (2, 0)), (("one",), (), (2, 1)), (("one", "two"), (), (2, 2)),
    ((), ("x", "y"), (4, 2)), (("one",), ("x",), (3, 2))])
def test_status_counts_the_folders_runs_and_what_was_there_before(
        tmp_path: Path, testbed: Counting, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str], there: tuple[str, ...], others: tuple[str, ...],
        counted: tuple[int, int]) -> None:
    """And keeps what earlier batches and commands of these files were, each once. Another folder's
    is apart."""
    monkeypatch.setattr(sweep, "set_aside_unfinished", lambda planned: ())
    folder = tmp_path / "a"
    folder.mkdir()
    for name in (*there, *others):
        (folder / f"{name}.flent.gz").touch()
    earlier = {"first.batch": "abc"}
    status.write(folder, status.Status(["first"], 3, 0, 0.0, 1.0, batches=(earlier,),
                                       earlier=(["older"],)))
    made = planned([cell(folder, "one"), cell(folder, "two"), cell(tmp_path, "three")])
    made.batch_files = {"mine.batch": "def"}
    with made:
        made.start(resume=True)
        begun, apart = status.read(folder), status.read(tmp_path)
    assert begun is not None
    assert apart is not None
    assert ((begun.planned, begun.before), (apart.planned, apart.before)) == (counted, (1, 0))
    assert begun.batches == ((earlier,) if there or others else ()) + (made.batch_files,)
    assert begun.earlier == ((["older"], ["first"]) if there or others else ())
    assert begun.commands == [*begun.earlier, begun.command]
    again = planned([cell(folder, "one")])
    again.batch_files = {"mine.batch": "def"}
    (folder / "one.flent.gz").touch()
    with again:
        again.start(resume=True)
        begun = status.read(folder)
    assert begun is not None
    assert begun.batches.count(made.batch_files) == 1
    assert begun.command not in begun.earlier


def test_runs_that_differ_in_one_parameter_of_several_are_told_it(
        tmp_path: Path, testbed: Counting) -> None:
    """Of the queue's, or of what the batch has none of."""
    made = planned([cell(tmp_path, "one", aqm_target="5ms", aqm_limit="100")])
    for other, keys in (({"aqm_target": "1ms", "aqm_limit": "100"}, "add ${aqm_target}, in which"),
                        ({"aqm_target": "5ms"}, "add ${aqm_limit}, in which"),
                        ({"aqm_target": "1ms"}, "add ${aqm_limit}, ${aqm_target}, in which")):
        with pytest.raises(ConfigError, match=re.escape(keys)):
            made.plan(cell(tmp_path, "one", **other), {})


def test_testbeds_elsewhere_are_those_behind_ssh(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "open_testbed", lambda name: Counting(real_time=True))
    made = planned([cell(tmp_path, name, testbed=bed, seed=None) for name, bed in (
        ("one", "netns"), ("two", "ssh://root@b"), ("three", "ssh://root@a"))])
    assert made.testbeds_elsewhere() == ["ssh://root@a", "ssh://root@b"]


@pytest.mark.parametrize(("words", "kept"), [
    (["flent", "-B", "a.batch"], ["flent", "-B", "a.batch"]),
    (["flent", "-B", "a.batch", "--batch-resume", "results/x", "-b", "y"],
     ["flent", "-B", "a.batch", "-b", "y"]),
    (["flent", "--batch-resume=results/x", "-B", "a.batch"], ["flent", "-B", "a.batch"])])
def test_recorded_command_makes_the_whole_sweep(words: list[str], kept: list[str]) -> None:
    """That of a resumed sweep makes no run once all are there."""
    assert _without_resume(words) == kept
