# SPDX-License-Identifier: GPL-3.0-or-later
"""Write files to the folder that the option `-o` names."""

from __future__ import annotations

from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.whole_file import write_text


def write_output(path: Path, text: str) -> None:
    """Write a text file, which appears complete or not at all, and create its folder. Raises
    ConfigError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise ConfigError(f"-o: can't write {path}: {error.strerror}") from None
