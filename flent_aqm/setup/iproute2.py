# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs a tc that knows DualPI2: iproute2 6.18 or newer.

It is Debian forky's, with its own C library, because it doesn't run with older ones. It is in
CACHE/new-tc, not in CACHE/bin, so only runs that need it have it on PATH.
"""

from __future__ import annotations

from pathlib import Path

from flent_aqm.base.errors import SetupError
from flent_aqm.base.paths import find_cached
from flent_aqm.base.shell import find_program
from flent_aqm.setup import debs, install
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.versions import version_of, why_no_version
from flent_aqm.setup.whole_program import is_whole

# Oldest version of iproute2 that knows DualPI2.
OLDEST = (6, 18)
# Packages with tc and the libraries that it is linked with.
_PACKAGES = ("iproute2", "libc6", "libbpf1", "libelf1t64", "libmnl0", "libcap2", "libxtables12",
             "zlib1g", "libzstd1")
_LOADER = "ld-linux-x86-64.so.2"
_WRAPPER = f"""\
#!/bin/sh
# A newer tc with the C library that it was built for.
folder=$(readlink -f "$0")
folder=${{folder%/*}}
exec "$folder/lib/{_LOADER}" --library-path "$folder/lib" "$folder/lib/tc" "$@"
"""


def set_up_new_tc(cache: Path, archive: DebianArchive, *, update: bool = False) -> None:
    """Install tc from iproute2 6.18 or newer in the cache, unless a suitable tc exists and `update`
    is false. Print the progress. The caller holds the cache's lock.

    update: True to install the newest version in any case.

    Raises SetupError if it can't be downloaded, isn't in its package, doesn't run on this machine
    or is too old. Raises ToolMissing without apt or dpkg-deb, CommandFailed if one of them fails.
    """
    if new_tc_is_there() and not update:
        return
    progress = Progress("tc")
    with install.staging(cache) as work:
        packages = [archive.newest(name) for name in _PACKAGES]
        result = work / "result"
        (result / "lib").mkdir(parents=True)
        debs.unpack([archive.download(package, work / package.name) for package in packages],
                    work / "x", papers=result)
        for library in (work / "x").rglob("*.so*"):
            # The target of a link is in the same folder. Folders of plug-ins aren't needed.
            if library.parent.name == "x86_64-linux-gnu":
                library.rename(result / "lib" / library.name)
        program = next((work / "x").rglob("sbin/tc"), None)
        if program is None:
            raise SetupError(f"Debian's package iproute2 {packages[0].version} has no sbin/tc; "
                             "install iproute2 6.18 or newer yourself, with its tc on PATH")
        program.rename(result / "lib" / "tc")
        wrapper = result / "tc"
        wrapper.write_text(_WRAPPER)
        wrapper.chmod(0o755)
        # Check that it runs on this machine.
        version = tc_version(wrapper)
        if version < OLDEST:
            fault = (f"is of iproute2 {version[0]}.{version[1]}, older than 6.18" if any(version)
                     else f"can't be used: {why_no_version([wrapper, '-V'])}")
            raise SetupError(f"tc of Debian's package iproute2 {packages[0].version} {fault}; "
                             "install iproute2 6.18 or newer yourself, with its tc on PATH")
        target = cache / "tools" / f"iproute2-{packages[0].version}"
        install.publish(result, target, lambda folder: _is_whole_tc(folder / "tc"))
    install.link(target / "tc", cache / "new-tc" / "tc")
    progress.finish(f"version {packages[0].version}, fetched")


def new_tc_is_there() -> bool:
    """Return whether find_new_tc() finds a suitable tc."""
    return find_new_tc() is not None


def find_new_tc() -> Path | None:
    """Return the path of the tc for runs with DualPI2: that in the first cache that has one, if it
    is undamaged, otherwise the system's, if it runs and is of iproute2 6.18 or newer. Otherwise
    None."""
    cached = find_cached("new-tc", "tc")
    if cached is not None and _is_whole_tc(cached.resolve()):
        return cached
    system = find_program("tc")
    return system if system is not None and tc_version(system) >= OLDEST else None


def _is_whole_tc(wrapper: Path) -> bool:
    """Return whether both files of a tc in the cache are complete: the script, and the program
    lib/tc beside it, which it starts.

    wrapper: path of the script itself, not of a link to it.
    """
    return is_whole(wrapper) and is_whole(wrapper.parent / "lib" / "tc")


def tc_version(program: Path) -> tuple[int, int]:
    """Start a tc, and return the major and minor version of iproute2 that it prints. (0, 0) if it
    doesn't run or prints no such version."""
    return version_of([program, "-V"], r"iproute2-(\d+)\.(\d+)")
