# SPDX-License-Identifier: GPL-3.0-or-later
"""Data files of others: damaged, enormous, or made to do harm."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.data_file import (
    LONGEST_SERIES_NAME,
    MOST_METADATA_CHARACTERS,
    MOST_METADATA_VALUES,
    as_data_file,
    read_data_file,
    refuse_odd_names,
    write_packed,
)
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.reading.limits import STRANGERS
from tests.files import RUNS, packed

GOOD = (RUNS / "stock_ping.flent.gz").read_bytes()
TEXT = gzip.decompress(GOOD)


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """The good file with something else in it."""
    whole = json.loads(TEXT)
    change(whole)
    return packed(whole)


def samples(whole: dict[str, Any], name: str = "Ping (ms) ICMP") -> list[dict[str, Any]]:
    """Raw values of a series."""
    raw: list[dict[str, Any]] = whole["raw_values"][name]
    return raw


@pytest.mark.parametrize(("content", "why"), [
    (b"", "damaged"),
    (b"not gzip", "damaged"),
    (GOOD[:2000], "damaged"),
    (GOOD[:-9] + b"12345" + GOOD[-4:], "damaged"),
    (gzip.compress(b"[]"), "its content is a list; expected a JSON object"),
    (gzip.compress(b"\xff{}"), "damaged"),
    (gzip.compress(b"[" * 100_000), "nested too deeply"),
    (gzip.compress(b'{"version": 4, "x": ' + b"9" * 5000 + b"}"), "damaged"),
    (gzip.compress(TEXT.replace(b'"val": 20', b'"val": NaN', 1)), "NaN stands where a number is"),
    (gzip.compress(TEXT.replace(b'"val": 20.0', b'"val": 1e999', 1)), "1e999 is too large"),
    (changed(lambda whole: whole.update(version=5)),
     ("known: 1 to 4, as Flent writes them; update flent-aqm, or measure again with a Flent that "
      "writes version 4")),
    (changed(lambda whole: whole.update(version="4")), "known: 1 to 4"),
    (changed(lambda whole: whole.pop("metadata")), "metadata is missing"),
    (changed(lambda whole: whole.pop("raw_values")), "raw_values is missing"),
    (changed(lambda whole: whole.update(raw_values=None)), "raw_values is missing or null"),
    (changed(lambda whole: whole["metadata"].update(SERIES_META=[])), "SERIES_META is a list"),
    (changed(lambda whole: whole["raw_values"].update(x=[1])), "not a list of JSON objects"),
    (changed(lambda whole: whole["raw_values"].update({"a\tb": []})), "that can't be printed"),
    (changed(lambda whole: whole["raw_values"].update({"x" * 10_000: []})), "name is longer than"),
    (changed(lambda whole: whole["metadata"].update(NOTE="x" * 3_000_000)),
     "characters of text"),
    (changed(lambda whole: whole["metadata"].update(NOTE=[1] * 1_500_000)), " values"),
    (changed(lambda whole: samples(whole)[3].update(val="20")), "not a number (a text)"),
    (changed(lambda whole: samples(whole)[3].update(val=True)), "not a number (true or false)"),
    (changed(lambda whole: samples(whole)[3].update(t=None)), "not a number (missing or null)"),
    (changed(lambda whole: samples(whole)[3].update(val=-1)), "has a latency of -1 ms;"),
    (changed(lambda whole: samples(whole)[3].update(t=1e300)), "interval or latency of 1e+300 s"),
    (changed(lambda whole: samples(whole)[3].update(val=10**400)), "is too large; ex"),
    (changed(lambda whole: [one.update(t=samples(whole)[0]["t"] + place * 5e-7, seq=place)
                            for place, one in enumerate(samples(whole))]), "ends 4 s before the"),
])
def test_bad_file_is_refused_in_one_line_with_its_name(
    content: bytes, why: str, tmp_path: Path
) -> None:
    """Whatever is in it, the reader says what is wrong and raises nothing else."""
    path = tmp_path / "bad.flent.gz"
    path.write_bytes(content)
    with pytest.raises(BadResult) as caught:
        load_run(path)
    assert str(path) in str(caught.value)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    """A megabyte of zeros, packed into a kilobyte, is over a limit of 100 kB."""
    path = tmp_path / "bomb.flent.gz"
    path.write_bytes(gzip.compress(b" " * 1_000_000 + TEXT))
    assert path.stat().st_size < 10_000
    with pytest.raises(BadResult, match="its content, unpacked, has"):
        read_data_file(path, replace(STRANGERS, unpacked_bytes=100_000))
    assert load_run(path).test == "ping"


def test_other_packings_of_flent_are_read(tmp_path: Path) -> None:
    """Plain and bzip2 files have the same content."""
    (tmp_path / "run.flent").write_bytes(TEXT)
    (tmp_path / "run.flent.bz2").write_bytes(bz2.compress(TEXT))
    for path in tmp_path.iterdir():
        assert read_data_file(path).whole == json.loads(TEXT)


def test_missing_file_is_named(tmp_path: Path) -> None:
    """No traceback for a name that leads nowhere."""
    with pytest.raises(BadResult, match="No such file"):
        load_run(tmp_path / "none.flent.gz")


def whole(**metadata: Any) -> dict[str, Any]:
    return {"version": 4, "raw_values": {}, "metadata": {"NAME": "x", **metadata}}


def test_metadata_and_names_may_be_as_large_as_the_limit() -> None:
    """One more is refused. NAME and its value count, too, and so does the object itself."""
    path = Path("made.flent.gz")
    list_of = [1] * (MOST_METADATA_VALUES - 5)
    as_data_file(whole(NOTE=list_of), path)
    with pytest.raises(BadResult, match="more than 100,000 values"):
        as_data_file(whole(NOTE=[*list_of, 1]), path)
    text = "x" * (MOST_METADATA_CHARACTERS - len("NAMExNOTE"))
    as_data_file(whole(NOTE=text), path)
    with pytest.raises(BadResult, match="more than 2,000,000 characters of text"):
        as_data_file(whole(NOTE=f"{text}x"), path)
    refuse_odd_names("raw_values", ["x" * LONGEST_SERIES_NAME, "y"], 2)
    with pytest.raises(BadResult, match="whose name is longer than 200 characters"):
        refuse_odd_names("raw_values", ["x" * (LONGEST_SERIES_NAME + 1)], 2)
    with pytest.raises(BadResult, match="has 2 series, more than 1; why"):
        refuse_odd_names("raw_values", ["x", "y"], 1, "; why")


@pytest.mark.parametrize(("levels", "refused"), [(100, False), (101, True), (1000, True)])
def test_file_may_be_as_deep_as_the_limit(levels: int, refused: bool) -> None:
    """Deeper ones ended share and plots with an error of the program."""
    def nested(levels: int) -> Any:
        return orjson.loads("[" * levels + "]" * levels)

    sample = {"t": 1.0, "val": 2.0, "odd": nested(levels - 1)}
    deep = (whole(NOTE=nested(levels - 1)), {**whole(), "raw_values": {"Ping": [sample]}})
    for content, what in zip(deep, ("metadata", "raw_values of 'Ping'"), strict=True):
        with (pytest.raises(BadResult, match=f"{what} are nested more than 100 levels deep")
              if refused else nullcontext()):
            as_data_file(content, Path("made.flent.gz"))


def test_data_file_with_too_much_metadata_is_not_called_another_kind_of_file(tmp_path: Path
                                                                             ) -> None:
    path = tmp_path / "large.flent.gz"
    path.write_bytes(changed(lambda whole: whole["metadata"].update(NOTE="x" * 3_000_000)))
    with pytest.raises(BadResult, match=r"far fewer, so it is not read$"):
        read_data_file(path)


@pytest.mark.parametrize("version", [1, 4])
def test_versions_from_first_to_newest_are_read(version: int) -> None:
    assert as_data_file({**whole(), "version": version}, Path("made")).version == version
    for other in (0, 5, True, 4.0):
        with pytest.raises(BadResult, match="known: 1 to 4"):
            as_data_file({**whole(), "version": other}, Path("made"))


def test_packed_file_has_neither_time_nor_name(tmp_path: Path) -> None:
    """RFC 1952: a time of 0 is none, and no flag is set; so the same data are the same bytes."""
    path = tmp_path / "new" / "newer" / "run.flent.gz"
    for text in (b"[]", b"{}"):  # the second time its folder is there
        write_packed(path, text)
    packed = path.read_bytes()
    assert (packed[3], packed[4:8]) == (0, bytes(4))
    assert gzip.decompress(packed) == b"{}"
