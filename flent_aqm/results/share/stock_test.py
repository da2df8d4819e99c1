# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts a data file of this package's tests to one that every Flent can open, and back.

Series to which Flent's test gives other names are renamed, and the test parameters from which it
makes its series are added. The file records both, so that this package can restore it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.spec.definitions import our_tests

# Key of the metadata with {name, stored_as, series: {stored: own}, parameters: [name]}. The last
# two are optional.
SHARED_TEST = "AQM_TEST"

Object = dict[str, Any]


@dataclass(frozen=True)
class StockTest:
    """The test of Flent whose form a data file gets: its name, own name of a series -> Flent's, and
    the test parameters that its definition needs."""

    # Name of Flent's test.
    name: str
    # Own name of a series -> Flent's.
    series: Mapping[str, str] = field(default_factory=dict)
    # Test parameters that its definition needs.
    parameters: Mapping[str, str] = field(default_factory=dict)


def _speed_test(names: Sequence[str]) -> str:
    """Return the name of Flent's test with the same directions."""
    way = {(True, True): "tcp_bidirectional", (True, False): "tcp_download",
           (False, True): "tcp_upload", (False, False): "ping"}
    return way["TCP download" in names, "TCP upload" in names]


def _as_is(names: Sequence[str]) -> StockTest:
    """Return Flent's test for series that already have its names."""
    return StockTest(_speed_test(names))


def _quic(names: Sequence[str]) -> StockTest:
    """Return Flent's test for quic_download."""
    return StockTest("tcp_download", {"QUIC download": "TCP download"})


def _rrul(names: Sequence[str]) -> StockTest:
    """Return Flent's test for rrul_compete."""
    return StockTest("rrul")


def _numbered(way: str, names: Sequence[str]) -> StockTest:
    """Return Flent's test tcp_ndown or tcp_nup with these series as its streams."""
    series = {name: f"TCP {way}::{number}" for number, name in enumerate(names, 1)}
    return StockTest("tcp_ndown" if way == "download" else "tcp_nup", series,
                  {f"{way}_streams": str(len(series))})


def _competing(names: Sequence[str]) -> StockTest:
    """Return Flent's test for tcp_compete."""
    return _numbered("download", [name for name in names if name.startswith("TCP download ")])


def _flows(names: Sequence[str]) -> StockTest:
    """Return Flent's test for aqm_flows: the streams of the direction that has more."""
    ways = {way: [name for name in names if name.startswith((f"TCP {way} ", f"UDP {way} "))]
            for way in ("download", "upload")}
    way = max(ways, key=lambda way: len(ways[way]))
    return _numbered(way, ways[way])


def _pings(names: Sequence[str]) -> StockTest:
    """Return Flent's test for ping_exp. The first host's ping is that of the test, the others are
    in ping_hosts."""
    before = "Ping (ms) ICMP "
    hosts = [name.removeprefix(before) for name in names if name.startswith(before)]
    series = {f"{before}{host}": f"{before}{host} (extra)" for host in hosts[1:]}
    series |= {f"{before}{host}": before.strip() for host in hosts[:1]}
    return StockTest(_speed_test(names), series,
                  {"ping_hosts": ",".join(hosts[1:])} if hosts[1:] else {})


# Series of the other tests have Flent's names.
OWN_SERIES: Mapping[str, Callable[[Sequence[str]], StockTest]] = {
    "quic_download": _quic, "rrul_compete": _rrul, "tcp_compete": _competing, "aqm_flows": _flows,
    "ping_exp": _pings}


def store(whole: Object) -> None:
    """Convert a file of this package's tests to the form of Flent's test, in place. Other files are
    not changed."""
    metadata = whole["metadata"]
    name = metadata.get("NAME")
    if name not in our_tests():
        return
    stored = OWN_SERIES.get(name, _as_is)(list(metadata.get("SERIES_META") or whole["raw_values"]))
    parameters = metadata.get("TEST_PARAMETERS")
    parameters = parameters if isinstance(parameters, dict) else {}
    added = {key: value for key, value in stored.parameters.items() if key not in parameters}
    metadata["TEST_PARAMETERS"] = {**parameters, **added}
    _rename(whole, stored.series)
    metadata[SHARED_TEST] = {
        "name": name, "stored_as": stored.name,
        **({"series": {its: own for own, its in stored.series.items()}} if stored.series else {}),
        **({"parameters": list(added)} if added else {})}
    metadata["NAME"] = stored.name


def restore(whole: Object, metadata: Object) -> None:
    """Undo store(), in place. Raises BadResult if the recorded names of series are not unique."""
    shared = metadata.pop(SHARED_TEST, None)
    if not isinstance(shared, dict) or shared.get("stored_as") != metadata.get("NAME") \
            or not isinstance(shared.get("name"), str):
        return
    metadata["NAME"] = shared["name"]
    series = shared.get("series", {})
    if not isinstance(series, dict) or not all(isinstance(own, str) for own in series.values()) \
            or len(set(series.values())) < len(series):
        raise BadResult(f"the series in its {SHARED_TEST} don't map names one to one")
    _rename(whole, series)
    parameters, added = metadata.get("TEST_PARAMETERS"), shared.get("parameters")
    if isinstance(parameters, dict) and isinstance(added, list):
        for key in added:
            if isinstance(key, str):
                parameters.pop(key, None)


def _rename(whole: Object, names: Mapping[str, str]) -> None:
    """Rename series wherever they are keys. Their order is kept."""
    if not names:
        return
    for tree, key in ((whole, "raw_values"), (whole, "results"),
                      (whole["metadata"], "SERIES_META")):
        series = tree.get(key)
        if isinstance(series, dict):
            tree[key] = {_renamed(name, names): value for name, value in series.items()}


def _renamed(name: str, names: Mapping[str, str]) -> str:
    """Return the new name of a series."""
    if name in names:
        return names[name]
    # A series with several values has one in the results for each, such as NAME::down.
    whole, parts, part = name.rpartition("::")
    return f"{names[whole]}::{part}" if parts and whole in names else name
