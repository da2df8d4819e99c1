# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the files that a recorded run read, such as traces of links, by size and SHA-256.

A path in a data file is never opened, because it could be any file of this machine. Files are
looked for beside the data file, and in the places that the user names.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import plain
from flent_aqm.lab.path_model import every_model
from flent_aqm.spec.topology.topology import SUFFIX

# Larger files are not read, because no model of the path reads them.
_MOST_BYTES = 64 * 2**20
_SHA256 = re.compile(r"[0-9a-f]{64}")


def without_paths(requested: Mapping[str, Any], aqm: Mapping[str, Any], places: Sequence[Path]
                  ) -> dict[str, Any]:
    """Return a copy of the requested settings, in which `link_down_trace` and `link_up_trace` are
    the paths, as text, of files with the content of the recorded traces. Traces that are made from
    a seed (`seeded+…`) stay as they are.

    Args:
        requested: settings of the recorded run, by batch key.
        aqm: the data file's object AQM, which has size and SHA-256 of the traces.
        places: files, and folders with files, in which to look, in this order.

    Raises ConfigError if there is no such file, if its size or hash is not recorded, if it is
    larger than _MOST_BYTES, if a `seeded+…` is wrong, if `topology` is the path of a file, or if
    `link_trace` is set.
    """
    topology = str(requested.get("topology", "")).strip()
    if topology.endswith(SUFFIX):
        raise ConfigError(f"topology: {plain(topology[:60])!r} is the path of a file; flent-aqm "
                          "records the links themselves, so the data file was changed; replay the "
                          "original file")
    settings = dict(requested)
    for model in every_model():
        for key, reported in model.files(requested, aqm.get(model.name)):
            settings[key] = str(_trace_path(key, reported, places))
    if settings.get("link_trace"):
        raise ConfigError("link_trace: flent-aqm records link_down_trace and link_up_trace in "
                          "data files, and never link_trace, so the data file was changed; replay "
                          "the original file")
    return settings


def _trace_path(key: str, link: Mapping[str, Any], places: Sequence[Path]) -> Path:
    """Return the path of the first file in `places` with the content of a trace.

    Args:
        key: the setting, for messages.
        link: the data file's record of the trace: `size_bytes`, `sha256`, and `trace`, the file's
            name, for messages.
        places: files, and folders, of which the files directly in them are looked at, sorted.
            Symbolic links to files are passed over.

    Raises ConfigError if there is none, if the record has no valid size or SHA-256 (64 digits in
    lower case), or if the size is above _MOST_BYTES.
    """
    size_bytes, sha256 = link.get("size_bytes"), link.get("sha256")
    if type(size_bytes) is not int or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ConfigError(f"{key}: the data file records no valid size and SHA-256 of the trace "
                          "that the run played, so the trace can't be found; replay the original "
                          "file")
    for path in _files_at(places):
        if _has_content(path, size_bytes, sha256):
            return path
    name = plain(str(link.get("trace"))[:60])
    trace = f"{key}: the run played the trace {name!r} ({size_bytes} bytes, SHA-256 {sha256})"
    if size_bytes > _MOST_BYTES:
        raise ConfigError(f"{trace}; traces of more than {_MOST_BYTES} bytes are not read")
    raise ConfigError(f"{trace}; no readable file with this content, symbolic links aside, is "
                      "beside the data file or in a folder of --trace; put your copy beside the "
                      "file, or give its folder by --trace to flent-aqm replay, why or share")


def _files_at(places: Sequence[Path]) -> Iterator[Path]:
    """Yield each path that is not a folder, whether it exists or not, and in place of each folder
    the sorted paths of its entries, among them its subfolders, but not what is in those. Folders
    that can't be read are left out."""
    for place in places:
        if os.path.isdir(place):
            try:
                yield from sorted(Path(one.path) for one in os.scandir(place))
            except OSError:
                continue
        else:
            yield place


def _has_content(path: Path, size_bytes: int, sha256: str) -> bool:
    """Return whether a path is a regular file with that size and SHA-256. False if it can't be
    read, or is larger than _MOST_BYTES.

    Symbolic links are not followed: in an archive of data files from someone else, one could point
    anywhere.
    """
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size != size_bytes \
                or size_bytes > _MOST_BYTES:
            return False
        return hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    except OSError:
        return False
