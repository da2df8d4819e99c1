# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove data on machines, networks and people from a data file.

Which metadata may stay is defined in allowed.py; this file applies it. The result has the name of a
test that every Flent has.
"""

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
from flent_aqm.results.share.vocabulary import is_common

# Values that the last check would take for addresses. allowed.py has checked them.
_TIMES = ("TIME", "T0", "BATCH_TIME", "FLENT_VERSION", "KERNEL_RELEASE")
_VERSIONS = ("tools", "kernel", "schema", "flent_aqm")
# Largest number of lines on what was removed. Others are counted.
_MOST_TOLD = 40


@dataclass(frozen=True)
class StrippedFile:
    """A cleaned data file.

    Attributes:
        whole: the content to share.
        name: new file name, with SUFFIX.
        removed: a line "PLACE: WHAT" for each thing that was removed or changed, at most
            _MOST_TOLD, and one for the number of others. Empty if there is none.
    """

    whole: dict[str, Any]
    name: str
    removed: list[str]


def strip(data: DataFile) -> StrippedFile:
    """Return the content of a data file that can be given to anyone, its new file name, and what
    was removed. A file of this package's tests gets the form of a test of Flent
    (stock_test.store()). Raises BadResult if a secret would remain, if the file names too many
    hosts, or if two series would get one name. `data` is not changed, and no file is written."""
    secrets = Secrets(data.metadata)
    # Series are cleaned first, because a name found here may also occur in the metadata.
    changed: dict[str, str] = {}
    results = _with_clean_names(data.whole.get("results", {}), "results", secrets, changed)
    raw_values: dict[str, Any] = {}
    for name, samples in _with_clean_names(data.raw_values, "raw_values", secrets, changed).items():
        raw_values[name], removed = allowed_samples(samples, name, secrets)
        changed |= removed
    metadata, removed = allowed_metadata(data.metadata, secrets)
    stem, _, _ = data.path.name.partition(".flent")
    # The file's name should be easy to type.
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
    """Raise BadResult if a secret is left in the content or the name of the file. The metadata in
    _TIMES, and those of AQM in _VERSIONS, are not searched, because they may look like addresses.
    They must have been cleaned by allowed_metadata().

    Args:
        whole: content of the file.
        name: file name without its suffix.
        secrets: the secrets of the file.
    """
    aqm = whole["metadata"].get("AQM")
    checked = {**whole, "metadata": {
        key: value for key, value in whole["metadata"].items()
        if key not in _TIMES and not (key == "NAME" and is_common(value))}}
    if isinstance(aqm, dict):
        checked["metadata"]["AQM"] = {key: value for key, value in aqm.items()
                                      if key not in _VERSIONS}
    for tree, where, by_hand in ((name, "have in its name", "rename the file"),
                                 (checked, "contain", "remove it from the file by hand")):
        if left := left_over(secrets.gone, secrets.users, tree):
            raise BadResult(f"not shared: its copy would {where} {left!r}, which may reveal a "
                            f"machine or a person; {by_hand}")


def _with_clean_names(series: Any, where: str, secrets: Secrets, changed: dict[str, str]
             ) -> Mapping[str, Any]:
    """Return the values of series under clean names. A name that another series already has is
    changed (unused()). Empty if `series` is no object.

    Args:
        series: name of a series -> value.
        where: the part of the file, such as "results".
        secrets: the file's secrets, which learns the names that it replaces.
        changed: gets entries for names that were cleaned: "WHERE.CLEAN_NAME" -> what was replaced.
            Series with the same clean name share one.
    """
    if not isinstance(series, dict):
        return {}
    renamed: dict[str, Any] = {}
    for name, value in series.items():
        clean = secrets.series_name(name)
        if clean != name:
            changed[f"{where}.{clean}"] = "host name in its name"
        renamed[unused(clean, renamed)] = value
    return renamed
