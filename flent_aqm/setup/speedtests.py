# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests of others that set-up can fetch or build: each is optional, and pinned.

Packages come by the ordinary client of their registry, as the machine has it configured. What
is built goes into the cache once: CACHE/tools/NAME-VERSION, and programs into CACHE/bin.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.errors import AqmError, CommandFailed, ConfigError, SetupError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.shell import find_program
from flent_aqm.setup import install
from flent_aqm.setup.cloudflare_page import CLOUDFLARE_VERSION, FILE, find_cloudflare
from flent_aqm.setup.ndt7_makers import NDT7_JS_VERSION, find_mlab_client, find_ndt7_js
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.stream import run_watched
from flent_aqm.setup.tools import find_goresponsiveness, find_librespeed_cli, find_tool


@dataclass(frozen=True)
class Optional:
    """source: a kind of registry, of FETCHERS; package: its name there; version: the pinned
    one, "" where the system's release decides; program: what it brings, as found on PATH or
    in CACHE/bin, or the file that shows that it is there; maker, licence: for the docs."""

    source: str
    package: str
    version: str
    program: str
    maker: str
    licence: str


OPTIONAL: dict[str, Optional] = {
    "nuttcp": Optional("Debian", "nuttcp", "", "nuttcp", "Bill Fink, Rob Scott", "GPL-2.0"),
    "iperf2": Optional("Debian", "iperf", "", "iperf", "iperf2's authors", "BSD-3-Clause"),
    "browser": Optional("Debian", "chromium", "", "chromium", "the Chromium authors",
                        "BSD-3-Clause"),
    "goresponsiveness": Optional(
        "Go", "github.com/network-quality/goresponsiveness",
        "v0.0.0-20240129151524-343954285090", "goresponsiveness", "Network Quality", "GPL-2.0"),
    "librespeed-cli": Optional("Go", "github.com/librespeed/speedtest-cli", "v1.0.14",
                               "speedtest-cli", "LibreSpeed", "LGPL-3.0"),
    "ethr": Optional("Go", "github.com/microsoft/ethr", "v1.0.0", "ethr", "Microsoft", "MIT"),
    "ndt7-client-go": Optional(
        "Go", "github.com/m-lab/ndt7-client-go/cmd/ndt7-client", "v0.10.1",
        defaults.MLAB_NDT7_CLIENT, "M-Lab", "Apache-2.0"),
    "ndt-server": Optional("Go", "github.com/m-lab/ndt-server", "v0.25.0", "ndt-server", "M-Lab",
                           "Apache-2.0"),
    "ndt7-js": Optional("npm", "@m-lab/ndt7", NDT7_JS_VERSION,
                        "node_modules/@m-lab/ndt7/src/ndt7.js", "M-Lab", "Apache-2.0"),
    "cloudflare-speedtest": Optional("npm", "@cloudflare/speedtest", CLOUDFLARE_VERSION, FILE,
                                     "Cloudflare", "MIT"),
    "aioquic": Optional("PyPI", "aioquic", "1.7.2", "aioquic", "Jeremy Lainé", "BSD-3-Clause"),
    "aiortc": Optional("PyPI", "aiortc", "1.16.0", "aiortc", "Jeremy Lainé", "BSD-3-Clause"),
}


def set_up_speedtests(names: Iterable[str], cache: Path) -> list[str]:
    """Fetch or build those of these names that aren't there, all without a name. Gives the
    names of those that can't be had, each of which was told in a line.

    Under the cache's lock. Raises ConfigError for an unknown name.
    """
    chosen = check_names(names)
    without: list[str] = []
    for name in chosen:
        progress = Progress(name)
        if where(name) is not None:
            progress.finish("is there")
            continue
        try:
            FETCHERS[OPTIONAL[name].source](name, OPTIONAL[name], cache, progress)
            if where(name) is None:
                raise SetupError(f"{OPTIONAL[name].package} brought no {OPTIONAL[name].program}")
            progress.finish("is there now")
        except AqmError as error:
            progress.finish(f"skipped: {error}")
            without.append(name)
    return without


def check_names(names: Iterable[str]) -> list[str]:
    """Return the names, or all. Raises ConfigError for an unknown one."""
    chosen = list(dict.fromkeys(names)) or list(OPTIONAL)
    for name in chosen:
        if name not in OPTIONAL:
            raise ConfigError(f"--speedtests: unknown name {name!r}; known: "
                              f"{', '.join(OPTIONAL)}{did_you_mean(name, OPTIONAL)}")
    return chosen


def where(name: str) -> Path | None:
    """Return where one of OPTIONAL is, None if it isn't."""
    one = OPTIONAL[name]
    if one.source == "npm":
        return find_ndt7_js() if name == "ndt7-js" else find_cloudflare()
    if one.source == "PyPI":
        try:
            return Path(str(metadata.distribution(one.package).locate_file("")))
        except metadata.PackageNotFoundError:
            return None
    # Those with more than one name.
    finders = {"ndt7-client-go": find_mlab_client, "librespeed-cli": find_librespeed_cli,
               "goresponsiveness": find_goresponsiveness}
    return finders[name]() if name in finders else find_tool(one.program)


def folder_of(name: str) -> str:
    """Of CACHE/tools."""
    return f"{name}-{OPTIONAL[name].version}"


def _go(name: str, one: Optional, cache: Path, progress: Progress) -> None:
    go = _client("go", "Go 1.22 or newer")
    progress.step(f"building {one.version}")
    with install.staging(cache) as work:
        _run(name, [go, "install", f"{one.package}@{one.version}"], cache,
             env={**os.environ, "GOBIN": str(work / "bin")})
        built = [path for path in (work / "bin").iterdir() if path.is_file()]
        if len(built) != 1:
            raise SetupError(f"{one.package} brought {len(built)} programs; expected one")
        built[0].rename(work / "bin" / one.program)
        target = cache / "tools" / folder_of(name)
        install.publish(work / "bin", target)
    install.link(target / one.program, cache / "bin" / one.program)


def _npm(name: str, one: Optional, cache: Path, progress: Progress) -> None:
    npm = _client("npm", "npm")
    progress.step(f"fetching {one.version}")
    with install.staging(cache) as work:
        (work / "there").mkdir()
        # No script of a package runs, and nothing of the user's folder is read or changed.
        _run(name, [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
                    work / "there", f"{one.package}@{one.version}"], cache, cwd=work / "there")
        install.publish(work / "there", cache / "tools" / folder_of(name))


def _pip(name: str, one: Optional, cache: Path, progress: Progress) -> None:
    if sys.prefix == sys.base_prefix:
        raise SetupError("this Python is the system's; use a virtual environment (make setup)")
    progress.step(f"fetching {one.version}")
    _run(name, [Path(sys.executable), "-m", "pip", "install", "--quiet",
                "--disable-pip-version-check", f"{one.package}=={one.version}"], cache)


def _apt(name: str, one: Optional, cache: Path, progress: Progress) -> None:
    words = ["apt-get", "install", "--yes", "--no-install-recommends", one.package]
    if os.geteuid() != 0:
        raise SetupError(f"needs root; run: sudo {' '.join(words)}")
    progress.step("installing")
    _run(name, [_client("apt-get", "apt"), *words[1:]], cache,
         env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


FETCHERS: dict[str, Callable[[str, Optional, Path, Progress], None]] = {
    "Debian": _apt, "Go": _go, "npm": _npm, "PyPI": _pip}


def _client(program: str, what: str) -> Path:
    path = find_program(program)
    if path is None:
        raise SetupError(f"needs {what}, and there is no {program} on PATH")
    return path


def _run(name: str, words: list[str | Path], cache: Path, *, cwd: Path | None = None,
         env: dict[str, str] | None = None) -> None:
    """Run a registry's client. Raises SetupError with the last that it said."""
    log = cache / f"{name}-build.log"
    try:
        run_watched(words, lambda line: None, cwd=cwd, env=env, log=log)
    except CommandFailed as error:
        said = [line.strip() for line in error.stderr.splitlines() if line.strip()]
        raise SetupError(f"{(said or ['it said nothing'])[-1][:200]} (all of it: {log})") from None
