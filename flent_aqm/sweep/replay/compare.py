# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares two data files of the same run, and lists where they begin to differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.json_text import json_text
from flent_aqm.base.words import counted
from flent_aqm.results.share.allowed import NOT_ALWAYS_SHARED, SHARED_METADATA
from flent_aqm.sweep.replay.leave_out import LEFT_OUT, REDUCED, matches

# Shown for a value that one of the files doesn't have.
NOTHING = "nothing"
SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class Difference:
    """A difference between a recorded run and its repetition. str() gives it as a line for the
    user.

    Attributes:
        where: what differs: samples or results of a series, or x_values, with the index from 0; a
            key path in the metadata, with dots; the name of a kernel's property, a tool or a
            package.
        t_s: time in s: of a sample since the recorded run's first sample, of a result as in the
            file's x_values. None for a value without a time.
        was: the value in the recorded file, as text. NOTHING if it has none.
        now: the value in the new file, as text. NOTHING if it has none.
    """

    where: str
    t_s: float | None
    was: str
    now: str

    def __str__(self) -> str:
        """Return the difference as a clause for the user: "WHERE at T s: WAS in the file, NOW now",
        with the values cut to 200 characters."""
        moment = "" if self.t_s is None else f" at {self.t_s:.6f} s"
        return f"{self.where}{moment}: {_short(self.was)} in the file, {_short(self.now)} now"


def other_versions(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Return the differences in versions of kernel, tools and packages between the metadata of two
    files, sorted by name.

    A tool that only one file names is a difference, because a test may look for installed tools.

    Args:
        was: metadata of the recorded file.
        now: metadata of the new file.
    """
    was_all, now_all = _versions(was), _versions(now)
    return [Difference(name, None, was_all.get(name, NOTHING), now_all.get(name, NOTHING))
            for name in sorted(was_all.keys() | now_all.keys())
            if was_all.get(name) != now_all.get(name)]


def _versions(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of tools, kernel ("kernel KEY" for each property), Flent and this
    package, and this package's hash, in a data file's metadata, by name. A version of Flent or this
    package that isn't recorded is the text "None". Others that aren't recorded are left out."""
    aqm = _object(metadata.get("AQM"))
    versions = {name: str(version) for name, version in _object(aqm.get("tools")).items()}
    versions |= {f"kernel {key}": str(value) for key, value in _object(aqm.get("kernel")).items()}
    versions["flent"] = str(metadata.get("FLENT_VERSION"))
    versions["flent-aqm"] = str(aqm.get("flent_aqm"))
    if "flent_aqm_hash" in aqm:
        versions["flent-aqm hash"] = str(aqm["flent_aqm_hash"])
    return versions


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Return the differences between the contents of two data files, empty if there are none.

    Samples come first, by their time, those without a time before the others, then resampled
    results and their times (x_values), then metadata in the order of _differing_metadata(). Of each
    series, at most one difference of the samples and one of the results is returned, because the
    later ones follow from it. Values that leave_out.py lists, and metadata that may have been
    removed from the recorded file, are not compared.

    Args:
        was: content of the recorded file.
        now: content of the new file.
    """
    start_s = _first_time_s(was)
    samples = sorted(_differing_samples(was["raw_values"], now["raw_values"], start_s),
                     key=lambda one: float("-inf") if one.t_s is None else one.t_s)
    return [*samples, *_differing_results(was, now), *_differing_metadata(
        (), was["metadata"], _without_removed(was["metadata"], now["metadata"]))]


def _without_removed(was: Mapping[str, Any], now: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the new file's metadata without top-level entries that the recorded file doesn't have,
    because they may have been removed when it was shared. Entries of SHARED_METADATA stay.

    Args:
        was: metadata of the recorded file.
        now: metadata of the new file.
    """
    return {key: value for key, value in now.items() if key in was or key in SHARED_METADATA}


def _first_time_s(data: Mapping[str, Any]) -> float:
    """Return the earliest of the times in s of the series' first samples, 0 if none has a time.

    data: content of a data file.
    """
    times = [_time_s(series[0]) for series in data["raw_values"].values() if series]
    return min((time_s for time_s in times if time_s is not None), default=0.0)


def _time_s(sample: object) -> float | None:
    """Return a sample's time in s, None if it has none."""
    time_s = sample.get("t") if isinstance(sample, dict) else None
    return float(time_s) if isinstance(time_s, int | float) else None


def _differing_samples(was: Mapping[str, Any], now: Mapping[str, Any], start_s: float
                       ) -> Iterator[Difference]:
    """Yield the first difference between the samples of each series, in the order of the series'
    names. Series without a difference are left out. For a series that only one file has, the number
    of its samples is compared with NOTHING.

    Args:
        was: the recorded run's samples by series.
        now: the new run's samples by series.
        start_s: time in s of the recorded run's first sample, from which the differences' times
            count.
    """
    for name in sorted(was.keys() | now.keys()):
        where = f"samples of {name}"
        if name not in was or name not in now:
            yield Difference(where, None, *(
                counted(len(one[name]), "sample") if name in one else NOTHING
                for one in (was, now)))
            continue
        first = _first_difference(was[name], now[name])
        if first is None:
            continue
        index, old, new = first
        time_s = _time_s(new) if _time_s(old) is None else _time_s(old)
        yield Difference(f"{where}, number {index}",
                         None if time_s is None else time_s - start_s, *_differing_fields(old, new))


def _object(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


def _differing_fields(was: object, now: object) -> tuple[str, str]:
    """Return two samples as JSON text, reduced to the fields that differ if both are objects. A
    missing field and null count as equal, and so do a text and another value whose JSON text it is
    (5 and "5").

    Args:
        was: sample of the recorded run.
        now: sample of the new run.
    """
    if isinstance(was, dict) and isinstance(now, dict):
        fields = [key for key in sorted(was.keys() | now.keys())
                  if _json_text(was.get(key)) != _json_text(now.get(key))]
        return (_json_text({key: was[key] for key in fields if key in was}),
                _json_text({key: now[key] for key in fields if key in now}))
    return _json_text(was), _json_text(now)


def _first_difference(was: Sequence[Any], now: Sequence[Any]) -> tuple[int, Any, Any] | None:
    """Return the index (from 0) of the first difference of two lists, and both values there. None
    if the lists are equal. NOTHING stands for a value beyond the end of a list.

    Values are also compared as JSON text, because 1, 1.0 and True are equal in Python.
    """
    for index in range(max(len(was), len(now))):
        old = was[index] if index < len(was) else NOTHING
        new = now[index] if index < len(now) else NOTHING
        if old != new or _json_text(old) != _json_text(new):
            return index, old, new
    return None


def _differing_results(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the first difference between the resampled results of each series, in the order of the
    series' names, with its time in the recorded file. At last, yield the first difference between
    the times of the results (x_values), without a time. For a series that only one file has,
    "there" is compared with NOTHING.

    Args:
        was: content of the recorded file.
        now: content of the new file.
    """
    for name in sorted(was["results"].keys() | now["results"].keys()):
        if name not in was["results"] or name not in now["results"]:
            yield Difference(f"results of {name}", None, *(
                "there" if name in one["results"] else NOTHING for one in (was, now)))
            continue
        first = _first_difference(was["results"][name], now["results"][name])
        if first:
            index, old, new = first
            times = was["x_values"]
            time_s = _time_s({"t": times[index]}) if index < len(times) else None
            yield Difference(f"results of {name}, number {index}", time_s,
                             _json_text(old), _json_text(new))
    first = _first_difference(was["x_values"], now["x_values"])
    if first:
        index, old, new = first
        yield Difference(f"x_values, number {index}", None, _json_text(old), _json_text(new))


def _differing_metadata(path: tuple[str, ...], was: object, now: object) -> Iterator[Difference]:
    """Yield the differences in metadata, in the order of _counters_first() at each level. Entries
    of LEFT_OUT are not compared, nor those of NOT_ALWAYS_SHARED that the recorded file lacks. Of
    entries of REDUCED, only a part is compared. A text and another value whose JSON text it is (5
    and "5") count as equal.

    Args:
        path: keys that lead to the values `was` and `now`, () for all metadata.
        was: value in the recorded file, NOTHING if it has none.
        now: value in the new file, NOTHING if it has none.
    """
    if any(matches(path, pattern) for pattern in LEFT_OUT):
        return
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys(), key=_counters_first):
            yield from _differing_metadata(
                (*path, key), was.get(key, NOTHING), now.get(key, NOTHING))
        return
    if was == NOTHING and any(matches(path, pattern) for pattern in NOT_ALWAYS_SHARED):
        return
    for pattern, reduced in REDUCED.items():
        if matches(path, pattern):
            was, now = reduced.by(was), reduced.by(now)
    if _json_text(was) != _json_text(now):
        yield Difference(".".join(path), None, _json_text(was), _json_text(now))


def _counters_first(key: str) -> tuple[bool, str]:
    """Return a sort key by which "AQM" comes before other keys of the metadata, the router's state
    "after" and "before" the run before others of AQM, and its "counters" before the rest of the
    state. Otherwise keys are in alphabetical order."""
    return key not in ("AQM", "before", "after", "counters"), key


def _json_text(value: object) -> str:
    """Return a value as JSON text with sorted keys. A string is returned unchanged."""
    return value if isinstance(value, str) else json_text(value, sort_keys=True)


def _short(text: str) -> str:
    """Return a text cut to SHOWN_CHARACTERS, with … if it was longer."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
