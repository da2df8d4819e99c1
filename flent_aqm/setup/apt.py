# SPDX-License-Identifier: GPL-3.0-or-later
"""Downloads Debian packages of newer releases without changing the machine's own apt.

apt runs with its own source list, package lists, state and cache in CACHE/apt, so it needs no root.
It verifies signatures by Debian's archive keyring as usual.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from pathlib import Path

from flent_aqm.base import environment
from flent_aqm.base.errors import CommandFailed, SetupError
from flent_aqm.base.shell import run
from flent_aqm.setup.progress import Progress

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Suites in which newer kernels and irtt appear for a stable system.
SUITES = ("trixie-backports", "forky")
# Environment variable with a mirror, for a machine whose own apt has no Debian source (Ubuntu).
URI_VARIABLE = environment.DEBIAN_URI

# apt's settings. The machine's own (proxies, certificates) stay in force, except for its sources,
# preferences and hooks. Index files that aren't needed here are left out.
_CONFIG = """\
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::State::lists "{folder}/lists";
Dir::Cache "{folder}/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


@dataclass(frozen=True)
class Package:
    """A package of Debian's archive in one version.

    Attributes:
        name: name of the binary package.
        version: Debian's version, such as "7.3.4-1".
    """

    name: str
    version: str


class DebianArchive:
    """Debian's archive, component main of the suites SUITES and of further ones, accessed through a
    folder of its own in the cache. With sources=True, it also has source packages. Its methods
    raise ToolMissing on a machine without apt, CommandFailed if a query of apt fails."""

    def __init__(self, cache: Path, folder: str = "apt",
                 more_suites: Sequence[str] = (), *, sources: bool = False) -> None:
        """Set up access to the archive. Nothing is read or written before the first query.

        Args:
            cache: the cache folder.
            folder: name of apt's folder in the cache.
            more_suites: names of suites in addition to SUITES.
            sources: True to read the index of source packages, too.
        """
        self._kinds = ("deb", "deb-src") if sources else ("deb",)
        self._folder = cache / folder
        self._suites = (*SUITES, *more_suites)
        self._config = self._folder / "apt.conf"
        self._updated = False

    def newest(self, name_pattern: str) -> Package:
        """Return the newest package whose name matches. Raises SetupError if there is none, or if
        the archive can't be read.

        name_pattern: regular expression for the whole name, of the form that versions() needs (no
        ^, no alternatives outside of parentheses).
        """
        return self.versions(name_pattern)[0]

    def versions(self, name_pattern: str) -> list[Package]:
        """Return all versions of all packages whose name matches, the newest first. Packages of the
        same version are in no fixed order.

        The archive's index is downloaded to the cache before the first query. If no package
        matches, it is downloaded again, only to tell an archive that can't be read from a package
        that is missing. Raises SetupError in both cases.

        name_pattern: regular expression for the whole name. It has to begin with text that all its
            matches begin with, followed by an escape, a set, a group or a dot, or nothing: no ^, no
            alternatives outside of parentheses, no optional character after that text.
        """
        self._update()
        prefix = re.split(r"[\\\[(.+*?]", name_pattern)[0]
        names = [name for name in self._query("pkgnames", prefix).split()
                 if re.fullmatch(name_pattern, name)]
        packages = []
        for line in self._query("madison", *names).splitlines() if names else ():
            name, version, origin = (word.strip() for word in line.split("|"))
            if origin.endswith(" Packages"):
                packages.append(Package(name, version))
        if not packages:
            # apt's usual update only warns if a server can't be reached.
            self._read_index("-o", "APT::Update::Error-Mode=any")
            # Without what makes it a pattern: N stands for a number.
            name = re.sub(r"\\(\W)", r"\1", name_pattern.replace(r"\d+", "N"))
            raise SetupError(f"no package {name} in Debian's suites {', '.join(self._suites)}; "
                             f"if {URI_VARIABLE} or apt names an incomplete mirror, use another")
        return sorted(set(packages), key=cmp_to_key(_compare_versions), reverse=True)

    def download(self, package: Package, folder: Path) -> Path:
        """Download and verify a package into a new folder, which belongs to the user _apt if this
        process is root. Return the path of the package's file. apt prints its progress on standard
        error. Raises SetupError if the archive can't be read or the package can't be downloaded,
        FileExistsError if the folder exists.

        folder: the folder to create, in an existing one.
        """
        self._update()
        folder.mkdir()
        if os.geteuid() == 0:
            # apt downloads as the user _apt.
            shutil.chown(folder, "_apt")
        # apt shows its own progress, on standard error: standard output may be data.
        argv = [*self._apt("apt-get"), "download", f"{package.name}={package.version}"]
        done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=sys.stderr.fileno(), check=False)
        files = list(folder.glob(f"{package.name}_*.deb"))
        if done.returncode or len(files) != 1:
            raise SetupError(f"{package.name} {package.version} could not be downloaded; see "
                             "apt's lines above, and run the same command again")
        return files[0]

    def download_source(self, name: str, version: str, folder: Path) -> Path:
        """Download and verify the original tarball of a source package into a new folder, which
        belongs to the user _apt if this process is root. Return the folder.

        It works only for an archive that was opened with sources=True. Raises SetupError if the
        archive can't be read, doesn't have this version's source (any more), or if the source can't
        be downloaded. Raises FileExistsError if the folder exists.

        Args:
            name: name of the source package.
            version: Debian's version.
            folder: the folder to create, in an existing one.
        """
        self._update()
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, "_apt")
        argv = [*self._apt("apt-get"), "-q", "--download-only", "--tar-only",
                "source", f"{name}={version}"]
        try:
            run(argv, cwd=folder, timeout_s=600)
        except CommandFailed as error:
            listed = [[word.strip() for word in line.split("|")]
                      for line in self._query("madison", name).splitlines()]
            there = [of for _, of, origin in listed if origin.endswith(" Sources")]
            if version not in there:
                raise SetupError(
                    f"Debian's suites have no source of {name} {version}, but of "
                    f"{', '.join(dict.fromkeys(there)) or 'no version'}; "
                    + (f"for a newer {name} run: flent-aqm setup --update" if there else
                       f"if {URI_VARIABLE} or apt names a mirror without sources, use another")
                    ) from None
            raise SetupError(f"the source of {name} {version} could not be downloaded: "
                             f"{errors_of_apt(error.stderr) or error}; run the same command again"
                             ) from None
        return folder

    def _update(self) -> None:
        """Write apt's settings and source list to the archive's folder, and download the index,
        unless an earlier call has done it. Progress is printed. Raises SetupError if the keyring is
        missing, this machine's apt names no archive of Debian, or the archive can't be read."""
        if self._updated:
            return
        for part in ("lists/partial", "state", "cache/archives/partial"):
            (self._folder / part).mkdir(parents=True, exist_ok=True)
        uri = archive_uri()
        if not KEYRING.is_file():
            raise SetupError(f"{KEYRING} is missing: install the package debian-archive-keyring")
        (self._folder / "status").touch()
        (self._folder / "sources.list").write_text("".join(
            f"{kind} [signed-by={KEYRING}] {uri} {suite} main\n"
            for suite in self._suites for kind in self._kinds))
        self._config.write_text(_CONFIG.format(folder=self._folder))
        Progress("Debian's archive").step(f"reading what {' and '.join(self._suites)} have")
        self._read_index()
        self._updated = True

    def _read_index(self, *options: str) -> None:
        """Let apt download the archive's index, with further `options` of apt-get. Raises
        SetupError if that fails."""
        try:
            run([*self._apt("apt-get"), "-q", *options, "update"], timeout_s=600)
        except CommandFailed as error:
            raise SetupError("Debian's archive could not be read: "
                             f"{errors_of_apt(error.stderr) or error}; if it can't be "
                             f"reached, check the network, or set {URI_VARIABLE} to the address of "
                             "another mirror") from None

    def _query(self, *words: str) -> str:
        """Run apt-cache with this archive's settings, and return its standard output. _update()
        must have been called. Raises CommandFailed if apt-cache fails, ToolMissing if it isn't
        there.

        words: arguments of apt-cache.
        """
        return run([*self._apt("apt-cache"), *words])

    def _apt(self, program: str) -> list[str]:
        """Return the beginning of a command of apt, as words: the program, and the option with the
        file of this archive's settings, which _update() writes. The caller adds the arguments.

        program: "apt-get" or "apt-cache".
        """
        return [program, "-c", str(self._config)]


def errors_of_apt(output: str) -> str:
    """Return the errors in an output of apt as one line, "" if there are none. The last one alone
    only says that something failed."""
    return "; ".join(line.strip() for line in output.splitlines() if line.startswith("E:"))


def archive_uri() -> str:
    """Return the URI of the Debian archive that this machine's apt uses.

    FLENT_AQM_DEBIAN_URI takes precedence, and isn't checked. If it isn't set, raises SetupError if
    none of the addresses from which apt has read an index of Debian's packages ends in /debian,
    ToolMissing without apt, and CommandFailed if apt fails.
    """
    uri_setting = os.environ.get(URI_VARIABLE)
    if uri_setting:
        return uri_setting
    listed = run(["apt-get", "indextargets", "--format", "$(REPO_URI)",
                  "Created-By: Packages", "Component: main", "Origin: Debian"])
    # Security updates and the like have addresses of their own, without the suites needed here.
    for uri in listed.split():
        if re.search(r"/debian/?$", uri):
            return uri
    raise SetupError("this machine's apt has read no index of Debian's archive from an address "
                     "that ends in /debian; run apt-get update, or, if apt has no such source, as "
                     "on Ubuntu or with a mirror of another address, set "
                     f"{URI_VARIABLE} to the address of a Debian mirror, and install "
                     "debian-archive-keyring")


def _compare_versions(first: Package, second: Package) -> int:
    """Return -1 if the version of `first` is older than that of `second` by dpkg's rules, 0 if both
    are the same text, otherwise 1."""
    if first.version == second.version:
        return 0
    try:
        run(["dpkg", "--compare-versions", first.version, "lt", second.version])
    except CommandFailed:
        return 1
    return -1
