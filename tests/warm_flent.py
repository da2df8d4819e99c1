# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of flent and flent-aqm by forks of a process that has their modules loaded already.

Loading them takes half a second of processor time, most runs in tests much less. A fork does all
else that a start does: it reads its arguments, its settings, its files, and ends with its status.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

# A line of input has the words of a command, the folder to run it in, and files for what it
# prints; a line of output has its status. What one fork loads late and takes long, the next ones
# have.
_SERVER = """\
import gc, importlib, importlib.util, json, os, sys
import flent, flent.batch, flent.formatters, flent.plotters
import matplotlib.pyplot
if importlib.util.find_spec("flent_aqm"):  # else it is stock Flent
    import flent_aqm.measure.runners.all_runners, flent_aqm.show.plots.all_plotters
    import flent_aqm.commands.lab, flent_aqm.sweep.plan.runner
    from flent_aqm.cli import main
gc.freeze()
late = ["pandas", "pyarrow.parquet", "scipy.stats"]
told, tell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
for line in sys.stdin:
    words, folder, *outputs = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    try:
        loaded = os.read(told, 1000).decode().split()
    except BlockingIOError:
        continue
    for name in loaded:
        late.remove(name)
        importlib.import_module(name)
    gc.freeze()
else:
    sys.exit()
os.chdir(folder)
for number, path in enumerate([os.devnull, *outputs]):
    os.dup2(os.open(path, os.O_RDWR), number)
sys.stdin = open(0)
sys.argv = words
try:
    sys.exit((main if words[0].endswith("/flent-aqm") else flent.run_flent)())
finally:
    if loaded := [name for name in late if name in sys.modules]:
        os.write(tell, " ".join(loaded).encode())
"""


def run_flent(
    *words: str | Path, cwd: Path, python: Path | str = sys.executable,
    env: Mapping[str, str] | None = None, timeout_s: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `flent` with these words in a folder; gives its status and what it printed.

    python: of the environment whose Flent is meant; env: its variables (default: ours).
    """
    return _run("flent", words, cwd, str(python), os.environ if env is None else env, timeout_s)


def run_flent_aqm(
    *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, timeout_s: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run `flent-aqm` with these words in a folder; gives its status and what it printed.

    env: its variables (default: ours).
    """
    return _run("flent-aqm", words, cwd, sys.executable, os.environ if env is None else env,
                timeout_s)


def _run(program: str, words: Sequence[str | Path], cwd: Path, python: str,
         env: Mapping[str, str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    # pytest changes this one with each test.
    kept = {key: value for key, value in env.items() if key != "PYTEST_CURRENT_TEST"}
    server = _server(python, frozenset(kept.items()))
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        printed = [Path(folder, name) for name in ("stdout", "stderr")]
        for path in printed:
            path.touch()
        argv = [str(Path(python).with_name(program)), *map(str, words)]
        server.stdin.write(json.dumps([argv, str(cwd), *map(str, printed)]) + "\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], timeout_s)[0]:
            _server.cache_clear()
            _kill(server)
            raise subprocess.TimeoutExpired(argv, timeout_s)
        status = int(server.stdout.readline())
        return subprocess.CompletedProcess(argv, status, *(path.read_text() for path in printed))


@cache
def _server(python: str, env: frozenset[tuple[str, str]]) -> subprocess.Popen[str]:
    server = subprocess.Popen([python, "-c", _SERVER], text=True, env=dict(env), cwd="/",
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              start_new_session=True)
    atexit.register(_kill, server)
    return server


def _kill(server: subprocess.Popen[str]) -> None:
    """End it with the run that it waits for."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
