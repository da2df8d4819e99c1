# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps kernel sources with their objects, so that a build compiles only what changed.

Each file is saved before its first change, and restored before the next build makes its own
changes. make compares the files' times. So a file that gets the content of the last build again
also gets the time of the last build again.

    TREE/.flent-aqm/before/PATH   original of a changed file, a link if that is one
    TREE/.flent-aqm/absent/PATH   the source has no such file
    TREE/.flent-aqm/times.json    path -> hash of the content and time at the last build
    TREE/.flent-aqm/compiling     exists while make runs; if make was killed, its products are
        suspect
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from flent_aqm.base.errors import SetupError
from flent_aqm.base.json_text import json_text
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.whole_file import write_text, written_whole

# Folder of these notes in a tree.
NOTES = ".flent-aqm"
# Names of files that are sources.
_SOURCE = re.compile(r"(^|/)(Kbuild|Makefile[^/]*|Kconfig[^/]*|[^/.][^/]*\.([chS]|in|sh))$")
# Products of a build below arch/um whose names look like sources.
_GENERATED = ("include/generated/", "kernel/config.c", "kernel/capflags.c")
# Suffixes of files that make considers finished if they exist.
_PRODUCTS = (".o", ".a", ".cmd", ".gch")
# Lines of a patch that name a file.
_PATCHED = re.compile(rb"^(?:--- |\+\+\+ |rename (?:from|to) |copy to )([^\t\n]+)", re.MULTILINE)


def files_of(patch: bytes) -> list[str]:
    """Return the paths of the files that a patch changes, creates or deletes, by its lines --- and
    +++, and those of renames and copies: each path as it stands, such as a/FILE and b/FILE, and
    without its first folder. A byte that isn't UTF-8 is a lone surrogate. No path is repeated.
    Files of which a patch only changes the mode, or a binary content, are missing. Empty if the
    text has no such lines, as one that is no patch."""
    names: dict[str, None] = {}
    for name in _PATCHED.findall(patch):
        text = name.decode("utf-8", "surrogateescape").strip()
        if text != "/dev/null":
            # Names have a/ or b/ before the path, except in "rename from" and the like.
            for one in (text, text.partition("/")[2]):
                names[one] = None
    return [name for name in names if name]


class KernelTree:
    """A kept source, whose files can be changed and restored. Use it only while holding the tree's
    lock (install.held()).

    Attributes:
        path: folder of the source.
        changed: path relative to the tree -> content before its first change since watch(), None if
            there was no such file. Has each name that was passed to keep() since then, for a patch
            also such as a/FILE. Empty before watch().
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before = path / NOTES / "before"
        self._absent = path / NOTES / "absent"
        self._times = path / NOTES / "times.json"
        self._compiling = path / NOTES / "compiling"
        self.changed: dict[str, bytes | None] = {}
        self._watches = False

    def watch(self) -> None:
        """Begin to record in `changed`, emptied before, the content that each file has before its
        first change from now on. Only files that are passed to keep() are recorded, which write(),
        append() and backport() do themselves."""
        self.changed, self._watches = {}, True

    def keep(self, names: Iterable[str]) -> None:
        """Save files that are going to be changed, deleted or created, unless they are saved
        already. Of a file that doesn't exist, note that it is absent. After watch(), also record
        their content in `changed`. Raises SetupError for an absolute path or one with "..", after
        saving the files before it.

        names: paths relative to the tree.
        """
        for name in names:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise SetupError(f"{name!r} is not a path in the kernel's source; expected one "
                                 "such as a/net/sched/sch_fifo.c")
            if self._watches:
                now = self.path / name
                self.changed.setdefault(name, now.read_bytes() if now.is_file() else None)
            saved, absent = self._before / name, self._absent / name
            if os.path.lexists(saved) or absent.exists():
                continue
            original = self.path / name
            if original.is_symlink():
                saved.parent.mkdir(parents=True, exist_ok=True)
                saved.symlink_to(original.readlink())
            elif original.is_file():
                saved.parent.mkdir(parents=True, exist_ok=True)
                with written_whole(saved) as file:
                    file.write(original.read_bytes())
                saved.chmod(original.stat().st_mode)
            elif not original.exists():
                absent.parent.mkdir(parents=True, exist_ok=True)
                absent.touch()

    def write(self, name: str, content: bytes) -> None:
        """Create or replace a file in an existing folder. Its original is saved first, so that
        take_back() restores it. A symbolic link is replaced, and the file to which it leads stays
        as it is. Raises SetupError if `name` leads out of the tree.

        name: path relative to the tree.
        """
        self.keep([name])
        if (self.path / name).is_symlink():
            (self.path / name).unlink()
        (self.path / name).write_bytes(content)

    def backport(self, folder: str, donor: KernelTree) -> None:
        """Replace the sources below a folder by the unchanged sources of another tree, which is
        only read. Products of a build stay where they are. take_back() restores the folder.

        Args:
            folder: path relative to both trees.
            donor: the other tree.
        """
        donated = {name: content for name in donor.sources_below(folder)
                   if (content := donor.original(name)) is not None}
        for name in self.sources_below(folder):
            if name not in donated:
                self.keep([name])
                (self.path / name).unlink()
        for name, content in donated.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name, content)

    def sources_below(self, folder: str) -> list[str]:
        """Return the paths of the files below a folder whose names are those of sources (*.c, *.h,
        *.S, *.sh, *.in, Makefiles, Kbuild, Kconfig files), sorted, relative to the tree. Files that
        a build generates (_GENERATED, relative to arch/um) are left out if the folder is "arch/um".
        Empty if there is no such folder.

        folder: path relative to the tree, "arch/um" or a folder that isn't above or below it.
        """
        return [f"{folder}/{name}" for name in _files_below(self.path / folder)
                if _SOURCE.search(name) and not name.startswith(_GENERATED)
                and (self.path / folder / name).is_file()]

    def original(self, name: str) -> bytes | None:
        """Return the content that a file has in the unchanged source. None for a file that the
        source doesn't have but that was created. Raises OSError if there is no such file at all.

        name: path relative to the tree.
        """
        if (self._absent / name).exists():
            return None
        saved = self._before / name
        there = saved if os.path.lexists(saved) else self.path / name
        if there.is_symlink():
            return self.original(os.path.normpath(Path(name).parent / there.readlink()))
        return there.read_bytes()

    def append(self, name: str, text: str) -> None:
        """Append `text` unchanged to a file of the tree; a lone surrogate stands for a byte that
        isn't UTF-8. The file's original is saved first, so that take_back() restores it. A symbolic
        link becomes a file with the content, and the file to which it leads stays as it is. Raises
        SetupError if the file doesn't exist, or if `name` leads out of the tree.

        name: path relative to the tree.
        """
        self.keep([name])
        path = self.path / name
        try:
            if path.is_symlink():
                self.write(name, path.read_bytes())
            with path.open("r+b") as file:
                file.seek(0, os.SEEK_END)
                file.write(text.encode("utf-8", "surrogateescape"))
        except FileNotFoundError:
            raise SetupError(f"the kernel's source has no {name}; expected the source of "
                             "Linux") from None

    def take_back(self) -> None:
        """Restore the original content of all files that keep() has saved, also for earlier builds,
        even if they were deleted, and remove files that were created. Afterwards no file is saved.
        `changed` stays as it is."""
        for name in _files_below(self._absent):
            (self.path / name).unlink(missing_ok=True)
            (self._absent / name).unlink()
        for name in _files_below(self._before):
            saved = self._before / name
            # The program patch also removes the folder of a file that was the last in it.
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            if saved.is_symlink():
                (self.path / name).unlink(missing_ok=True)
                (self.path / name).symlink_to(saved.readlink())
            elif not saved.name.endswith(".part"):  # of a build that was killed meanwhile
                with written_whole(self.path / name) as file:
                    file.write(saved.read_bytes())
                (self.path / name).chmod(saved.stat().st_mode)
            saved.unlink()
        shutil.rmtree(self._absent, ignore_errors=True)
        shutil.rmtree(self._before, ignore_errors=True)

    def set_times(self) -> None:
        """Set the times of changed files so that make sees which of them differ from the last
        build, and record the times for the next call. Call it after all changes, before make."""
        times = self._read_times()
        names = {*times, *_files_below(self._before), *_files_below(self._absent)}
        for name in sorted(names):
            path = self.path / name
            if not path.is_file():
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            was = times.get(name)
            if was is not None and was[0] == digest:
                os.utime(path, ns=(was[1], was[1]))
            else:
                if path.is_symlink():
                    os.utime(path)  # restored: its target may be older than what was compiled
                times[name] = (digest, path.stat().st_mtime_ns)
        self._times.parent.mkdir(exist_ok=True)
        write_text(self._times, json_text(times, indent=0) + "\n")

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Context manager in which make runs. If an earlier block didn't reach its end, because it
        raised an exception, was killed, or the machine went down, objects and other products of
        make that were written since it began may be incomplete, so they are removed first."""
        if self._compiling.exists():
            since = self._compiling.stat().st_mtime_ns
            for folder, _folders, names in os.walk(self.path):
                for name in names:
                    path = Path(folder, name)
                    if (path.suffix in _PRODUCTS or name.startswith("vmlinux")) and \
                            not name.endswith(".S") and path.stat().st_mtime_ns >= since:
                        path.unlink()
        self._compiling.parent.mkdir(exist_ok=True)
        self._compiling.touch()
        os.utime(self._compiling)
        yield
        self._compiling.unlink()

    def _read_times(self) -> dict[str, tuple[str, int]]:
        """Return path -> (hash of the content, modification time in ns) at the last build. Empty if
        unknown."""
        try:
            note = read_note(self._times)
            return {str(name): (str(digest), int(time)) for name, (digest, time) in note.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}


def _files_below(folder: Path) -> list[str]:
    """Return the relative paths of all files and symbolic links below a folder, sorted. Empty if
    the folder doesn't exist."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if path.is_file() or path.is_symlink()) if folder.is_dir() else []
