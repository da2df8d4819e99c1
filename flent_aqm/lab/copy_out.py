# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies a command's output to the user while it grows, and its files when the lab has ended.

Existing files of the user's folder stay, unless the command saw the file and replaced it. Flent's
data files always stay. Their names contain the time, so on a real machine no two are the same, but
the lab's clock starts at the same time in each run.

Symbolic links in the folder are never followed: all files are opened relative to open folders
(openat(2)).
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import select
import stat
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from flent_aqm.base.errors import ConfigError, cause_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_CHUNK = 1 << 20

# Flent's data files have their time in the name.
_NAMED_BY_TIME = re.compile(r".*-\d{4}-\d\d-\d\dT\d{6}.*\.flent(\.gz|\.bz2)?", re.DOTALL)

# Temporary name of a copy, see _copy_file().
_TEMPORARY = re.compile(r"^\.(.*)\.[0-9a-f]{8}\.copy$", re.DOTALL)

# Path of a folder relative to another folder, as a tuple of names.
_RelativePath = tuple[str, ...]
_POLL_S = 0.05
# Seconds that a reader has to take the rest of the output after the lab was stopped by an error.
_GRACE_S = 1.0
# Number of bytes that can be written to a pipe without blocking once poll() reports it writable.
_PIPE_BYTES = select.PIPE_BUF


@dataclass
class _CopyState:
    """State of one call of copy_out().

    Attributes:
        since_ns: time at which the command began to see the user's folder, in ns since the epoch.
            None if it saw nothing of the folder. may_replace() tells which existing files the
            command may replace.
        kept: files and folders that were renamed because the name was taken: (path, new path), both
            relative to the user's folder.
    """

    since_ns: int | None
    kept: list[tuple[str, str]] = field(default_factory=list)

    def may_replace(self, name: str, existing: os.stat_result) -> bool:
        """Return whether the command may replace an existing file: True if the file's status or
        content was last changed (ctime) before `since_ns`, so that the command saw it. False if the
        command saw nothing of the folder, and for Flent's data files with their time in the name.
        The kind of the file doesn't count.

        Args:
            name: name of the existing file, without its folder.
            existing: status of that file.
        """
        return (self.since_ns is not None and existing.st_ctime_ns < self.since_ns
                and not _NAMED_BY_TIME.fullmatch(name))


def copy_out(made: Path, results: Path, *, since_ns: int | None) -> list[tuple[str, str]]:
    """Copy the files and folders below `made` to the existing folder `results`. Sparse files stay
    sparse. Links, pipes, sockets and devices are left out. Of a file's status, only its right to be
    executed is copied.

    A folder that exists already gets the further files. If the name of a file or folder is taken by
    a file that was last changed (ctime) before `since_ns`, so that the command has seen it, that
    file is replaced. Otherwise, and in any case if the name of a file is taken by a folder, or the
    name is that of a data file of Flent with its time in it, the existing one stays, and the copy
    gets a number in its name. A file with the same content as the existing one isn't copied then.

    Args:
        made: the folder with the command's files.
        results: the user's folder.
        since_ns: when the command began to see `results`, in ns since the epoch on this machine's
            clock. None if it never saw the folder.

    Returns:
        The renamed files and folders as pairs: the name that the command chose, and the new name,
            both relative to `results`.

    Raises:
        ConfigError: if a file can't be read or written. What was copied before stays.
    """
    copy = _CopyState(since_ns)
    # Pairs of one folder's path below made and below results: a folder may have been renamed.
    todo: list[tuple[_RelativePath, _RelativePath]] = [((), ())]
    to: _RelativePath = ()
    try:
        with _Walk(made) as sources, _Walk(results) as targets:
            while todo:
                path, to = todo.pop()
                folders = _copy_folder(copy, sources.open(path), targets.open(to), "/".join(to))
                todo += [((*path, name), (*to, got)) for name, got in folders]
    except OSError as error:
        # The temporary name of a copy says nothing to the user.
        name = _TEMPORARY.sub(r"\1", str(error.filename or ""))
        about = f"{os.path.join(*to, name)}: " if name else ""
        raise ConfigError(f"can't copy the command's files to {results}: {about}{cause_of(error)}; "
                          "expected a folder that can be written and has room, on a file system "
                          "that takes these names") from None
    return copy.kept


def flents_data_file(folder: Path) -> str:
    """Return the name of the first of Flent's data files in a folder, by their time in the name, ""
    if there is none. Raises OSError if the folder can't be read."""
    return min(filter(_NAMED_BY_TIME.fullmatch, os.listdir(folder)), default="")


class _Walk:
    """Context manager that opens folders below a top folder in turn, one at a time, without
    following symbolic links.

    Args:
        top: the top folder. It may itself be reached by symbolic links. It is opened at once, which
            raises OSError if it can't be.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._path: _RelativePath = ()
        self._handle = os.open(top, os.O_RDONLY | os.O_DIRECTORY)

    def open(self, path: _RelativePath) -> int:
        """Return a file descriptor of a folder, valid until the next call or the end of the
        context. Raises OSError if the folder can't be opened, or if a symbolic link is on the way
        from the top. After an error, open() must not be called any more.

        A folder below the open folder is opened from there. Any other is opened from the top,
        because even `..` may have been replaced by now.

        path: names of the folders on the way from the top, the empty tuple for the top itself.
        """
        if path[:len(self._path)] != self._path:
            self._replace_handle(os.open(self._top, os.O_RDONLY | os.O_DIRECTORY))
            self._path = ()
        for name in path[len(self._path):]:
            self._replace_handle(os.open(name, _FOLDER, dir_fd=self._handle))
        self._path = path
        return self._handle

    def _replace_handle(self, handle: int) -> None:
        """Close the open folder's descriptor, and keep `handle` in its place."""
        os.close(self._handle)
        self._handle = handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def _copy_folder(copy: _CopyState, source: int, target: int, path: str) -> list[tuple[str, str]]:
    """Copy the files of one folder, and create its subfolders, as far as they don't exist, without
    their content. Entries other than files and folders are left out. Raises OSError if anything
    can't be read or written.

    Args:
        copy: the state of the whole copy. Renamed entries are added to it.
        source: file descriptor of the folder to copy.
        target: file descriptor of the folder to write to.
        path: path of the target folder relative to the user's folder, "" for that itself. It is
            used only for the list of renamed entries.

    Returns all subfolders as pairs: name in `source`, name in `target`.
    """
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


def _make_folder(copy: _CopyState, target: int, name: str) -> str:
    """Create the subfolder `name` of `target`, unless it exists, and return its name. If the name
    is taken by a file or a link (also one to a folder), that is removed if copy.may_replace()
    allows it, otherwise the new folder's name gets a number. Raises OSError if the folder can't be
    created.

    Args:
        copy: the state of the whole copy.
        target: file descriptor of the folder in which to create it.
        name: name of the subfolder.
    """
    existing = _status_or_none(name, target)
    if existing is not None and stat.S_ISDIR(existing.st_mode):
        return name
    if existing is not None and copy.may_replace(name, existing):
        os.unlink(name, dir_fd=target)  # as the command has
        existing = None
    got = name if existing is None else _free_name(name, target)
    os.mkdir(got, dir_fd=target)
    return got


def _copy_file(copy: _CopyState, source: int, target: int, name: str) -> str:
    """Copy one file to the folder `target`, and return the name that it has there.

    A file or link of the same name is replaced if copy.may_replace() allows it. Otherwise nothing
    is copied if it is a file with the same content, and `name` is returned. If it has other
    content, or is a link or folder, it stays, and the copy's name gets a number.

    The copy is written under a temporary name, so that the file appears complete. Raises OSError if
    a file can't be read or written.

    Args:
        copy: the state of the whole copy.
        source: file descriptor of the folder with the file.
        target: file descriptor of the folder to write to.
        name: name of the file.
    """
    with _opened_at(name, source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as new:
        existing = _status_or_none(name, target)
        replace = existing is not None and copy.may_replace(name, existing) \
            and not stat.S_ISDIR(existing.st_mode)
        if existing is not None and not replace and _is_same(new, existing, name, target):
            return name
        mode = 0o777 if os.fstat(new).st_mode & 0o100 else 0o666
        # Not .part: a sweep removes files of that ending from its folder, see whole_file.
        part = f".{name[:200]}.{secrets.token_hex(4)}.copy"
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
    """Context manager: open a file, yield its descriptor, and close it at the end. Raises OSError
    if it can't be opened.

    Args:
        name: name of the file.
        folder: descriptor of its folder.
        flags: flags of open(2).
        mode: permission bits of a file that is created.
    """
    handle = os.open(name, flags, mode, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _link_under_free_name(part: str, name: str, target: int) -> str:
    """Give the temporary file `part` the name `name`, or that name with a number if it is taken.
    Return the new name. The file keeps its temporary name, too, which the caller removes. Only on a
    file system without links is it renamed.

    Linking fails if the name is taken, so a file that another process has just created is not
    overwritten, except on a file system without links. Raises OSError if the file can be neither
    linked nor renamed.

    Args:
        part: name of the temporary file.
        name: the desired name.
        target: descriptor of the folder.
    """
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
            # The file system has no links, as those of memory sticks.
            got = name if _status_or_none(name, target) is None else _free_name(name, target)
            os.rename(part, got, src_dir_fd=target, dst_dir_fd=target)
            return got


def _free_name(name: str, target: int) -> str:
    """Return the name with the first number, from 2 on, that is not taken in the folder with
    descriptor `target`. The number is before .flent and what follows, or before the last suffix, or
    at the end of a name without suffix: a-2.flent.gz, b-2.txt, c-2."""
    end = name.find(".flent.", 1)
    stem, dot, suffix = (name[:end], "", name[end:]) if end > 0 else name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    number = 2
    while _status_or_none(f"{stem}-{number}{dot}{suffix}", target) is not None:
        number += 1
    return f"{stem}-{number}{dot}{suffix}"


def _status_or_none(name: str, folder: int) -> os.stat_result | None:
    """Return the status of a file in the folder with descriptor `folder`, None if there is no such
    file. Links are not followed."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_same(new: int, existing: os.stat_result, name: str, target: int) -> bool:
    """Return whether the existing file is a regular file with the same content as `new`. False if
    this user may not read it. Raises OSError if reading fails.

    Args:
        new: descriptor of the new file.
        existing: status of the existing file.
        name: name of the existing file.
        target: descriptor of the folder with the existing file.
    """
    if not stat.S_ISREG(existing.st_mode) or existing.st_size != os.fstat(new).st_size:
        return False
    with contextlib.suppress(PermissionError), _opened_at(
            name, target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as old:
        place = 0
        while piece := os.pread(new, _CHUNK, place):
            if piece != os.pread(old, _CHUNK, place):
                return False
            place += len(piece)
        return True
    return False


def _copy_content(source: int, target: int) -> None:
    """Copy the whole content of a file to another. Holes of a sparse file stay holes.

    Args:
        source: descriptor of the file to copy.
        target: descriptor of an empty file.
    """
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


class OutputFollower:
    """A context manager around the lab's run that copies files to file descriptors as they grow. A
    file need not exist at the start. The descriptors are not closed. The object can be used once.

    If the block ends normally, its end waits until all output is copied, however slow the reader
    is. If it ends by an exception, it waits at most _GRACE_S seconds for each file, because a
    reader may never read. If a descriptor's reader is gone, the rest of that file is dropped
    without an error. If writing fails for another reason, such as a full disk, the rest is dropped,
    too, and refuse_lost() raises.

    Only regular files are read, because the command may put a link or a pipe in the place of a
    file.

    Args:
        outputs: pairs of a file's path and the file descriptor to copy it to.
    """

    def __init__(self, outputs: Iterable[tuple[Path, int]]) -> None:
        self._ended = threading.Event()
        self._given_up = threading.Event()
        self._fault: OSError | None = None
        self._threads = [threading.Thread(target=self._follow, args=output, daemon=True)
                         for output in outputs]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(None if kind is None else _GRACE_S)
        self._given_up.set()

    def refuse_lost(self) -> None:
        """Raise ConfigError if output could not be read or written, as on a full disk. Output that
        was dropped because its reader is gone, or too slow when the lab failed, doesn't count. To
        be called after the `with` block, once the command's files are safe."""
        if self._fault is not None:
            raise ConfigError(f"can't write the command's output: {cause_of(self._fault)}; the "
                              "rest of it is lost, the files that it wrote are there")

    def _follow(self, path: Path, output: int) -> None:
        """Copy a file to the descriptor `output` as it grows, until the block of the context
        manager has ended and all is copied, the reader is given up (`_given_up`) or gone, or
        reading or writing fails: the first such error is kept in `_fault`. Runs in a thread for
        each file."""
        position = 0
        while True:
            # Read the flag before the file: after the end of the block the file grows no more, so
            # one round after it copies everything.
            last_round = self._ended.is_set()
            try:
                position = self._copy_from(path, position, output)
            except BrokenPipeError:  # nobody reads any more
                return
            except OSError as error:
                self._fault = self._fault or error
                return
            if last_round or self._given_up.is_set():
                return
            self._ended.wait(_POLL_S)

    def _copy_from(self, path: Path, position: int, output: int) -> int:
        """Copy the bytes of the file from `position` on to the descriptor `output`, and return the
        position after the last byte that was read. Once the reader is given up (`_given_up`), the
        bytes are dropped, but still count. Return `position` for a file that is missing or can't be
        opened, a link, or a path that is no regular file. Raises OSError if reading fails, or
        writing, as when nobody reads the output any more."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # not there, or a link
            return position
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                while piece := os.pread(handle, 1 << 16, position):
                    position += len(piece)
                    self._write_unless_given_up(piece, output)
        finally:
            os.close(handle)
        return position

    def _write_unless_given_up(self, data: bytes, output: int) -> None:
        """Write `data` to a descriptor in pieces that don't block, however long that takes. Once
        the reader is given up (`_given_up` is set, at the end of __exit__()), the rest of the data
        is dropped. Raises OSError if writing fails: nobody reads any more, or the disk is full."""
        ready = select.poll()
        ready.register(output, select.POLLOUT)
        while data and not self._given_up.is_set():
            if ready.poll(_POLL_S * 1000):
                data = data[os.write(output, data[:_PIPE_BYTES]):]
