# SPDX-License-Identifier: GPL-3.0-or-later
"""A data file of one of our tests in the form of one that every Flent has, and back.

Series that Flent's test names otherwise are renamed, and the test parameters that it makes
its series from are added; the file says which, so that this package reads it as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.spec.definitions import our_tests

# In metadata: {name, stored_as, and where they apply series: {stored: own}, parameters: [name]}.
SHARED_TEST = "AQM_TEST"

Object = dict[str, Any]


@dataclass(frozen=True)
class StockTest:
    """name: of Flent's test; series: own name -> Flent's; parameters: that its definition
    needs."""

    name: str
    series: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)


def _speed_test(names: Sequence[str]) -> str:
    way = {(True, True): "tcp_bidirectional", (True, False): "tcp_download",
           (False, True): "tcp_upload", (False, False): "ping"}
    return way["TCP download" in names, "TCP upload" in names]


def _as_is(names: Sequence[str]) -> StockTest:
    return StockTest(_speed_test(names))


def _quic(names: Sequence[str]) -> StockTest:
    return StockTest("tcp_download", {"QUIC download": "TCP download"})


def _rrul(names: Sequence[str]) -> StockTest:
    return StockTest("rrul")


def _numbered(way: str, names: Sequence[str]) -> StockTest:
    """Return the streams of tcp_ndown or tcp_nup."""
    series = {name: f"TCP {way}::{number}" for number, name in enumerate(names, 1)}
    return StockTest("tcp_ndown" if way == "download" else "tcp_nup", series,
                  {f"{way}_streams": str(len(series))})


def _competing(names: Sequence[str]) -> StockTest:
    return _numbered("download", [name for name in names if name.startswith("TCP download ")])


def _flows(names: Sequence[str]) -> StockTest:
    ways = {way: [name for name in names if name.startswith((f"TCP {way} ", f"UDP {way} "))]
            for way in ("download", "upload")}
    way = max(ways, key=lambda way: len(ways[way]))
    return _numbered(way, ways[way])


def _pings(names: Sequence[str]) -> StockTest:
    """The first host's ping is the test's; the others' are those of its ping_hosts."""
    before = "Ping (ms) ICMP "
    hosts = [name.removeprefix(before) for name in names if name.startswith(before)]
    series = {f"{before}{host}": f"{before}{host} (extra)" for host in hosts[1:]}
    series |= {f"{before}{host}": before.strip() for host in hosts[:1]}
    return StockTest(_speed_test(names), series,
                  {"ping_hosts": ",".join(hosts[1:])} if hosts[1:] else {})


# The others have Flent's names.
OWN_SERIES: Mapping[str, Callable[[Sequence[str]], StockTest]] = {
    "quic_download": _quic, "rrul_compete": _rrul, "tcp_compete": _competing, "aqm_flows": _flows,
    "ping_exp": _pings}


def store(whole: Object) -> None:
    """Give a file of one of our tests the form of Flent's test, in place."""
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
    """Undo store(), in place. Raises BadResult for a file in which it makes no sense."""
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
    """Other names of series wherever they are keys; their order stays."""
    if not names:
        return
    for tree, key in ((whole, "raw_values"), (whole, "results"),
                      (whole["metadata"], "SERIES_META")):
        series = tree.get(key)
        if isinstance(series, dict):
            tree[key] = {_renamed(name, names): value for name, value in series.items()}


def _renamed(name: str, names: Mapping[str, str]) -> str:
    if name in names:
        return names[name]
    # A series of several values has in results one for each, such as NAME::down.
    whole, parts, part = name.rpartition("::")
    return f"{names[whole]}::{part}" if parts and whole in names else name
