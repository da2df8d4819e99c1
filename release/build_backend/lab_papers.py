# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect what must go with the programs of flent-aqm-lab: licences, and where the sources are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from flent_aqm.base.errors import SetupError
from flent_aqm.base.paths import caches
from flent_aqm.base.shell import run
from flent_aqm.base.words import last_line
from flent_aqm.setup import debs, ndt7_client
from flent_aqm.setup.debs import Deb
from flent_aqm.setup.kernel.recipe import KernelSource

# Debian's copyright files name these, and every Debian system has them here.
COMMON = Path("/usr/share/common-licenses")
COMMON_NAMES = ("GPL-2", "GPL-3", "LGPL-2", "LGPL-2.1")
_LICENCE_FILE = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-._].*)?",
                           re.IGNORECASE)


def debs_of(parts: Path) -> list[Deb]:
    """Return the Debian packages whose programs and libraries are in a folder, as set-up noted them
    there. Empty if it noted none. parts: the folder, laid out as set-up's cache."""
    return [Deb(**fields) for noted in sorted(parts.glob(f"tools/*/{debs.PACKAGES}"))
            for fields in json.loads(noted.read_text())]


def sources(kernel: KernelSource, packages: Sequence[Deb]) -> str:
    """Return the text that fetch_sources.sh reads: a line "KIND NAME VERSION" for each source,
    where KIND is deb (the kernel's package), dsc (a source package) or crate (ndt7-client). Sources
    of libraries that are linked into the packages' programs have lines, too.

    Args:
        kernel: source of the lab's kernel.
        packages: Debian packages whose programs are distributed.
    """
    lines = {f"dsc {deb.source} {deb.source_version}" for deb in packages}
    for deb in packages:
        # of libraries linked into a program (Go's all are)
        lines |= {f"dsc {name} {version}" for name, version
                  in re.findall(r"([\w.+-]+) \(= ([^)]+)\)", deb.built_using)}
    return "\n".join((f"deb {kernel.package} {kernel.version}", *sorted(lines),
                      f"crate ndt7-client {ndt7_client.VERSION}", ""))


def licences(parts: Path, kernel: KernelSource) -> dict[str, bytes]:
    """Return file name -> licence text, for all programs of the package and what is linked into
    them. The source of ndt7-client and its crates is fetched for that.

    Args:
        parts: folder with the programs of Debian's packages and their licences, laid out as
            set-up's cache.
        kernel: source of the lab's kernel.

    Raises SetupError if the kernel's package is missing or damaged, other AqmErrors if the crates
    can't be fetched, OSError if this system lacks a text in COMMON or libc6-dev.
    """
    found = {f"{name}.txt": (COMMON / name).read_bytes() for name in COMMON_NAMES}
    for text in sorted(parts.glob(f"tools/*/{debs.LICENCES}/*")):
        found[f"{text.name}-copyright.txt"] = text.read_bytes()
    found["linux-copyright.txt"] = _copyright_of_kernel(kernel)
    # The kernel is linked with the C library of the machine that built it.
    found["linux-libc-copyright.txt"] = Path("/usr/share/doc/libc6-dev/copyright").read_bytes()
    found["ndt7-client-crates.txt"] = _crate_licences_of_client().encode()
    return found


def libraries_of(folder: Path) -> Iterator[Path]:
    """Yield the paths, sorted, of the libraries in a folder that the program tc in it needs,
    directly or through other libraries, and of the dynamic linker, whether it is there or not.
    Needed libraries that the folder lacks are left out. Raises CommandFailed if objdump fails,
    ToolMissing without it."""
    wanted, seen = ["tc"], set[str]()
    while wanted:
        name = wanted.pop()
        if name in seen or not (folder / name).exists():
            continue
        seen.add(name)
        told = run(["objdump", "-p", folder / name], env={**os.environ, "LC_ALL": "C"})
        wanted += re.findall(r"NEEDED +(\S+)", told)
    # what the program starts with, which none of them names on all machines
    for name in sorted(seen - {"tc"} | {"ld-linux-x86-64.so.2"}):
        yield folder / name


def _copyright_of_kernel(kernel: KernelSource) -> bytes:
    pattern = f"debs/{kernel.package}_{kernel.version}_*.deb"
    deb = next((path for cache in caches() for path in cache.glob(pattern)), None)
    if deb is None:
        raise SetupError(f"{kernel.package} {kernel.version} is not in the cache that its kernel "
                         "was built in; its licence is needed: run flent-aqm setup --update")
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)],
                          stdout=subprocess.PIPE) as unpacked:
        done = subprocess.run(["tar", "-xO", "--occurrence=1",
                               f"./usr/share/doc/{kernel.package}/copyright"],
                              stdin=unpacked.stdout, capture_output=True, check=False)
        unpacked.kill()
    if done.returncode:
        raise SetupError(f"{deb}: can't extract the package's copyright file: "
                         f"{last_line(done.stderr.decode(errors='replace')) or 'no reason given'}; "
                         "run flent-aqm setup --update")
    return done.stdout


def _crate_licences_of_client() -> str:
    """Fetch the source of ndt7-client, and return the licences of the client and of all crates that
    are linked into it, as one text. A licence that several have stands once. Raises AqmError if
    cargo is missing, or can't fetch the source."""
    with tempfile.TemporaryDirectory() as scratch:
        ndt7_client.fetch_source(ndt7_client.find_cargo(), Path(scratch, "source"))
        return crate_licences(Path(scratch, "source"))


def crate_licences(client: Path, *more: str) -> str:
    """Return the licences of the client and of all crates that it is built of for Linux on x86-64,
    as one text: the crates with the names of their licences, then each licence text once, below the
    names of the crates that have it. cargo downloads what it lacks, unless `more` has --offline.

    Args:
        client: folder with the client's source.
        more: options for `cargo metadata`.

    Raises CommandFailed if cargo fails, ToolMissing if there is none that is new enough.
    """
    told = json.loads(run([
        ndt7_client.find_cargo(), "metadata", "--locked", "--format-version", "1",
        "--filter-platform", "x86_64-unknown-linux-gnu",
        "--manifest-path", client / "Cargo.toml", *more], timeout_s=300))
    linked = {node["id"] for node in told["resolve"]["nodes"]}
    texts: dict[str, list[str]] = {}
    lines = ["ndt7-client is linked from these crates, whose licences follow:", ""]
    for crate in sorted(told["packages"], key=lambda crate: (crate["name"], crate["version"])):
        if crate["id"] not in linked:
            continue
        name = f"{crate['name']} {crate['version']}"
        lines.append(f"{name}: {crate['license']}")
        for path in sorted(Path(crate["manifest_path"]).parent.iterdir()):
            if path.is_file() and _LICENCE_FILE.fullmatch(path.name):
                text = path.read_text(encoding="utf-8", errors="replace").strip()
                texts.setdefault(text, []).append(f"{name} ({path.name})")
    for text, names in texts.items():
        lines += ["", "=" * 78, *names, "-" * 78, text]
    return "\n".join(lines) + "\n"
