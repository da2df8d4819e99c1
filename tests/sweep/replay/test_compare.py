# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparison of two data files: what counts, and what is named first."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from flent_aqm.sweep.replay.compare import _json_text, differences, other_versions

RUN: dict[str, Any] = {
    "x_values": [0.0, 0.2],
    "results": {"TCP upload": [None, 95.5]},
    "raw_values": {"TCP upload": [{"t": 100.0, "val": 95.5}, {"t": 100.2, "val": 95.6}],
                   "Ping": [{"t": 99.5, "val": 1.0}, {"t": 100.1, "val": 2.0}]},
    "metadata": {
        "TITLE": "mine", "BATCH_TIME": "2026-01-01", "LENGTH": 10, "FLENT_VERSION": "2.3.0",
        "SERIES_META": {"Ping": {"COMMAND": "/usr/bin/fping -c 3 server"}},
        "AQM": {"wall_s": 3.1, "kernel": {"version": "7.3.4", "hash": "0"},
                "tools": {"irtt": "0.9.1"}, "flent_aqm": "0.1.0",
                "after": {"counters": {"up": {"qdisc": {"drops": 7}}}}},
    },
}


def changed(change: Callable[[Any], object]) -> dict[str, Any]:
    """RUN with one change."""
    data = copy.deepcopy(RUN)
    change(data)
    return data


@pytest.mark.parametrize("change", [
    lambda data: data["metadata"].update(TITLE="yours", BATCH_TIME="2027-01-01"),
    lambda data: data["metadata"]["AQM"].update(wall_s=9, finished_at="now"),
    lambda data: data["metadata"]["SERIES_META"]["Ping"].update(
        COMMAND="/opt/bin/fping -c 3 server"),
])
def test_what_a_host_or_a_batch_adds_is_left_out(change: Callable[[Any], object]) -> None:
    """Names, the host's clock, and folders of programs are no part of the result."""
    assert differences(RUN, changed(change)) == []


@pytest.mark.parametrize(("change", "line"), [
    (lambda data: data["raw_values"]["TCP upload"][1].update(val=95.7),
     ('samples of TCP upload, number 1 at 0.700000 s: {"val": 95.6} in the file, '
      '{"val": 95.7} now')),
    (lambda data: data["raw_values"]["Ping"].pop(),
     'samples of Ping, number 1 at 0.600000 s: {"t": 100.1, "val": 2.0} in the file, nothing now'),
    (lambda data: data["raw_values"]["Ping"][0].update(val=1),
     'samples of Ping, number 0 at 0.000000 s: {"val": 1.0} in the file, {"val": 1} now'),
    (lambda data: data["raw_values"].pop("Ping"),
     "samples of Ping: 2 samples in the file, nothing now"),
    (lambda data: data["results"]["TCP upload"].append(1),
     "results of TCP upload, number 2: nothing in the file, 1 now"),
    (lambda data: data["results"].pop("TCP upload"),
     "results of TCP upload: there in the file, nothing now"),
    (lambda data: data["results"].update(Ping=[]),
     "results of Ping: nothing in the file, there now"),
    (lambda data: data["raw_values"].update({"UDP": [{"t": 99.0}]}),
     "samples of UDP: nothing in the file, 1 sample now"),
    (lambda data: data["x_values"].append(0.4),
     "x_values, number 2: nothing in the file, 0.4 now"),
    (lambda data: data["metadata"]["AQM"]["after"]["counters"]["up"]["qdisc"].update(drops=8),
     "AQM.after.counters.up.qdisc.drops: 7 in the file, 8 now"),
    (lambda data: data["metadata"]["SERIES_META"]["Ping"].update(COMMAND="/usr/bin/fping -c 4"),
     "SERIES_META.Ping.COMMAND: fping -c 3 server in the file, fping -c 4 now"),
    (lambda data: data["metadata"].update(LENGTH=11), "LENGTH: 10 in the file, 11 now"),
])
def test_one_change_is_found_with_its_place(change: Callable[[Any], object], line: str) -> None:
    """Series, index, time and both values, or the key path."""
    assert [str(one) for one in differences(RUN, changed(change))] == [line]


def test_samples_without_a_time_before_them_are_told_by_the_time_itself() -> None:
    """The first sample of the only series has none, so that nothing says when the run began."""
    was = changed(lambda data: data.update(
        raw_values={"Ping": [{"val": 1.0}, {"t": 2.5, "val": 2.0}]}))
    now = copy.deepcopy(was)
    now["raw_values"]["Ping"][1]["val"] = 3.0
    assert [str(one) for one in differences(was, now)] == [
        'samples of Ping, number 1 at 2.500000 s: {"val": 2.0} in the file, {"val": 3.0} now']


def test_first_difference_is_the_earliest_sample() -> None:
    """Samples come in the order of time, whatever their series; counters after them."""
    def change(data: Any) -> None:
        data["metadata"]["AQM"]["after"]["counters"]["up"]["qdisc"]["drops"] = 0
        data["raw_values"]["Ping"][1]["val"] = 3.0
        data["raw_values"]["TCP upload"][0]["val"] = 0.0

    places = [one.where for one in differences(RUN, changed(change))]
    assert places == ["samples of TCP upload, number 0", "samples of Ping, number 1",
                      "AQM.after.counters.up.qdisc.drops"]


def test_versions_are_named_and_no_difference() -> None:
    """Kernel, tools and this package, also where one file lacks them."""
    def change(data: Any) -> None:
        data["metadata"]["AQM"] |= {"kernel": {"version": "7.3.4", "hash": "1"},
                                    "tools": {"irtt": "0.9.2", "fping": "5"}}

    other = changed(change)
    assert differences(RUN, other) == []
    assert [str(one) for one in other_versions(RUN["metadata"], other["metadata"])] == [
        "fping: nothing in the file, 5 now", "irtt: 0.9.1 in the file, 0.9.2 now",
        "kernel hash: 0 in the file, 1 now"]


def test_keys_of_values_are_compared_in_one_order() -> None:
    assert _json_text({"b": 1, "a": [2]}) == _json_text({"a": [2], "b": 1})
    assert _json_text("a text") == "a text"


def test_difference_at_time_0_has_the_time_of_the_recorded_sample() -> None:
    """Not that of the new one."""
    was = changed(lambda data: data.update(raw_values={"Ping": [{"t": 0.0}]}))
    now = changed(lambda data: data.update(raw_values={"Ping": [{"t": 2.5}]}))
    (one,) = differences(was, now)
    assert one.t_s == 0


def no_time(data: Any) -> None:
    for sample in data["raw_values"]["Ping"]:
        del sample["t"]


@pytest.mark.parametrize(("prepare", "change", "lines"), [
    # a value that only one of the samples has
    (None, lambda data: data["raw_values"]["Ping"][0].pop("val"),
     ['samples of Ping, number 0 at 0.000000 s: {"val": 1.0} in the file, {} now']),
    (None, lambda data: data["raw_values"]["Ping"][0].update(seq=1),
     ['samples of Ping, number 0 at 0.000000 s: {} in the file, {"seq": 1} now']),
    # the time of a sample that only the new file has, from the first sample on
    (None, lambda data: data["raw_values"]["Ping"].append({"t": 101.5}),
     ['samples of Ping, number 2 at 2.000000 s: nothing in the file, {"t": 101.5} now']),
    (None, lambda data: data["raw_values"]["Ping"].insert(1, 7),
     ['samples of Ping, number 1 at 0.600000 s: {"t": 100.1, "val": 2.0} in the file, 7 now']),
    # without a time it comes first
    (no_time, lambda data: data["raw_values"]["TCP upload"][0].update(val=1.5),
     ['samples of TCP upload, number 0 at 0.000000 s: {"val": 95.5} in the file, {"val": 1.5} now',
      ]),
    (no_time, lambda data: (data["raw_values"]["TCP upload"][0].update(val=1.5),
                            data["raw_values"]["Ping"][1].update(val=2.5),
                            data["raw_values"].pop("Ping")),
     ["samples of Ping: 2 samples in the file, nothing now",
      'samples of TCP upload, number 0 at 0.000000 s: {"val": 95.5} in the file, {"val": 1.5} now'],
     ),
    (no_time, lambda data: data["raw_values"]["Ping"][1].update(val=2.5),
     ['samples of Ping, number 1: {"val": 2.0} in the file, {"val": 2.5} now']),
    # numbers that Python takes for equal
    (None, lambda data: data["raw_values"]["Ping"][0].update(val=True),
     ['samples of Ping, number 0 at 0.000000 s: {"val": 1.0} in the file, {"val": true} now']),
    # results have their own times
    (None, lambda data: data["results"]["TCP upload"].__setitem__(1, 95),
     ["results of TCP upload, number 1 at 0.200000 s: 95.5 in the file, 95 now"]),
    (None, lambda data: data["results"].update({"TCP upload": []}),
     ["results of TCP upload, number 0 at 0.000000 s: null in the file, nothing now"]),
    (None, lambda data: data["x_values"].__setitem__(1, 0.3),
     ["x_values, number 1: 0.2 in the file, 0.3 now"]),
    # metadata: counters first, then in the order of names
    (None, lambda data: (data["metadata"].update(ABSOLUTE=1, LENGTH=11, TOTAL_LENGTH=12),
                         data["metadata"]["AQM"].update(
                             {"aaa": 1, "before": 1, "after": {"counters": 2}})),
     ["AQM.after.counters: {\"up\": {\"qdisc\": {\"drops\": 7}}} in the file, 2 now",
      "AQM.before: nothing in the file, 1 now", "AQM.aaa: nothing in the file, 1 now",
      "LENGTH: 10 in the file, 11 now", "TOTAL_LENGTH: nothing in the file, 12 now"]),
    # what may have been removed when the file was shared: not what the new one lacks
    (lambda data: data["metadata"]["SERIES_META"]["Ping"].pop("COMMAND"),
     lambda data: data["metadata"]["SERIES_META"]["Ping"].update(COMMAND="fping"), []),
    (None, lambda data: data["metadata"]["SERIES_META"]["Ping"].pop("COMMAND"),
     ["SERIES_META.Ping.COMMAND: fping -c 3 server in the file, nothing now"]),
    (None, lambda data: data["metadata"].pop("LENGTH"), ["LENGTH: 10 in the file, nothing now"]),
    (None, lambda data: data["metadata"]["SERIES_META"]["Ping"].update(UNITS="ms"),
     ["SERIES_META.Ping.UNITS: nothing in the file, ms now"]),
    (None, lambda data: data["metadata"]["SERIES_META"].update(Ping="x"),
     ['SERIES_META.Ping: {"COMMAND": "/usr/bin/fping -c 3 server"} in the file, x now']),
])
def test_differences_are_told_in_the_order_in_which_they_arose(
        prepare: Callable[[Any], object] | None, change: Callable[[Any], object], lines: list[str]
) -> None:
    was = changed(prepare or (lambda data: None))
    now = copy.deepcopy(was)
    change(now)
    assert [str(one) for one in differences(was, now)] == lines


def test_long_value_is_cut_to_200_characters() -> None:
    """With a mark that it was."""
    for count, shown in ((200, "x" * 200), (201, f"{'x' * 200}…")):
        (one,) = differences(RUN, {**RUN, "metadata": {**RUN["metadata"], "LENGTH": "x" * count}})
        assert str(one) == f"LENGTH: 10 in the file, {shown} now"


def test_versions_that_are_the_same_are_left_out() -> None:
    """A hash of this package is named only where a file records one."""
    assert other_versions(RUN["metadata"], RUN["metadata"]) == []
    now = changed(lambda data: data["metadata"]["AQM"].update(flent_aqm_hash="ab", tools=None))
    assert [str(one) for one in other_versions(RUN["metadata"], now["metadata"])] == [
        "flent-aqm hash: nothing in the file, ab now", "irtt: 0.9.1 in the file, nothing now"]
    assert [str(one) for one in other_versions({}, RUN["metadata"])] == [
        "flent: None in the file, 2.3.0 now", "flent-aqm: None in the file, 0.1.0 now",
        "irtt: nothing in the file, 0.9.1 now", "kernel hash: nothing in the file, 0 now",
        "kernel version: nothing in the file, 7.3.4 now"]
