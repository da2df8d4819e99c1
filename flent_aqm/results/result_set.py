# SPDX-License-Identifier: GPL-3.0-or-later
"""Read Flent's result sets for this package's plots, each only once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from flent_aqm.results.data_file import DataFile

Made = TypeVar("Made")
_MADE = "_flent_aqm_made"
# Attribute with the content of a file of an older format, before Flent changed it.
_OLD = "_flent_aqm_old"


def once(results: Any, name: str, make: Callable[[], Made]) -> Made:
    """Return the result of make(), which is stored in the result set under a name. With the same
    result set and name, make() is not called again, unless it raised an error.

    Args:
        results: result set of Flent.
        name: key of the result.
        make: computes the result.
    """
    made = results.__dict__.setdefault(_MADE, {})
    if name not in made:
        made[name] = make()
    return cast(Made, made[name])


def samples_of(results: Any) -> dict[str, list[dict[str, Any]]]:
    """Return name of a series -> its raw samples as plain dicts, of a result set of Flent. The
    caller must not change them: the result set may share them. Flent's own class for samples would
    take keys for paths."""
    if hasattr(results, "plain_samples"):  # LoadedResults; its module would import Flent
        return cast(dict[str, list[dict[str, Any]]], results.plain_samples())
    return {name: list(map(dict, samples)) for name, samples in results.raw_values.items()}


def data_file_of(results: Any) -> DataFile:
    """Return a result set of Flent as a DataFile, for this package's metrics. Its `whole` has
    metadata and raw values, but not Flent's interpolated results. Content that keep_old() stored,
    with results, takes the place of Flent's. Raises BadResult, without the path, if its structure
    or times are wrong, or if it exceeds the limits for data files."""
    # Imported here, because it needs numpy, which a run in the guest lacks.
    from flent_aqm.results.data_file import as_data_file

    path = Path(results._loaded_from or results.meta("DATA_FILENAME"))
    metadata = dict(results.meta())
    if old := results.__dict__.get(_OLD):
        metadata.pop("FAKE_RAW_VALUES", None)
        return as_data_file({**old, "metadata": {**metadata, **old["metadata"]}}, path)
    return as_data_file({"version": 4, "metadata": metadata, "raw_values": samples_of(results)},
                        path)


def copy_before_flent(whole: dict[str, Any], newest: int) -> dict[str, Any] | None:
    """Return a copy of the parts of an older file that Flent changes and this package reads, for
    keep_old(): a dict like `whole` with version, samples, results with their times, and metadata of
    which only SERIES_META is kept. Parts that the file lacks are left out. None for the newest
    format.

    Flent changes the samples of older files in place, but not all that have to be changed.

    Args:
        whole: content of the file.
        newest: newest version of the format.
    """
    if whole.get("version", 1) == newest:
        return None
    kept = {key: whole[key] for key in ("version", "raw_values", "results", "x_values")
            if key in whole}
    metadata = {key: value for key, value in whole["metadata"].items() if key == "SERIES_META"}
    return copy.deepcopy({**kept, "metadata": metadata})


def keep_old(results: Any, old: dict[str, Any] | None) -> None:
    """Store the result of copy_before_flent() in a result set of Flent, for data_file_of(). Nothing
    is stored for None."""
    if old is not None:
        results.__dict__[_OLD] = old
