# SPDX-License-Identifier: GPL-3.0-or-later
"""Read and write data files of Flent. Files that are read may come from anyone and aren't trusted.

Data files are unpacked only here. The result has the structure that docs/reference/data-format.md
describes. Callers have to check whether values make sense.
"""

from __future__ import annotations

import gzip
import math
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy
from numpy.typing import NDArray

from flent_aqm.base.errors import BadResult, cause_of
from flent_aqm.base.json_text import json_text, measured_json_text
from flent_aqm.base.whole_file import written_whole
from flent_aqm.base.words import plain
from flent_aqm.results.reading.limits import OWN, BeyondLimitsError, Limits, limits
from flent_aqm.results.reading.parse import parse
from flent_aqm.results.reading.times import refuse_odd_times
from flent_aqm.results.reading.unpack import KINDS, unpack_file, unpack_text
from flent_aqm.results.share import stock_test

SUFFIX = ".flent.gz"
# All suffixes of Flent's data files. netperf-wrapper, as Flent was called first, had another one.
SUFFIXES = (SUFFIX, ".flent", ".flent.bz2", ".flnt")
NETPERF_WRAPPER_SUFFIX = ".json.gz"
# Suffix of the file with the output of a run's tools, which a sweep writes beside the data file.
TOOLS_LOG_SUFFIX = ".debug.log.gz"
# Newest version of Flent's file format. Flent itself refuses newer files.
NEWEST_VERSION = 4
LONGEST_SERIES_NAME = 200
# Limits of all metadata. A usual file has a thousand characters for each series, and ten thousand
# of other metadata.
MOST_METADATA_CHARACTERS = 2_000_000
MOST_METADATA_VALUES = 100_000
# Most levels of lists and objects within each other, which can be written again by any library.
DEEPEST = 100

Numbers = NDArray[numpy.float64]


@dataclass(frozen=True)
class DataFile:
    """A data file.

    Attributes:
        path: its path, which is named in errors.
        version: version of Flent's file format.
        metadata: its metadata.
        series_meta: name of a series -> its entry in SERIES_META.
        raw_values: name of a series -> its raw samples.
        whole: all of the file's content. In a file of `flent-aqm share`, the test has its own name
            and series again.
    """

    path: Path
    version: int
    metadata: dict[str, Any]
    series_meta: dict[str, dict[str, Any]]
    raw_values: dict[str, list[dict[str, Any]]]
    whole: dict[str, Any]


def read_data_file(path: Path, within: Limits | None = None) -> DataFile:
    """Read a data file, compressed by gzip (*.gz, *.tgz) or bzip2 (*.bz2, *.flnt), or not
    compressed (any other suffix). Raises BadResult if it can't be read, exceeds the limits or is
    damaged. The message is one line that begins with the path.

    Args:
        path: the file.
        within: limits of what reading it may take, None for limits().
    """
    allowed = within or limits()
    return _unpack_and_check(lambda: unpack_file(path, allowed), path, allowed)


def parse_data_file(text: bytes, path: Path) -> DataFile:
    """Read an uncompressed data file of this package from memory. Raises BadResult if it is damaged
    or exceeds the limits OWN.

    Args:
        text: its JSON text.
        path: names the file in errors.
    """
    return _unpack_and_check(lambda: unpack_text(text, OWN), path, OWN)


def _unpack_and_check(unpack: Callable[[], bytearray], path: Path, within: Limits) -> DataFile:
    """Unpack, parse and check a data file, and return it. Raises BadResult, in one line that begins
    with the path, if a step fails.

    Args:
        unpack: returns the JSON text. It fails with OSError, ValueError or BadResult.
        path: names the file in errors.
        within: limits for the check, see as_data_file().
    """
    try:
        text = unpack()
        try:
            whole = parse(text)
        except BadResult as error:
            raise _error_of_packed(text, path) or _error_of_several_values(text, error) from None
        return as_data_file(whole, path, within)
    except OSError as error:
        why = ("it is a symbolic link, and its target isn't there"
               if isinstance(error, FileNotFoundError) and os.path.islink(path) else
               cause_of(error))
        raise BadResult(f"{path}: can't be read: {why}") from None
    except ValueError as error:  # such as a path with a NUL in it
        why = str(error)
    except BeyondLimitsError as error:
        raise BadResult(f"{path}: {error}") from None
    except BadResult as error:
        why = str(error)
    raise BadResult(f"{path}: {why}; expected a data file of Flent") from None


def as_data_file(whole: Any, path: Path, within: Limits | None = None) -> DataFile:
    """Check the structure and the times of a parsed file, and return it as a record. Raises
    BadResult, without the path, if they are wrong, if the file is the output of another tool, or if
    the metadata or the series exceed the limits. Files of `flent-aqm share` get back the test's own
    name and series: `whole` is changed in place.

    Args:
        whole: the parsed file.
        path: path for the record.
        within: limits of number and duration of the series, None for limits().
    """
    top = a_dict(whole, "its content")
    _refuse_output_of_tool(top)
    version = top.get("version", 1)
    if type(version) is not int or not 1 <= version <= NEWEST_VERSION:
        newer = type(version) is int and version > NEWEST_VERSION
        raise (BeyondLimitsError if newer else BadResult)(
            f"its format version is {shown(version)}; known: 1 to {NEWEST_VERSION}, as Flent "
            "writes them" + (f"; update flent-aqm, or measure again with a Flent that writes "
                             f"version {NEWEST_VERSION}" if newer else ""))
    metadata = a_dict(top.get("metadata"), "metadata")
    _refuse_too_much(metadata)
    _refuse_deep("metadata", [metadata])
    stock_test.restore(top, metadata)
    series_meta = {name: a_dict(meta, f"SERIES_META of {name[:60]!r}") for name, meta in
                   a_dict(metadata.get("SERIES_META", {}), "SERIES_META").items()}
    if version == 1:  # that version kept raw values there
        raw = {name: meta["RAW_VALUES"] for name, meta in series_meta.items()
               if "RAW_VALUES" in meta}
    else:
        raw = a_dict(top.get("raw_values"), "raw_values")
    for what, series in (("SERIES_META", series_meta), ("raw_values", raw)):
        allowed = within or limits()
        refuse_odd_names(what, series, allowed.series, allowed.hint)
    for name, samples in raw.items():
        if not isinstance(samples, list) or set(map(type, samples)) - {dict}:
            raise BadResult(f"its raw_values of {name[:60]!r} are not a list of JSON objects")
        fields = chain.from_iterable(map(dict.values, samples))
        if not _CONTAINERS.isdisjoint(map(type, fields)):
            _refuse_deep(f"raw_values of {name[:60]!r}", samples)
    refuse_odd_times(top, series_meta, raw, within or limits())
    return DataFile(path, version, metadata, series_meta, raw, top)


def refuse_odd_names(what: str, series: Collection[str], most: int, hint: str = "") -> None:
    """Raise BadResult if there are more than `most` series, or if a series' name has more than 200
    characters (LONGEST_SERIES_NAME) or can't be printed.

    Args:
        what: names the part of the file in the message.
        series: names of the series.
        most: largest number of series.
        hint: advice for a file with too many series, which is appended to the message as it is. ""
            for none.
    """
    if len(series) > most:
        raise BeyondLimitsError(f"{what} has {len(series):,} series, more than {most:,}{hint}")
    for name in series:
        if len(name) > LONGEST_SERIES_NAME:
            raise BadResult(f"{what} has a series {plain(name[:60])!r}…, whose name is longer than "
                            f"{LONGEST_SERIES_NAME} characters")
        if not name.isprintable():
            raise BadResult(f"{what} has a series {plain(name[:60])!r}, whose name has characters "
                            "that can't be printed")


_MLABS = "it is JSON of M-Lab's NDT7 archive, "
_IRTTS = ("it is irtt's own JSON; measure with one of Flent's tests that start irtt, such as: "
          "flent iperf3_upload -H SERVER")
_IPERF3S = "it is iperf3's own JSON; run iperf3 by Flent: flent iperf3_upload -H SERVER"
_UPLOADS = (f"{_MLABS}of an upload, which tells nothing of the queue; flent-aqm infer reads "
            "downloads")
# Keys by which the JSON of a tool is recognised, and the message for it.
_OF_TOOLS = (
    ({"start", "intervals", "end"}, _IPERF3S),
    ({"round_trips", "stats"}, _IRTTS),
    ({"Download", "ServerIP"}, f"{_MLABS}which flent-aqm infer reads"),
    ({"Upload", "ServerIP"}, _UPLOADS),
    ({"raw", "date"}, f"{_MLABS}which flent-aqm infer reads"),
)
_LINES = ("it has more than one JSON value, as the output of ndt7-client and M-Lab's archive have; "
          "run the client by Flent, flent ndt7 -H SERVER; flent-aqm infer reads M-Lab's archive")
# Keys of each line that iperf3 writes with --json-stream.
_OF_IPERF3_STREAM = {"event", "data"}


def _refuse_output_of_tool(top: dict[str, Any]) -> None:
    """Raise BadResult, with advice, if the file has no metadata, but all keys by which the JSON of
    a tool is recognised (_OF_TOOLS)."""
    if why := _output_of_tool(top):
        raise BadResult(why)


def _output_of_tool(top: dict[str, Any]) -> str:
    """Return the message for a JSON object without metadata that has all keys by which the JSON of
    a tool is recognised (_OF_TOOLS), "" for any other."""
    if "metadata" in top:
        return ""
    row = top.get("raw")  # of M-Lab's table: one direction is null
    if "date" in top and isinstance(row, dict) and row.get("Upload") and not row.get("Download"):
        return _UPLOADS
    return next((why for keys, why in _OF_TOOLS if keys <= top.keys()), "")


# First bytes of a compressed file -> name of the compression, and the suffix by which it is known.
_PACKED = {b"\x1f\x8b": ("gzip", ".gz"), b"BZh": ("bzip2", ".bz2")}


def _error_of_packed(text: bytes | bytearray, path: Path) -> BadResult | None:
    """Return the error to raise for a text that is still compressed, None for other texts.

    Args:
        text: the content of the file, unpacked as its name says.
        path: the file.
    """
    for begin, (name, suffix) in _PACKED.items():
        if text.startswith(begin):
            return BadResult(f"its content is compressed with {name} once more; unpack it once"
                             if path.suffix in KINDS else
                             f"it is compressed with {name}, which its name doesn't say; rename it "
                             f"to end in .flent{suffix}")
    return None


# What json and orjson say of text behind a JSON value, and its place.
_TEXT_BEHIND = re.compile(r"(?:Extra data|unexpected content after document).*\(char (\d+)\)")


def _error_of_several_values(text: bytes | bytearray, error: BadResult) -> BadResult:
    """Return the error to raise for a text that parse() refuses: one with advice if the text is a
    JSON object with more text behind it, otherwise `error`.

    Args:
        text: the text.
        error: the error of parse().
    """
    # The digits at the beginning of a text that is no JSON are a JSON value, too.
    found = _TEXT_BEHIND.search(str(error)) if text.lstrip()[:1] == b"{" else None
    if found is None:
        return error
    characters, at = text.decode(errors="replace"), int(found[1])
    first = parse(characters[:at].encode())
    if "metadata" in first:
        return BadResult(f"damaged: from character {at + 1:,} on, more text follows the JSON of a "
                         "data file; give files that were joined one by one, or remove that text")
    if characters[at] != "{":
        return error
    # iperf3 appends to its --logfile.
    return BadResult(_output_of_tool(first) or (
        _IPERF3S if first.keys() == _OF_IPERF3_STREAM else _LINES))


_FAR_FEWER = "; files that Flent writes have far fewer, so it is not read"


def _refuse_too_much(metadata: dict[str, Any]) -> None:
    """Raise BeyondLimitsError if the metadata have more than 100,000 (MOST_METADATA_VALUES) keys
    and values, or if their keys and texts have more than 2,000,000 (MOST_METADATA_CHARACTERS)
    characters. Values of the key RAW_VALUES don't count."""
    characters, values = 0, 1
    pending: list[Any] = [metadata]
    while pending:
        one = pending.pop()
        # Raw values are in the metadata in version 1, but don't count.
        inner = one if isinstance(one, list) else [
            *one, *(value for key, value in one.items() if key != "RAW_VALUES")]
        values += len(inner)
        characters += sum(len(value) for value in inner if isinstance(value, str))
        if values > MOST_METADATA_VALUES:
            raise BeyondLimitsError(f"its metadata has more than {MOST_METADATA_VALUES:,} values"
                                    f"{_FAR_FEWER}")
        if characters > MOST_METADATA_CHARACTERS:
            raise BeyondLimitsError(f"its metadata has more than {MOST_METADATA_CHARACTERS:,} "
                                    "characters of text, names and texts together"
                                    f"{_FAR_FEWER}")
        pending += [value for value in inner if isinstance(value, (dict, list))]


_CONTAINERS = {dict, list}


def _refuse_deep(what: str, trees: Sequence[Any]) -> None:
    """Raise BadResult if one of the trees has more than 100 levels (DEEPEST) of lists and objects
    within each other, itself included.

    Args:
        what: names the part of the file in the message.
        trees: lists and dicts.
    """
    level = trees
    for _ in range(DEEPEST):
        level = [value for one in level
                 for value in (one.values() if isinstance(one, dict) else one)
                 if type(value) in _CONTAINERS]
        if not level:
            return
    raise BadResult(f"its {what} are nested more than {DEEPEST} levels deep")


def a_dict(value: Any, what: str) -> dict[str, Any]:
    """Return the value if it is a JSON object. Raises BadResult if it is not, with `what` as its
    name."""
    if not isinstance(value, dict):
        raise BadResult(f"{what} is {_type_text(type(value))}; expected a JSON object")
    return cast(dict[str, Any], value)


def shown(value: Any) -> str:
    """Return a parsed value as JSON for a message, of which the first 40 characters, with "…" if
    there are more."""
    text = json_text(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def a_number(value: Any) -> float | None:
    """Return a value of parsed JSON as a float if it is a number. Return None for any other type,
    also True and False, and for a number that is infinite, NaN, or too large for a float."""
    if type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def numbers(values: Sequence[Any], what: str) -> Numbers:
    """Return values of parsed JSON as an array of floats, empty for none. Raises BadResult, with
    `what` as their name, if one of them is not a number (True, False and None are none), or is
    infinite, NaN, or too large for a float."""
    strange = set(map(type, values)) - {float, int}
    if strange:
        raise BadResult(f"{what} has a value that is not a number "
                        f"({', '.join(sorted(map(_type_text, strange)))})")
    try:
        array = numpy.array(values, dtype=float)
    except OverflowError:
        array = numpy.array([math.inf])
    if not numpy.isfinite(array).all():
        raise BadResult(f"{what} has a number that is not finite: infinite, NaN, or too large")
    return array


# Type of a parsed value -> its name in JSON, with an article.
_JSON_TYPES: Mapping[type, str] = {
    str: "a text", bool: "true or false", type(None): "missing or null", list: "a list",
    dict: "an object", int: "a number", float: "a number"}


def _type_text(kind: type) -> str:
    """Return the name of the type of a parsed value as text for a message, such as "a list". None,
    which callers have for what is missing, too, is "missing or null". For a type that JSON doesn't
    have it is the class's name."""
    return _JSON_TYPES.get(kind, kind.__name__)


def write_data_file(path: Path, data: Mapping[str, Any]) -> None:
    """Write the content of a data file, compressed by gzip and atomically, in place of an existing
    file. Make its folder if it doesn't exist. The result has the form of
    docs/reference/data-format.md if `data` has. Raises OSError if it can't be written, BadResult if
    a number is not finite, and TypeError for a value of a type that JSON doesn't have.

    data: the content, of values as JSON has them.
    """
    write_packed(path, measured_json_text(data).encode())


def write_packed(path: Path, text: bytes) -> None:
    """Compress the JSON text of a data file by gzip, whatever the path's suffix, and write it
    atomically, in place of an existing file. Make its folder if it doesn't exist. Raises OSError if
    it can't be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (written_whole(path) as raw,
          # No name and time in the gzip header: the same data gives the same bytes.
          gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed):
        packed.write(text)
