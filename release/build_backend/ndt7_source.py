# SPDX-License-Identifier: GPL-3.0-or-later
"""Archive the source of ndt7-client with that of all crates it is built of.

    python3 -m release.build_backend.ndt7_source ARCHIVE.tar.xz

For a Debian source package, which builds without a network. Crates for other systems than Linux on
x86-64 keep their manifest and an empty library, which cargo wants to see: some of them are programs
without source. The same versions give the same archive.
"""

from __future__ import annotations

import json
import lzma
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from flent_aqm.base.errors import AqmError
from flent_aqm.base.shell import run
from flent_aqm.setup import ndt7_client
from release.build_backend.flent_aqm_backend import SDIST_EPOCH

TARGET = "x86_64-unknown-linux-gnu"
# Compiled already.
LEFT_OUT = ("*.lib", "*.dll", "*.a", "*.o", "*.obj", "*.exe")


def write(archive: Path) -> None:
    """Fetch the sources as fetch() does, and write them to the file `archive`, a tar compressed by
    xz, in which they are below ndt7-client/. Raises AqmError if cargo is missing or fails, such as
    without the registry, OSError if the file can't be written."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch, "ndt7-client")
        fetch(top)
        with lzma.open(archive, "wb", preset=1) as packed, \
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(top.rglob("*")):
                tar.add(path, path.relative_to(scratch), recursive=False, filter=_without_machine)


def fetch(top: Path) -> None:
    """Fetch the sources into the folder `top`, which is created: the client into client/, all
    crates into vendor/. Crates that Linux on x86-64 doesn't need keep only their manifest and an
    empty library, and no crate keeps compiled files. Raises AqmError if cargo is missing or fails,
    such as without the registry, FileExistsError if client/ is there."""
    cargo = ndt7_client.find_cargo()
    ndt7_client.fetch_source(cargo, top / "client")
    run([cargo, "vendor", "--quiet", "--locked", "--manifest-path", top / "client" / "Cargo.toml",
         top / "vendor"], cwd=top, timeout_s=900)
    told = json.loads(run([
        cargo, "metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform",
        TARGET, "--manifest-path", top / "client" / "Cargo.toml",
        "--config", 'source.crates-io.replace-with="vendored"',
        "--config", f"source.vendored.directory={json.dumps(str(top / 'vendor'))}"],
        cwd=top, timeout_s=300))
    built = {node["id"] for node in told["resolve"]["nodes"]}
    used = {Path(each["manifest_path"]).parent for each in told["packages"] if each["id"] in built}
    for crate in sorted((top / "vendor").iterdir()):
        _thin_crate(crate, manifest_alone=crate not in used)


def _thin_crate(crate: Path, *, manifest_alone: bool) -> None:
    """Remove the files that aren't needed from a crate, and from its .cargo-checksum.json the
    checksums of files that it no longer has.

    Args:
        crate: folder of the crate.
        manifest_alone: True: keep only the manifest and .cargo-checksum.json, and make an empty
            library src/lib.rs. False: remove only compiled files.
    """
    checked = crate / ".cargo-checksum.json"
    facts = json.loads(checked.read_text())
    if manifest_alone:
        for path in crate.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in ("Cargo.toml", checked.name):
                path.unlink()
        # without which cargo takes it for no package
        (crate / "src").mkdir()
        (crate / "src" / "lib.rs").touch()
    for pattern in LEFT_OUT:
        for path in crate.rglob(pattern):
            path.unlink()
    facts["files"] = {name: digest for name, digest in facts["files"].items()
                      if (crate / name).exists()}
    checked.write_text(json.dumps(facts, sort_keys=True))


def _without_machine(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Change an archive's entry: no owner, a fixed time, and of the permissions only whether it can
    be executed. Return the entry. TarFile.add() calls this filter for each file."""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = SDIST_EPOCH
    return entry


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]))
    except AqmError as error:
        sys.exit(f"ndt7-client's source: {error}")
