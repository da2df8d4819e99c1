# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the Debian package flent-aqm-lab: its kernel and NDT7 client, without a network.

    python3 -m release.build_backend.lab_tree FOLDER CRATES

FOLDER gets what flent-aqm looks for in a cache folder of its own: kernels/HASH/, tools/; beside it
ndt7-client-crates.txt gets the licences of what is linked into that client. The kernel's source is
that of the installed package linux-source-X.Y, with the recipe that `flent-aqm setup` uses; CRATES
has ndt7-client with all crates that it is built of. irtt and tc are packages of their own in
Debian.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from flent_aqm.base.errors import AqmError, SetupError
from flent_aqm.base.shell import run
from flent_aqm.setup import ndt7_client
from flent_aqm.setup.kernel import patching, recipe
from flent_aqm.setup.kernel.build import SOURCE_PATTERN, build_kernel
from flent_aqm.setup.kernel.sources import INSTALLED, InstalledOrigin
from flent_aqm.setup.progress import Progress
from release.build_backend.lab_papers import crate_licences


def build(folder: Path, crates: Path) -> None:
    """Compile kernel and client, and put them into `folder`. What was in `folder` is deleted.
    Beside it are written ndt7-client-crates.txt, with the licences of the crates, and the folders
    ndt7-client and cache, with what a further call need not compile again.

    Args:
        folder: folder for the programs.
        crates: folder with ndt7-client in client/ and all its crates in vendor/.

    Raises AqmError if a source is missing, a patch doesn't fit or something doesn't compile.
    """
    shutil.rmtree(folder, ignore_errors=True)
    client = folder / "tools" / ndt7_client.FOLDER
    client.mkdir(parents=True)
    (folder.parent / "ndt7-client-crates.txt").write_text(
        crate_licences(crates / "client", *_vendor_options(crates)), encoding="utf-8")
    shutil.copy2(_build_client(folder.parent / "ndt7-client", crates), client)
    # It stays, so that a build that failed goes on where it was.
    cache = folder.parent / "cache"
    cache.mkdir(exist_ok=True)
    built = _build_kernel(cache)
    kernel = folder / "kernels" / built.name
    kernel.mkdir(parents=True)
    for name in ("linux", "config", "kernel.json"):
        shutil.copy2(built / name, kernel)
    shutil.copy2(cache / recipe.CHOICE, folder / "kernels")


def installed_source() -> str:
    """Return the name of the newest linux-source-X.Y that is installed. Raises SetupError if there
    is none."""
    found = [path.name.removesuffix(".tar.xz") for path in INSTALLED.glob("linux-source-*.tar.xz")]
    fit = [name for name in found if re.fullmatch(SOURCE_PATTERN, name)]
    if not fit:
        raise SetupError(f"no kernel source in {INSTALLED}; install linux-source-X.Y")
    return max(fit, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])


def _build_kernel(cache: Path) -> Path:
    """Build the lab's kernel unless it is in `cache`, note its source's name and version in `cache`
    (recipe.CHOICE) as the kernel that was chosen, and return its folder. Raises SetupError if no
    source is installed or it doesn't take all patches, other AqmErrors if it doesn't compile."""
    origin = InstalledOrigin(installed_source())
    wanted = recipe.current_recipe(origin.source)
    built = cache / "kernels" / wanted.hash
    if not built.is_dir():
        progress = Progress("lab kernel")
        progress.finish(build_kernel(cache, origin, wanted, progress))
    left_out = json.loads((built / "kernel.json").read_text())["left_out"]
    if left_out:
        raise SetupError(f"{origin.source.package} {origin.source.version} doesn't take "
                         f"{', '.join(left_out)}{patching.cost_of(left_out)}; a package needs a "
                         "kernel with all patches: install another linux-source-X.Y")
    (cache / recipe.CHOICE).parent.mkdir(parents=True, exist_ok=True)
    (cache / recipe.CHOICE).write_text(json.dumps(asdict(origin.source)) + "\n")
    return built


def _build_client(target: Path, crates: Path) -> Path:
    """Compile ndt7-client and return the path of the program, stripped of symbols. Raises
    SetupError if it doesn't compile, ToolMissing without cargo or strip.

    Args:
        target: folder for cargo's output.
        crates: folder with ndt7-client in client/ and all its crates in vendor/.
    """
    Progress("ndt7-client").step(f"compiling version {ndt7_client.VERSION}")
    cargo = ndt7_client.find_cargo()
    done = subprocess.run(
        [str(cargo), "build", "--release", "--locked",
         "--manifest-path", str(crates / "client" / "Cargo.toml"), "--target-dir", str(target),
         *ndt7_client.profile(), *_vendor_options(crates)],
        env={**ndt7_client.environment(cargo), "CARGO_HOME": str(target / "home"),
             # A path of the machine that builds is of no use to anybody.
             "RUSTFLAGS": f"--remap-path-prefix={Path.cwd()}=/build"}, check=False)
    if done.returncode:
        raise SetupError("ndt7-client did not compile; see the lines above")
    program = target / "release" / "ndt7-client"
    run(["strip", "--strip-all", program])
    return program


def _vendor_options(crates: Path) -> tuple[str, ...]:
    """Return cargo's options to take all crates from the folder vendor in `crates`, and nothing
    from a network."""
    folder = json.dumps(str((crates / "vendor").resolve()))
    return ("--offline", "--config", 'source.crates-io.replace-with="vendored"',
            "--config", f"source.vendored.directory={folder}")


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]), Path(sys.argv[2]))
    except AqmError as error:
        sys.exit(f"lab tree: {error}")
