# SPDX-License-Identifier: GPL-3.0-or-later
"""A data file, perhaps of a stranger, made fit for Flent, or refused.

Flent makes settings of all metadata, and executes the test definition that NAME leads to.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import DataFile, a_number, read_data_file

# A definition makes a runner of each.
MOST_STREAMS = 1000
_LENGTHS = ("LENGTH", "TOTAL_LENGTH", "STEP_SIZE", "DELAY")
# Settings by name that a loaded file may have, besides those that Flent records.
_ALSO_METADATA = ("REMOTE_METADATA",)


def read_for_flent(path: Path, recorded: Collection[str], settings: Any) -> dict[str, Any]:
    """The content of a file as Flent's unserialise() wants it.

    recorded: names of settings that Flent stores; settings: any Settings of Flent's, for
    what else it takes for a setting or a method of its own: that is left out. Raises
    BadResult.
    """
    data = read_data_file(path)
    try:
        _refuse_harmful(data)
    except BadResult as error:
        raise BadResult(f"{path}: {error}; expected a data file of Flent") from None
    for key in [key for key in data.metadata if hasattr(settings, key)
                and key not in recorded and key not in _ALSO_METADATA]:
        del data.metadata[key]
    return data.whole


def _refuse_harmful(data: DataFile) -> None:
    metadata, whole = data.metadata, data.whole
    name = metadata.get("NAME")
    if (not isinstance(name, str) or not name.isprintable() or not name or len(name) > 100
            or name.startswith(".") or "/" in name or "\\" in name):
        raise BadResult(f"its NAME is {str(name)[:60]!r}, not the plain name of a test")
    for key in _LENGTHS:
        if metadata.get(key) is not None and a_number(metadata[key]) is None:
            raise BadResult(f"its {key} is no number")
    hosts = metadata.get("HOSTS") or []
    if not isinstance(hosts, list) or len(hosts) > MOST_STREAMS or not all(
            isinstance(host, str) for host in hosts):
        raise BadResult("its HOSTS are no list of names")
    parameters = metadata.get("TEST_PARAMETERS") or {}
    if not isinstance(parameters, dict):
        raise BadResult("its TEST_PARAMETERS are no object")
    for key, value in parameters.items():
        text = str(value)
        if len(text) > 10_000 or ("streams" in key and any(
                part.strip().isdigit() and int(part[:20]) > MOST_STREAMS
                for part in text.split(","))):
            raise BadResult(f"its test parameter {key[:40]!r} is beyond all measure")
    x_values, results = whole.get("x_values"), whole.get("results")
    if not (isinstance(x_values, list) and _numbers_or_gaps(x_values)
            and isinstance(results, dict)):
        raise BadResult("its x_values or results have another form than Flent's")
    for series, values in results.items():
        if not _numbers_or_gaps(values) or len(values) != len(x_values):
            raise BadResult(f"its results of {series[:40]!r} are not a number or a gap for "
                            "each of its x_values")


def _numbers_or_gaps(values: Any) -> bool:
    return isinstance(values, list) and all(
        value is None or a_number(value) is not None for value in values)
