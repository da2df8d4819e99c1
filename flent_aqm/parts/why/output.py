# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares the writing of the command's files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.base.words import plain


@contextmanager
def in_folder(option: str, path: Path) -> Iterator[None]:
    """Context manager: create the folder of a file that the block writes. Raises ConfigError, also
    in place of the block's OSError, if the file can't be written.

    Args:
        option: the command's option, for the message.
        path: the file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        # A new file takes the old one's place, so the folder's permissions count, not the file's.
        raise ConfigError(f"{option}: can't write {plain(path.name)} to the folder "
                          f"{plain(path.parent)}: {cause_of(error)}; name another file with "
                          f"{option}") from None
