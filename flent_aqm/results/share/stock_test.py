# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert a data file of this package's tests to one that every Flent can open, and back.

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
    """The test of Flent whose form a data file gets.

    Attributes:
        name: name of Flent's test.
        series: this package's name of a series -> Flent's. Series with Flent's names are missing.
        parameters: test parameters that the test's definition needs, by name.
    """

    name: str
    series: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)


def _test_with_directions(series_names: Sequence[str]) -> str:
    """Return the name of Flent's test with the directions whose names, "TCP download" and "TCP
    upload", are among those of the series: tcp_bidirectional, tcp_download, tcp_upload, or ping
    without any. Longer names, such as "TCP download 2", don't count."""
    tests = {(True, True): "tcp_bidirectional", (True, False): "tcp_download",
             (False, True): "tcp_upload", (False, False): "ping"}
    return tests["TCP download" in series_names, "TCP upload" in series_names]


def _as_is(series_names: Sequence[str]) -> StockTest:
    """Return the StockTest for files whose series already have Flent's names: the test that
    _test_with_directions() returns, without other names or parameters."""
    return StockTest(_test_with_directions(series_names))


def _stock_test_of_quic_download(series_names: Sequence[str]) -> StockTest:
    """Return the StockTest for files of this package's test quic_download: Flent's tcp_download,
    with "QUIC download" as its "TCP download". `series_names` is not used."""
    return StockTest("tcp_download", {"QUIC download": "TCP download"})


def _stock_test_of_rrul_compete(series_names: Sequence[str]) -> StockTest:
    """Return the StockTest for files of this package's test rrul_compete: Flent's rrul. Its series
    keep their names. `series_names` is not used."""
    return StockTest("rrul")


def _stock_test_with_streams(direction: str, series_names: Sequence[str]) -> StockTest:
    """Return the StockTest of Flent's tcp_ndown or tcp_nup, with the series as its streams, such as
    "TCP download::1", and their number as its parameter download_streams or upload_streams.

    Args:
        direction: "download" or "upload".
        series_names: names of the series, in the order of the streams.
    """
    series = {name: f"TCP {direction}::{number}" for number, name in enumerate(series_names, 1)}
    return StockTest("tcp_ndown" if direction == "download" else "tcp_nup", series,
                  {f"{direction}_streams": str(len(series))})


def _stock_test_of_tcp_compete(series_names: Sequence[str]) -> StockTest:
    """Return the StockTest for files of this package's test tcp_compete: Flent's tcp_ndown, with
    each TCP download as one of its streams."""
    return _stock_test_with_streams(
        "download", [name for name in series_names if name.startswith("TCP download ")])


def _stock_test_of_aqm_flows(series_names: Sequence[str]) -> StockTest:
    """Return the StockTest for files of this package's test aqm_flows: Flent's tcp_ndown or
    tcp_nup, with the flows of the direction that has more (download if equal) as its streams. The
    other flows keep their names."""
    flows = {direction: [name for name in series_names
                         if name.startswith((f"TCP {direction} ", f"UDP {direction} "))]
             for direction in ("download", "upload")}
    direction = max(flows, key=lambda name: len(flows[name]))
    return _stock_test_with_streams(direction, flows[direction])


def _stock_test_of_ping_exp(series_names: Sequence[str]) -> StockTest:
    """Return the StockTest for files of this package's test ping_exp: Flent's test with the same
    directions. The first host's ping gets its name "Ping (ms) ICMP". Those of other hosts become
    extra series, "Ping (ms) ICMP HOST (extra)", and the hosts its parameter ping_hosts, with commas
    between them. Without other hosts there is no parameter."""
    before = "Ping (ms) ICMP "
    hosts = [name.removeprefix(before) for name in series_names if name.startswith(before)]
    series = {f"{before}{host}": f"{before}{host} (extra)" for host in hosts[1:]}
    series |= {f"{before}{host}": before.strip() for host in hosts[:1]}
    return StockTest(_test_with_directions(series_names), series,
                  {"ping_hosts": ",".join(hosts[1:])} if hosts[1:] else {})


# Series of the other tests have Flent's names.
OWN_SERIES: Mapping[str, Callable[[Sequence[str]], StockTest]] = {
    "quic_download": _stock_test_of_quic_download, "rrul_compete": _stock_test_of_rrul_compete,
    "tcp_compete": _stock_test_of_tcp_compete, "aqm_flows": _stock_test_of_aqm_flows,
    "ping_exp": _stock_test_of_ping_exp}


def store(whole: Object) -> None:
    """Convert the content of a file of this package's tests to the form of Flent's test, in place,
    with the record that restore() needs in the metadata (SHARED_TEST). Test parameters that the
    file already has keep their values. Files of other tests are not changed. Raises BadResult if
    two series would get one name."""
    metadata = whole["metadata"]
    name = metadata.get("NAME")
    if name not in our_tests():
        return
    stored = OWN_SERIES.get(name, _as_is)(list(metadata.get("SERIES_META") or whole["raw_values"]))
    parameters = metadata.get("TEST_PARAMETERS")
    parameters = parameters if isinstance(parameters, dict) else {}
    added = {key: value for key, value in stored.parameters.items() if key not in parameters}
    metadata["TEST_PARAMETERS"] = {**parameters, **added}
    _rename(whole, stored.series, f"in the form of Flent's test {stored.name}, in which files are "
            "shared; rename one of them in the file")
    metadata[SHARED_TEST] = {
        "name": name, "stored_as": stored.name,
        **({"series": {its: own for own, its in stored.series.items()}} if stored.series else {}),
        **({"parameters": list(added)} if added else {})}
    metadata["NAME"] = stored.name


def restore(whole: Object, metadata: Object) -> None:
    """Undo store(), in place. Files without store()'s record are not changed. A record that is not
    an object, is of another test than the file's, or lacks the test's own name, is only removed.
    Raises BadResult if the record's `series` is not an object that has a different own name for
    each name in the file, or if two series of the file would get one name. The name of the test is
    restored even then.

    Args:
        whole: content of the file.
        metadata: its metadata, a part of `whole`.
    """
    shared = metadata.pop(SHARED_TEST, None)
    if not isinstance(shared, dict) or shared.get("stored_as") != metadata.get("NAME") \
            or not isinstance(shared.get("name"), str):
        return
    metadata["NAME"] = shared["name"]
    series = shared.get("series", {})
    if not isinstance(series, dict) or not all(isinstance(own, str) for own in series.values()) \
            or len(set(series.values())) < len(series):
        raise BadResult(f"its metadata {SHARED_TEST} is damaged; expected an object "
                        "`series` that gives each series another name")
    _rename(whole, series, f"by the names that it had before it was shared ({SHARED_TEST} in its "
            "metadata): the file was changed; use it as flent-aqm share wrote it")
    parameters, added = metadata.get("TEST_PARAMETERS"), shared.get("parameters")
    if isinstance(parameters, dict) and isinstance(added, list):
        for key in added:
            if isinstance(key, str):
                parameters.pop(key, None)


def _rename(whole: Object, names: Mapping[str, str], why: str) -> None:
    """Rename series, and their values such as NAME::down, in raw_values, results and SERIES_META,
    in place. Their order is kept. Raises BadResult if two would get one name, so that one of them
    would be lost.

    Args:
        whole: content of the file.
        names: old name -> new name.
        why: end of the message about two of one name: where the new names are from, and a remedy.
    """
    if not names:
        return
    for tree, key in ((whole, "raw_values"), (whole, "results"),
                      (whole["metadata"], "SERIES_META")):
        series = tree.get(key)
        if isinstance(series, dict):
            old_names: dict[str, str] = {}
            for name in series:
                new = _new_name(name, names)
                if new in old_names:
                    raise BadResult(f"{old_names[new][:80]!r} and {name[:80]!r} in its {key} would "
                                    f"both be {new[:80]!r} {why}")
                old_names[new] = name
            tree[key] = {new: series[old] for new, old in old_names.items()}


def _new_name(name: str, names: Mapping[str, str]) -> str:
    """Return the new name of a series, or of one of its values such as NAME::down. Names that are
    not in `names` are unchanged.

    names: old name of a series -> new name.
    """
    if name in names:
        return names[name]
    # A series with several values has one in the results for each, such as NAME::down.
    whole, parts, part = name.rpartition("::")
    return f"{names[whole]}::{part}" if parts and whole in names else name
