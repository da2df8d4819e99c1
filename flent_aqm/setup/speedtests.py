# SPDX-License-Identifier: GPL-3.0-or-later
"""Downloads or builds optional speed tests of other makers, in pinned versions.

Packages are installed by the ordinary client of their registry, with the machine's configuration of
it. Built programs are put into the cache: CACHE/tools/NAME-VERSION, with links in CACHE/bin.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from flent_aqm.base.errors import AqmError, CommandFailed, ConfigError, SetupError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.shell import find_program
from flent_aqm.base.words import counted
from flent_aqm.setup import install
from flent_aqm.setup.apt import errors_of_apt
from flent_aqm.setup.optional import find, folder_of
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.stream import run_watched
from flent_aqm.setup.whole_program import is_whole
from flent_aqm.tools.table import OPTIONAL
from flent_aqm.tools.tool import DEBIAN, GO, NPM, PYPI, Program

# Longest time that apt-get waits for another one to end, as in packages.sh.
APT_WAIT_S = 300
# A line in which npm says what is wrong. It prints codes before it, and the name of its log last.
_NPM_ERROR = re.compile(r"npm (error|ERR!) (?!(code|syscall|errno|path|dest)\b)\S")


def set_up_speedtests(names: Iterable[str], cache: Path) -> list[str]:
    """Install programs of speed tests that are missing. Return the names of those that could not be
    installed, whose reasons were printed. The caller holds the cache's lock.

    Args:
        names: keys of OPTIONAL, empty for all.
        cache: the cache folder.

    Raises ConfigError for an unknown name, before anything is installed.
    """
    programs = check_names(names)
    without: list[str] = []
    for name in programs:
        progress = Progress(name)
        program = OPTIONAL[name]
        if find(program) is not None:
            progress.finish("is there")
            continue
        try:
            FETCHERS[program.source](program, cache, progress)
            if find(program) is None:
                raise SetupError(f"{program.package} was installed, but {program.name} is not "
                                 "found in it")
            progress.finish("is there now")
        except AqmError as error:
            progress.finish(f"skipped: {error}")
            without.append(name)
    return without


def check_names(names: Iterable[str]) -> list[str]:
    """Return the given names in their order, without repeats, or all keys of OPTIONAL if none is
    given. Raises ConfigError if a name isn't a key of OPTIONAL."""
    programs = list(dict.fromkeys(names)) or list(OPTIONAL)
    for name in programs:
        if name not in OPTIONAL:
            raise ConfigError(f"--speedtests: unknown name {name!r}; known: "
                              f"{', '.join(OPTIONAL)}{did_you_mean(name, OPTIONAL)}")
    return programs


def _build_with_go(program: Program, cache: Path, progress: Progress) -> None:
    """Build a Go program and put it into the cache. Raises SetupError if go is missing or fails, or
    if the package has more or fewer than one program."""
    go = _find_client("go", "Go 1.22 or newer")
    progress.step(f"building {program.version}")
    with install.staging(cache) as work:
        (work / "bin").mkdir()
        _run_client(program, [go, "install", f"{program.package}@{program.version}"], cache,
                    env={**os.environ, "GOBIN": str(work / "bin")})
        built = [path for path in (work / "bin").iterdir() if path.is_file()]
        if len(built) != 1:
            raise SetupError(f"go built {counted(len(built), 'program')} of {program.package}; "
                             "expected one: look whether the variable GOFLAGS is set, or install "
                             f"{program.name} by hand")
        built[0].rename(work / "bin" / program.name)
        target = cache / "tools" / folder_of(program)
        install.publish(work / "bin", target, lambda folder: is_whole(folder / program.name))
    install.link(target / program.name, cache / "bin" / program.name)


def _install_with_npm(program: Program, cache: Path, progress: Progress) -> None:
    """Install an npm package in the cache. Raises SetupError if npm is missing or fails."""
    npm = _find_client("npm", "npm")
    progress.step(f"fetching {program.version}")
    with install.staging(cache) as work:
        (work / "there").mkdir()
        # Scripts of packages aren't run, and the user's own npm folder is neither read nor changed.
        _run_client(program, [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund",
                              "--prefix",
                              work / "there", f"{program.package}@{program.version}"], cache,
                    cwd=work / "there")
        install.publish(work / "there", cache / "tools" / folder_of(program),
                        lambda folder: (folder / program.file).is_file())


def _install_with_pip(program: Program, cache: Path, progress: Progress) -> None:
    """Install a Python package in this virtual environment. Raises SetupError outside of a virtual
    environment, or if pip fails."""
    if sys.prefix == sys.base_prefix:
        raise SetupError("Python packages are installed only in a virtual environment, and this "
                         "Python is in none; in a checkout: make setup, then .venv/bin/flent-aqm "
                         f"setup --speedtests {program.setup_name}; else install flent-aqm in one")
    progress.step(f"fetching {program.version}")
    _run_client(program, [Path(sys.executable), "-m", "pip", "install", "--quiet",
                       "--disable-pip-version-check", f"{program.package}=={program.version}"],
                       cache)


def _install_with_apt(program: Program, cache: Path, progress: Progress) -> None:
    """Install a Debian package on this machine. Raises SetupError if the user isn't root, or if
    apt-get is missing or fails."""
    words = ["apt-get", "install", "--yes", "--no-install-recommends", program.package]
    if os.geteuid() != 0:
        raise SetupError(f"needs root; run: sudo {' '.join(words)}")
    progress.step("installing")
    _run_client(program, [_find_client("apt-get", "apt"), *words[1:],
                          "-o", f"DPkg::Lock::Timeout={APT_WAIT_S}"], cache,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


# Source of a program -> function that installs it.
FETCHERS: dict[str, Callable[[Program, Path, Progress], None]] = {
    DEBIAN: _install_with_apt, GO: _build_with_go, NPM: _install_with_npm, PYPI: _install_with_pip}


def _find_client(program: str, requirement: str) -> Path:
    """Return the path of a registry's client, such as go or npm. Its version isn't checked. Raises
    SetupError if it isn't on PATH.

    Args:
        program: name of the program.
        requirement: its name and version for the message, such as "Go 1.22 or newer".
    """
    path = find_program(program)
    if path is None:
        raise SetupError(f"needs {requirement}, but {program} is not on PATH; install it, or put "
                         "it on this user's PATH")
    return path


def _run_client(program: Program, words: list[str | Path], cache: Path, *, cwd: Path | None = None,
                env: dict[str, str] | None = None) -> None:
    """Run a registry's client, with its output in the log file CACHE/NAME-build.log. Raises
    SetupError, with the reason from its output, if it fails.

    Args:
        program: the program to install, for the log's name.
        words: the command.
        cache: the cache folder.
        cwd: working folder, by default the current one.
        env: all environment variables, by default the caller's.
    """
    log = cache / f"{program.setup_name}-build.log"
    try:
        run_watched(words, lambda line: None, cwd=cwd, env=env, log=log)
    except CommandFailed as error:
        raise SetupError(f"{_reason(error.stderr)[:200]} (the whole output: {log})") from None


def _reason(output: str) -> str:
    """Return the part of a registry's client's output that says why it failed: that pip could not
    reach its index, apt's errors, or the first of npm that isn't a code, or else the last line. "it
    printed nothing" for no output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    # pip goes on to say that the index, of which it has seen nothing, lacks the version.
    broken = re.search(r"connection broken by .*?(?:\[Errno -?\d+\] ([^'\")]+)|'(\w+))", output)
    if broken:
        return (f"the package index can't be reached ({broken[1] or broken[2]}); check the network "
                "and the proxy")
    return (errors_of_apt(output) or next(filter(_NPM_ERROR.match, lines), "")
            or (lines or ["it printed nothing"])[-1])
