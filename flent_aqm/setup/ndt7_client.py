# SPDX-License-Identifier: GPL-3.0-or-later
"""The NDT7 client, compiled from the Rust package registry."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, SetupError, ToolMissing
from flent_aqm.base.shell import run
from flent_aqm.setup import install
from flent_aqm.setup.kernel.patching import apply_own
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.stream import run_watched
from flent_aqm.setup.versions import version_of
from flent_aqm.setup.whole_program import is_whole

VERSION = "0.3.1"
# What the patch changes: TLS is ring's, whose C and assembler take two seconds to compile (the
# client's own choice takes half of the whole build), and names of hosts are ASCII.
PATCH = Path(__file__).with_name("ndt7-client.patch")
# The last number counts the patch's versions (packages.sh has it too).
FOLDER = f"ndt7-client-{VERSION}-1"
# The oldest compiler that this version declares (packages.sh has it too).
OLDEST_RUST = (1, 88)

# Crates that cargo compiles for it; only for the progress shown.
EXPECTED_CRATES = 108

# What carries a test's bytes is compiled to be fast. All else (arguments, addresses, HTTP by which
# a server is found) runs once, and would take more of the build than that; of TLS, what counts is
# in assembler.
_OPT_LEVEL = 2
_OPT_LEVELS = {'"*"': 0, **dict.fromkeys((
    "bytes", "futures-util", "memchr", "mio", "ppv-lite86", "rand", "rand_chacha", "rand_core",
    "socket2", "tokio", "tokio-rustls", "tokio-tungstenite", "tungstenite"), _OPT_LEVEL)}


def set_up_ndt7_client(cache: Path) -> None:
    """See to it that the pinned client is built. Under the cache's lock."""
    if ndt7_client_is_there():
        return
    progress = Progress("ndt7-client")
    cargo = find_cargo()
    progress.step(f"compiling version {VERSION} (half a minute on 2 cores)")
    crates = 0

    def count(line: str) -> None:
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
            wrong = [line for line in error.stderr.splitlines() if line.startswith("error")]
            raise SetupError(f"ndt7-client did not compile: {(wrong or ['see the log'])[0]}; "
                             f"all of it is in {log}") from None
        target = cache / "tools" / FOLDER
        install.publish(work / "root" / "bin", target,
                        lambda folder: is_whole(folder / "ndt7-client"))
    install.link(target / "ndt7-client", cache / "bin" / "ndt7-client")
    progress.finish(f"version {VERSION} built")


def ndt7_client_is_there() -> bool:
    """Return whether the one of the caches that runs take has the pinned version, and is whole."""
    path = install.find_tool_link("ndt7-client")
    return path is not None and path.parent.name == FOLDER and is_whole(path)


def fetch_source(cargo: Path, folder: Path) -> None:
    """Write the client's source into a new folder, patched, with the list of versions that it is
    built of. Raises SetupError, also where cargo's registry is out of reach."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # cargo has no command that only downloads; to tell of a crate, it unpacks it
    _ask(cargo, folder.parent, "info", f"ndt7-client@{VERSION}")
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    unpacked = next(home.glob(f"registry/src/*/ndt7-client-{VERSION}"), None)
    if unpacked is None:
        raise SetupError(f"cargo has told of ndt7-client {VERSION}, but its source is not in "
                         f"{home}/registry/src; if cargo's home is elsewhere, set CARGO_HOME")
    shutil.copytree(unpacked, folder)
    apply_own(folder, PATCH.name, PATCH.read_bytes(), keep=lambda _names: None)
    # what the patched manifest doesn't ask for any more leaves the list; the others stay
    _ask(cargo, folder, "update", "--workspace")


def _ask(cargo: Path, folder: Path, *words: str) -> None:
    """Let cargo look into its registry."""
    try:
        run([cargo, *words, "--quiet"], cwd=folder, env=environment(cargo), timeout_s=300)
    except CommandFailed as error:
        wrong = " ".join(error.stderr.split())[:300] or "it says nothing"
        raise SetupError(f"cargo could not fetch the source of ndt7-client {VERSION}: {wrong}"
                         ) from None


def find_cargo() -> Path:
    """Return a cargo that is new enough: `cargo`, or Ubuntu's cargo-1.NN. Raises ToolMissing."""
    seen = []
    numbered = sorted(Path("/usr/bin").glob("cargo-1.*"), reverse=True)
    for candidate in (shutil.which("cargo"), *numbered):
        if candidate is None:
            continue
        version = version_of([candidate, "--version"], r"^cargo (\d+)\.(\d+)")
        if version >= OLDEST_RUST:
            return Path(candidate)
        seen.append(f"{candidate} is {version[0]}.{version[1]}")
    raise ToolMissing(f"building ndt7-client {VERSION} needs cargo >= 1.88 "
                      f"({'; '.join(seen) or 'none found'}); run: make packages")


def environment(cargo: Path) -> dict[str, str]:
    """Return the caller's, but for what an outer make says about its jobs, which cargo would
    obey."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS", "MAKELEVEL")}
    if (numbered := re.fullmatch(r"cargo-(1\.\d+)", cargo.name)) is not None:
        env["RUSTC"] = f"rustc-{numbered[1]}"
    return env


def profile() -> list[str]:
    """Return options of cargo by which the program is fast where it counts."""
    # Pieces of a crate that are compiled side by side are optimized for each other afterwards:
    # the two processors have other crates, and the kernel.
    settings = {"opt-level": _OPT_LEVEL, "strip": '"symbols"', "codegen-units": 1,
                **{f"package.{crate}.opt-level": level for crate, level in _OPT_LEVELS.items()}}
    return [word for name, value in settings.items()
            for word in ("--config", f"profile.release.{name}={value}")]
