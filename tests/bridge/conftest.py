# SPDX-License-Identifier: GPL-3.0-or-later
"""Throw-away environments with the real Flent, and this package installed into them.

Nothing comes over the network: an environment borrows, by symbolic links, all that the
one of the tests has, except this package. What is installed is a copy of the checkout
with a test definition, a runner and two batch files of these tests in it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

from tests.files import ROOT

from ..warm_flent import run_flent

OURS = "flent-aqm"
PACKED = ("LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.cfg", "batches",
          "release", "flent_aqm", "router_hooks", "tests_defs")

PROBE_CONF = """\
include("aqm_probe.inc")
DESCRIPTION = "Probe of the bridge's own tests"
DATA_SETS = o([("probe", {"runner": "aqm_probe", "length": LENGTH, "units": "s"})])
PLOTS = o([("probe", {"description": "Probe", "type": "timeseries",
                      "series": [{"data": "probe", "label": "probe"}]})])
"""
PROBE_INC = 'DEFAULTS = {"PLOT": "probe"}\nTOTAL_LENGTH = LENGTH\n'
PROBE_RUNNER = """\
from flent_aqm.base.flent_api import ProcessRunner


class AqmProbeRunner(ProcessRunner):
    def __init__(self, length, **kwargs):
        super().__init__(**kwargs)
        self.length = length

    def check(self):
        self.command = f"echo {self.length}"
        super().check()

    def parse(self, output, error=""):
        raw = [{"t": self.start_time, "val": float(output.read())}]
        return [(raw[0]["t"], raw[0]["val"])], raw, {}
"""


@dataclass(frozen=True)
class Ended:
    """How a program ended: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Env:
    """A throw-away Python environment with Flent in it."""

    path: Path

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def site(self) -> Path:
        return next(self.path.glob("lib/python*/site-packages"))

    def run(
        self, *words: str | Path, cwd: Path | None = None, timeout_s: float = 300,
        environ: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a program of the environment in a folder (default: the environment's)."""
        argv = [str(self.path / "bin" / words[0]), *map(str, words[1:])]
        done = subprocess.run(
            argv, cwd=cwd or self.path, capture_output=True, text=True, check=False,
            timeout=timeout_s, stdin=subprocess.DEVNULL, env=self.environ(environ or {}))
        return Ended(done.returncode, done.stdout, done.stderr)

    def flent(
        self, *words: str | Path, cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run the environment's Flent, which is not to change any more, as run() does, without
        starting it anew."""
        done = run_flent(*words, cwd=cwd or self.path, python=self.python,
                         env=self.environ(environ or {}))
        return Ended(done.returncode, done.stdout, done.stderr)

    def environ(self, more: Mapping[str, str]) -> dict[str, str]:
        """The variables that its programs get."""
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "DISPLAY") if key in os.environ}
        return {**kept, "HOME": str(self.path), "MPLBACKEND": "agg", **more}

    def code(self, code: str, environ: Mapping[str, str] | None = None) -> str:
        """Run Python code; gives what it printed. It must end well and without warnings."""
        ended = self.run("python", "-c", code, environ=environ)
        assert (ended.status, ended.err) == (0, "")
        return ended.out

    def pip(self, *words: str | Path) -> None:
        """Run the outer environment's pip on this one, without a network. pip compiles what it
        installs, but not what it imports itself of that environment."""
        subprocess.run(
            [sys.executable, "-m", "pip", "-q", "--python", self.python, *words],
            check=True, timeout=300, env={**os.environ, "PIP_NO_INDEX": "1",
                                          "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                                          "PIP_ROOT_USER_ACTION": "ignore",
                                          "PYTHONDONTWRITEBYTECODE": "1"})

    def install(self, what: str | Path, *options: str) -> None:
        self.pip("install", "--no-deps", "--no-build-isolation", *options, what)

    def files(self) -> dict[str, str]:
        """Every file and link of the environment with its content's hash or target."""
        by_path = {}
        for folder, subfolders, names in os.walk(self.path):
            for name in names + [d for d in subfolders if Path(folder, d).is_symlink()]:
                path = Path(folder, name)
                by_path[str(path.relative_to(self.path))] = (
                    f"-> {path.readlink()}" if path.is_symlink()
                    else hashlib.sha256(path.read_bytes()).hexdigest())
        return by_path


def new_env(path: Path) -> Env:
    """A fresh environment with stock Flent and whatever else the tests' own has."""
    venv.create(path, symlinks=True, with_pip=False)
    env = Env(path)
    for dist in metadata.distributions():
        if dist.name.lower().replace("_", "-") == OURS:
            continue
        for top in {file.parts[0] for file in dist.files or ()}:
            source = Path(str(dist.locate_file(top)))
            target = env.site / top
            # Start-up files of others have no place in a test of start-up files.
            if (top not in ("..", "__pycache__") and source.suffix != ".pth"
                    and source.exists() and not target.exists()):
                target.symlink_to(source)
    for command, function in (("flent", "run_flent"), ("flent-gui", "run_flent_gui")):
        script = path / "bin" / command
        script.write_text(f"#!{env.python}\nimport sys\nfrom flent import {function}\n"
                          f"sys.exit({function}())\n")
        script.chmod(0o755)
    return env


def made_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]
) -> Path:
    """Return a new folder that make(folder) has filled; of the workers of pytest-xdist, the
    first that asks makes it for all."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, made = base / f"once-{name}", base / f"once-{name}.made"
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            folder.mkdir()
            make(folder)
            made.touch()
    return folder


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with a definition and a runner of these tests. Not to be changed."""
    return made_once(tmp_path_factory, "copy", _copy_checkout) / "checkout"


def _copy_checkout(folder: Path) -> None:
    target = folder / "checkout"
    target.mkdir()
    for name in PACKED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, target / name)
    tests = target / "tests_defs"
    (tests / "aqm_probe.conf").write_text(PROBE_CONF)
    (tests / "aqm_probe.inc").write_text(PROBE_INC)
    (tests / "ping.conf").write_text('raise Exception("ours was taken for the stock one")')
    runners = target / "flent_aqm" / "measure" / "runners"
    (runners / "aqm_probe.py").write_text(PROBE_RUNNER)
    (runners / "all_runners.py").write_text(
        "from flent_aqm.measure.runners.aqm_probe import AqmProbeRunner\n\n"
        "RUNNERS = {'aqm_probe': AqmProbeRunner}\n")


@pytest.fixture
def own_checkout(checkout: Path, tmp_path: Path) -> Path:
    """A copy of the checkout that the test may change."""
    return Path(shutil.copytree(checkout, tmp_path / "checkout"))


@pytest.fixture(scope="session")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of it."""
    def make(folder: Path) -> None:
        new_env(folder / "builder").pip(
            "wheel", "--no-deps", "--no-build-isolation", "-w", folder, checkout)

    return next(made_once(tmp_path_factory, "wheel", make).glob("*.whl"))


@pytest.fixture(scope="session")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Env:
    """An environment with stock Flent. Not to be changed."""
    return Env(made_once(tmp_path_factory, "stock", lambda folder: new_env(folder / "env")) / "env")


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Env:
    """An environment with this package's wheel installed. Not to be changed."""
    return Env(made_once(tmp_path_factory, "installed",
                         lambda folder: new_env(folder / "env").install(wheel)) / "env")


@pytest.fixture(scope="session")
def editable(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Env:
    """An environment with the checkout installed by `pip install -e`. Not to be changed."""
    return Env(made_once(tmp_path_factory, "editable",
                         lambda folder: new_env(folder / "env").install(checkout, "-e")) / "env")


@pytest.fixture(params=["installed", "editable"])
def either(request: pytest.FixtureRequest) -> Env:
    """The test runs twice: with the wheel and with the editable install."""
    env: Env = request.getfixturevalue(request.param)
    return env


@pytest.fixture
def fresh(tmp_path: Path) -> Env:
    """An environment of this test's own, with stock Flent."""
    return new_env(tmp_path / "env")


@pytest.fixture
def own_installed(fresh: Env, installed: Env) -> Env:
    """An environment of this test's own, with this package in it: what pip made of the wheel in
    `installed` is copied, as pip takes a second."""
    for path in installed.site.iterdir():
        if not path.is_symlink() and not (fresh.site / path.name).exists():
            copy = shutil.copytree if path.is_dir() else shutil.copy2
            copy(path, fresh.site / path.name)
    return fresh
