# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that were written by this package or by Flent once, and may be anything by now."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import IO, Any

# Of notes of ours: more than the causes of ten thousand failed runs.
MAX_NOTE_BYTES = 8 << 20


def open_regular(path: Path) -> IO[bytes]:
    """Open a file that has an end. Raises OSError, also for a pipe, a terminal, a device or a
    socket: opening one may wait for ever, or do something."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise OSError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is a pipe, a device or a socket, not a regular file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_note(path: Path) -> Any:
    """Return what a file of JSON says that this package keeps beside its work. Raises OSError, and
    ValueError where it is damaged."""
    with open_regular(path) as file:
        text = file.read(MAX_NOTE_BYTES + 1)
    if len(text) > MAX_NOTE_BYTES:
        raise ValueError(f"it has more than {MAX_NOTE_BYTES >> 20} MiB")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
