# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what hostile files cost each command that reads data: processor time and memory.

    .venv/bin/python -m research.bench.hostile [--commands score,report] [--families sizes,numbers]

One file is read in one process at a time. Each process is forked off one that has imported the
command's modules, as importing is the same for any file; the first line of each command says what
it takes beside. Fails where a file takes more than MOST_S or MOST_MB, ends in a traceback or by a
signal, sends an escape character to the terminal, or writes where it was not told to.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from flent_aqm.parts.kernels.verdict.command import CAN_NOT_TELL
from flent_aqm.show.plots.catalogue import LATENCY, OURS, THROUGHPUT
from tests.files import load, save
from tests.gui_window import WINDOW
from tests.hostile import families

MOST_S = 2.0
MOST_MB = 500.0
WALL_LIMIT_S = 60

GOOD = families.GOLDEN / "iperf3_download.flent.gz"
PLOTS = (*LATENCY, *THROUGHPUT, *OURS)

Do = Callable[[Path, Path], int]


def _filled(words: Sequence[str], file: Path, out: Path) -> list[str]:
    """Return words with the paths of the file, the output folder and a good file in place of FILE,
    OUT and GOOD."""
    paths = {"FILE": str(file), "OUT": str(out), "GOOD": str(GOOD)}
    return [re.sub("|".join(paths), lambda name: paths[name[0]], word) for word in words]


def _place(file: Path, path: Path) -> None:
    """Give a file a second path, or copy it if it can't have one there: a folder, or a file on
    another file system. Links and special files stay such. Raises CalledProcessError if it can't be
    copied."""
    try:
        os.link(file, path, follow_symlinks=False)
    except OSError:
        subprocess.run(["cp", "-a", "--", file, path], check=True)


def _run_cli(*words: str) -> Do:
    """Return a function (file, output folder) that runs a command of this package in this process
    and returns its exit status. Its words are those of _filled()."""
    def do(file: Path, out: Path) -> int:
        from flent_aqm.cli import main

        return main(_filled(words, file, out))
    return do


def _replay(file: Path, out: Path) -> int:
    """Read a file as `replay` does, up to the moment when the run would be made again. Return 0, or
    2 if the file is refused, with the reason on standard error.

    Args:
        file: the hostile file.
        out: folder in which the repeated run's data file would be. Nothing is written.
    """
    from flent_aqm.base.errors import AqmError
    from flent_aqm.sweep.replay import recorded

    try:
        recorded.read(file, out)
    except AqmError as error:
        print(f"flent-aqm: {error}", file=sys.stderr)
        return 2
    return 0


def _follow(file: Path, out: Path) -> int:
    """Make the page of a folder that holds only the file, as `report --follow` does, with its data
    and state, in memory. Return the exit status, 1 if one of them is empty, otherwise 0.

    Args:
        file: the hostile file.
        out: empty folder in which that folder is made.
    """
    from flent_aqm.show.report.follow import Follower

    folder = out / "folder"
    folder.mkdir()
    _place(file, folder / file.name)
    follower = Follower([folder], "title", 1)
    follower.look()
    return 0 if all((follower.state(), follower.page(), follower.data())) else 1


def _flent(*words: str) -> Do:
    def do(file: Path, out: Path) -> int:
        import flent

        sys.argv = ["flent", *_filled(words, file, out)]
        return int(flent.run_flent() or 0)
    return do


def _verdict(file: Path, out: Path) -> int:
    """Judge the file by `flent-aqm verdict`, as one of three seeds after a change, beside good runs
    that are made in `out`. Return the command's exit status, but 1 if the runs can't tell: 3 would
    be taken for a bug.

    Args:
        file: the hostile file.
        out: empty folder for the runs of both sides.
    """
    for side in ("base", "test"):
        folder = out / side
        folder.mkdir()
        for seed in (2, 3):
            whole = load(GOOD)
            whole["metadata"]["AQM"]["requested"]["seed"] = seed
            whole["metadata"]["AQM"]["seed"] = seed
            save(folder / f"{seed}{families.SUFFIX}", whole)
    _place(GOOD, out / "base" / "good.flent.gz")
    _place(file, out / "test" / "hostile.flent.gz")
    status = _run_cli("verdict", "--base", "OUT/base", "--test", "OUT/test")(file, out)
    return 1 if status == CAN_NOT_TELL else status


def _draw_plots(file: Path, out: Path) -> int:
    """Draw each plot of this package into `out`, whether the file's test has it or not. Return 0 if
    any was drawn, otherwise 1."""
    ended: set[object] = set()
    for name in PLOTS:
        try:
            ended.add(_flent("-f", "plot", "-p", name, "-o", f"OUT/{name}.png", "--", "FILE")(
                file, out))
        except SystemExit as error:
            ended.add(error.code)
    return 0 if 0 in ended or None in ended else 1


# As WINDOW's window: a file is in a tab and drawn, or named in Flent's log as left out.
LOOK = WINDOW + """
window.load_files([sys.argv[1]])
until(lambda: not window.load_queue)
for number in range(window.viewArea.count()):
    until(lambda: window.viewArea.widget(number).async_fig is None)
opened = window.viewArea.count()
window.worker_pool.terminate()
window.worker_pool.join()  # so that what its processes took is counted
"""


def _open_in_gui(file: Path, out: Path) -> int:
    """Open the file in flent-gui's window, without a screen. Return 0 if it was opened, otherwise
    1. Call it in a process of its own, because it changes the working folder (to `out`), arguments
    and environment."""
    os.environ |= {"QT_QPA_PLATFORM": "offscreen", "XDG_RUNTIME_DIR": str(out)}
    os.chdir(out)
    sys.argv = ["flent-gui", str(file)]
    names: dict[str, object] = {}
    exec(LOOK, names)
    return 0 if names["opened"] else 1


COMMANDS: dict[str, Do] = {
    "score": _run_cli("score", "--", "FILE"),
    "score-csv": _run_cli("score", "--format=csv", "--", "FILE"),
    "score-json": _run_cli("score", "--format=json", "--", "FILE"),
    "assert": _run_cli("assert", "p99(latency_loaded) < 20ms", "--", "FILE"),
    "report": _run_cli("report", "-o", "OUT/x.html", "--", "FILE"),
    "export": _run_cli("export", "-o", "OUT/x.parquet", "--", "FILE"),
    "export-csv": _run_cli("export", "-o", "OUT/x.csv", "--", "FILE"),
    "samples": _run_cli("export", "--samples", "-o", "OUT/x.parquet", "--", "FILE"),
    "share": _run_cli("share", "-o", "OUT/shared", "--", "FILE"),
    "figures": _run_cli("figures", "--test", "iperf3_download", "-o", "OUT/figures", "--", "FILE"),
    "score-by": _run_cli("score", "--by", "aqm,rate", "--pool", "all", "--", "FILE", "GOOD"),
    "verdict": _verdict,
    "figures-speedtests": _run_cli("figures", "--set", "speedtests", "-o", "OUT/figures", "--",
                                   "FILE"),
    "publish": _run_cli("share", "--publish", "--replay", "0", "-o", "OUT/published", "--", "FILE"),
    "replay": _replay, "report-follow": _follow,
    "flent-summary": _flent("-f", "summary", "--", "FILE"),
    "flent-metadata": _flent("-f", "metadata", "-o", "OUT/x", "--", "FILE"),
    "flent-csv": _flent("-f", "csv", "-o", "OUT/x", "--", "FILE"),
    "flent-plot": _flent("-f", "plot", "-o", "OUT/x.png", "--", "FILE"),
    "flent-our-plots": _draw_plots,
    "flent-gui": _open_in_gui,
}
# That do what others do once.
TIMES = {"flent-our-plots": len(PLOTS)}
IMPORTS: dict[str, tuple[str, ...]] = {
    "score": ("flent_aqm.commands.score",), "assert": ("flent_aqm.commands.assert_",),
    "report": ("flent_aqm.show.report.html", "flent_aqm.show.report.read",
               "flent_aqm.commands.report"),
    "export": ("flent_aqm.results.export.runs",), "samples": ("flent_aqm.results.export.samples",),
    "share": ("flent_aqm.commands.share",), "publish": ("flent_aqm.commands.share",),
    "verdict": ("flent_aqm.parts.kernels.verdict.command",),
    "figures": ("flent_aqm.show.figures.verdicts",),
    "replay": ("flent_aqm.commands.replay",),
    "report-follow": ("flent_aqm.show.report.follow", "flent_aqm.show.report.server"),
    "flent": ("flent.batch", "flent.plotters", "matplotlib.figure", "numpy",
              "matplotlib.backends.backend_agg"),
    "flent-gui": ("flent.gui", "flent.batch", "flent.plotters", "matplotlib.figure", "numpy",
                  "matplotlib.backends.backend_qtagg", "qtpy.QtWidgets"),
}


@dataclass(frozen=True)
class Met:
    """What a command did with a file.

    Attributes:
        cpu_s: processor time of the command and the processes that it started and waited for.
        peak_mb: largest memory of one of them, in MiB.
        status: exit status. 99 if an exception ended it, 1 if it was SystemExit without a number,
            negative if a signal killed it, as one does after WALL_LIMIT_S.
        out: beginning of its output.
        err: beginning of its error output.
        strayed: files that it wrote where it was not told to, with commas between them, "" for
            none.
    """

    cpu_s: float
    peak_mb: float
    status: int
    out: str
    err: str
    strayed: str


def measure(command: str, file: Path) -> Met:
    """Run a command on a file in a fork of this process, and return what it did. What its modules
    take to import is part of that unless this process has imported them. Output folder, home,
    temporary and working folder are new, and removed at the end. A signal kills the fork after
    WALL_LIMIT_S.

    Args:
        command: key of COMMANDS.
        file: the file.
    """
    with (tempfile.TemporaryDirectory() as box, tempfile.TemporaryFile() as output,
          tempfile.TemporaryFile() as complained):
        out, home, here, temporary = (Path(box, name) for name in ("out", "home", "here", "tmp"))
        for folder in (out, home, here, temporary):
            folder.mkdir()
        beside = set(os.listdir(file.parent))
        texts = output, complained
        child = os.fork()
        if not child:
            signal.alarm(WALL_LIMIT_S)
            for number, text in enumerate(texts, 1):
                os.dup2(text.fileno(), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            status = 99
            os.environ |= {"HOME": str(home), "TMPDIR": str(temporary)}
            tempfile.tempdir = None
            os.chdir(here)
            try:
                status = COMMANDS[command](file, out)
            except SystemExit as error:
                status = error.code if isinstance(error.code, int) else 1
            except BaseException:
                traceback.print_exc()
            finally:
                with contextlib.suppress(Exception):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(status)
        _, ended, used = os.wait4(child, 0)
        strayed = [str(path.relative_to(box)) for path in Path(box).rglob("*") if path.is_file()
                   and not path.is_relative_to(out) and not path.is_relative_to(home / ".cache")]
        strayed += {*os.listdir(file.parent)} - beside
        strayed += [str(path) for path in Path(tempfile.gettempdir()).glob("*pwned*")]
        return Met(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024,
                   os.waitstatus_to_exitcode(ended), _read(output), _read(complained),
                   ", ".join(strayed))


def _read(text: IO[bytes]) -> str:
    text.seek(0)
    return text.read(1 << 20).decode(errors="replace")


def fault_of(command: str, met: Met) -> str:
    """Return what is wrong with the way in which a command handled a file, "" if nothing is.
    Faults, of which the first is returned: a signal killed it, it ended in a traceback, with status
    3 (that of a bug) or with the message "can't show the data files", sent an escape character to
    the terminal, wrote elsewhere, or took more than 2 s of processor time or 500 MB of memory. A
    command in TIMES may take so many times the processor time.

    Args:
        command: key of COMMANDS.
        met: what the command did.
    """
    if met.status < 0:
        return f"killed by signal {-met.status}"
    if met.status in (3, 99) or "Traceback" in met.err or "can't show the data files" in met.err:
        return "traceback: " + " ".join(met.err.split())[-300:]
    if "\x1b" in met.out + met.err:
        return f"escape on the terminal: {(met.out + met.err)[:200]!r}"
    if met.strayed:
        return f"wrote {met.strayed}"
    if met.cpu_s > MOST_S * TIMES.get(command, 1) or met.peak_mb > MOST_MB:
        return f"{met.cpu_s:.2f} s, {met.peak_mb:.0f} MB"
    return ""


def main() -> int:
    """Read the files of the families that the command line selects with each command that it
    selects, and print what that costs and each fault. A family of which --folder has no file is
    made there; one that is there, even in part, is used as it is. Without --folder, all are made in
    a temporary folder. Return the exit status, 1 if there is a fault or a command's process fails.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--families", default=",".join([*families.CONTENT, *families.PLACES]))
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="of large families only each N-th file, as tests do")
    parser.add_argument("--folder", type=Path, help="where the files are, or are to be made")
    args = parser.parse_args()
    os.environ |= {"MPLBACKEND": "agg"}
    is_faulty = False
    with tempfile.TemporaryDirectory() as temporary:
        top = args.folder or Path(temporary)
        files: list[Path] = []
        for family in args.families.split(","):
            there = sorted((top / family).glob(f"*{families.SUFFIX}")) if args.folder else []
            files += there or families.make_family(family, top / family, args.every)
        for command in args.commands.split(","):
            child = os.fork()  # its imports are not the next one's
            if not child:
                os._exit(min(_all(command, files), 99))
            is_faulty |= os.waitpid(child, 0)[1] != 0
    return int(is_faulty)


def _all(command: str, files: list[Path]) -> int:
    """Import a command's modules, read each file with it in a fork, and print a summary and the
    faults. Return the number of faults. Call it in a process of its own, because the modules stay.

    Args:
        command: key of COMMANDS.
        files: the files, at least one.
    """
    began_s = time.process_time()
    import flent_aqm.bridge.hook
    import flent_aqm.cli
    flent_aqm.bridge.hook.install()
    key = command if command in IMPORTS else command.partition("-")[0]
    with contextlib.redirect_stdout(io.StringIO()):
        for name in IMPORTS[key]:
            __import__(name)
    start_s = time.process_time() - began_s
    base_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seen = [(file, measure(command, file)) for file in files]
    faults = [(file, fault) for file, met in seen if (fault := fault_of(command, met))]
    slowest = max(seen, key=lambda pair: pair[1].cpu_s)
    largest = max(seen, key=lambda pair: pair[1].peak_mb)
    print(f"{command}: {len(files)} files, {sum(met.status == 0 for _, met in seen)} opened; "
          f"start {start_s:.2f} s, {base_mb:.0f} MB; slowest {slowest[1].cpu_s:.2f} s "
          f"{slowest[0].name[:60]!r}; largest {largest[1].peak_mb:.0f} MB "
          f"{largest[0].name[:60]!r}")
    for file, fault in faults:
        print(f"  {file.name[:70]!r}: {fault}")
    sys.stdout.flush()
    return len(faults)


if __name__ == "__main__":
    sys.exit(main())
