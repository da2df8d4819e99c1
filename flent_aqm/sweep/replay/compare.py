# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares two data files of the same run, and lists where they begin to differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.json_text import json_text
from flent_aqm.results.share.allowed import NOT_ALWAYS_SHARED, SHARED_METADATA
from flent_aqm.sweep.replay.leave_out import LEFT_OUT, REDUCED, matches

# Shown for a value that one of the files doesn't have.
NOTHING = "nothing"
SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class Difference:
    """A difference between a recorded run and its repetition: where it is, at what time of the run
    (None if the value has no time), and both values as text."""

    # Series and index, or key path in the metadata.
    where: str
    # Seconds since the run's start, None for a value without a time.
    t_s: float | None
    # The value in the recorded file, and in the new one.
    was: str
    now: str

    def __str__(self) -> str:
        moment = "" if self.t_s is None else f" at {self.t_s:.6f} s"
        return f"{self.where}{moment}: {_short(self.was)} in the file, {_short(self.now)} now"


def other_versions(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Return the differences in versions of kernel, tools and packages between the metadata of two
    files.

    A tool that only one file names is a difference, because a test may look for installed tools.
    """
    was_all, now_all = _versions(was), _versions(now)
    return [Difference(name, None, was_all.get(name, NOTHING), now_all.get(name, NOTHING))
            for name in sorted(was_all.keys() | now_all.keys())
            if was_all.get(name) != now_all.get(name)]


def _versions(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of kernel, tools, Flent and this package in a data file's metadata: name
    -> version."""
    aqm = _object(metadata.get("AQM"))
    versions = {name: str(version) for name, version in _object(aqm.get("tools")).items()}
    versions |= {f"kernel {key}": str(value) for key, value in _object(aqm.get("kernel")).items()}
    versions["flent"] = str(metadata.get("FLENT_VERSION"))
    versions["flent-aqm"] = str(aqm.get("flent_aqm"))
    if "flent_aqm_hash" in aqm:
        versions["flent-aqm hash"] = str(aqm["flent_aqm_hash"])
    return versions


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Return the differences between the contents of two data files, in the order in which they
    arose.

    Samples come first, by their time, then resampled results, counters of the router, and other
    metadata. At most one difference of each series is returned, because the later ones follow from
    it. Values that leave_out.py lists are not compared.
    """
    start_s = _first_time(was)
    samples = sorted(_samples(was["raw_values"], now["raw_values"], start_s),
                     key=lambda one: float("-inf") if one.t_s is None else one.t_s)
    return [*samples, *_results(was, now),
            *_metadata((), was["metadata"], _without_removed(was["metadata"], now["metadata"]))]


def _without_removed(was: Mapping[str, Any], now: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the new file's metadata without entries that the recorded file doesn't have, because
    they may have been removed when it was shared."""
    return {key: value for key, value in now.items() if key in was or key in SHARED_METADATA}


def _first_time(data: Mapping[str, Any]) -> float:
    """Return the time of the first sample of all series, 0 if there is none."""
    times = [_time(series[0]) for series in data["raw_values"].values() if series]
    return min((time_s for time_s in times if time_s is not None), default=0.0)


def _time(sample: object) -> float | None:
    """Return a sample's time, None if it has none."""
    time_s = sample.get("t") if isinstance(sample, dict) else None
    return float(time_s) if isinstance(time_s, int | float) else None


def _samples(was: Mapping[str, Any], now: Mapping[str, Any], start_s: float
             ) -> Iterator[Difference]:
    """Yield the first difference between the samples of each series.

    was, now: samples by series. start_s: time of the recorded run's first sample.
    """
    for name in sorted(was.keys() | now.keys()):
        where = f"samples of {name}"
        if name not in was or name not in now:
            yield Difference(where, None, *(
                f"{len(one[name])} of them" if name in one else NOTHING for one in (was, now)))
            continue
        first = _first(was[name], now[name])
        if first is None:
            continue
        index, old, new = first
        time_s = _time(old) or _time(new)
        yield Difference(f"{where}, number {index}",
                         None if time_s is None else time_s - start_s, *_what_differs(old, new))


def _object(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


def _what_differs(was: object, now: object) -> tuple[str, str]:
    """Return two samples as text, reduced to the fields that differ."""
    if isinstance(was, dict) and isinstance(now, dict):
        fields = [key for key in sorted(was.keys() | now.keys())
                  if _text(was.get(key)) != _text(now.get(key))]
        return (_text({key: was[key] for key in fields if key in was}),
                _text({key: now[key] for key in fields if key in now}))
    return _text(was), _text(now)


def _first(was: Sequence[Any], now: Sequence[Any]) -> tuple[int, Any, Any] | None:
    """Return index and values of the first difference of two lists, None if they are equal.

    Values are also compared as JSON text, because 1, 1.0 and True are equal in Python.
    """
    for index in range(max(len(was), len(now))):
        old = was[index] if index < len(was) else NOTHING
        new = now[index] if index < len(now) else NOTHING
        if old != new or _text(old) != _text(new):
            return index, old, new
    return None


def _results(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the first difference between the resampled results of each series, and of their
    times."""
    for name in sorted(was["results"].keys() | now["results"].keys()):
        if name not in was["results"] or name not in now["results"]:
            yield Difference(f"results of {name}", None, *(
                "there" if name in one["results"] else NOTHING for one in (was, now)))
            continue
        first = _first(was["results"][name], now["results"][name])
        if first:
            index, old, new = first
            times = was["x_values"]
            time_s = _time({"t": times[index]}) if index < len(times) else None
            yield Difference(f"results of {name}, number {index}", time_s,
                             _text(old), _text(new))
    first = _first(was["x_values"], now["x_values"])
    if first:
        yield Difference(f"x_values, number {first[0]}", None, _text(first[1]), _text(first[2]))


def _metadata(path: tuple[str, ...], was: object, now: object) -> Iterator[Difference]:
    """Yield the differences in metadata. path: keys that lead to the values `was` and `now`."""
    if any(matches(path, pattern) for pattern in LEFT_OUT):
        return
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys(), key=_counters_first):
            yield from _metadata((*path, key), was.get(key, NOTHING), now.get(key, NOTHING))
        return
    if was == NOTHING and any(matches(path, pattern) for pattern in NOT_ALWAYS_SHARED):
        return
    for pattern, reduced in REDUCED.items():
        if matches(path, pattern):
            was, now = reduced.by(was), reduced.by(now)
    if _text(was) != _text(now):
        yield Difference(".".join(path), None, _text(was), _text(now))


def _counters_first(key: str) -> tuple[bool, str]:
    """Sort key: the router's counters come before other metadata."""
    return key not in ("AQM", "before", "after", "counters"), key


def _text(value: object) -> str:
    """Return a value as JSON text."""
    return value if isinstance(value, str) else json_text(value, sort_keys=True)


def _short(text: str) -> str:
    """Return a text cut to SHOWN_CHARACTERS."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
