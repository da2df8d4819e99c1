# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in the folder that `-o` names."""

from __future__ import annotations

from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.whole_file import write_text


def write_output(path: Path, text: str) -> None:
    """Write a file, which appears whole or not at all, and the folders that it needs. Raises
    ConfigError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise ConfigError(f"-o: can't write {path}: {error.strerror}") from None
