# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the metadata in which two data files of the same run may differ, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# Key path in `metadata` -> the reason why the value does not belong to a run's result. `*` stands
# for any one key.
LEFT_OUT: dict[str, str] = {
    "AQM.wall_s": "how long the host took",
    "AQM.finished_at": "the host's clock",
    "AQM.samples_sha256": "the samples are compared themselves",
    "AQM.why": "an explanation of the run, not of its result",
    "AQM.kernel": "named before the comparison",
    "AQM.tools": "named before the comparison",
    "AQM.flent_aqm": "named before the comparison",
    "AQM.flent_aqm_hash": "named before the comparison",
    "AQM.requested.link_down_trace": "a path; the trace is found by its content",
    "AQM.requested.link_up_trace": "a path; the trace is found by its content",
    "AQM.links.*.trace": "a file's name; the trace is found by its content",
    "FLENT_VERSION": "named before the comparison",
    "BATCH_NAME": "of the batch, not of the run",
    "BATCH_TIME": "of the batch, not of the run",
    "BATCH_UUID": "of the batch, not of the run",
    "BATCH_TITLE": "of the batch, not of the run",
    "DATA_FILENAME": "of the batch, not of the run",
    "TITLE": "a label that the user gave",
    "NOTE": "a remark of the user",
}


def _without_folder(value: object) -> object:
    """Return a command line without the folder of its program: its first word, which ends at a
    blank, loses all up to its last slash. A value that is not text is returned unchanged."""
    return re.sub(r"^\S*/", "", value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Reduced:
    """A metadata value of which only a part is compared.

    Attributes:
        by: function (value) that returns the part to compare. It gets any JSON value, or NOTHING if
            a file lacks the value.
        why: the reason why the rest is not compared.
    """

    by: Callable[[object], object]
    why: str


REDUCED: dict[str, Reduced] = {
    "SERIES_META.*.COMMAND": Reduced(
        _without_folder, "the folder of the program differs between machines"),
}


def matches(path: tuple[str, ...], pattern: str) -> bool:
    """Return whether a key path matches a pattern of as many keys, joined by dots, of which `*`
    stands for any one key. Keys of the path may have dots in them, but patterns' keys may not."""
    parts = pattern.split(".")
    return len(parts) == len(path) and all(
        part in ("*", key) for part, key in zip(parts, path, strict=True))
