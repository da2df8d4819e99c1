# SPDX-License-Identifier: GPL-3.0-or-later
"""Each limit and form of a data file, on both sides and at its edge, with the whole message that
refuses it: tests/golden/reading/refusals.json."""

from __future__ import annotations

import bz2
import copy
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.environment import LARGE_FILES
from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import (
    a_number,
    as_data_file,
    numbers,
    parse_data_file,
    read_data_file,
    refuse_odd_names,
)
from flent_aqm.results.reading import for_flent
from flent_aqm.results.reading.limits import OWN, STRANGERS, Limits, limits
from flent_aqm.results.reading.parse import parse
from flent_aqm.results.reading.times import refuse_odd_times
from flent_aqm.results.reading.unpack import unpack_text
from tests.files import GOLDEN, assert_as_kept, save

PING = "Ping (ms) ICMP"
# Settings of Flent: one that it records, one that it doesn't, and a method.
SETTINGS = SimpleNamespace(LENGTH=1, FORMATTER="x", load_test=print)


def content() -> dict[str, Any]:
    """Return a small data file."""
    return {"version": 4, "x_values": [0.0, 1.0], "results": {PING: [1.0, None]},
            "metadata": {"NAME": "ping", "LENGTH": 1, "SERIES_META": {PING: {"UNITS": "ms"}}},
            "raw_values": {PING: [{"t": 1767225600.0, "val": 1.0}]}}


Change = Callable[[dict[str, Any]], object]


def put(*place: str, value: Any) -> Change:
    """Return a change that gives a place of the file another value."""
    def change(whole: dict[str, Any]) -> None:
        *folders, last = place
        for folder in folders:
            whole = whole[folder]
        whole[last] = value

    return change


def metadata(**values: Any) -> Change:
    """Return a change of metadata."""
    return lambda whole: whole["metadata"].update(values)


def results(count: int) -> Change:
    """Return a change to so many series in results."""
    return put("results", value={f"s{number}": [1.0, 2.0] for number in range(count)})


def steps(count: int) -> Change:
    """Return a change to so many steps."""
    return lambda whole: whole.update(x_values=[0.0] * count, results={PING: [0.0] * count})


def samples(*values: Any, key: str = "val") -> Change:
    """Return a change to samples with these values."""
    return put("raw_values", PING, value=[{"t": 1767225600.0, key: value} for value in values])


def old(count: int) -> Change:
    """Return a change to a file of version 1 with so many results."""
    return lambda whole: whole.update(version=1, x_values=[0.0] * count, raw_values={},
                                      results={PING: [0.0] * count})


OF_SAMPLES: tuple[tuple[Any, ...], ...] = (
    (1, None), ("1", 1), (True, 1), ([1], 1), ({}, 1.5), ([], "a"), ("a", None), (True, "a"))
ODD_DATES: tuple[Any, ...] = (
    None, "2026-01-31T23:59:59.5Z", "2026-01-31T23:59:59", "2026-01-31", "x", 5, {})
ODD_NAMES: tuple[Any, ...] = (None, "a", 5, [])
CASES: dict[str, Change] = {
    "good": metadata(),
    **{f"NAME {name!r}": metadata(NAME=name) for name in (
        None, 1, "", "a b", "a=1,b@c~d-.e", "-a", " a", "a/b", "a\n", "x" * 100, "x" * 101)},
    **{f"{key} {value!r}": metadata(**{key: value})
       for key in ("LENGTH", "TOTAL_LENGTH", "DELAY", "STEP_SIZE")
       for value in (None, "1", True, -1e-9, 0, 1e-6, 0.9e-6, 1e8, 100_000_001)},
    **{f"{key} {value!r}": metadata(**{key: value}) for key in ("TIME", "T0", "BATCH_TIME")
       for value in ODD_DATES},
    **{f"DATA_FILENAME {value!r}": metadata(DATA_FILENAME=value) for value in ODD_NAMES},
    **{f"HOSTS {text}": metadata(HOSTS=value) for text, value in (
        ("None", None), ("{}", {}), ("text", "server"), ("1,000", ["a"] * 1000),
        ("1,001", ["a"] * 1001), ("number", [1]))},
    **{f"TEST_PARAMETERS {text}": metadata(TEST_PARAMETERS=value) for text, value in (
        ("list", [1]), ("None", None), ("inner list", {"a": [1]}), ("inner dict", {"a": {}}),
        ("10,000", {"a": "x" * 10_000}), ("10,001", {"a": "x" * 10_001}),
        ("1,000 values", {"a": ",;" * 499 + ","}), ("1,001 values", {"a": ",;" * 500}),
        ("1,000 streams", {"upload_streams": 1000}), ("1,001 streams", {"upload_streams": 1001}),
        ("+1001", {"runners": "+1001"}), ("1_001", {"uploads": "1,1_001"}),
        ("1001.0", {"downloads": "1001.0"}), ("cc", {"cc": "1001"}), ("none", {"streams": None}))},
    **{f"UNITS {value!r}": put("metadata", "SERIES_META", PING, "UNITS", value=value)
       for value in (None, 5, "")},
    **{f"MEAN_VALUE {value!r}": put("metadata", "SERIES_META", PING, "MEAN_VALUE", value=value)
       for value in (None, 5, "5", True, 1e18, 9.9e17, -1e18, -9.9e17)},
    "x_values text": put("x_values", value="0"), "x_values words": put("x_values", value=["0", 1]),
    "x_values missing": lambda whole: whole.pop("x_values"),
    "x_values null": put("x_values", value=[None, 1]), "results list": put("results", value=[]),
    "no results": put("results", value={}), "10,000 results": results(10_000),
    "10,001 results": results(10_001),
    "200,000 values of version 1": old(200_000), "200,001 values of version 1": old(200_001),
    "200,000 steps": steps(200_000), "200,001 steps": steps(200_001),
    "1,000,001 steps": steps(1_000_001),
    "short result": put("results", value={PING: [1.0]}),
    "text in result": put("results", value={PING: [1.0, "2"]}),
    "result of all kinds": put("results", value={PING: [None, 1.5], "a": [1, None]}),
    "results and gaps of all kinds": lambda whole: whole.update(
        x_values=[0, 0.5, None], results={PING: [1, 1.5, None]}),
    "result of text": put("results", value={PING: "12"}),
    "result of nulls": put("results", value={PING: [None, None]}),
    "formula": put("results", value={"=a": [1, 2]}),
    "400,000 samples": put("raw_values", PING, value=[{}] * 400_000),
    "400,001 samples": put("raw_values", PING, value=[{}] * 400_001),
    **{f"samples {values!r}": samples(*values) for values in (
        (1, None), ("1",), (True,), (1e18,), (9e17, -9e17), ([1],))},
    **{f"samples of x {values!r}": samples(*values, key="x") for values in OF_SAMPLES},
    "time of text": samples("1", key="t"),
    **{f"version {value!r}": put("version", value=value) for value in (
        0, 1, 2, 4, 5, "4", True, 4.0, None)},
    "no metadata": lambda whole: whole.pop("metadata"),
    "metadata list": put("metadata", value=[]), "SERIES_META text": metadata(SERIES_META="x"),
    "SERIES_META entry": metadata(SERIES_META={PING: 1.5}),
    "no raw_values": lambda whole: whole.pop("raw_values"),
    "raw_values entry": put("raw_values", PING, value={}),
    "raw_values number": put("raw_values", PING, value=[{}, 1]),
    "name of 200": put("raw_values", "x" * 200, value=[]),
    "name of 201": put("raw_values", "x" * 201, value=[]),
    "name with a bell": put("raw_values", "x\x07", value=[]),
    "2,000 series": put("raw_values", value={f"s{one}": [] for one in range(2000)}),
    "2,001 series": put("raw_values", value={f"s{one}": [] for one in range(2001)}),
    # 12 values are in content(): keys and values of the metadata.
    "99,991 values": metadata(NEW=[0] * 99_991), "100,000 values": metadata(NEW=[0] * 100_000),
    "values of version 1": lambda whole: whole.update(
        version=1, metadata={"NAME": "a", "SERIES_META": {PING: {"RAW_VALUES": [{}] * 100_001}}}),
    "2,000,000 characters": metadata(NEW="x" * 2_000_000),
    "1,999,900 characters": metadata(NEW="x" * 1_999_900),
    **{f"file of a tool {' '.join(keys)}": (lambda whole, keys=keys: (  # type: ignore[misc]
        whole.clear(), whole.update(dict.fromkeys(keys))))
       for keys in (("start", "intervals", "end"), ("start", "end"), ("round_trips", "stats"),
                    ("Download", "ServerIP"), ("Upload", "ServerIP"), ("raw", "date"), ("raw",))},
    **{f"{key} {value!r}": put("metadata", "SERIES_META", PING, key, value=value)
       for key in ("LOAD_START", "LOAD_END")
       for value in (None, "x", 1e10, -1e10, 1.001e10, 10 ** 400,
                     1767225600.0 + 864_000, 1767225600.0 + 864_001)},
    **{f"dur {value!r}": samples(value, key="dur") for value in (-1e10, 864_000, 864_001, "x")},
    "rtt of ten days": samples(864_000_000), "longer rtt": samples(864_002_000),
    "value of another unit": lambda whole: (
        samples(864_002_000)(whole), put("metadata", "SERIES_META", PING, value={})(whole)),
    "x_values of ten days": put("x_values", value=[0, 864_000]),
    "x_values of more": put("x_values", value=[0, 864_001]),
    "damaged x_values": put("x_values", value=[0, 2e10]),
}


def answer(path: Path) -> str:
    """Return why Flent doesn't get a file, "" if it does."""
    try:
        for_flent.read_for_flent(path, ["LENGTH"], SETTINGS)
    except BadResult as error:
        return str(error).replace(str(path), "FILE")
    return ""


def test_each_form_and_limit_is_refused_as_kept(tmp_path: Path) -> None:
    """The whole message, or none."""
    found = {}
    for case, change in CASES.items():
        whole = content()
        change(whole)
        found[case] = answer(save(tmp_path / "x.flent.gz", whole))
    assert_as_kept(GOLDEN / "reading" / "refusals.json", found)


def test_trusted_files_may_be_larger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for what Flent itself can't show."""
    monkeypatch.setenv(LARGE_FILES, "1")
    found = {}
    for case in ("400,001 samples", "200,001 steps", "1,000,001 steps", "2,001 series",
                 "200,001 values of version 1", "longer rtt", "10,001 results"):
        whole = content()
        CASES[case](whole)
        found[case] = answer(save(tmp_path / "x.flent.gz", whole))
    assert {case: message[:40] for case, message in found.items() if message} == {
        "1,000,001 steps": "FILE: its x_values have 1,000,001 times;",
        "200,001 values of version 1": "FILE: its results have 200,001 values; F",
        "10,001 results": "FILE: results has 10,001 series, more th"}


@pytest.mark.parametrize("name", ["MOST_STEPS", "MOST_OLD_RESULTS"])
def test_as_many_steps_as_the_limit_are_read(
        name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one more is refused. The limit itself would take seconds."""
    monkeypatch.setattr(for_flent, name, 3)
    for count in (3, 4):
        whole = content()
        old(count)(whole)
        assert bool(answer(save(tmp_path / "x.flent.gz", whole))) is (count > 3)


@pytest.mark.parametrize(("value", "is_own"), [
    (None, False), ("", False), ("0", False), ("1", True), ("yes", True)])
def test_variable_of_large_files(
        value: str | None, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is None:
        monkeypatch.delenv(LARGE_FILES, raising=False)
    else:
        monkeypatch.setenv(LARGE_FILES, value)
    assert limits() is (OWN if is_own else STRANGERS)


def test_limits_are_those_that_the_documents_name() -> None:
    """64 and 256 MiB of text, 360 MiB and 4 GiB of memory, 1 and 60 s, ten and 200 days."""
    hint = f"; {LARGE_FILES}=1 in the environment raises this limit, if you trust the file"
    assert Limits(67_108_864, 10_000, 377_487_360, 1.0, 864_000.0, 2000, hint) == STRANGERS
    assert Limits(268_435_456, 10_000, 4_294_967_296, 60.0, 17_280_000.0, 20_000, "") == OWN


def test_metadata_that_flent_needs_are_added(tmp_path: Path) -> None:
    """Each that is missing or null, and none that is there. Names of Flent's own settings and
    methods are left out, but for those that it records and REMOTE_METADATA."""
    def read(changes: dict[str, Any]) -> Any:
        whole = content()
        del whole["metadata"]["LENGTH"]
        whole["metadata"] |= changes
        path = save(tmp_path / "x.flent.gz", whole)
        return for_flent.read_for_flent(path, ["LENGTH"], SETTINGS)["metadata"]

    about = {"NAME": "ping", "SERIES_META": {PING: {"UNITS": "ms"}}}
    added = {"TITLE": "", "HOST": "", "LOCAL_HOST": "", "TEST_PARAMETERS": {}, "HOSTS": [],
             "TOTAL_LENGTH": 1.0, "LENGTH": 1.0, "STEP_SIZE": 0.2}
    assert read({}) == {**about, **added}
    assert read(dict.fromkeys(added)) == {**about, **added}
    when = "2026-01-31T23:59:59"
    told = {"TITLE": "a $", "HOST": "b", "LOCAL_HOST": "c", "TEST_PARAMETERS": {"d": 1},
            "HOSTS": ["e"], "TOTAL_LENGTH": 5, "LENGTH": 4, "STEP_SIZE": 0.5, "TIME": when,
            "T0": f"{when}.5Z"}
    assert read(told) == {**about, **told, "TITLE": r"a \$"}
    assert read({"TIME": when}) == {**about, **added, "TIME": when, "T0": when}
    assert read({"TIME": when, "T0": ""})["T0"] == when
    assert read({"HOSTS": {}, "TEST_PARAMETERS": []}) == {**about, **added}
    assert "T0" not in read({"TIME": None})
    assert read({"FORMATTER": 1, "load_test": 2, "REMOTE_METADATA": {}, "OTHER": 3}) == {
        **about, **added, "REMOTE_METADATA": {}, "OTHER": 3}
    assert read({"TITLE": "x" * 201, "HOST": 5}) == {**about, **added, "TITLE": "x" * 200,
                                                     "HOST": "5"}
    assert read({"NEW": {"a\x07": ["b\x07", {"c": "d\ne\x07"}], "f": 1}})["NEW"] == {
        "f": 1, "a?": ["b?", {"c": "d\ne?"}]}


def test_run_without_steps_took_no_time(tmp_path: Path) -> None:
    """Where the file doesn't tell its length. With steps it is the last one."""
    for steps, length_s in (([], 0.0), ([None], 0.0), ([0.25, 0.5, None], 0.5)):
        whole = content()
        del whole["metadata"]["LENGTH"]
        whole |= {"x_values": steps, "results": {PING: [None] * len(steps)}}
        found = for_flent.read_for_flent(save(tmp_path / "x.flent.gz", whole), [], SETTINGS)
        assert (found["metadata"]["LENGTH"], found["metadata"]["TOTAL_LENGTH"]) == (
            length_s, length_s)


def test_drawn_texts_of_shared_files_have_up_to_a_thousand_characters(tmp_path: Path) -> None:
    """Flent draws them whole."""
    for key in ("TITLE", "HOST", "LOCAL_HOST"):
        for length in (1000, 1001):
            whole = content()
            whole["metadata"][key] = "x" * length
            path = save(tmp_path / "x.flent.gz", whole)
            if length == 1000:
                assert for_flent.read_to_share(path).metadata[key] == "x" * 1000
                continue
            with pytest.raises(BadResult) as caught:
                for_flent.read_to_share(path)
            assert str(caught.value) == (
                f"{path}: its {key} has 1,001 characters, more than 1,000, which Flent without "
                "flent-aqm can't draw in reasonable time; shorten it in the file")


@pytest.mark.parametrize(("limit", "text", "is_read"), [
    ({"unpacked_bytes": 1_048_576}, b" " * 1_048_576, True),
    ({"unpacked_bytes": 1_048_576}, b" " * 1_048_577, False),
    # Two bytes a character, and 240, 100 and 64 for each { [ and comma.
    ({"memory_bytes": 2 * 3 + 240}, b"{ }", True), ({"memory_bytes": 2 * 3 + 239}, b"{ }", False),
    ({"memory_bytes": 2 * 4 + 164}, b"[1,]", True), ({"memory_bytes": 2 * 4 + 163}, b"[1,]", False),
])
def test_text_within_a_limit_is_read(limit: dict[str, int], text: bytes, is_read: bool) -> None:
    allowed = Limits(**{"unpacked_bytes": 1 << 30, "members": 1, "memory_bytes": 1 << 30,
                        "unpack_s": 60.0, "series_s": 1.0, "series": 1, **limit})  # type: ignore[arg-type]
    if is_read:
        assert unpack_text(text, allowed) == text
        return
    with pytest.raises(BadResult) as caught:
        unpack_text(text, allowed)
    assert str(caught.value) == (
        "its content, unpacked, has more than 1 MiB" if "unpacked_bytes" in limit else
        "has so many values or so much text that reading it may take more than 0 MiB of memory")


@pytest.mark.parametrize(("limit", "text", "why"), [
    # Two bytes for each blank, and 66 for each comma.
    ({"unpacked_bytes": 3 << 20}, b" " * ((3 << 20) + 1),
     "its content, unpacked, has more than 3 MiB; x"),
    ({"memory_bytes": 3 << 20}, b"," * 50_000,
     "has so many values or so much text that reading it may take more than 3 MiB of memory; x"),
    ({"unpack_s": -0.5}, b"{}", "takes more than -0.5 s to unpack; x")])
def test_text_beyond_a_limit_is_refused_with_it(
        limit: dict[str, Any], text: bytes, why: str) -> None:
    """And with a hint on what to do."""
    with pytest.raises(BadResult) as caught:
        unpack_text(text, replace(OWN, hint="; x", **limit))
    assert str(caught.value) == why


@pytest.mark.parametrize(("value", "number"), [
    (1, 1.0), (1.5, 1.5), (True, None), (None, None), ("1", None), (float("inf"), None),
    (float("nan"), None), (10 ** 400, None), (0, 0.0)])
def test_number_is_finite_and_no_truth(value: Any, number: float | None) -> None:
    assert a_number(value) == number


@pytest.mark.parametrize(("values", "message"), [
    ([1, 2.5], ""), ([], ""), ([1, "a"], "x has a value that is not a number (a text)"),
    ([None, True, [], {}],
     "x has a value that is not a number (a list, an object, missing or null, true or false)"),
    ([10 ** 400], "x has a number that is not finite: infinite, NaN, or too large"),
    ([float("nan")], "x has a number that is not finite: infinite, NaN, or too large")])
def test_numbers_are_finite(values: list[Any], message: str) -> None:
    if not message:
        assert numbers(values, "x").tolist() == values
        return
    with pytest.raises(BadResult) as caught:
        numbers(values, "x")
    assert str(caught.value) == message


@pytest.mark.parametrize(("text", "message"), [
    (b"{} {}", ("x: it has more than one JSON value, as the output of ndt7-client and M-Lab's "
                "archive have; run the client by Flent, flent ndt7 -H SERVER; flent-aqm infer "
                "reads M-Lab's archive; expected a data file of Flent")),
    # iperf3 appends to its --logfile, and writes lines with --json-stream.
    (b'{"start": {}, "intervals": [], "end": {}}\n{"start": {}}', (
        "x: it is iperf3's own JSON; run iperf3 by Flent: flent iperf3_upload -H SERVER; expected "
        "a data file of Flent")),
    (b'{"event": "start", "data": {}}\n{"event": "end", "data": {}}', (
        "x: it is iperf3's own JSON; run iperf3 by Flent: flent iperf3_upload -H SERVER; expected "
        "a data file of Flent")),
    (b'{"metadata": "\xc3\xa4"}\n{"metadata": {}}', (
        "x: damaged: from character 19 on, more text follows the JSON of a data file; give files "
        "that were joined one by one, or remove that text; expected a data file of Flent")),
    (b'{"a": 1} x', ("x: damaged, or not JSON (Extra data: line 1 column 10 (char 9)); expected a "
                     "data file of Flent")),
    (b"2024-01-01 a log", ("x: damaged, or not JSON (Extra data: line 1 column 5 (char 4)); "
                           "expected a data file of Flent")),
    (b"", "x: damaged (it has no content); expected a data file of Flent"),
    (b"[1e999]", ("x: damaged, or not JSON (the number 1e999 is too large; expected less than "
                  "1.8e308); expected a data file of Flent")),
    (b"[]", "x: its content is a list; expected a JSON object; expected a data file of Flent"),
    (b"null", ("x: its content is missing or null; expected a JSON object; expected a data file "
               "of Flent")),
    (b'{"a": "\xff"}', "x: damaged, or not JSON (not UTF-8 text); expected a data file of Flent"),
    (b"[" * 100_000, "x: damaged (nested too deeply); expected a data file of Flent")])
def test_damaged_text_is_told_of_in_a_line(text: bytes, message: str) -> None:
    with pytest.raises(BadResult) as caught:
        parse_data_file(text, Path("x"))
    assert str(caught.value) == message


@pytest.mark.parametrize(("text", "value"), [
    (b'["\\ud800", 123456789012345678]', ["?", 123456789012345678]),
    (b'["\\ud800", 1234567890123456789]', ["?", 1234567890123456768.0]),
    (b'["\\ud800", -12345678901234567]', ["?", -12345678901234567]),
    (b'["\\ud800", -123456789012345678]', ["?", -123456789012345680.0]),
    (b'\xef\xbb\xbf{"a": [1.5, null]}', {"a": [1.5, None]})])
def test_what_the_fast_parser_refuses_is_parsed(text: bytes, value: Any) -> None:
    """Integers of up to 18 characters stay integers."""
    parsed = parse(text)
    assert parsed == value
    assert json.dumps(parsed) == json.dumps(value)


@pytest.mark.parametrize(("name", "packed", "message"), [
    ("x.flent", gzip.compress(b"{}"), ("it is compressed with gzip, which its name doesn't say; "
                                       "rename it to end in .flent.gz; ")),
    ("x.flent.gz", gzip.compress(bz2.compress(b"{}")), (
        "its content is compressed with bzip2 once more; unpack it once; ")),
    ("x.flent.gz", gzip.compress(gzip.compress(b"{}")), (
        "its content is compressed with gzip once more; unpack it once; "))])
def test_file_that_is_compressed_otherwise_than_named_is_no_damaged_text(
    name: str, packed: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(packed)
    with pytest.raises(BadResult, match=f"^{path}: {message}"):
        read_data_file(path)


def test_link_whose_target_is_missing_is_told_as_one(tmp_path: Path) -> None:
    path = tmp_path / "x.flent"
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(BadResult, match="can't be read: it is a symbolic link, and its target"):
        read_data_file(path)


def test_large_text_that_the_fast_parser_refuses_is_not_parsed() -> None:
    """Up to 4 MiB are."""
    text = b'["\\ud800"' + b" " * ((4 << 20) - 10) + b"]"
    assert len(text) == 4 << 20
    assert parse(text) == ["?"]
    with pytest.raises(BadResult, match=r"damaged, or not JSON \(.*\); above 4 MiB, only UTF-8 "
                                        "without a byte order mark"):
        parse(b" " + text)
    with pytest.raises(BadResult, match=r"^damaged, or not JSON \(unexpected end of data: .*\)$"):
        parse(b"[1" + b" " * (4 << 20))


def test_series_of_a_file_last_together(tmp_path: Path) -> None:
    """The latest end less the earliest start of each, with its longest interval and RTT."""
    meta = {"a": {"UNITS": "ms", "LOAD_START": 5.0, "LOAD_END": 20.0}}
    raw = {"a": [{"t": 10.0, "dur": 2.0, "val": 3000.0}, {"t": 12.0, "dur": 1.0, "val": -4000.0}],
           "b": [{"t": 1.0}, {"t": 3.0}], "empty": []}

    def refused(series_s: float) -> bool:
        within = Limits(1, 1, 1, 1.0, series_s, 1)
        try:
            refuse_odd_times({"metadata": {}, "x_values": [0.0, 5.0]}, meta, raw, within)
        except BadResult:
            return True
        return False

    # 15 s of load, an interval of 2 s, an RTT of 4 s, and 2 s of b
    assert [refused(series_s) for series_s in (22.9, 23.0)] == [True, False]


def test_names_of_a_part_are_refused_with_the_parts_name() -> None:
    """At most as many as allowed."""
    refuse_odd_names("x", ["a", "b"], 2)
    with pytest.raises(BadResult) as caught:
        refuse_odd_names("x", ["a", "b"], 1, "; less")
    assert str(caught.value) == "x has 2 series, more than 1; less"


def test_shared_record_is_not_changed_without_a_share() -> None:
    """A usual file's content stays as it is."""
    whole = content()
    before = copy.deepcopy(whole)
    data = as_data_file(whole, Path("x"))
    assert data.whole == before
    assert (data.version, list(data.raw_values), data.series_meta) == (
        4, [PING], {PING: {"UNITS": "ms"}})
    assert as_data_file({"metadata": {"SERIES_META": {PING: {"RAW_VALUES": [{"t": 1}]}, "b": {}}}},
                        Path("x")).raw_values == {PING: [{"t": 1}]}
