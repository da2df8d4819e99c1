# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that opens files in stock Flent: the line that it prints for each."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import MagicMock

import pytest

from flent_aqm.base import environment
from flent_aqm.base.errors import BadResult
from flent_aqm.results.share import open_in_flent
from tests.files import RUNS, load, save


def test_each_file_has_a_line(tmp_path: Path) -> None:
    """null for a file that opens with a plot, else the reason: one that kills its process, too."""
    good = RUNS / "stock_ping.flent.gz"
    unknown = load(good)
    unknown["metadata"]["NAME"] = "no_test"
    slow = load(good)
    slow["metadata"]["TITLE"] = "a" * 100_000
    files = [good, save(tmp_path / "unknown.flent.gz", unknown),
             save(tmp_path / "slow.flent.gz", slow), good]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "flent_aqm.results.share.open_in_flent", "1", *files],
        capture_output=True, text=True, check=True,
        env={**os.environ, environment.DISABLE: "1", "MPLBACKEND": "agg"})
    told = [json.loads(line.removeprefix("opened ")) for line in done.stdout.splitlines()
            if line.startswith("opened ")]
    assert told[1].startswith("RuntimeError: Error loading test 'no_test'")
    # Drawing so long a text is a single call. The kernel ends it, unless the machine is so quick
    # that it ends by itself before.
    assert told[2].startswith("it takes more than ")
    assert told[2].endswith(" s of processor time, the limit for its size on this machine")
    assert [told[0], told[3]] == [None, None]


def test_files_open_below_a_hard_limit_on_processor_time() -> None:
    """Of `ulimit -t`, which only root may raise: 20 s, where 60 s would be allowed."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    done = subprocess.run(
        [sys.executable, "-P", "-m", "flent_aqm.results.share.open_in_flent", "60",
         RUNS / "stock_ping.flent.gz"],
        capture_output=True, text=True, check=True, preexec_fn=limit,
        env={**os.environ, environment.DISABLE: "1", "MPLBACKEND": "agg"})
    assert "opened null" in done.stdout.splitlines(), done.stdout + done.stderr


@pytest.fixture
def handler_of_sigprof() -> Iterator[None]:
    """The signal's handler is afterwards what it was before."""
    before = signal.getsignal(signal.SIGPROF)
    yield
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize(("start_s", "limits_s"), [
    (0.25, [2.0, 1.0, 3.5]), (0.5, [2.0, 1.0, 3.5]), (2.0, [5.0, 4.0, 6.5])])
def test_file_whose_process_ends_has_one_line(
        start_s: float, limits_s: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the others do. A file may take twice the time of Flent's start, at least a second,
    and a second for each ten million bytes that it has unpacked."""
    from flent import plotters

    files = []
    for name, unpacked in (("good", 10_000_000), ("bad", 0), ("other", 25_000_000)):
        files.append(tmp_path / name)
        files[-1].write_bytes(b"1234" + unpacked.to_bytes(4, "little"))

    of_test = os.getpid()

    def open_and_print(path: str, file_s: float, grace_s: int) -> NoReturn:
        assert os.getpid() != of_test
        Path(f"{path}.told").write_text(json.dumps([file_s, grace_s]))
        if Path(path).name != "bad":
            print("opened null", flush=True)
            os._exit(0)
        os._exit(3)

    set_up: list[tuple[Any, ...]] = []
    monkeypatch.setattr(plotters, "init_matplotlib", lambda *args: set_up.append(args))
    monkeypatch.setattr(time, "process_time", lambda: start_s)
    monkeypatch.setattr(open_in_flent, "_open_and_print", open_and_print)
    monkeypatch.setattr(sys, "argv", ["program", "7", *map(str, files)])
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        open_in_flent.main()
    assert (tmp_path / "out").read_text().splitlines() == [
        "opened null", 'opened "Flent ended with status 3"', "opened null"]
    assert [json.loads(Path(f"{file}.told").read_text()) for file in files] == [
        [limit_s, 7] for limit_s in limits_s]
    # No window, and nothing that is drawn again and again.
    assert set_up == [("plot.png", False, False)]


@pytest.mark.usefixtures("handler_of_sigprof")
@pytest.mark.parametrize(("hard_s", "limit_s"), [
    (resource.RLIM_INFINITY, 9), (8, 8), (9, 9), (10, 9)])
@pytest.mark.parametrize(("error", "told"), [
    (None, "null"), (TimeoutError("late"), '"late"'), (BadResult("empty"), '"empty"'),
    (ValueError("x"), '"ValueError: x"')])
def test_line_of_a_file_has_the_reason_and_its_process_a_limit(
        error: Exception | None, told: str, hard_s: int, limit_s: int, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's limit is in whole seconds, later than the timer, and not above that of before.
    The timer ends, and nothing of the line is left to write when the process ends."""
    def draw(path: str) -> None:
        assert path == "file"
        if error:
            raise error

    timers: list[tuple[int, float]] = []
    limits: list[tuple[int, tuple[int, int]]] = []
    ended: list[int] = []
    monkeypatch.setattr(signal, "setitimer", lambda *args: timers.append(args))
    monkeypatch.setattr(resource, "getrlimit", lambda which: (5, hard_s))
    monkeypatch.setattr(resource, "setrlimit", lambda *args: limits.append(args))
    monkeypatch.setattr(open_in_flent, "_open_and_draw", draw)
    with (tmp_path / "out").open("w") as out, monkeypatch.context() as patched:
        patched.setattr(os, "_exit", ended.append)
        patched.setattr(sys, "stdout", out)
        open_in_flent._open_and_print("file", 6.5, 3)
        assert (tmp_path / "out").read_text() == f"opened {told}\n"
    assert ended == [0]
    assert timers == [(signal.ITIMER_PROF, 6.5), (signal.ITIMER_PROF, 0)]
    with pytest.raises(TimeoutError, match=r"^it takes more than 6\.5 s of processor time, the l"):
        signal.raise_signal(signal.SIGPROF)
    assert limits == [(resource.RLIMIT_CPU, (limit_s, hard_s))]


@pytest.mark.parametrize(("points", "is_empty"), [
    ([], True), ([[]], True), ([[0], [0, 0]], True), ([[1]], False), ([[0], [0, 2]], False)])
def test_plot_needs_a_line_with_a_point(
        points: list[list[int]], is_empty: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On any of its axes. The file is loaded without what a run needs, and the plot drawn once,
    without its layout and coarsely, as that takes time."""
    from flent import formatters, plotters, resultset, settings

    load_file, new, summary, new_plotter = (MagicMock() for _ in range(4))
    monkeypatch.setattr(resultset, "load", load_file)
    monkeypatch.setattr(settings, "new", new)
    monkeypatch.setattr(formatters, "SummaryFormatter", summary)
    monkeypatch.setattr(plotters, "new", new_plotter)
    new.return_value.PLOT = "all"
    plotter = new_plotter.return_value
    plotter.figure.axes = [MagicMock(get_lines=lambda axis=axis: [
        MagicMock(get_xdata=lambda count=count: [0.0] * count) for count in axis])
        for axis in points]
    if is_empty:
        with pytest.raises(BadResult, match=r"^its plot all, which Flent shows first, is empty$"):
            open_in_flent._open_and_draw("file")
    else:
        open_in_flent._open_and_draw("file")
    load_file.assert_called_once_with("file")
    new.return_value.load_test.assert_called_once_with(informational=True)
    plotter._annotate_plot.assert_called_once_with(False)
    assert plotter.figure.savefig.call_args.kwargs == {"dpi": 30}
