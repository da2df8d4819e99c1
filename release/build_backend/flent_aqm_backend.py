# SPDX-License-Identifier: GPL-3.0-or-later
"""Build backend (PEP 517 and 660): setuptools' metadata, and a wheel laid out here.

A wheel of this project differs from what setuptools packs in two ways:

- start-up files stand at its root, from where Python runs them (START_FILES);
- folders that stand beside the package in a checkout go inside it (SHELVES), with
  their execution bits, so that an installed copy finds them.

An editable wheel holds the start-up files and the checkout's path, nothing else.
Nothing is written into the checkout, except by build_sdist.
"""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import tarfile
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from setuptools.build_meta import (
    build_sdist as setuptools_sdist,
)
from setuptools.build_meta import (
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel

PACKAGE = "flent_aqm"
SHELVES = ("tests_defs", "batches", "router_hooks")

# Python up to 3.14 runs the import line of a .pth file. From 3.15 on (PEP 829) it
# calls what the .start file of the same name says, and skips that import line.
# A package that is gone while its .pth file is still there must not be noticed.
HOOK = f"{PACKAGE}.bridge.hook"
CALL = f"try:\n import {HOOK} as hook\nexcept ImportError: pass\nelse: hook.install()"
PTH = f"import sys; exec({CALL!r})\n"
START_FILES = {f"{PACKAGE}.pth": PTH, f"{PACKAGE}.start": f"{HOOK}:install\n"}

WHEEL = """\
Wheel-Version: 1.0
Generator: flent_aqm_backend
Root-Is-Purelib: {pure}
Tag: {tag}
"""

# Earliest time that a zip file can hold: the same files always give the same wheel.
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
# The same moment in seconds, for the source archive.
SDIST_EPOCH = 315532800

Settings = Mapping[str, object] | None


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Write the wheel of this project into `wheel_directory`, and return its file name. pip calls
    this hook (PEP 517) in the top folder of the source tree.

    Args:
        wheel_directory: an existing folder.
        config_settings: ignored.
        metadata_directory: the folder NAME.dist-info that prepare_metadata_for_build_wheel() has
            made. None: its content is made here.
    """
    files = dict(_files_below(Path(PACKAGE), PACKAGE))
    for shelf in SHELVES:
        files.update(_files_below(Path(shelf), f"{PACKAGE}/{shelf}"))
    return _write_wheel(Path(wheel_directory), files, START_FILES, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write the source archive into `sdist_directory`, which must exist, and return its file name.
    `config_settings` is ignored. pip calls this hook (PEP 517) in the top folder of the source
    tree, into which setuptools writes its metadata (egg-info).

    It is setuptools' archive, packed anew: sorted, without the times, owners and permissions of
    this checkout but the execution bit, so that the same files give the same archive with the same
    zlib.
    """
    with tempfile.TemporaryDirectory() as scratch:
        name = str(setuptools_sdist(scratch))
        packed = io.BytesIO()
        with (tarfile.open(Path(scratch, name)) as old,
              tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new):
            for entry in sorted(old.getmembers(), key=lambda entry: entry.name):
                fresh = tarfile.TarInfo(entry.name)
                fresh.type, fresh.size, fresh.linkname = entry.type, entry.size, entry.linkname
                fresh.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
                fresh.mtime = SDIST_EPOCH
                new.addfile(fresh, old.extractfile(entry) if entry.isreg() else None)
    # without a name and a time in its head
    Path(sdist_directory, name).write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return name


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Write a wheel that makes Python use this checkout into `wheel_directory`, and return its file
    name: it has only the start-up files and the checkout's path. pip calls this hook (PEP 660) in
    the top folder of the source tree.

    Args:
        wheel_directory: an existing folder.
        config_settings: ignored.
        metadata_directory: the folder NAME.dist-info that prepare_metadata_for_build_editable() has
            made. None: its content is made here.
    """
    # A plain path line, as setuptools' own finder for editables would import half of
    # importlib into every Python program of the environment.
    start = {**START_FILES, f"{PACKAGE}.pth": f"{Path.cwd()}\n{PTH}"}
    return _write_wheel(Path(wheel_directory), {}, start, metadata_directory)


def _files_below(folder: Path, inside: str) -> Iterator[tuple[str, Path]]:
    """Yield (name in the wheel, path) of each file below a folder, sorted by path. Left out are
    files whose name, or that of a folder between, begins with a dot or is __pycache__.

    Args:
        folder: the folder.
        inside: name of the folder in the wheel.
    """
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(p.startswith(".") or p == "__pycache__" for p in parts):
            yield f"{inside}/{'/'.join(parts)}", path


def _write_wheel(
    directory: Path, files: Mapping[str, Path], texts: Mapping[str, str], metadata: str | None
) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        if metadata is None:
            metadata = str(Path(scratch, prepare_metadata_for_build_wheel(scratch)))
        info = Path(metadata).name
        files = {**files, **dict(_files_below(Path(metadata), info))}
        for generated in ("WHEEL", "RECORD"):
            files.pop(f"{info}/{generated}", None)
        name = f"{info.removesuffix('.dist-info')}-py3-none-any.whl"
        contents = {member: path.read_bytes() for member, path in files.items()}
        executable = {member for member, path in files.items() if path.stat().st_mode & 0o100}
        encoded = {member: text.encode() for member, text in texts.items()}
        write_wheel(directory / name, info, {**encoded, **contents}, executable)
    return name


def write_wheel(
    path: Path, info: str, files: Mapping[str, bytes], executable: Collection[str],
    tag: str = "py3-none-any"
) -> None:
    """Write a wheel. The same files in the same order give the same bytes at any time, with the
    same zlib. WHEEL and RECORD are made here.

    Args:
        path: the file to write.
        info: name of its folder with the metadata, NAME-VERSION.dist-info.
        files: name in the wheel -> content, with METADATA but without WHEEL and RECORD.
        executable: names in the wheel of the files that are programs.
        tag: tag of Python version, ABI and platform.
    """
    about = WHEEL.format(pure=str(tag.endswith("-any")).lower(), tag=tag)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        record = io.StringIO()
        rows = csv.writer(record, lineterminator="\n")
        for member, content in {f"{info}/WHEEL": about.encode(), **files}.items():
            rows.writerow(_add_file(wheel, member, content, executable=member in executable))
        rows.writerow((f"{info}/RECORD", "", ""))
        _add_file(wheel, f"{info}/RECORD", record.getvalue().encode(), executable=False)


def _add_file(
    wheel: zipfile.ZipFile, member: str, content: bytes, *, executable: bool
) -> tuple[str, str, int]:
    """Add a file to the wheel. Return its row of RECORD: name, hash as "sha256=BASE64", and size in
    bytes."""
    entry = zipfile.ZipInfo(member, ZIP_EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    wheel.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return member, f"sha256={digest}", len(content)
