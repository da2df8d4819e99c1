# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the files that a command in the lab has made into a folder of the user's.

What is there already stays, unless the command saw it and wrote a new one in its place. Data
files of Flent always stay: their names have the time in them, by which no two of them are the
same, but in the lab, whose clock starts at the same time in each run.

No link that is there is followed: all is done in open folders (openat(2)).
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from flent_aqm.base.errors import ConfigError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_CHUNK = 1 << 20

_NAMED_BY_TIME = re.compile(r".*-\d{4}-\d\d-\d\dT\d{6}.*\.flent(\.gz|\.bz2)?", re.DOTALL)

# Names of folders, one in the other.
_Way = tuple[str, ...]


@dataclass
class _Copy:
    """One copy: what the command saw of the user's folder is as old as `since_ns` or older,
    None if it saw nothing of it. kept: (name, the name that it got instead)."""

    since_ns: int | None
    kept: list[tuple[str, str]] = field(default_factory=list)

    def may_replace(self, name: str, existing: os.stat_result) -> bool:
        """Return whether the command saw what is there, and so meant to replace it."""
        return (self.since_ns is not None and existing.st_ctime_ns < self.since_ns
                and not _NAMED_BY_TIME.fullmatch(name))


def copy_out(made: Path, results: Path, *, since_ns: int | None) -> list[tuple[str, str]]:
    """Copy what is below made into results: files and folders, sparse files as such.

    since_ns: when the command began to see results, on this machine's clock; None if it never
    did. What has come or changed there since, it didn't see, and that stays as it is: the new
    file gets a number in its name. Returns pairs of the name that the command chose, relative
    to results, and the one that it got instead. Raises ConfigError.
    """
    copy = _Copy(since_ns)
    # Names of folders on the way from made, and from results, as one may have got another.
    todo: list[tuple[_Way, _Way]] = [((), ())]
    try:
        with _Walk(made) as sources, _Walk(results) as targets:
            while todo:
                way, to = todo.pop()
                folders = _copy_folder(copy, sources.open(way), targets.open(to), "/".join(to))
                todo += [((*way, name), (*to, got)) for name, got in folders]
    except OSError as error:
        raise ConfigError(f"the command's files can't be kept: {results}: {error.strerror}; "
                          "name a writable folder with --results") from None
    return copy.kept


class _Walk:
    """One folder after the other below one that the user has named, reached over no link."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._way: _Way = ()
        self._handle = os.open(top, os.O_RDONLY | os.O_DIRECTORY)

    def open(self, way: _Way) -> int:
        """Return its handle, until the next call. One in the folder before it is at hand; for any
        other the way begins at the top, as not even that of `..` is safe."""
        if way[:len(self._way)] != self._way:
            self._go(os.open(self._top, os.O_RDONLY | os.O_DIRECTORY))
            self._way = ()
        for name in way[len(self._way):]:
            self._go(os.open(name, _FOLDER, dir_fd=self._handle))
        self._way = way
        return self._handle

    def _go(self, handle: int) -> None:
        os.close(self._handle)
        self._handle = handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def _copy_folder(copy: _Copy, source: int, target: int, path: str) -> list[tuple[str, str]]:
    """Copy the files of one folder. Gives the folders in it, by both their names."""
    folders = []
    for name in sorted(os.listdir(source)):
        kind = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        if stat.S_ISDIR(kind):
            got = _make_folder(copy, target, name)
            folders.append((name, got))
        elif stat.S_ISREG(kind):
            got = _copy_file(copy, source, target, name)
        else:
            continue
        if got != name:
            copy.kept.append((os.path.join(path, name), os.path.join(path, got)))
    return folders


def _make_folder(copy: _Copy, target: int, name: str) -> str:
    """Return the name of a folder that is there now."""
    existing = _stat(name, target)
    if existing is not None and stat.S_ISDIR(existing.st_mode):
        return name
    if existing is not None and copy.may_replace(name, existing):
        os.unlink(name, dir_fd=target)  # as the command has
        existing = None
    got = name if existing is None else _free_name(name, target)
    os.mkdir(got, dir_fd=target)
    return got


def _copy_file(copy: _Copy, source: int, target: int, name: str) -> str:
    """Return the name under which it is there now. It appears when it is whole."""
    with _opened_at(name, source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as new:
        existing = _stat(name, target)
        replace = existing is not None and copy.may_replace(name, existing) \
            and not stat.S_ISDIR(existing.st_mode)
        if existing is not None and not replace and _is_same(new, existing, name, target):
            return name
        mode = 0o777 if os.fstat(new).st_mode & 0o100 else 0o666
        part = f".{name[:200]}.{secrets.token_hex(4)}.part"
        try:
            with _opened_at(part, target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode) as out:
                _copy_content(new, out)
            if replace:
                os.replace(part, name, src_dir_fd=target, dst_dir_fd=target)
                return name
            return _link_under_free_name(part, name, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=target)


@contextlib.contextmanager
def _opened_at(name: str, folder: int, flags: int, mode: int = 0) -> Iterator[int]:
    handle = os.open(name, flags, mode, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _link_under_free_name(part: str, name: str, target: int) -> str:
    """A link fails where a name is taken, whoever has just taken it."""
    got = name
    while True:
        try:
            os.link(part, got, src_dir_fd=target, dst_dir_fd=target)
            return got
        except FileExistsError:
            got = _free_name(name, target)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            # A file system without links, such as those of memory sticks.
            got = name if _stat(name, target) is None else _free_name(name, target)
            os.rename(part, got, src_dir_fd=target, dst_dir_fd=target)
            return got


def _free_name(name: str, target: int) -> str:
    """Return the name with a number before its suffixes: a-2.flent.gz."""
    end = name.find(".flent.", 1)
    stem, dot, suffix = (name[:end], "", name[end:]) if end > 0 else name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    number = 2
    while _stat(f"{stem}-{number}{dot}{suffix}", target) is not None:
        number += 1
    return f"{stem}-{number}{dot}{suffix}"


def _stat(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_same(new: int, existing: os.stat_result, name: str, target: int) -> bool:
    """Return whether what is there is a file of the same content."""
    if not stat.S_ISREG(existing.st_mode) or existing.st_size != os.fstat(new).st_size:
        return False
    with _opened_at(name, target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as old:
        place = 0
        while piece := os.pread(new, _CHUNK, place):
            if piece != os.pread(old, _CHUNK, place):
                return False
            place += len(piece)
    return True


def _copy_content(source: int, target: int) -> None:
    """Holes stay holes."""
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    place = 0
    while place < size:
        try:
            start = os.lseek(source, place, os.SEEK_DATA)
            end = os.lseek(source, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                return
            raise
        place = start
        while place < end:
            piece = os.pread(source, min(_CHUNK, end - place), place)
            if not piece:
                return
            place += os.pwrite(target, piece, place)
