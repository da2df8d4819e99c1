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
from flent_aqm.results.data_file import SUFFIX, read_data_file
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


def pack_batch(packed: Sequence[Packed], batch_file: Path | None, target: Path) -> str:
    """Copy the batch file that the runs came from, and what it inherits from.

    batch_file: the user's; None takes the one of ours that has the batch which the files name, if
    they all name one. Returns the batch file's name, "" where there is none to take.
    Raises ConfigError for a file that isn't there.
    """
    if batch_file is not None and not batch_file.is_file():
        raise ConfigError(f"--batch: {batch_file}: not found; expected the batch file of these "
                          "runs")
    batch = batch_file or _of_ours({one.batch for one in packed})
    if batch is None:
        return ""
    (target / BATCH).mkdir()
    beside = [path for path in (batch.parent / BASE_BATCH,) if path.is_file()]
    for path in {batch, *beside}:
        shutil.copyfile(path, target / BATCH / path.name)
    return batch.name


def _of_ours(names: set[str]) -> Path | None:
    if len(names) != 1:
        return None
    line = f"[Batch::{names.pop()}]"
    return next((path for path in sorted(resource_dir("batches").glob("*.batch"))
                 if line in path.read_text(encoding="utf-8").splitlines()), None)


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
