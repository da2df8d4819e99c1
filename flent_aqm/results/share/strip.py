# SPDX-License-Identifier: GPL-3.0-or-later
"""A data file's content without names of hosts and people and without addresses, and under
the name of a test that every Flent has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import SUFFIX, DataFile
from flent_aqm.results.share import stock_test
from flent_aqm.results.share.left_over import left_over
from flent_aqm.results.share.secrets import Secrets

# Whole entries of Flent's metadata that tell of a machine and its network.
REMOVED = ("EGRESS_INFO", "INGRESS_INFO", "GATEWAYS", "IP_ADDRS", "WIFI_DATA", "WIFI",
           "REMOTE_METADATA", "ENVIRONMENT", "LOCAL_BIND")
# In the object AQM. Made by programs: what looks like an address there is a version.
VERSIONS = ("tools", "kernel", "schema", "flent_aqm")
_TIMES = (("TIME",), ("T0",), ("BATCH_TIME",), ("NAME",), ("FLENT_VERSION",), ("KERNEL_RELEASE",))


@dataclass(frozen=True)
class StrippedFile:
    """whole: the content to share; name: of its file; removed: in a line each what was taken
    out of it or changed."""

    whole: dict[str, Any]
    name: str
    removed: list[str]


def strip(data: DataFile) -> StrippedFile:
    """Return what can be given to anybody. Raises BadResult if something would be left."""
    metadata = dict(data.metadata)
    removed = [f"{key}: removed" for key in REMOVED if metadata.pop(key, None)]
    secrets = Secrets(data.metadata)
    changed: dict[str, str] = {}
    whole = {
        **_cleaned({key: value for key, value in data.whole.items()
                    if key not in ("metadata", "results", "raw_values", "x_values")},
                   (), secrets, changed),
        "metadata": _cleaned(metadata, (), secrets, changed),
        "x_values": data.whole.get("x_values", []),
        "results": _renamed(data.whole.get("results", {}), "results", secrets, changed),
        "raw_values": {
            name: _samples(samples, name, secrets, changed) for name, samples in
            _renamed(data.raw_values, "raw_values", secrets, changed).items()}}
    stem, _, _ = data.path.name.partition(".flent")
    # Whoever gets the file should be able to type its name.
    stem = "".join(one if one.isprintable() else "_" for one in stem)
    clean, kinds = secrets.clean(stem, apart=True)
    if kinds:
        changed["name of the file"] = kinds
    whole["metadata"]["DATA_FILENAME"] = clean + SUFFIX
    _refuse_left(whole, clean, secrets)
    stock_test.store(whole)
    return StrippedFile(whole, clean + SUFFIX,
                    removed + [f"{place}: {what}" for place, what in changed.items()])


def _refuse_left(whole: dict[str, Any], name: str, secrets: Secrets) -> None:
    aqm = whole["metadata"].get("AQM")
    checked = {**whole, "metadata": {
        key: value for key, value in whole["metadata"].items() if (key,) not in _TIMES}}
    if isinstance(aqm, dict):
        checked["metadata"]["AQM"] = {key: value for key, value in aqm.items()
                                      if key not in VERSIONS}
    left = left_over(secrets.gone, secrets.users, [checked, name])
    if left:
        raise BadResult(f"not shared: {left!r} would remain in it; remove it by hand")


def _cleaned(tree: Any, path: tuple[str, ...], secrets: Secrets, changed: dict[str, str]) -> Any:
    """Return a copy of a tree with every text in it clean, keys included."""
    if isinstance(tree, str):
        if path in _TIMES:
            return tree
        clean, kinds = secrets.clean(tree, versions=path[:1] == ("AQM",) and len(path) > 1
                                     and path[1] in VERSIONS,
                                     apart=path == ("DATA_FILENAME",))
        if kinds:
            changed[".".join(path)] = kinds
        return clean
    if isinstance(tree, list):
        return [_cleaned(one, (*path, str(place)), secrets, changed)
                for place, one in enumerate(tree)]
    if isinstance(tree, dict):
        cleaned: dict[str, Any] = {}
        for key, value in tree.items():
            name = _name(key, cleaned, path, secrets, changed)
            cleaned[name] = _cleaned(value, (*path, name), secrets, changed)
        return cleaned
    return tree


def _renamed(series: Any, where: str, secrets: Secrets, changed: dict[str, str]) -> Any:
    """Return the same values under clean names."""
    if not isinstance(series, dict):
        return series
    renamed: dict[str, Any] = {}
    for name, value in series.items():
        renamed[_name(name, renamed, (where,), secrets, changed)] = value
    return renamed


def _name(key: str, there: dict[str, Any], path: tuple[str, ...], secrets: Secrets,
          changed: dict[str, str]) -> str:
    clean, kinds = secrets.clean(key)
    if kinds:
        changed[".".join((*path, clean))] = f"{kinds} in its name"
    number, name = 1, clean
    while name in there:
        number += 1
        name = f"{clean} #{number}"
    return name


def _samples(samples: list[dict[str, Any]], name: str, secrets: Secrets,
             changed: dict[str, str]) -> list[dict[str, Any]]:
    """Samples are numbers, but for a few words that tools put beside."""
    return [_cleaned(one, ("raw_values", name), secrets, changed)
            if any(type(value) in (str, dict, list) for value in one.values()) else one
            for one in samples]
