# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepare a data file, perhaps from a stranger, for Flent, or refuse it.

Flent makes settings of all metadata, executes the test definition with the name NAME, and draws a
title with dollar signs as a formula.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import counted, for_plot, for_spreadsheet, plain, plain_lines
from flent_aqm.results.data_file import (
    DataFile,
    a_dict,
    a_number,
    read_data_file,
    refuse_odd_names,
    shown,
)
from flent_aqm.results.reading.limits import BeyondLimitsError, limits
from flent_aqm.results.reading.times import LENGTHS

# Largest number of streams, for each of which a definition makes a runner.
MOST_STREAMS = 1000
LONGEST_NAME = 100
LONGEST_PARAMETER = 10_000
# Largest number of series in Flent's results, which have one for each field of a sample.
MOST_RESULTS = 10_000
MOST_STEPS = 1_000_000  # Flent itself makes no more
# Largest number of results in files of version 1. Flent makes a sample of each.
MOST_OLD_RESULTS = 200_000
# Limits for a stranger's file, of all series together. Flent takes 2 to 4 microseconds for each.
# Ten minutes of four probes every 10 ms are 240,000 samples.
MOST_SAMPLES = 400_000
MOST_VALUES = 400_000
# Times in the metadata.
_DATES = ("TIME", "T0", "BATCH_TIME")
# Key of a series' mean as its runner reports it, which Flent's summary prints.
_MEAN = "MEAN_VALUE"
# Larger values, in any unit, can't have been measured. No axis could be drawn for them.
BEYOND_ALL_MEASURE = 1e18
_A_NUMBER = f"a number above -{BEYOND_ALL_MEASURE:g} and below {BEYOND_ALL_MEASURE:g}"
_NUMBER_OR_GAP = {int, float, type(None)}
# A name that has no other meaning in a format string, path, spreadsheet or log.
_NAME = re.compile(r"\w[\w+=,@~. -]*")
# Names of test parameters that are numbers of runners.
_COUNTS = re.compile("streams|runners|uploads|downloads")
# Names of settings that a loaded file may have besides those that Flent records.
_ALSO_METADATA = ("REMOTE_METADATA",)
# Metadata that plots show, and how many characters, each of which takes time to draw.
_DRAWN = ("TITLE", "HOST", "LOCAL_HOST")
_LONGEST_DRAWN = 200
# Longest of these texts in a shared file. Flent alone draws them whole, and needs minutes and 700
# MB for a million characters.
_LONGEST_SHARED = 1000


def read_for_flent(path: Path, recorded: Collection[str], settings: Any) -> dict[str, Any]:
    """Return the content of a file in the form that Flent's unserialise() needs, with metadata that
    can be shown. Raises BadResult, with the path, if the file can't be read or is damaged, if a
    name in it could do harm, or if Flent could not load it or would take too long.

    Metadata that Flent would take for a setting or a method of its own are left out, and those that
    Flent needs are added if they are missing. TITLE, HOST and LOCAL_HOST are cut to 200 characters
    (_LONGEST_DRAWN), and each $ in them gets a backslash before it, see for_plot().

    Args:
        path: the file.
        recorded: names of settings that Flent stores in data files. They are kept.
        settings: any Settings object of Flent, whose attributes are the names to leave out.
    """
    data = _read_and_check(path, recorded, settings)
    _add_missing_metadata(data)
    _make_plain(data.metadata)
    for key in _DRAWN:
        data.metadata[key] = for_plot(plain(str(data.metadata[key])[:_LONGEST_DRAWN]))
    return data.whole


def read_to_share(path: Path) -> DataFile:
    """Read a file that is to be shared, and return it. Metadata that Flent needs are added if they
    are missing. Those that Flent would take for a setting or a method of its own are removed,
    except settings that Flent itself records, and REMOTE_METADATA. Raises BadResult, with
    the path, if the file can't be read or is damaged, if a name in it could do harm, or if Flent
    can't use it, also because TITLE, HOST or LOCAL_HOST has more than 1000 characters
    (_LONGEST_SHARED). Flent is imported."""
    from flent.resultset import RECORDED_SETTINGS
    from flent.settings import new

    data = _read_and_check(path, RECORDED_SETTINGS, new())
    _add_missing_metadata(data)
    for key in _DRAWN:
        length = len(str(data.metadata[key]))
        if length > _LONGEST_SHARED:
            raise BadResult(f"{path}: its {key} has {length:,} characters, more than "
                            f"{_LONGEST_SHARED:,}, which Flent without flent-aqm can't draw in "
                            "reasonable time; shorten it in the file")
    return data


def _read_and_check(path: Path, recorded: Collection[str], settings: Any) -> DataFile:
    """Read a file, check it for Flent, and return it. Metadata that Flent would take for a setting
    or a method of its own are removed, except REMOTE_METADATA. Raises BadResult, with the path, if
    it can't be read, is damaged or could do harm, or if Flent can't use it.

    Args:
        path: the file.
        recorded: names of settings that Flent stores in data files. They are kept.
        settings: any Settings object of Flent, whose attributes are the names to remove.
    """
    data = read_data_file(path)
    try:
        _refuse_harmful(data)
    except BadResult as error:
        raise BadResult(f"{path}: {error}") from None
    for key in [key for key in data.metadata if hasattr(settings, key)
                and key not in recorded and key not in _ALSO_METADATA]:
        del data.metadata[key]
    return data


def _refuse_harmful(data: DataFile) -> None:
    """Raise BadResult, without the path, if Flent could not load the file, if it would take too
    long, or if a name in the file could do harm: a NAME that is not the plain name of a test, or a
    series' name that is a formula to a spreadsheet or can't be printed. It is BeyondLimitsError if
    only the results or samples are too many."""
    metadata = data.metadata
    name = metadata.get("NAME")
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        seen = "missing" if name is None else shown(name)
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            seen = f"{len(name):,} characters long"
        raise BadResult(f"its NAME is {seen}; expected the plain name of a test: up to "
                        f"{LONGEST_NAME} letters, digits, blanks and ._+=,@~-, the first a letter "
                        "or digit")
    for key in LENGTHS:
        if metadata.get(key) is not None and a_number(metadata[key]) is None:
            quoted = ", without quotes" if isinstance(metadata[key], str) else ""
            raise BadResult(f"its {key} is {shown(metadata[key])}; expected a number of seconds"
                            f"{quoted}")
    for key in _DATES:
        value = metadata.get(key)
        if key == "T0" and not value and metadata.get("TIME"):
            continue  # _add_missing_metadata() makes it TIME
        if value is not None and not _is_date(value):
            raise BadResult(f"its {key} is {shown(value)}; expected a time as "
                            "\"2026-01-31T23:59:59.000000Z\"")
    filename = metadata.get("DATA_FILENAME")
    if filename is not None and not isinstance(filename, str):
        raise BadResult(f"its DATA_FILENAME is {shown(filename)}; expected text")
    hosts = metadata.get("HOSTS") or []
    if not isinstance(hosts, list) or len(hosts) > MOST_STREAMS or not all(
            isinstance(host, str) for host in hosts):
        seen = f"{len(hosts):,} entries" if isinstance(hosts, list) and len(hosts) > MOST_STREAMS \
            else shown(hosts)
        raise BadResult(f"its HOSTS are {seen}; expected a list of up to {MOST_STREAMS:,} names")
    for key, value in a_dict(metadata.get("TEST_PARAMETERS") or {}, "TEST_PARAMETERS").items():
        _refuse_parameter(key, value)
    for series, meta in data.series_meta.items():
        if not isinstance(meta.get("UNITS", ""), str):
            raise BadResult(f"the UNITS of its {series!r} are {shown(meta['UNITS'])}; expected "
                            "text")
        if not _all_numbers_or_none([meta.get(_MEAN)]):
            raise BadResult(f"the {_MEAN} of its {series!r} is {shown(meta[_MEAN])}; expected "
                            f"{_A_NUMBER}")
    _refuse_results(data.whole)
    old_values = sum(map(len, data.whole["results"].values())) if data.version == 1 else 0
    if old_values > MOST_OLD_RESULTS:
        raise BeyondLimitsError(f"its results have {old_values:,} values; Flent can show up to "
                                f"{MOST_OLD_RESULTS:,} in its format, version 1, in reasonable "
                                "time: measure again with a newer Flent, which writes another "
                                "format")
    _refuse_too_large(data)
    for series, samples in data.raw_values.items():
        _refuse_samples(series, samples)


def _is_date(value: Any) -> bool:
    """Return whether Flent can read a time in the metadata: "2026-01-31T23:59:59", also with a
    fraction of the second, after which Z may follow. False for other values, also for Z without a
    fraction."""
    for form in ("%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S"):
        with suppress(TypeError, ValueError):
            datetime.strptime(value, form)
            return True
    return False


def _refuse_too_large(data: DataFile) -> None:
    """Raise BadResult if the file has more than MOST_SAMPLES raw samples, or if x_values and the
    results of all series have together more than MOST_VALUES values: Flent would need more than
    about a second to show them. If the user trusts files (environment variable
    environment.LARGE_FILES), nothing is refused. _refuse_results() must have accepted the file."""
    hint = limits().hint
    if not hint:
        return
    samples = sum(map(len, data.raw_values.values()))
    if samples > MOST_SAMPLES:
        raise BeyondLimitsError(f"it has {samples:,} samples, more than {MOST_SAMPLES:,}{hint}")
    values = len(data.whole["x_values"]) * (1 + len(data.whole["results"]))
    if values > MOST_VALUES:
        raise BeyondLimitsError(f"its x_values and results have {values:,} values, more than "
                                f"{MOST_VALUES:,}{hint}")


def _refuse_parameter(key: str, value: Any) -> None:
    """Raise BadResult if a test parameter is a list or an object, is longer than 10,000 characters
    (LONGEST_PARAMETER), or has more than 1000 values (MOST_STREAMS) separated by commas or
    semicolons. Also raise it if the name contains a word for numbers of streams (_COUNTS), and
    _stream_count() of the whole parameter or of one of its values is above 1000."""
    if isinstance(value, (dict, list)):
        raise BadResult(f"its test parameter {key[:40]!r} is {shown(value)}; expected text or a "
                        "number")
    text = str(value)
    parts = re.split("[,;]", text)
    if len(text) > LONGEST_PARAMETER or len(parts) > MOST_STREAMS or (
            _COUNTS.search(key) and any(_stream_count(part) > MOST_STREAMS
                                        for part in (value, *parts))):
        raise BadResult(f"its test parameter {key[:40]!r} is too large: {shown(value)}; expected "
                        f"at most {MOST_STREAMS:,} streams or values in a list, and "
                        f"{LONGEST_PARAMETER:,} characters")


def _stream_count(value: Any) -> float:
    """Return the number that int() in a test definition makes of a value, 0 if it makes none. +1000
    and 1_000 are numbers, too."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _refuse_results(whole: dict[str, Any]) -> None:
    """Raise BadResult unless x_values is a list, results has at least one series, and each series
    has a value for each of x_values, where all values are null or numbers between -1e18 and 1e18
    (BEYOND_ALL_MEASURE). Also raise it if there are more than 1,000,000 times (MOST_STEPS) or
    10,000 series (MOST_RESULTS), or if the name of a series can't be printed, has more than 200
    characters (LONGEST_SERIES_NAME), or is a formula to a spreadsheet.

    whole: content of the file.
    """
    x_values, results = whole.get("x_values"), a_dict(whole.get("results"), "results")
    if x_values is None:
        raise BadResult("its x_values are missing; expected the times of its results")
    _refuse_values("its x_values", x_values)
    if len(x_values) > MOST_STEPS:
        raise BeyondLimitsError(f"its x_values have {len(x_values):,} times; Flent can show up to "
                                f"{MOST_STEPS:,}: measure again with a larger --step-size or a "
                                "shorter --length")
    if not results:
        # Flent's summary fails without any.
        raise BadResult("its results are empty; expected at least one series")
    refuse_odd_names("results", results, MOST_RESULTS)
    for series, values in results.items():
        what = f"its results of {series!r}"
        _refuse_values(what, values)
        if len(values) != len(x_values):
            raise BadResult(f"{what} have {counted(len(values), 'value')}; expected one for each "
                            f"of its {len(x_values):,} x_values")
        if for_spreadsheet(series) != series:
            raise BadResult(f"the name of its series {series!r} begins with =, +, - or @, which "
                            "spreadsheets take for a formula; rename it in the file")


def _refuse_values(what: str, values: Any) -> None:
    """Raise BadResult, with the first wrong value, unless `values` is a list in which each value is
    None or a number between -1e18 and 1e18 (BEYOND_ALL_MEASURE). what: names the values, plural."""
    if not isinstance(values, list):
        raise BadResult(f"{what} are {shown(values)}; expected a list of numbers")
    if not _all_numbers_or_none(values):
        wrong = next(value for value in values if not _all_numbers_or_none([value]))
        raise BadResult(f"{what} have the value {shown(wrong)}; expected {_A_NUMBER}, or null")


def _refuse_samples(series: str, samples: Sequence[dict[str, Any]]) -> None:
    """Raise BadResult if `t` or `val` of a sample is neither missing nor None nor a number between
    -1e18 and 1e18 (BEYOND_ALL_MEASURE), or if samples have both numbers and text, lists or objects
    under one key. series: name of the series, for messages."""
    for key in ("t", "val"):
        values = [sample.get(key) for sample in samples]
        if not _all_numbers_or_none(values):
            wrong = next(value for value in values if not _all_numbers_or_none([value]))
            raise BadResult(f"a sample of {series!r} has {shown(wrong)} for its {key}; expected "
                            f"{_A_NUMBER}, or null")
    # Values are only checked by key if there are several types.
    if not _mixed(set(map(type, chain.from_iterable(map(dict.values, samples))))):
        return
    for key in dict.fromkeys(chain.from_iterable(samples)):
        if _mixed({type(sample[key]) for sample in samples if key in sample}):
            raise BadResult(f"samples of {series!r} have values of several kinds for "
                            f"{key[:40]!r}; expected numbers alone, or no number")


def _mixed(types: set[type]) -> bool:
    """Return whether the types contain int or float, of which Flent computes means, and also str,
    list or dict. Other types, such as bool and NoneType, don't matter."""
    return bool(types & {int, float} and types & {str, list, dict})


def _all_numbers_or_none(values: list[Any]) -> bool:
    """Return whether all values are None or numbers of a possible size: closer to 0 than 1e18
    (BEYOND_ALL_MEASURE). True and False are no numbers."""
    # No function is called for each value, because flent-gui opens files with millions of them.
    if not set(map(type, values)) <= _NUMBER_OR_GAP:
        return False
    numbers = [value for value in values if value is not None]
    return not numbers or (min(numbers) > -BEYOND_ALL_MEASURE
                           and max(numbers) < BEYOND_ALL_MEASURE)


def _add_missing_metadata(data: DataFile) -> None:
    """Add metadata that Flent needs, in place, if they are missing or null: "" for TITLE, HOST and
    LOCAL_HOST, the largest of x_values, or 0 without any, for LENGTH and TOTAL_LENGTH, 0.2 s for
    STEP_SIZE. TEST_PARAMETERS and HOSTS become {} and [] if they are missing, null or empty, and T0
    becomes TIME, if there is one. _refuse_results() must have accepted the file."""
    metadata = data.metadata
    for key in _DRAWN:
        if metadata.get(key) is None:
            metadata[key] = ""
    # An empty value of another type passes _refuse_harmful(), too.
    metadata["TEST_PARAMETERS"] = metadata.get("TEST_PARAMETERS") or {}
    metadata["HOSTS"] = metadata.get("HOSTS") or []
    steps = [x for x in data.whole["x_values"] if x is not None]
    length_s = max(steps, default=0.0)
    for key, usual in (("TOTAL_LENGTH", length_s), ("LENGTH", length_s), ("STEP_SIZE", 0.2)):
        if metadata.get(key) is None:
            metadata[key] = usual
    if not metadata.get("T0") and metadata.get("TIME"):
        metadata["T0"] = metadata["TIME"]


def _make_plain(tree: Any) -> None:
    """Replace characters that can't be printed in all text of a dict or list and all below it, in
    place: in values as plain_lines() does, in keys as plain() does. Of two keys that become the
    same, one is lost."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
    for key, value in items:
        if isinstance(value, (dict, list)):
            _make_plain(value)
        elif isinstance(value, str) and not value.isprintable():
            tree[key] = plain_lines(value)
        if isinstance(key, str) and not key.isprintable():
            tree[plain(key)] = tree.pop(key)
