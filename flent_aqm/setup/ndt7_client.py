# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles the NDT7 client from the Rust package registry."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, SetupError, ToolMissing
from flent_aqm.base.shell import run
from flent_aqm.base.words import end_of
from flent_aqm.setup import install
from flent_aqm.setup.kernel.patching import apply_own
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.stream import run_watched
from flent_aqm.setup.versions import version_of, why_no_version
from flent_aqm.setup.whole_program import is_whole

VERSION = "0.3.1"
# Changes to the client. TLS is that of ring, whose C and assembler take two seconds to compile (the
# client's own choice takes half of the whole build). Host names are ASCII only.
PATCH = Path(__file__).with_name("ndt7-client.patch")
# Name of its folder in the cache. The last number is the version of the patch (packages.sh has it,
# too).
FOLDER = f"ndt7-client-{VERSION}-1"
# Oldest compiler that this version of the client declares (packages.sh has it, too).
OLDEST_RUST = (1, 88)

# Number of crates that cargo compiles for it, for the progress display.
EXPECTED_CRATES = 108

# Optimization level of the crates that process a test's data. All other code (arguments, addresses,
# HTTP to find a server) runs once, and optimizing it would take most of the build. The critical
# code of TLS is in assembler.
_OPT_LEVEL = 2
_OPT_LEVELS = {'"*"': 0, **dict.fromkeys((
    "bytes", "futures-util", "memchr", "mio", "ppv-lite86", "rand", "rand_chacha", "rand_core",
    "socket2", "tokio", "tokio-rustls", "tokio-tungstenite", "tungstenite"), _OPT_LEVEL)}


def set_up_ndt7_client(cache: Path) -> None:
    """Build the pinned client in the cache, unless it exists. Print the progress, and write the
    compiler's output to CACHE/ndt7-client-build.log. The caller holds the cache's lock.

    Raises SetupError if the source or a crate can't be downloaded, or if the source doesn't fit the
    patch or doesn't compile, ToolMissing without a suitable cargo or without patch, CommandFailed
    if patch fails for another reason.
    """
    if ndt7_client_is_there():
        return
    progress = Progress("ndt7-client")
    cargo = find_cargo()
    progress.step(f"compiling version {VERSION} (half a minute on 2 cores)")
    crates = 0

    def count(line: str) -> None:
        """If a line of cargo's output is about a crate ("Compiling …"), add it to `crates` and show
        the progress. Other lines are ignored."""
        nonlocal crates
        if line.lstrip().startswith("Compiling "):
            crates += 1
            progress.count("compiling", crates, EXPECTED_CRATES)

    log = cache / "ndt7-client-build.log"
    with install.staging(cache) as work:
        fetch_source(cargo, work / "source")
        try:
            run_watched(
                [cargo, "install", "--path", work / "source", "--locked", *profile(),
                 "--root", work / "root", "--target-dir", work / "target"],
                count, env=environment(cargo), log=log)
        except CommandFailed as error:
            wrong = next((line for line in error.stderr.splitlines() if line.startswith("error")),
                         f"cargo ended with {end_of(error.returncode)}")
            # Below the error, cargo prints what caused it, what caused that, and so on, such as of
            # a download that failed.
            causes = re.findall(r"^Caused by:\n\s+(.+)", error.stderr, re.MULTILINE)
            told = ": ".join([wrong.rstrip("."), *causes[-1:]])
            raise SetupError(f"ndt7-client could not be built: {told}; the whole output is in "
                             f"{log}") from None
        target = cache / "tools" / FOLDER
        install.publish(work / "root" / "bin", target,
                        lambda folder: is_whole(folder / "ndt7-client"))
    install.link(target / "ndt7-client", cache / "bin" / "ndt7-client")
    progress.finish(f"version {VERSION} built")


def ndt7_client_is_there() -> bool:
    """Return whether the client in the first cache that has one is of the pinned version and
    complete. False if no cache has it."""
    path = install.find_tool_link("ndt7-client")
    return path is not None and path.parent.name == FOLDER and is_whole(path)


def fetch_source(cargo: Path, folder: Path) -> None:
    """Download the client's source to cargo's home, and write it, patched, to a new folder, with
    the list of versions of its crates (Cargo.lock).

    Args:
        cargo: path of cargo.
        folder: the folder to create. Its parent is created, too.

    Raises SetupError if cargo can't reach its registry, if the downloaded source isn't in cargo's
    home, or if the patch doesn't fit. Raises ToolMissing without the program patch, CommandFailed
    if patch fails for another reason, FileExistsError if the folder exists.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    # cargo has no command that only downloads. `cargo info` downloads and unpacks a crate.
    _run_cargo(cargo, folder.parent, "info", f"ndt7-client@{VERSION}")
    # A relative path is seen from the folder in which cargo runs.
    home = folder.parent / (os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    unpacked = next(home.glob(f"registry/src/*/ndt7-client-{VERSION}"), None)
    if unpacked is None:
        raise SetupError(f"cargo fetched ndt7-client {VERSION}, but its source is not in "
                         f"{home}/registry/src; if cargo's home is elsewhere, set CARGO_HOME to "
                         "its absolute path; if cargo's settings replace its registry by a folder, "
                         "run set-up without them")
    shutil.copytree(unpacked, folder)
    apply_own(folder, PATCH.name, PATCH.read_bytes(), keep=lambda _names: None)
    # Crates that the patched manifest doesn't need are removed from the list. The others stay.
    _run_cargo(cargo, folder, "update", "--workspace")


def _run_cargo(cargo: Path, folder: Path, *words: str) -> None:
    """Run a command of cargo that uses its registry. Raises SetupError if it fails.

    Args:
        cargo: path of cargo.
        folder: working folder.
        words: arguments of cargo.
    """
    try:
        run([cargo, *words, "--quiet"], cwd=folder, env=environment(cargo), timeout_s=300)
    except CommandFailed as error:
        # The cause is in the last of cargo's lines.
        wrong = " ".join(error.stderr.split())[-300:] or "it printed nothing"
        raise SetupError(f"cargo {words[0]} failed for ndt7-client {VERSION}: {wrong}; check the "
                         "network, cargo's registry and its home folder") from None


def find_cargo() -> Path:
    """Return the path of a cargo of version 1.88 or newer: `cargo` on PATH, or Ubuntu's cargo-1.NN.
    Raises ToolMissing if there is none."""
    rejected = []
    numbered = sorted(Path("/usr/bin").glob("cargo-1.*"), reverse=True)
    for candidate in (shutil.which("cargo"), *numbered):
        if candidate is None:
            continue
        version = version_of([candidate, "--version"], r"^cargo (\d+)\.(\d+)")
        if version >= OLDEST_RUST:
            return Path(candidate)
        rejected.append(f"{candidate} is {version[0]}.{version[1]}" if any(version) else
                        why_no_version([candidate, "--version"]))
    raise ToolMissing(f"building ndt7-client {VERSION} needs cargo 1.88 or newer "
                      f"({'; '.join(rejected) or 'none found'}); run, in a checkout: make "
                      "packages; or install the package cargo in that version")


def environment(cargo: Path) -> dict[str, str]:
    """Return all environment variables for this cargo: those of this process, except those by which
    an outer make passes its jobs, because cargo would obey them. For Ubuntu's cargo-1.NN, RUSTC is
    added with the name of the matching compiler."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS", "MAKELEVEL")}
    if (numbered := re.fullmatch(r"cargo-(1\.\d+)", cargo.name)) is not None:
        env["RUSTC"] = f"rustc-{numbered[1]}"
    return env


def profile() -> list[str]:
    """Return options of cargo, as words of a command line, that set its release profile: the
    optimization levels of the crates, one code-generation unit each, no symbols."""
    # One code-generation unit per crate. More would use more processors for one crate, but these
    # are busy with other crates and the kernel.
    settings = {"opt-level": _OPT_LEVEL, "strip": '"symbols"', "codegen-units": 1,
                **{f"package.{crate}.opt-level": level for crate, level in _OPT_LEVELS.items()}}
    return [word for name, value in settings.items()
            for word in ("--config", f"profile.release.{name}={value}")]
