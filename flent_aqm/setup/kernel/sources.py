# SPDX-License-Identifier: GPL-3.0-or-later
"""Unpacks the sources of a kernel: a Debian package, or a tree or git commit of the user.

Each source fills a kept tree (tree.py). When it fills the tree again, files that haven't changed
are not touched.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from flent_aqm.base.errors import CommandFailed, ConfigError, SetupError, why_unreadable
from flent_aqm.base.shell import NOT_FOUND, find_program, run, start_error
from flent_aqm.setup.apt import DebianArchive, Package
from flent_aqm.setup.kernel.recipe import KernelSource
from flent_aqm.setup.kernel.tree import NOTES
from flent_aqm.setup.progress import Progress

# Folders of drivers for devices that User-Mode Linux doesn't have.
_DRIVERS = (
    "accel", "acpi", "ata", "clk", "comedi", "crypto", "dma", "gpio", "gpu", "hid", "hwmon", "i2c",
    "iio", "infiniband", "input", "iommu", "media", "mfd", "mmc", "mtd", "net/ethernet",
    "net/wireless", "phy", "pinctrl", "platform", "power", "regulator", "rtc", "s390", "scsi",
    "soc", "spi", "staging", "usb", "video")
# Files for other machines, and documents: three quarters of the unpacked source. Kconfig files and
# Makefiles are unpacked.
NOT_UNPACKED = (
    "*.rst", "*.dts", "*.dtsi", "*.yaml", "*/tools/testing/*", "*/tools/perf/*", "*/rust/*.rs",
    "*/arch/[!ux]*/*.[chS]", "*/sound/*.[ch]", *(f"*/drivers/{name}/*.[ch]" for name in _DRIVERS))
# Pathspecs of git that exclude products of a build.
_NO_OBJECTS = (":!*.o", ":!*.a", ":!*.ko", ":!*.cmd")
# Folder of the kernel's sources that packages install.
INSTALLED = Path("/usr/src")
# A package with a kernel's source.
_PACKAGE = re.compile(r"linux-source-\d+\.\d+")


class Origin(Protocol):
    """Protocol of the classes that provide a kernel's source.

    Attributes:
        source: name and version of the source for the recipe.
        series: series of the kernel, such as "6.12". "" if unknown.
        folder: name of the folder in CACHE/trees in which the tree is kept.
    """

    source: KernelSource
    series: str
    folder: str

    def fill(self, tree: Path, scratch: Path, progress: Progress) -> None:
        """Write the source to a tree that is new and empty, and make the folder NOTES in it. In a
        tree that is kept from an earlier build, which has that folder, at most change the files
        that differ from the source.

        Args:
            tree: folder of the tree.
            scratch: folder for unfinished work.
            progress: prints the steps.

        Raises SetupError if the source can't be downloaded or unpacked, ToolMissing if a program
        for that isn't installed, CommandFailed if apt can't tell the archive's address.
        """
        ...


class DebianOrigin:
    """A Debian source package of the kernel. fill() downloads it to CACHE/debs if it isn't there.

    Args:
        cache: the cache folder.
        archive: Debian's archive, which is used only if CACHE/debs lacks the package.
        source: name and version of the package.

    Attributes:
        source, series, folder: as Origin has them.
    """

    def __init__(self, cache: Path, archive: DebianArchive, source: KernelSource) -> None:
        self._cache, self._archive, self.source = cache, archive, source
        self.series = source.package.removeprefix("linux-source-")
        self.folder = self.folder_of(source)

    @staticmethod
    def folder_of(source: KernelSource) -> str:
        """Return the name of the folder in which the source's tree is kept, such as
        "linux-source-7.3_7.3.4-1". A colon in the version becomes a hyphen."""
        return f"{source.package}_{source.version}".replace(":", "-")

    def fill(self, tree: Path, scratch: Path, progress: Progress) -> None:
        """Unpack the package into a new tree, after downloading it if the cache doesn't have it. A
        kept tree stays as it is, because a version never changes.

        Raises SetupError if the package can't be downloaded or unpacked, ToolMissing if a program
        for that isn't installed, CommandFailed if apt can't tell the archive's address. A package
        that can't be unpacked is removed from the cache, even if only the disk was full.
        """
        if (tree / NOTES).is_dir():
            return
        source = self.source
        deb = cached_archive(self._cache, source)
        if deb is None:
            progress.step(f"downloading {source.package} {source.version} (about 165 MB)")
            deb = _download(self._cache, self._archive, source, scratch / "download")
        progress.step(f"unpacking {source.package} {source.version}")
        # The tarball is piped out of the package, without a copy on disk.
        if not _unpack([["dpkg-deb", "--fsys-tarfile", str(deb)],
                        ["tar", "-xO", f".{INSTALLED}/{source.package}.tar.xz"],
                        ["xz", "-dc", "-T0"]], tree):
            deb.unlink(missing_ok=True)
            raise SetupError(f"{deb.name} could not be unpacked, see the lines above: is it "
                             "damaged, or the disk full? It was removed; run the same command "
                             "again")
        (tree / NOTES).mkdir()


class InstalledOrigin:
    """A Debian source package of the kernel that dpkg has installed. It is used when a Debian
    package of flent-aqm is built.

    Attributes:
        source, series, folder: as Origin has them.
    """

    def __init__(self, package: str, folder: Path = INSTALLED) -> None:
        """Find the installed package.

        Args:
            package: name such as "linux-source-7.3".
            folder: folder of its tarball.

        Raises SetupError if it isn't installed.
        """
        self._tarball = folder / f"{package}.tar.xz"
        try:
            version = run(["dpkg-query", "-W", "-f", "${Version}", package]).strip()
        except CommandFailed:
            version = ""
        if not version or not self._tarball.is_file():
            raise SetupError(f"the package {package} is not installed, or lacks {self._tarball}; "
                             f"install it: apt-get install --reinstall {package}")
        self.source = KernelSource(package, version)
        self.series = package.removeprefix("linux-source-")
        self.folder = DebianOrigin.folder_of(self.source)

    def fill(self, tree: Path, scratch: Path, progress: Progress) -> None:
        """Unpack the package into a new tree, an existing empty folder, and make the folder NOTES
        in it. A kept tree, which has that folder, stays as it is. `scratch` is not used. Raises
        SetupError if the tarball can't be unpacked, ToolMissing if a program for that isn't
        installed."""
        if (tree / NOTES).is_dir():
            return
        progress.step(f"unpacking {self._tarball}")
        if not _unpack([["xz", "-dc", "-T0", str(self._tarball)]], tree):
            raise SetupError(f"{self._tarball} could not be unpacked, see the lines above: is it "
                             "damaged, or the disk full?")
        (tree / NOTES).mkdir()


class GitTree:
    """Source of a kernel that was built before from a git commit or working tree. It fills a tree
    with the source's files again, and finds what changed since an older one. It reads set-up's own
    git repository, CACHE/trees/FOLDER.git, which is beside CACHE/trees/FOLDER in which the kernel
    was compiled. Files that the user's repository has are read from there, so git fails if that is
    gone.

    Attributes:
        source, series, folder: as Origin has them.
        tree_id: git's name of the tree object.
    """

    def __init__(self, trees: Path, folder: str, tree_id: str, series: str = "") -> None:
        """Refer to a tree.

        Args:
            trees: folder of the kept trees.
            folder: name of the kept tree.
            tree_id: git's name of the tree object.
            series: series of the kernel, such as 6.12.
        """
        self.folder, self.tree_id, self.series = folder, tree_id, series
        self.source = KernelSource("git", tree_id)
        self._own = trees / f"{folder}.git"
        self._top = self._own

    def fill(self, tree: Path, scratch: Path, progress: Progress) -> None:
        """Make the files of a tree, an existing folder, those of the commit or working tree: other
        contents are overwritten, and files that the last fill wrote but this source lacks are
        removed. Files that are the same, and products of a build, aren't touched. `scratch` is not
        used. Raises SetupError if git fails, ToolMissing if it isn't installed."""
        fresh = not (tree / NOTES).is_dir()
        progress.step(f"{'copying' if fresh else 'updating'} the source")
        (tree / NOTES).mkdir(exist_ok=True)
        env = {"GIT_INDEX_FILE": str(tree / NOTES / "index"), "GIT_WORK_TREE": str(tree)}
        if not fresh:
            self._git("update-index", "-q", "--refresh", env=env, status_matters=False)
        self._git("read-tree", "--reset", "-u", self.tree_id, env=env)

    def changed_since(self, older: str) -> dict[str, tuple[bytes | None, bytes | None]]:
        """Return path -> (content then, content now) of each C file and header that differs from an
        older tree of this repository. A content is None if the tree doesn't have the file, if it is
        empty, or if git can't read it. In the contents, bytes that aren't UTF-8 are replaced, and
        all line ends are \\n.

        older: git's name of the older tree.

        Raises SetupError if the older tree is gone, or if git can't compare the trees.
        """
        # Without -z, git quotes names that aren't ASCII.
        names = self._git("diff", "-z", "--name-only", "--no-renames", "--diff-filter=AMD",
                          older, self.tree_id, "--", "*.c", "*.h").split("\0")
        return {name: (self._content(older, name), self._content(self.tree_id, name))
                for name in names if name}

    def _content(self, tree_id: str, name: str) -> bytes | None:
        """Return the content of a file in a tree, None if the tree doesn't have the file, if it is
        empty, or if git fails. Bytes that aren't UTF-8 are replaced, and all line ends are \\n.

        Args:
            tree_id: git's name of the tree.
            name: path of the file.
        """
        return self._git("show", f"{tree_id}:{name}", status_matters=False).encode() or None

    def _git(self, *words: str, env: dict[str, str] | None = None,
             status_matters: bool = True) -> str:
        """Run git on set-up's repository and return its output. Variables GIT_… of the caller are
        left out. Raises SetupError if git fails, ToolMissing if it isn't installed.

        Args:
            words: arguments of git.
            env: further environment variables, None for none. If given, they must have
                GIT_WORK_TREE, the folder in which git then runs.
            status_matters: False to return "" if git fails.
        """
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            return run(["git", *words], env={**clean, "GIT_DIR": str(self._own), **(env or {})},
                       timeout_s=900, cwd=Path(env["GIT_WORK_TREE"]) if env else None)
        except CommandFailed as error:
            if not status_matters:
                return ""
            raise SetupError(f"git failed on the source {self._top}: {error}{self._gone()}"
                             ) from None

    def _gone(self) -> str:
        """Return a clause, which begins with "; ", that names the user's repository, from which
        files are read, if it is gone. "" if it is there or isn't known."""
        note = self._own / "objects" / "info" / "alternates"
        objects = Path(note.read_text().strip()) if note.is_file() else None
        return "" if objects is None or objects.is_dir() else (
            f"; the repository {objects.parent} is gone, from which its files are read: put it "
            "back, or build the kernel again from another --source")


class GitOrigin(GitTree):
    """A git commit, or the current working tree, of a repository on this machine. It may also be a
    folder with a kernel's source that isn't the top of a repository.

    The user's repository isn't changed. All that git has to write is in set-up's own repository,
    which reads what the user's repository has from there.

    Attributes:
        source, series, folder, tree_id: as GitTree has them.
        commit: full hash of the commit, "" for a working tree or folder.
    """

    def __init__(self, trees: Path, top: Path, ref: str | None) -> None:
        """Read the commit or the working tree. Its objects are written to set-up's own repository.

        Args:
            trees: folder of the kept trees.
            top: the folder or repository.
            ref: name of the commit, None for the working tree.

        Raises ConfigError if git is missing, the folder or the commit has no Kconfig, or there is
        no such repository or commit. Raises SetupError if git fails, CommandFailed if set-up's own
        repository can't be made.
        """
        self._top = top.resolve()
        if not find_program("git"):
            raise ConfigError("--source: a folder or repository needs git, which is "
                              f"{NOT_FOUND}")
        if not (self._top / "Kconfig").is_file() and ref is None:
            raise ConfigError(f"--source: {top} has no Kconfig; expected the top folder of a "
                              "kernel's source, or REPOSITORY@REF for a commit")
        self.folder = "git-" + hashlib.sha256(os.fsencode(self._top)).hexdigest()[:12]
        self._own = trees / f"{self.folder}.git"
        repository = self._repository()
        if ref is not None and repository is None:
            raise ConfigError(f"--source: {top} can't be read as a git repository, to find the "
                              f"commit {ref!r}: {self._why_no_repository()}")
        if not self._own.is_dir():
            self._own.parent.mkdir(parents=True, exist_ok=True)
            run(["git", "init", "--quiet", "--bare", self._own])
        if repository is not None:
            # git reads objects from the user's repository, and writes new ones to this one.
            (self._own / "objects" / "info" / "alternates").write_text(
                f"{repository / 'objects'}\n")
        self.commit = "" if ref is None else commit_of("--source", top, ref)
        self.tree_id = self._find_tree_id(repository)
        if ref is not None and self._content(self.tree_id, "Kconfig") is None:
            raise ConfigError(f"--source: the commit {ref!r} of {top} has no Kconfig; expected a "
                              "commit of a repository of the Linux kernel")
        self.source = KernelSource("git", self.tree_id)
        self.series = self._read_series()

    def _repository(self) -> Path | None:
        """Return the path of the user's git repository: its .git folder (for a further working
        tree, that of the main one), or a bare repository itself. None if the folder is in no
        repository or below the top of a working tree, or if git can't read the repository."""
        try:
            folders = run(["git", "-C", self._top, "rev-parse", "--show-toplevel",
                           "--git-common-dir"]).splitlines()
        except CommandFailed:
            try:  # a bare repository
                bare = run(["git", "-C", self._top, "rev-parse", "--git-common-dir"]).strip()
            except CommandFailed:
                return None
            return (self._top / bare).resolve()
        # A folder inside another project's repository doesn't count as that repository.
        return (self._top / folders[1]).resolve() if Path(folders[0]) == self._top else None

    def _why_no_repository(self) -> str:
        """Return the reason why _repository() returned None, as the end of a message: the top
        folder of the repository in which the folder is, or git's error."""
        try:
            top = run(["git", "-C", self._top, "rev-parse", "--show-toplevel"]).strip()
        except CommandFailed as error:
            return " ".join(error.stderr.split())
        return f"the top folder of its repository is {top}; give that"

    def _find_tree_id(self, repository: Path | None) -> str:
        """Return git's name of the tree object: the commit's, or that of the current files, which
        are added to set-up's repository. Files that a .gitignore names are left out, but if Kconfig
        is one of them, all files except objects are added. Raises SetupError if git fails.

        repository: path of the user's git repository, None if there is none.
        """
        if self.commit:
            return self._git("rev-parse", f"{self.commit}^{{tree}}").strip()
        env = {"GIT_INDEX_FILE": str(self._own / "worktree-index"),
               "GIT_WORK_TREE": str(self._top)}
        # Debian's source packages have a .gitignore that leaves out everything. That can't be seen
        # from the index, which has the files of an earlier call.
        leaves_out_all = self._git("check-ignore", "--no-index", "Kconfig", env=env,
                                   status_matters=False)
        self._git("add", "--all", *(("--force", ".", *_NO_OBJECTS) if leaves_out_all else (".",)),
                  env=env)
        return self._git("write-tree", env=env).strip()

    def _read_series(self) -> str:
        """Return the series by the top Makefile, such as "6.12". "" if there is none, or it isn't
        Linux's."""
        try:
            makefile = self._git("show", f"{self.tree_id}:Makefile")
        except SetupError:
            return ""
        match = re.match(r"(?s).*?^VERSION = (\d+)$.*?^PATCHLEVEL = (\d+)$", makefile, re.MULTILINE)
        return f"{match[1]}.{match[2]}" if match else ""


def commit_of(option: str, repository: Path, ref: str) -> str:
    """Return the full hash of a commit. Raises ConfigError if there is no such commit, or if a
    short hash is the beginning of several, ToolMissing if git isn't installed.

    Args:
        option: the command's option that names the commit, such as "--source", for messages.
        repository: path of the repository.
        ref: any name of the commit, such as a hash, tag or branch.
    """
    try:
        return run(["git", "-C", repository, "rev-parse", "--verify", "--quiet",
                    "--end-of-options", f"{ref}^{{commit}}"]).strip()
    except CommandFailed:
        # git refuses less than four digits, and tells other objects, too.
        found = run(["git", "-C", repository, "rev-parse", f"--disambiguate={ref}"]
                    ) if re.fullmatch("[0-9a-f]{4,}", ref) else ""
        if run(["git", "-C", repository, "cat-file", "--batch-check=%(objecttype)"],
               stdin=found.encode()).count("commit") > 1:
            raise ConfigError(f"{option}: several commits of {repository} begin with {ref!r}; "
                              "give more digits") from None
        raise ConfigError(f"{option}: {repository} has no commit {ref!r}; give a hash, branch or "
                          "tag that it has, or fetch it there") from None


def parse_origin(text: str, cache: Path, archive: DebianArchive) -> Origin:
    """Return the source for a value of the option --source. The archive's index is read for a
    package. For a folder or commit, set-up's own git repository is made in CACHE/trees, and a
    folder's files are read into it.

    Args:
        text: linux-source-X.Y for Debian's newest version, linux-source-X.Y=VERSION, a folder, or
            REPOSITORY@REF.
        cache: the cache folder.
        archive: Debian's archive.

    Raises ConfigError for any other value, for a folder or commit without Kconfig, for a package or
    version that Debian doesn't have, for a commit that the repository doesn't have, or if git isn't
    installed. Raises SetupError if the archive can't be read or has no kernel's source, or if git
    fails. Raises ToolMissing for a package of Debian without apt, CommandFailed if apt fails or
    set-up's own git repository can't be made.
    """
    package, _, version = text.partition("=")
    if _PACKAGE.fullmatch(package):
        found = archive.versions(_PACKAGE.pattern)
        versions = [one.version for one in found if one.name == package]
        if not versions:
            raise ConfigError(f"--source: Debian's suites have no {package}; they have "
                              f"{', '.join(dict.fromkeys(one.name for one in found))}")
        if version and version not in versions:
            raise ConfigError(f"--source: Debian's suites have no {package} {version}; they have "
                              f"{', '.join(versions)}")
        return DebianOrigin(cache, archive, KernelSource(package, version or versions[0]))
    folder, ref = _split_at_ref(text)
    if ref and not os.path.isdir(folder):
        raise ConfigError(f"--source: {text!r}: {folder!r}: {why_unreadable(Path(folder))}; "
                          "REPOSITORY@REF takes the path of a git repository on this machine that "
                          "this user may read: clone it first, if there is none")
    if not os.path.isdir(folder):
        why = why_unreadable(Path(folder))
        seen = "" if why == os.strerror(errno.ENOENT) else f" (as a path: {why})"
        raise ConfigError(f"--source: {text!r} is neither a package such as linux-source-6.18 nor "
                          f"a folder with a kernel's source{seen}, nor REPOSITORY@REF; give one of "
                          "these, an archive unpacked")
    return GitOrigin(cache / "trees", Path(folder), ref or None)


def absolute_source(text: str) -> str:
    """Return a value of the option --source that means the same in any folder: paths are absolute,
    packages stay."""
    if _PACKAGE.fullmatch(text.partition("=")[0]):
        return text
    folder, ref = _split_at_ref(text)
    return f"{Path(folder).absolute()}{'@' if ref else ''}{ref}"


def _split_at_ref(text: str) -> tuple[str, str]:
    """Return folder and ref of a text FOLDER or REPOSITORY@REF, which is split at its last @. The
    ref is "" if there is no @, or if the whole text is the path of an existing folder."""
    folder, at, ref = text.rpartition("@")
    return (text, "") if os.path.isdir(text) or not at else (folder, ref)


def cached_archive(cache: Path, source: KernelSource) -> Path | None:
    """Return the path of a source's downloaded package, None if it isn't in the cache."""
    return next((cache / "debs").glob(f"{source.package}_{source.version}_*.deb"), None)


def _download(cache: Path, archive: DebianArchive, source: KernelSource, folder: Path) -> Path:
    """Download a package to CACHE/debs, and then remove other versions of it there. Return the path
    of its file. Raises SetupError if it can't be downloaded, ToolMissing without apt, CommandFailed
    if apt fails otherwise, FileExistsError if `folder` exists.

    folder: folder to create for the download, on the cache's file system.
    """
    fresh = archive.download(Package(source.package, source.version), folder)
    deb = cache / "debs" / fresh.name
    deb.parent.mkdir(exist_ok=True)
    for older in deb.parent.glob(f"{source.package}_*.deb"):
        older.unlink()
    return fresh.replace(deb)


def _unpack(stages: Sequence[list[str]], tree: Path) -> bool:
    """Unpack a tar archive into a folder, without the files of NOT_UNPACKED and the archive's top
    folder. Return whether all programs succeeded. If not, a part of it may be in the folder. Raises
    ToolMissing if a program isn't installed or can't be started, OSError if this machine can't
    start any.

    Args:
        stages: commands of a pipe, whose last writes the archive, not compressed, to its standard
            output.
        tree: the existing folder.
    """
    exclude = [f"--exclude={pattern}" for pattern in NOT_UNPACKED]
    last = ["tar", "-x", "--strip-components=1", *exclude, "-C", str(tree)]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for argv in (*stages, last):
            source_of_input = processes[-1].stdout if processes else subprocess.DEVNULL
            try:
                processes.append(subprocess.Popen(
                    argv, stdin=source_of_input,
                    stdout=subprocess.DEVNULL if argv is last else subprocess.PIPE))
            except OSError as error:
                raise start_error(error, argv, None, None) from None
            if len(processes) > 1:
                # Close our end of the pipe, so that a program notices when its reader ends.
                previous = processes[-2].stdout
                assert previous is not None
                previous.close()
        codes = [processes[-1].wait()]
        codes += [process.wait() for process in processes[:-1]]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()
    return not any(codes)
