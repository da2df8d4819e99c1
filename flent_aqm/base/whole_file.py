# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that appear whole or not at all, whatever happens to the process that writes them.

They are written under another name, which a lock (flock) shows to be in use, as with
lab/folder.py: the kernel drops it with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

_SUFFIX = ".part"
_TRIES, _AGAIN_S = 50, 0.01


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write into that becomes path when the block ends without an error; what
    was there is replaced. Raises OSError."""
    part = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    try:
        with _locked(part) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file, in UTF-8, which appears whole or not at all. Raises OSError."""
    with written_whole(path) as file:
        file.write(text.encode())


def remove_abandoned(folders: Iterable[Path]) -> None:
    """Remove what processes have left that were killed while they wrote."""
    for folder in folders:
        for path in folder.glob(f".*{_SUFFIX}"):
            with contextlib.suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def _locked(path: Path) -> IO[bytes]:
    """Return a new file with its lock held, if the file system has locks."""
    while True:
        file = path.open("wb")
        if not _taken(file):
            # A stranger who may read the folder holds it: another takes its place.
            path.unlink(missing_ok=True)
            file.close()
            continue
        with contextlib.suppress(OSError):
            # Another may have removed it before it was locked.
            if os.path.samestat(os.fstat(file.fileno()), os.lstat(path)):
                return file
        file.close()


def _taken(file: IO[bytes]) -> bool:
    """Take a file's lock, if the file system has locks; False where another keeps it.
    remove_abandoned() may, for a moment."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_AGAIN_S)
        except OSError:
            return True
        else:
            return True
    return False
