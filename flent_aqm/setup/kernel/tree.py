# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel sources that are kept with their objects, so that the next build compiles only what
has changed.

Each file is saved before its first change, and put back before the next build makes its own
changes. make goes by the files' times: a file that has the content of the last build again
gets the time of the last build again, too.

    TREE/.flent-aqm/before/PATH   what the source has
    TREE/.flent-aqm/absent/PATH   the source has no such file
    TREE/.flent-aqm/times.json    path -> hash of the content and time, as of the last build
    TREE/.flent-aqm/compiling     there while make runs; what a killed one has written is suspect
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from flent_aqm.base.errors import SetupError
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.whole_file import write_text, written_whole

NOTES = ".flent-aqm"
_SOURCE = re.compile(r"(^|/)(Kbuild|Makefile[^/]*|Kconfig[^/]*|[^/.][^/]*\.([chS]|in|sh))$")
# What a build writes below arch/um that looks like a source.
_GENERATED = ("include/generated/", "kernel/config.c", "kernel/capflags.c")
# What make takes for finished once it is there
_PRODUCTS = (".o", ".a", ".cmd", ".gch")
_PATCHED = re.compile(rb"^(?:--- |\+\+\+ |rename (?:from|to) |copy to )([^\t\n]+)", re.MULTILINE)


def files_of(patch: bytes) -> list[str]:
    """Return the files that a patch changes, as patch -p1 names them."""
    names: dict[str, None] = {}
    for name in _PATCHED.findall(patch):
        text = name.decode("utf-8", "replace").strip()
        if text != "/dev/null":
            # "rename from" has no a/ before the name
            for one in (text, text.partition("/")[2]):
                names[one] = None
    return [name for name in names if name]


class Tree:
    """One kept source. Only under the cache's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before = path / NOTES / "before"
        self._absent = path / NOTES / "absent"
        self._times = path / NOTES / "times.json"
        self._compiling = path / NOTES / "compiling"
        # Path -> content of each file that changed since watch(), None for a new file.
        self.changed: dict[str, bytes | None] = {}
        self._watches = False

    def watch(self) -> None:
        """From now on note in `changed` what each file had before its first change."""
        self.changed, self._watches = {}, True

    def keep(self, names: Iterable[str]) -> None:
        """Save files that are going to be changed, or made. Raise SetupError for a name that
        leads out of the tree."""
        for name in names:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise SetupError(f"a patch names {name!r}, which is not in the kernel's source")
            if self._watches:
                now = self.path / name
                self.changed.setdefault(name, now.read_bytes() if now.is_file() else None)
            saved, absent = self._before / name, self._absent / name
            if saved.exists() or absent.exists():
                continue
            original = self.path / name
            if original.is_file() and not original.is_symlink():
                saved.parent.mkdir(parents=True, exist_ok=True)
                with written_whole(saved) as file:
                    file.write(original.read_bytes())
                saved.chmod(original.stat().st_mode)
            elif not original.exists():
                absent.parent.mkdir(parents=True, exist_ok=True)
                absent.touch()

    def write(self, name: str, content: bytes) -> None:
        """Make a file, or replace it."""
        self.keep([name])
        (self.path / name).write_bytes(content)

    def backport(self, folder: str, donor: Tree) -> None:
        """Put another source's folder in the place of this one's. What a build has left in
        either is no source, and stays where it is."""
        theirs = {name: content for name in donor.sources_below(folder)
                  if (content := donor.original(name)) is not None}
        for name in self.sources_below(folder):
            if name not in theirs:
                self.keep([name])
                (self.path / name).unlink()
        for name, content in theirs.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name, content)

    def sources_below(self, folder: str) -> list[str]:
        """Return the files below a folder that are no products of a build."""
        return [f"{folder}/{name}" for name in _files_below(self.path / folder)
                if _SOURCE.search(name) and not name.startswith(_GENERATED)]

    def original(self, name: str) -> bytes | None:
        """Return the content that the source has, None for a file that it doesn't have."""
        if (self._absent / name).exists():
            return None
        saved = self._before / name
        return (saved if saved.exists() else self.path / name).read_bytes()

    def append(self, name: str, text: str) -> None:
        """Add lines at a file's end. Raise SetupError where there is no such file."""
        self.keep([name])
        try:
            with (self.path / name).open("r+b") as file:
                file.seek(0, os.SEEK_END)
                file.write(text.encode())
        except FileNotFoundError:
            raise SetupError(f"the kernel's source has no {name}; is it Linux?") from None

    def take_back(self) -> None:
        """Give all changed files the content that the source has."""
        for name in _files_below(self._absent):
            (self.path / name).unlink(missing_ok=True)
            (self._absent / name).unlink()
        for name in _files_below(self._before):
            saved = self._before / name
            if not saved.name.endswith(".part"):  # of a build that was killed meanwhile
                with written_whole(self.path / name) as file:
                    file.write(saved.read_bytes())
                (self.path / name).chmod(saved.stat().st_mode)
            saved.unlink()
        shutil.rmtree(self._absent, ignore_errors=True)
        shutil.rmtree(self._before, ignore_errors=True)

    def settle(self) -> None:
        """Once all changes are made: let make see which of them are new."""
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
                times[name] = (digest, path.stat().st_mtime_ns)
        self._times.parent.mkdir(exist_ok=True)
        write_text(self._times, json.dumps(times, indent=0) + "\n")

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """While make runs. If it was killed by force, or the machine went down, the last time,
        what it had written then may be half of it, and is removed."""
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
        try:
            note = read_note(self._times)
            return {str(name): (str(digest), int(time)) for name, (digest, time) in note.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}


def _files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")
                  if path.is_file()) if folder.is_dir() else []
