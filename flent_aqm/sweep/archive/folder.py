# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes into an archive: data files, their batch, versions, the kernel's recipe, checksums.

Data files may be anybody's. Only what reads as one is copied, under a name of harmless
characters; no path in a file or beside it is followed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.base.paths import resource_dir
from flent_aqm.base.waiting import with_progress
from flent_aqm.base.words import plain
from flent_aqm.results import status
from flent_aqm.results.data_file import SUFFIX, read_data_file
from flent_aqm.results.share.batch_text import clean_batch, lines_that_tell
from flent_aqm.setup.kernel import locate, recipe

DATA, BATCH, KERNEL = "data", "batch", "kernel"
CHECKSUMS = "SHA256SUMS"
VERSIONS = "versions.json"
# What batches inherit from stands beside them.
BASE_BATCH = "base.batch"


@dataclass(frozen=True)
class Packed:
    """One data file in the archive.

    name: below DATA; test, testbed, batch: as the file has them; kernel: its recipe's hash,
    "" for a run on real routers; facts: kernel, tools and packages that it was made with.
    """

    name: str
    test: str
    testbed: str
    batch: str
    kernel: str
    facts: Mapping[str, Any]


def pack_data(files: Sequence[Path], target: Path) -> list[Packed]:
    """Copy data files into TARGET/data.

    Raises BadResult for the first that is damaged: a folder to be published is whole or not.
    """
    (target / DATA).mkdir()
    packed, taken = [], set[str]()
    read = ((file, read_data_file(file)) for file in files)
    for file, data_file in with_progress(read, len(files), "reading data files"):
        name = _harmless(file.name)
        number = 1
        while name.lower() in taken:  # of files in several folders
            number += 1
            name = f"{_harmless(file.name).removesuffix(SUFFIX)}-{number}{SUFFIX}"
        taken.add(name.lower())
        shutil.copyfile(file, target / DATA / name)
        packed.append(_packed(name, data_file.metadata))
    return packed


def _harmless(name: str) -> str:
    stem = re.sub(r"[^\w.+=,@-]", "_", name.removesuffix(SUFFIX), flags=re.ASCII)
    return f"{stem.lstrip('.-')[:150] or 'run'}{SUFFIX}"


def _packed(name: str, about: Mapping[str, Any]) -> Packed:
    aqm = about.get("AQM")
    aqm = aqm if isinstance(aqm, dict) else {}
    kernel = aqm.get("kernel")
    hash_ = kernel.get("hash") if isinstance(kernel, dict) else None
    facts = {"kernel": kernel, "tools": aqm.get("tools"), "flent": about.get("FLENT_VERSION"),
             "flent-aqm": aqm.get("flent_aqm"), "flent-aqm hash": aqm.get("flent_aqm_hash")}
    return Packed(name, plain(about.get("NAME", ""))[:60], plain(aqm.get("testbed", ""))[:60],
                  plain(about.get("BATCH_NAME") or "")[:100],
                  hash_ if isinstance(hash_, str) else "", facts)


def pack_batch(sources: Sequence[Path], batch_file: Path | None, target: Path
               ) -> tuple[str, str]:
    """Copy the batch file that the runs came from, and the others that were read with it.

    sources: the folders of the data files, whose sweep.json names their batch files by path and
    hash. batch_file: the user's; None takes the file that sweep.json names, if it is as it was.
    Returns the batch file's name, "" where there is none to take, and why. Raises ConfigError for a
    batch_file that isn't there or is another than the runs', and for runs of several batches.
    Raises BadResult for a line that would tell of somebody though it was cleaned.
    """
    if batch_file is not None and not batch_file.is_file():
        raise ConfigError(f"--batch: {batch_file}: not found; expected the batch file of these "
                          "runs")
    recorded: list[Mapping[str, str]] = []
    for folder in dict.fromkeys(sources):
        folder_status = status.read(folder)
        recorded += [files for files in (folder_status.batches if folder_status else ())
                     if files not in recorded]
    if batch_file is not None:
        return _copy_batch(batch_file, _recorded_of(batch_file, recorded), target), ""
    if len(recorded) > 1:
        named = ", ".join(plain(_batch_of(files)) for files in recorded)
        raise ConfigError(f"these runs came from different batch files, or from one that changed "
                          f"in between: {named}; publish each sweep by itself, or name one with "
                          "--batch FILE")
    if not recorded:
        return "", "nothing beside the data files tells which batch they came from (sweep.json)"
    path = Path(_batch_of(recorded[0]))
    if _digest(path) != recorded[0][str(path)]:
        return "", (f"{plain(path)} is not there any more, or has changed since the runs were "
                    "made")
    return _copy_batch(path, recorded[0], target), ""


def _batch_of(files: Mapping[str, str]) -> str:
    """Return which of the batch files that were read together is the sweep's: the last, as what
    it inherits from is read before it."""
    return list(files)[-1]


def _recorded_of(batch_file: Path, recorded: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the record that has the user's batch file, by its content; an empty one where no
    record tells. Raises ConfigError where all records tell of other files."""
    digest = _digest(batch_file)
    for files in recorded:
        if files[_batch_of(files)] == digest:
            return files
    if recorded:
        raise ConfigError(f"--batch: {batch_file} is not the batch of these runs, which came from "
                          f"{plain(_batch_of(recorded[0]))} as it was then; expected a file of "
                          "the same content")
    return {}


def _copy_batch(batch_file: Path, files: Mapping[str, str], target: Path) -> str:
    """Copy a batch file and what it inherits from, as far as that is as it was."""
    (target / BATCH).mkdir()
    beside = {Path(path) for path, digest in files.items() if _digest(Path(path)) == digest
              and path != _batch_of(files)}
    if not files and (base := batch_file.parent / BASE_BATCH).is_file():
        beside = {base}
    for path in {batch_file, *beside}:
        _clean_copy(path, target / BATCH / path.name)
    return batch_file.name


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; "" where it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        return ""


def _clean_copy(path: Path, target: Path) -> None:
    text = path.read_text("utf-8", errors="replace")
    ours = resource_dir("batches") / path.name
    if not (ours.is_file() and ours.read_text(encoding="utf-8") == text):
        clean = clean_batch(path.name, text)
        text = clean.text
        for line in clean.changed:
            print(f"  {plain(line)}")
    target.write_text(text, encoding="utf-8")


def refuse_telling_texts(target: Path) -> None:
    """Raise BadResult with file and line if a text of the folder tells of a machine or a person.
    Data files were searched when they were copied; patches are this package's."""
    for path in _all_files(target):
        if path.suffix in (".gz", ".patch"):
            continue
        for number, what in lines_that_tell(path.read_text("utf-8", errors="replace")):
            raise BadResult(f"{path.relative_to(target)}, line {number}: {what!r} would be "
                            "published")


def pack_kernel(packed: Sequence[Packed], target: Path) -> None:
    """Copy the recipe of the kernel that the runs were made with.

    Raises BadResult where they were made with a kernel whose recipe this version doesn't have.
    """
    wanted = {one.kernel for one in packed if one.kernel}
    if not wanted:
        return
    kernel = locate.find_kernel()
    if wanted != {kernel.hash}:
        raise BadResult(f"made with the lab kernel {', '.join(sorted(map(plain, wanted)))[:200]}; "
                        f"this version has the recipe of {kernel.hash} alone: archive with the "
                        "version of flent-aqm that made the data, or make them again")
    folder = target / KERNEL
    (folder / "patches").mkdir(parents=True)
    for patch in sorted(recipe.PATCHES.glob("*.patch")):
        shutil.copyfile(patch, folder / "patches" / patch.name)
    shutil.copyfile(recipe.FRAGMENT, folder / recipe.FRAGMENT.name)
    for name in ("kernel.json", "config"):  # a kernel of the user's own has none
        if (beside := kernel.path.with_name(name)).is_file():
            shutil.copyfile(beside, folder / name)


def write_versions(packed: Sequence[Packed], target: Path) -> None:
    """Write what the runs were made with, by their files, and the Python packages that read
    them here."""
    made: dict[str, list[str]] = {}
    for one in packed:
        made.setdefault(json.dumps(one.facts, sort_keys=True), []).append(one.name)
    text = {"made_with": [{**json.loads(facts), "files": names}
                          for facts, names in made.items()],
            "archived_with": _python_packages()}
    (target / VERSIONS).write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


def _python_packages() -> dict[str, str]:
    names = ["flent-aqm"]
    for line in metadata.requires("flent-aqm") or ():
        if "extra ==" not in line:
            names.append(re.split(r"[^\w.-]", line, maxsplit=1)[0])
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # a system package's name may differ
    return versions


def write_checksums(target: Path) -> None:
    """Write SHA256SUMS over all files, for `sha256sum -c`."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(target)}\n"
             for path in _all_files(target)]
    (target / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def _all_files(target: Path) -> Iterator[Path]:
    yield from (path for path in sorted(target.rglob("*"))
                if path.is_file() and path != target / CHECKSUMS)
