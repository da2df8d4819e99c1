# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a data file of Flent's, which may be anybody's: nothing in it is believed.

The one place where data files are unpacked. What comes out has the shape that
docs/data-format.md describes; whether the values make sense is for who uses them.
"""

from __future__ import annotations

import bz2
import json
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import numpy
import orjson
from numpy.typing import NDArray

from flent_aqm.base.errors import BadResult

SUFFIX = ".flent.gz"
# In metadata of files that `flent-aqm share` wrote: {name, stored_as}.
SHARED_TEST = "AQM_TEST"
# Flent's file format; it refuses newer ones itself.
NEWEST_VERSION = 4
# Unpacked. Ten minutes of four irtt series at 10 ms are 60 MB; parsed, text grows fivefold.
MAX_BYTES = 256 << 20

# zlib's word for it.
_WITH_GZIP_HEADER = 31

Numbers = NDArray[numpy.float64]


@dataclass(frozen=True)
class DataFile:
    """metadata (with SERIES_META by name of the series), raw_values (samples by name of
    the series) and version of a data file; `whole` is all of it, as it was read."""

    path: Path
    version: int
    metadata: dict[str, Any]
    series_meta: dict[str, dict[str, Any]]
    raw_values: dict[str, list[dict[str, Any]]]
    whole: dict[str, Any]


def read_data_file(path: Path, max_bytes: int = MAX_BYTES) -> DataFile:
    """Read .flent.gz, .flent.bz2 or plain .flent. Raises BadResult in one line, with the path."""
    return _checked(lambda: _unpack(path, max_bytes), path)


def parse_data_file(packed: bytes, path: Path) -> DataFile:
    """The same of a .flent.gz that is in memory; path: what to call it."""
    return _checked(lambda: _limited(_gunzip(packed, MAX_BYTES + 1), MAX_BYTES), path)


def _checked(unpack: Callable[[], bytes], path: Path) -> DataFile:
    try:
        return as_data_file(_parse(unpack()), path)
    except OSError as error:
        why = error.strerror or f"damaged ({error})"
    except (EOFError, zlib.error) as error:
        why = f"damaged ({error})"
    except RecursionError:
        why = "damaged (nested too deeply)"
    except UnicodeDecodeError:
        why = "damaged (no UTF-8 text)"
    except ValueError as error:
        why = f"damaged ({error})"
    except BadResult as error:
        raise BadResult(f"{path}: {error}; expected a data file of Flent") from None
    raise BadResult(f"{path}: {why}; expected a data file of Flent")


def as_data_file(whole: Any, path: Path) -> DataFile:
    """Check the shape of a parsed file. Raises BadResult."""
    top = a_dict(whole, "the file")
    version = top.get("version", 1)
    if type(version) is not int or not 1 <= version <= NEWEST_VERSION:
        raise BadResult(f"its format version is {str(version)[:40]!r}; "
                        f"known: 1 to {NEWEST_VERSION}")
    metadata = a_dict(top.get("metadata"), "metadata")
    _restore_name(metadata)
    series_meta = {name: a_dict(meta, f"SERIES_META of {name!r}") for name, meta in
                   a_dict(metadata.get("SERIES_META", {}), "SERIES_META").items()}
    if version == 1:  # that version kept raw values there
        raw = {name: meta["RAW_VALUES"] for name, meta in series_meta.items()
               if "RAW_VALUES" in meta}
    else:
        raw = a_dict(top.get("raw_values"), "raw_values")
    for name, samples in raw.items():
        if not isinstance(samples, list) or set(map(type, samples)) - {dict}:
            raise BadResult(f"raw values of {name!r} are not a list of objects")
    return DataFile(path, version, metadata, series_meta, raw, top)


def _restore_name(metadata: dict[str, Any]) -> None:
    """A shared file is called like a test that stock Flent has; here it gets its own name."""
    shared = metadata.pop(SHARED_TEST, None)
    if isinstance(shared, dict) and shared.get("stored_as") == metadata.get("NAME") \
            and isinstance(shared.get("name"), str):
        metadata["NAME"] = shared["name"]


def a_dict(value: Any, what: str) -> dict[str, Any]:
    """The value, if it is an object. Raises BadResult."""
    if not isinstance(value, dict):
        raise BadResult(f"{what} is {_kind(value)}, not an object")
    return cast(dict[str, Any], value)


def a_number(value: Any) -> float | None:
    """The value as a float where it is a finite number, else None."""
    if type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def numbers(values: Sequence[Any], what: str) -> Numbers:
    """The values as an array, if all are finite numbers. Raises BadResult."""
    strange = set(map(type, values)) - {float, int}
    if strange:
        raise BadResult(f"{what} has a value that is no number "
                        f"({', '.join(sorted(kind.__name__ for kind in strange))})")
    try:
        array = numpy.array(values, dtype=float)
    except OverflowError:
        array = numpy.array([math.inf])
    if not numpy.isfinite(array).all():
        raise BadResult(f"{what} has a number that is not finite")
    return array


def _unpack(path: Path, max_bytes: int) -> bytes:
    opener: Any = {".bz2": bz2.open, ".flnt": bz2.open}.get(path.suffix, open)
    with cast(IO[bytes], opener(path, "rb")) as file:
        data = file.read(max_bytes + 1)
    if path.suffix == ".gz":
        data = _gunzip(data, max_bytes + 1)
    return _limited(data, max_bytes)


def _limited(data: bytes, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise BadResult(f"has more than {max_bytes >> 20} MiB when unpacked")
    return data


def _gunzip(packed: bytes, most: int) -> bytes:
    """The first bytes of all members, at once: gzip.open() takes twice as long for parts."""
    found = b""
    while len(found) < most:
        member = zlib.decompressobj(_WITH_GZIP_HEADER)
        found += member.decompress(packed, most - len(found))
        packed = member.unused_data.lstrip(b"\0")
        if not member.eof:
            if len(found) < most:
                raise EOFError("it ends too early")
            break
        if not packed:
            break
    return found


def _parse(data: bytes) -> Any:
    # orjson takes a quarter of json's time. It knows no NaN, which is no JSON, and refuses
    # what is nested a thousand deep.
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        # Halves of characters, which Flent may have written, are all that it refuses beyond.
        return json.loads(data, parse_constant=_refuse)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} stands in place of a number")


def _kind(value: Any) -> str:
    return "missing" if value is None else f"of type {type(value).__name__}"
