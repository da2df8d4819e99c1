# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a data file that keeps an explanation, for `flent -p why`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import plain
from flent_aqm.parts.why.output import in_folder
from flent_aqm.results.data_file import SUFFIX, write_data_file
from flent_aqm.show.plots.why import KEPT, Explained, to_json


def refuse_names(path: Path | None, file: Path) -> None:
    """Raise ConfigError if a file to write has a name that doesn't end in .flent.gz, or is the
    explained file.

    Args:
        path: the file to write, None for none.
        file: the explained data file.
    """
    if path is None:
        return
    if not path.name.endswith(SUFFIX):
        raise ConfigError(f"--keep: {plain(path)}: expected a name that ends in {SUFFIX}")
    if path.resolve() == file.resolve():
        raise ConfigError(f"--keep: {plain(path)} is the explained file; expected another name")


def keep(path: Path, data: Mapping[str, Any], explained: Explained) -> None:
    """Write the explained data file again, to another file, with the content of the figure in the
    object AQM of its metadata, in place of an earlier one. Create the file's folder. Raises
    ConfigError if the file can't be written, and BadResult if a number in it is not finite.

    Args:
        path: file to write.
        data: content of the explained data file, whose metadata has the object AQM.
        explained: content of the explanation's figure.
    """
    metadata = data["metadata"]
    kept = {**metadata, "AQM": {**metadata["AQM"], KEPT: to_json(explained)}}
    with in_folder("--keep", path):
        write_data_file(path, {**data, "metadata": kept})
