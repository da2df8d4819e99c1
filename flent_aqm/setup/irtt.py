# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs an irtt that was built with Go 1.22 or newer.

Older versions of Go seed their scheduler from the processor's cycle counter, which isn't virtual in
the lab. Runs with such an irtt (Debian 12's) never repeat. Debian forky's program is statically
linked, so it also runs on older systems.
"""

from __future__ import annotations

from pathlib import Path

from flent_aqm.base.errors import SetupError
from flent_aqm.base.shell import find_program
from flent_aqm.setup import debs, install
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.versions import version_of, why_no_version

OLDEST_GO = (1, 22)
# What a user can do if Debian's can't be used.
_BY_HAND = "build irtt yourself with Go 1.22 or newer, and put it on PATH"


def set_up_irtt(cache: Path, archive: DebianArchive, *, update: bool = False) -> None:
    """Install Debian forky's irtt in the cache, unless a suitable irtt exists and `update` is
    false. Print the progress. The caller holds the cache's lock.

    update: True to install the newest version in any case.

    Raises SetupError if it can't be downloaded, isn't in its package, doesn't run on this machine
    or was built with an old Go. Raises ToolMissing without apt or dpkg-deb, CommandFailed if one of
    them fails.
    """
    if irtt_is_there() and not update:
        return
    progress = Progress("irtt")
    package = archive.newest("irtt")
    with install.staging(cache) as work:
        deb = archive.download(package, work / "download")
        result = work / "result"
        result.mkdir()
        debs.unpack([deb], work / "x", papers=result)
        program = work / "x" / "usr" / "bin" / "irtt"
        if not program.is_file():
            raise SetupError(f"Debian's package irtt {package.version} has no usr/bin/irtt; "
                             f"{_BY_HAND}")
        program.rename(result / "irtt")
        # Check that it runs on this machine.
        go = go_version(result / "irtt")
        if not is_fit(result / "irtt"):
            fault = (f"was built with Go {go[0]}.{go[1]}, older than 1.22" if any(go)
                     else f"can't be used: {why_no_version([result / 'irtt', 'version'])}")
            raise SetupError(f"Debian's irtt {package.version} {fault}; {_BY_HAND}")
        target = cache / "tools" / f"irtt-{package.version}"
        install.publish(result, target, lambda folder: is_fit(folder / "irtt"))
    install.link(target / "irtt", cache / "bin" / "irtt")
    progress.finish(f"version {package.version}, Go {go[0]}.{go[1]}, fetched")


def irtt_is_there() -> bool:
    """Return whether the irtt that runs use is suitable by is_fit(). It is that of the first cache
    that has one, otherwise the system's."""
    path = install.find_tool_link("irtt") or find_program("irtt")
    return path is not None and is_fit(path)


def is_fit(program: Path) -> bool:
    """Return whether an irtt can be started and was built with Go 1.22 or newer, with which runs
    repeat."""
    return go_version(program) >= OLDEST_GO


def go_version(program: Path) -> tuple[int, int]:
    """Start an irtt, and return the major and minor version of the Go that built it. (0, 0) if it
    doesn't run or prints no such version."""
    return version_of([program, "version"], r"go version: go(\d+)\.(\d+)")
