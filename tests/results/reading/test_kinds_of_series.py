# SPDX-License-Identifier: GPL-3.0-or-later
"""Kind, tool, unit and samples of series, by what a file records: each branch, both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flent_aqm.results.data_file import as_data_file
from flent_aqm.results.reading.series import Series, SeriesKind, series_of
from flent_aqm.results.result_set import copy_before_flent, keep_old, once


def read(name: str, meta: dict[str, Any] | None, samples: list[dict[str, Any]],
         version: int = 4) -> Series | None:
    """Return a series of a file, None if it is left out."""
    known = {} if meta is None else {"SERIES_META": {name: meta}}
    return series_of(as_data_file({"version": version, "raw_values": {name: samples, "other": [
        {"t": 1.0, "val": 1.0}]}, "metadata": known}, Path("x"))).get(name)


PLAIN: list[dict[str, Any]] = [{"t": 1.0, "val": 2.0}]
TIMED: list[dict[str, Any]] = [{"t": 1.0, "val": 2.0, "dur": 1.0}]
LOST: list[dict[str, Any]] = [*({"t": 1.0, "val": 2.0} for _ in range(99)), {"t": 1.0, "lost": 1}]
PING = "Ping (ms) ICMP"


@pytest.mark.parametrize(("name", "meta", "samples", "version", "kind", "tool", "value"), [
    # By its unit.
    ("x", {"UNITS": "ms", "RUNNER": "PingRunner"}, PLAIN, 4, "latency", "ping", 2.0),
    ("x", {"UNITS": "Mbits/s"}, PLAIN, 4, "throughput", None, 2.0),
    ("x", {"UNITS": "bits/s"}, PLAIN, 4, "throughput", None, 2e-6),
    ("TCP x", {"UNITS": "bytes"}, PLAIN, 4, "other", None, 2.0),
    ("TCP x", {"UNITS": 5}, PLAIN, 4, "other", None, 2.0),
    # By its name, unless no sample has a value.
    (PING, None, PLAIN, 4, "latency", "ping", 2.0),
    ("TCP x", {}, PLAIN, 4, "throughput", None, 2.0),
    ("QUIC x", {}, PLAIN, 4, "throughput", None, 2.0), ("QUICK", {}, PLAIN, 4, "other", None, 2.0),
    ("an Upload", {}, PLAIN, 4, "throughput", None, 2.0),
    ("TCP x", {}, [{"t": 1.0}], 4, "other", None, None),
    (PING, {}, [{"t": 1.0}, *PLAIN], 4, "latency", "ping", None),
    # A latency's tool, by its runner, else its samples and name.
    (PING, {"RUNNER": "PingRunner"}, TIMED, 4, "latency", "ping", 2.0),
    (PING, {"RUNNER": "AqmPingRunner"}, LOST, 4, "latency", "ping", 2.0),
    (PING, {"RUNNER": "IrttRunner"}, PLAIN, 4, "latency", "irtt", 2.0),
    (PING, {"RUNNER": "HttpRunner"}, PLAIN, 4, "other", None, 2.0),
    (PING, {"RUNNER": 5}, PLAIN, 4, "other", None, 2.0),
    (PING, {"RUNNER": "UdpRttRunner"}, LOST, 4, "latency", "irtt", 2.0),
    (PING, {"RUNNER": "UdpRttRunner"}, PLAIN, 4, "latency", "netperf UDP_RR", 2.0),
    ("Ping (ms) TCP", {"RUNNER": "UdpRttRunner"}, PLAIN, 4, "latency", "netperf TCP_RR", 2.0),
    ("Ping (ms) TCP", {"RUNNER": "NetperfDemoRunner"}, PLAIN, 4, "latency", "netperf TCP_RR", 2.0),
    ("Web (ms)", {"UNITS": "ms"}, PLAIN, 4, "other", None, 2.0),
    ("Web (ms)", {"UNITS": "ms", "RUNNER": "UdpRttRunner"}, PLAIN, 4, "latency", "netperf UDP_RR",
     2.0),
    (PING, {}, LOST, 4, "latency", "irtt", 2.0),
    (PING, {}, [*LOST[:99], LOST[0], LOST[99]], 4, "latency", "ping", 2.0),
    *((PING, {}, [{"t": 1.0, "val": 2.0, key: 1.0}], 4, "latency", "irtt", 2.0)
      for key in ("owd_up", "ipdv", "lost")),
    (PING, {}, TIMED, 4, "latency", "netperf UDP_RR", 2.0),
    ("Ping (ms) TCP", {}, TIMED, 4, "latency", "netperf TCP_RR", 2.0),
    ("Ping (ms) TCP", {}, PLAIN, 4, "latency", "ping", 2.0),
    ("Ping (ms) UDP", {}, PLAIN, 4, "latency", "netperf UDP_RR", 2.0),
    # Before version 4, other units.
    (PING, {}, TIMED, 3, "latency", "netperf UDP_RR", 500.0),
    (PING, {}, PLAIN, 3, "latency", "ping", 2.0),
    (PING, {}, [{"t": 1.0, "val": 0.0, "dur": 1.0}], 3, "latency", "netperf UDP_RR", None),
    (PING, {}, [{"t": 1.0, "val": -1.0, "dur": 1.0}], 3, "latency", "netperf UDP_RR", -1.0),
    (PING, {}, [{"t": 1.0, "val": 1e-320, "dur": 1.0}], 3, "latency", "netperf UDP_RR", None),
    (PING, {}, [{"t": 1.0, "val": 8.0, "dur": 1.0}, *PLAIN], 3, "latency", "netperf UDP_RR",
     125.0),
    (PING, {}, [{"t": 1.0, "val": "x", "dur": 1.0}], 3, "latency", "netperf UDP_RR", "x"),
    ("HTTP latency", {}, PLAIN, 3, "other", None, 2000.0),
    ("HTTP latency", {}, PLAIN, 4, "other", None, 2.0),
    ("UDP x", {}, PLAIN, 3, "throughput", None, 2e-6),
    ("UDP x", {}, PLAIN, 4, "throughput", None, 2.0),
    ("UDPx", {"UNITS": "Mbits/s"}, PLAIN, 3, "throughput", None, 2.0),
    ("TCP x", {}, PLAIN, 3, "throughput", None, 2.0),
    ("TCP x", {}, TIMED, 3, "throughput", None, 2.0),
])
def test_series_is_read_by_what_is_recorded(
        name: str, meta: dict[str, Any] | None, samples: list[dict[str, Any]], version: int,
        kind: str, tool: str | None, value: Any) -> None:
    series = read(name, meta, samples, version)
    assert series is not None
    assert (series.name, series.kind.value, series.tool.value if series.tool else None) == (
        name, kind, tool)
    assert series.samples[0].get("val") == value
    assert [one["t"] for one in series.samples] == [1.0] * len(samples)
    assert not series.of_steps
    if kind != "other":
        assert series.meta["UNITS"] == {"latency": "ms", "throughput": "Mbits/s"}[kind]


@pytest.mark.parametrize(("mean", "converted"), [(6e6, 6.0), (None, None), ("x", "x")])
def test_mean_of_a_throughput_is_converted_with_its_samples(mean: Any, converted: Any) -> None:
    series = read("TCP x", {"UNITS": "bits/s", "MEAN_VALUE": mean}, [*PLAIN, {"t": 1.0}])
    assert series is not None
    assert (series.meta["MEAN_VALUE"], [one.get("val") for one in series.samples]) == (
        converted, [2e-6, None])


@pytest.mark.parametrize(("name", "meta", "samples", "is_computed"), [
    ("x", {"RUNNER": "SumRunner"}, PLAIN, True), ("TCP x::tcp_rtt", {}, PLAIN, True),
    ("TCP x::tcp_rtt y", {}, PLAIN, False), ("TCP totals", {}, [], True),
    ("TCP totals", {}, PLAIN, False), ("Ping (ms) avg", {}, [], True), ("TCP sums", {}, [], False),
    ("TCP SUM", {}, [], True)])
def test_what_flent_computed_is_left_out(
        name: str, meta: dict[str, Any], samples: list[dict[str, Any]], is_computed: bool) -> None:
    assert (read(name, meta, samples) is None) is is_computed


@pytest.mark.parametrize(("meta", "samples", "failure"), [
    ({}, [], "the tool of 'TCP x' gave no data"),
    ({"ERROR": []}, [], "the tool of 'TCP x' gave no data"),
    ({"ERROR": "odd"}, [], "the tool of 'TCP x' gave no data"),
    ({"ERROR": ["a\x07", "b"]}, [], "TCP x: a?"),
    ({"ERROR": ["y" * 300]}, [], "TCP x: " + "y" * 200), ({"ERROR": ["a"]}, PLAIN, ""),
    ({}, [{"t": 1.0, "val": None}], "the tool of 'TCP x' gave no data"),
    ({}, [{"t": 1.0, "lost": True, "val": None}], ""),
    ({"UNITS": "bytes"}, [], ("'TCP x' has the unit 'bytes', which is not read; expected "
                              "Mbits/s or bits/s"))])
def test_series_without_data_has_a_reason(
        meta: dict[str, Any], samples: list[dict[str, Any]], failure: str) -> None:
    series = read("TCP x", meta, samples)
    assert series is not None
    assert series.failure == failure


@pytest.mark.parametrize(("metadata", "start_s", "step_s"), [
    ({}, 0.0, 0.2), ({"STEP_SIZE": 0.5}, 0.0, 0.5), ({"STEP_SIZE": "x"}, 0.0, 0.2),
    ({"TIME": "2016-01-01T00:00:00Z"}, 1451606400.0, 0.2),
    ({"TIME": "2016-01-01T00:00:00"}, 1451606400.0, 0.2),
    ({"TIME": "2016-01-01T01:00:00+01:00"}, 1451606400.0, 0.2),
    ({"T0": "2016-01-01T00:00:01Z", "TIME": "2016-01-01T00:00:00Z"}, 1451606401.0, 0.2),
    ({"T0": "x", "TIME": "2016-01-01T00:00:00Z"}, 1451606400.0, 0.2), ({"T0": 5}, 0.0, 0.2)])
def test_steps_have_the_time_of_the_run(
        metadata: dict[str, Any], start_s: float, step_s: float) -> None:
    """Gaps and damaged steps are left out."""
    data = as_data_file({
        "version": 4, "raw_values": {}, "metadata": metadata, "x_values": [0, 1.5, 3, None, 5],
        "results": {PING: [1.0, None, 3, 4, "x"], "TCP total": [1] * 5, "x": 5}}, Path("x"))
    series, = series_of(data).values()
    assert (series.of_steps, series.tool.value if series.tool else "") == (True, "ping")
    assert series.samples == [{"t": start_s, "val": 1.0, "dur": step_s},
                              {"t": start_s + 3, "val": 3.0, "dur": step_s}]


def test_series_is_of_raw_samples_unless_it_says_otherwise() -> None:
    series = Series("x", SeriesKind.OTHER, {}, [])
    assert (series.of_steps, series.tool, series.failure) == (False, None, "")


@pytest.mark.parametrize("whole", [
    {}, {"x_values": [1]}, {"results": {PING: [1]}}, {"x_values": {}, "results": {}},
    {"x_values": [], "results": []}])
def test_file_without_steps_has_no_series(whole: dict[str, Any]) -> None:
    assert series_of(as_data_file({"version": 4, "raw_values": {}, "metadata": {}, **whole},
                                  Path("x"))) == {}


def test_steps_that_flent_made_samples_of_are_told_as_steps() -> None:
    data = as_data_file({"version": 4, "raw_values": {PING: TIMED},
                         "metadata": {"FAKE_RAW_VALUES": True}}, Path("x"))
    assert [(one.of_steps, one.tool.value if one.tool else "") for one in series_of(
        data).values()] == [(True, "ping")]


def test_older_files_are_copied_before_flent_changes_them() -> None:
    """What this package reads of them. A file without a version is of the first."""
    old: dict[str, Any] = {"version": 3, "raw_values": {"a": [{"t": 1}]}, "x_values": [1],
                           "metadata": {"SERIES_META": {"a": {}}, "NAME": "x"}, "more": 1}
    copied = copy_before_flent(old, 4)
    assert copied == {"version": 3, "raw_values": {"a": [{"t": 1}]}, "x_values": [1],
                      "metadata": {"SERIES_META": {"a": {}}}}
    old["raw_values"]["a"][0]["t"] = 2
    assert copied["raw_values"]["a"][0]["t"] == 1
    assert copy_before_flent({**old, "version": 4}, 4) is None
    assert copy_before_flent({"metadata": {}}, 4) == {"metadata": {}}
    assert copy_before_flent({"metadata": {}}, 1) is None
    assert copy_before_flent({"metadata": {}}, 2) == {"metadata": {}}


def test_result_sets_keep_what_was_computed_once() -> None:
    """By name. Nothing is kept of a file of the newest format."""
    class Results:
        pass

    results = Results()
    made: list[int] = []
    for name in ("a", "a", "b"):
        once(results, name, lambda: made.append(1))
    assert len(made) == 2
    before = dict(vars(results))
    keep_old(results, None)
    assert vars(results) == before
    keep_old(results, {"version": 3})
    assert len(vars(results)) == len(before) + 1
