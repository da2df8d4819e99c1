# SPDX-License-Identifier: GPL-3.0-or-later
"""A data file's content without what tells of machines, networks and people, under the name of a
test that every Flent has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import SUFFIX, DataFile
from flent_aqm.results.share import stock_test
from flent_aqm.results.share.allowed import allowed_metadata, allowed_samples, unused
from flent_aqm.results.share.left_over import left_over
from flent_aqm.results.share.secrets import Secrets

# Forms of numbers that the last look would take for addresses; allowed.py has checked them.
_TIMES = ("TIME", "T0", "BATCH_TIME", "NAME", "FLENT_VERSION", "KERNEL_RELEASE")
_VERSIONS = ("tools", "kernel", "schema", "flent_aqm")
# Series in one line of the output; the others are counted.
_MOST_TOLD = 40


@dataclass(frozen=True)
class StrippedFile:
    """whole: the content to share; name: of its file; removed: in a line each what was taken
    out of it or changed."""

    whole: dict[str, Any]
    name: str
    removed: list[str]


def strip(data: DataFile) -> StrippedFile:
    """Return what can be given to anybody. Raises BadResult if something would be left."""
    secrets = Secrets(data.metadata)
    # First, as a name that is found here may stand in the metadata, too.
    changed: dict[str, str] = {}
    results = _renamed(data.whole.get("results", {}), "results", secrets, changed)
    raw_values: dict[str, Any] = {}
    for name, samples in _renamed(data.raw_values, "raw_values", secrets, changed).items():
        raw_values[name], removed = allowed_samples(samples, name, secrets)
        changed |= removed
    metadata, removed = allowed_metadata(data.metadata, secrets)
    stem, _, _ = data.path.name.partition(".flent")
    # Whoever gets the file should be able to type its name.
    stem = "".join(one if one.isprintable() else "_" for one in stem)
    clean, kinds = secrets.clean(stem, apart=True)
    if kinds:
        changed["name of the file"] = kinds
    metadata["DATA_FILENAME"] = clean + SUFFIX
    whole = {"version": data.whole.get("version", 1), "metadata": metadata,
             "x_values": data.whole.get("x_values", []), "results": results,
             "raw_values": raw_values}
    _refuse_left(whole, clean, secrets)
    stock_test.store(whole)
    lines = [f"{place}: {what}" for place, what in (removed | changed).items()]
    if len(lines) > _MOST_TOLD:
        lines[_MOST_TOLD:] = [f"and {len(lines) - _MOST_TOLD} more"]
    return StrippedFile(whole, clean + SUFFIX, lines)


def _refuse_left(whole: dict[str, Any], name: str, secrets: Secrets) -> None:
    aqm = whole["metadata"].get("AQM")
    checked = {**whole, "metadata": {
        key: value for key, value in whole["metadata"].items() if key not in _TIMES}}
    if isinstance(aqm, dict):
        checked["metadata"]["AQM"] = {key: value for key, value in aqm.items()
                                      if key not in _VERSIONS}
    left = left_over(secrets.gone, secrets.users, [checked, name])
    if left:
        raise BadResult(f"not shared: {left!r} would remain in it; remove it by hand")


def _renamed(series: Any, where: str, secrets: Secrets, changed: dict[str, str]
             ) -> Mapping[str, Any]:
    """Return the same values under clean names."""
    if not isinstance(series, dict):
        return {}
    renamed: dict[str, Any] = {}
    for name, value in series.items():
        clean = secrets.series_name(name)
        if clean != name:
            changed[f"{where}.{clean}"] = "host name in its name"
        renamed[unused(clean, renamed)] = value
    return renamed
