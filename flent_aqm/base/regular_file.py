# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens files that this package or Flent has written, but which others may have replaced."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import IO, Any

# Size limit of the package's own JSON files. The causes of ten thousand failed runs take less.
MAX_NOTE_BYTES = 8 << 20
# The reason why such a file is neither read nor replaced.
IRREGULAR = "it is a pipe, a device or a socket, not a regular file"


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file for reading bytes. Symbolic links are followed.

    Raises OSError if the file can't be opened, or is a folder, pipe, terminal, device or socket:
    opening some of these waits for ever, or has an effect. Raises ValueError if the path has a NUL.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV):  # sockets, and devices without a driver
            raise OSError(errno.EINVAL, IRREGULAR) from None
        raise
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise OSError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, IRREGULAR)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_note(path: Path) -> Any:
    """Read one of the package's own JSON files and return its value.

    Raises OSError as open_regular() does, and ValueError, whose message doesn't name the file, if
    the file is not JSON, nested too deeply, or larger than MAX_NOTE_BYTES.
    """
    with open_regular(path) as file:
        text = file.read(MAX_NOTE_BYTES + 1)
    if len(text) > MAX_NOTE_BYTES:
        raise ValueError(f"it has more than {MAX_NOTE_BYTES >> 20} MiB")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
