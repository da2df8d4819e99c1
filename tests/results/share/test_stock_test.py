# SPDX-License-Identifier: GPL-3.0-or-later
"""The form in which every Flent opens a file of a test of ours, the way back, and what is said of
files that it doesn't open."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.share import check
from flent_aqm.results.share.check import is_of_flent, open_all
from flent_aqm.results.share.stock_test import SHARED_TEST, restore, store

PING = "Ping (ms) ICMP"


def content(test: str, series: list[str], **parameters: str) -> dict[str, Any]:
    """A file with these series. The first and last one have further values in the results."""
    return {"raw_values": {name: [{"t": 1.0}] for name in series},
            "results": {**{name: [1.0] for name in series}, f"{series[0]}::down": [2.0],
                        f"{series[-1]}::up": [3.0]},
            "metadata": {"NAME": test, "SERIES_META": {name: {"UNITS": "ms"} for name in series},
                         "TEST_PARAMETERS": {"a": "1", **parameters}}}


FORMS: list[tuple[str, list[str], str, Mapping[str, str], Mapping[str, str]]] = [
    ("ndt7", ["TCP download", "TCP upload", PING], "tcp_bidirectional", {}, {}),
    ("ndt7", ["TCP download", PING], "tcp_download", {}, {}),
    ("ndt7", ["TCP upload", PING], "tcp_upload", {}, {}),
    ("ndt7", [PING], "ping", {}, {}),
    ("quic_download", ["QUIC download", PING], "tcp_download",
     {"QUIC download": "TCP download"}, {}),
    ("rrul_compete", ["TCP download BE", PING], "rrul", {}, {}),
    ("tcp_compete", ["TCP download cubic", "TCP download bbr", PING], "tcp_ndown",
     {"TCP download cubic": "TCP download::1", "TCP download bbr": "TCP download::2"},
     {"download_streams": "2"}),
    ("aqm_flows", ["TCP upload one", "UDP upload two", "TCP download three", PING], "tcp_nup",
     {"TCP upload one": "TCP upload::1", "UDP upload two": "TCP upload::2"},
     {"upload_streams": "2"}),
    ("aqm_flows", ["TCP download one", PING], "tcp_ndown",
     {"TCP download one": "TCP download::1"}, {"download_streams": "1"}),
    ("ping_exp", [f"{PING} a", f"{PING} b", f"{PING} c", "TCP upload"], "tcp_upload",
     {f"{PING} a": PING, f"{PING} b": f"{PING} b (extra)", f"{PING} c": f"{PING} c (extra)"},
     {"ping_hosts": "b,c"}),
    ("ping_exp", [f"{PING} a", f"{PING} b"], "ping",
     {f"{PING} a": PING, f"{PING} b": f"{PING} b (extra)"}, {"ping_hosts": "b"}),
    ("ping_exp", [f"{PING} a"], "ping", {f"{PING} a": PING}, {}),
]


@pytest.mark.parametrize(("test", "series", "stored_as", "names", "parameters"), FORMS)
def test_stored_file_is_of_a_test_of_flent_and_comes_back(
        test: str, series: list[str], stored_as: str, names: Mapping[str, str],
        parameters: Mapping[str, str]) -> None:
    """Series have that test's names everywhere, in their order, and parameters make as many."""
    whole = content(test, series)
    before = copy.deepcopy(whole)
    store(whole)
    metadata = whole["metadata"]
    assert is_of_flent(metadata["NAME"])
    assert metadata["NAME"] == stored_as
    assert metadata["TEST_PARAMETERS"] == {"a": "1", **parameters}
    new = [names.get(name, name) for name in series]
    assert list(whole["raw_values"]) == list(metadata["SERIES_META"]) == new
    assert list(whole["results"]) == [*new, f"{new[0]}::down", f"{new[-1]}::up"]
    restore(whole, metadata)
    assert whole == before
    assert list(whole["results"]) == list(before["results"])


def test_series_of_a_file_without_their_metadata_count() -> None:
    """As early files lack them."""
    whole = content("ndt7", ["TCP download"])
    whole["metadata"]["SERIES_META"] = {}
    store(whole)
    assert whole["metadata"]["NAME"] == "tcp_download"


def test_parameter_of_the_user_stays() -> None:
    """It is neither replaced nor taken away."""
    whole = content("aqm_flows", ["TCP upload one"], upload_streams="9")
    before = copy.deepcopy(whole)
    store(whole)
    assert whole["metadata"]["TEST_PARAMETERS"]["upload_streams"] == "9"
    restore(whole, whole["metadata"])
    assert whole == before


def test_file_of_flents_own_test_is_left_as_it_is() -> None:
    whole = content("rrul", ["TCP upload BE"])
    before = copy.deepcopy(whole)
    store(whole)
    restore(whole, whole["metadata"])
    assert whole == before
    assert [is_of_flent(test) for test in ("rrul", "ndt7", 5, None)] == [True, False, False, False]


@pytest.mark.parametrize("record", [
    None, [], {"name": "ndt7", "stored_as": "rrul"}, {"name": 5, "stored_as": "ping"}])
def test_record_that_does_not_fit_is_dropped(record: object) -> None:
    """And nothing else changes."""
    whole = content("ping", [PING])
    before = copy.deepcopy(whole)
    whole["metadata"][SHARED_TEST] = record
    restore(whole, whole["metadata"])
    assert whole == before


@pytest.mark.parametrize("series", [[PING], {PING: 5}, {PING: "x", "other": "x"}])
def test_names_that_are_not_one_for_each_series_are_refused(series: object) -> None:
    """Else one would hide the other."""
    whole = content("ping", [PING])
    whole["metadata"][SHARED_TEST] = {"name": "ndt7", "stored_as": "ping", "series": series}
    with pytest.raises(BadResult, match="its metadata AQM_TEST is damaged"):
        restore(whole, whole["metadata"])


@pytest.mark.parametrize("part", ["raw_values", "results", "SERIES_META"])
def test_new_name_that_another_series_has_is_refused(part: str) -> None:
    """One of the two would be gone, of a file to be shared and of one to be restored."""
    stored = content("ping", [PING])
    stored["metadata"][SHARED_TEST] = {"name": "ndt7", "stored_as": "ping", "series": {PING: "x"}}
    own = content("quic_download", ["QUIC download"])
    for whole, name in ((stored, "x"), (own, "TCP download")):
        (whole["metadata"] if part == "SERIES_META" else whole)[part][name] = []
    with pytest.raises(BadResult, match=rf"^'Ping .*' and 'x' in its {part} would both be 'x' by "
                                        "the names that it had before it was shared"):
        restore(stored, stored["metadata"])
    with pytest.raises(BadResult, match=f"in its {part} would both be 'TCP download' in the form "
                                        "of Flent's test tcp_download, in which files are shared"):
        store(own)


@pytest.mark.parametrize("added", [None, "a", [5]])
def test_parameters_of_a_strange_record_stay(added: object) -> None:
    whole = content("ping", [PING])
    whole["metadata"][SHARED_TEST] = {"name": "ndt7", "stored_as": "ping", "parameters": added}
    restore(whole, whole["metadata"])
    assert whole["metadata"]["TEST_PARAMETERS"] == {"a": "1"}
    assert whole["metadata"]["NAME"] == "ndt7"


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    """A shell's lines in place of the program that opens files."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))


def test_files_that_flent_did_not_open_have_a_reason(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the program, or why it said nothing of them."""
    program(tmp_path, monkeypatch, """\
echo noise
echo opened null
printf '%s\\n' 'opened "two\\nlines"'
echo first >&2
echo last words >&2
exit 3""")
    files = [Path("one"), Path("two"), Path("three"), Path("four")]
    unopened = "Flent can't open and plot it: Flent ended before it came to this file: last words"
    assert open_all(files) == {
        Path("two"): "Flent can't open and plot it: two lines", Path("three"): unopened,
        Path("four"): unopened}
    assert open_all([]) == {}
    program(tmp_path, monkeypatch, "exit 0")
    assert open_all(files[:1]) == {
        Path("one"): "Flent can't open and plot it: Flent ended before it came to this file"}


def test_files_that_take_flent_too_long_are_told(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before them were opened."""
    monkeypatch.setattr(check, "START_S", 5)
    monkeypatch.setattr(check, "FILE_S", 5)
    program(tmp_path, monkeypatch, "echo opened null; exec sleep 600")
    assert open_all([Path("one"), Path("two")]) == {
        Path("two"): "Flent can't open and plot it: Flent had not drawn it when 15 s had "
                     "passed, the limit for all files together"}
