# SPDX-License-Identifier: GPL-3.0-or-later
"""irtt, built with Go 1.22 or newer.

Older Go seeds its scheduler from the processor's cycle counter, which virtual time doesn't
cover: runs with such an irtt (Debian 12's) are never the same twice. Debian forky's
program is linked statically and runs on older systems too.
"""

from __future__ import annotations

from pathlib import Path

from flent_aqm.base.errors import SetupError
from flent_aqm.base.shell import find_program
from flent_aqm.setup import debs, install
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.versions import version_of

OLDEST_GO = (1, 22)


def set_up_irtt(cache: Path, archive: DebianArchive, *, update: bool = False) -> None:
    """See to it that a fit irtt is found. Under the cache's lock."""
    if irtt_is_there() and not update:
        return
    progress = Progress("irtt")
    package = archive.newest("irtt")
    with install.staging(cache) as work:
        deb = archive.download(package, work / "download")
        result = work / "result"
        result.mkdir()
        debs.unpack([deb], work / "x", papers=result)
        (work / "x" / "usr" / "bin" / "irtt").rename(result / "irtt")
        # proves that it runs here, before anything uses it
        go = go_version(result / "irtt")
        if not is_fit(result / "irtt"):
            raise SetupError(f"irtt {package.version} doesn't run here or was built with Go "
                             f"{go[0]}.{go[1]}; 1.22 is the oldest that fits")
        target = cache / "tools" / f"irtt-{package.version}"
        install.publish(result, target, lambda folder: is_fit(folder / "irtt"))
    install.link(target / "irtt", cache / "bin" / "irtt")
    progress.finish(f"version {package.version}, Go {go[0]}.{go[1]}, fetched")


def irtt_is_there() -> bool:
    """Return whether the one that runs take, of a cache or else of the system, is fit."""
    path = install.find_tool_link("irtt") or find_program("irtt")
    return path is not None and is_fit(path)


def is_fit(program: Path) -> bool:
    """Return whether it starts, and runs with it can be repeated."""
    return go_version(program) >= OLDEST_GO


def go_version(program: Path) -> tuple[int, int]:
    """Major and minor version of the Go that built an irtt; (0, 0) if it doesn't say."""
    return version_of([program, "version"], r"go version: go(\d+)\.(\d+)")
