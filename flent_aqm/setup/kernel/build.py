# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the lab kernel from Debian's kernel source package, once per recipe."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, SetupError
from flent_aqm.base.paths import find_cached
from flent_aqm.base.shell import run
from flent_aqm.base.whole_file import write_text
from flent_aqm.setup import install
from flent_aqm.setup.apt import DebianArchive, Package
from flent_aqm.setup.kernel import locate, patching, recipe
from flent_aqm.setup.kernel.config_check import check_config
from flent_aqm.setup.kernel.patching import PatchDoesntFit
from flent_aqm.setup.kernel.recipe import Recipe, Source
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.stream import run_watched

SOURCE_PATTERN = r"linux-source-\d+\.\d+"

# Unpacked source 1.6 GB, objects, the archive itself 0.2 GB.
BYTES_NEEDED = 2_500_000_000

# Lines that make prints for this fragment with 7.3; only for the progress shown.
EXPECTED_LINES = 1240

# Files of other machines and documents, a third of the unpacked source.
NOT_UNPACKED = ("*.rst", "*.dts", "*.dtsi", "*.yaml", "*/drivers/gpu/drm/amd/include/*",
                "*/tools/testing/*", "*/tools/perf/*")

# The program doesn't depend on who built it, where and when.
BUILD_IDENTITY = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "flent-aqm",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
}


def set_up_kernel(cache: Path, archive: DebianArchive, *, update: bool = False) -> None:
    """See to it that the kernel of the current recipe is built.

    update: look for a newer source version than the one in use. The caller holds the
    cache's lock. Raises SetupError, CommandFailed, ToolMissing.
    """
    choices = [] if update else recipe.read_choices()
    if any(_is_built(recipe.current_recipe(source)) for source in choices):
        return
    if choices and (unfit := locate.unfit_ready_made()):
        Progress("lab kernel").step(f"{unfit}; compiling one")
    source = next((source for source in choices if _built_of(cache, archive, source)), None)
    if source is None:
        source = _newest_that_fits(cache, archive)
    choice = cache / recipe.CHOICE
    choice.parent.mkdir(exist_ok=True)  # the kernel itself may lie in the machine's cache
    write_text(choice, json.dumps(asdict(source)) + "\n")


def _built_of(cache: Path, archive: DebianArchive, source: Source) -> bool:
    """Build a source that is in the cache; False if it isn't, or a required patch doesn't fit."""
    if _cached_archive(cache, source) is None:
        return False
    try:
        _build(cache, archive, recipe.current_recipe(source))
    except PatchDoesntFit:
        return False
    return True


def _newest_that_fits(cache: Path, archive: DebianArchive) -> Source:
    """Build the newest source that takes all required patches, if it isn't built."""
    faults = []
    for package in archive.versions(SOURCE_PATTERN):
        source = Source(package.name, package.version)
        wanted = recipe.current_recipe(source)
        if _is_built(wanted):
            return source
        try:
            _build(cache, archive, wanted)
        except PatchDoesntFit as fault:
            faults.append(f"{package.name} {package.version}: {fault}")
            Progress("lab kernel").step(f"{faults[-1]}; trying the version before it")
        else:
            return source
    raise SetupError(f"no kernel source takes all required patches: {'; '.join(faults)}")


def kernel_is_there() -> bool:
    """Whether the kernel of the current recipe is built."""
    return any(_is_built(recipe.current_recipe(source)) for source in recipe.read_choices())


def _is_built(wanted: Recipe) -> bool:
    return find_cached("kernels", wanted.hash, "linux") is not None


def _cached_archive(cache: Path, source: Source) -> Path | None:
    return next((cache / "debs").glob(f"{source.package}_{source.version}_*.deb"), None)


def _build(cache: Path, archive: DebianArchive, wanted: Recipe) -> None:
    progress = Progress("lab kernel")
    source = wanted.source
    install.require_space(cache, BYTES_NEEDED, "building the lab kernel")
    with install.staging(cache) as work:
        deb = _cached_archive(cache, source)
        if deb is None:
            progress.step(f"downloading {source.package} {source.version} (about 165 MB)")
            deb = _download(cache, archive, source, work / "download")
        tree = work / "tree"
        tree.mkdir()
        progress.step(f"unpacking {source.package} {source.version}")
        _unpack(deb, source, tree)
        progress.step("applying patches")
        applied = patching.apply_all(tree, wanted.patches)
        progress.step("choosing its options")
        _configure(tree, wanted.fragment)
        progress.step("compiling (about 4 minutes on 2 cores)")
        log = cache / "kernel-build.log"
        try:
            _compile(tree, log, progress)
        except SetupError as fault:
            if not any(name in patching.OPTIONAL for name, _content in applied):
                raise
            # One may fit by its text alone; what it would save is not worth a failed set-up.
            progress.step(f"{fault}; compiling without the patches that only save time")
            patching.take_back(tree, applied)
            applied = patching.apply_all(tree, wanted.patches, optional=False)
            _compile(tree, log, progress)
        without = patching.left_out(wanted.patches, applied)
        result = work / "result"
        result.mkdir()
        run(["strip", "-o", result / "linux", tree / "linux"])
        (result / "config").write_bytes((tree / ".config").read_bytes())
        version = _make(tree, "-s", "kernelversion").strip()
        (result / "kernel.json").write_text(json.dumps({
            **asdict(source), "kernel_version": version, "hash": wanted.hash,
            "gcc": run(["gcc", "--version"]).splitlines()[0],
            "patches": [name for name, _content in applied], "left_out": without,
        }, indent=1) + "\n", encoding="utf-8")
        install.publish(result, cache / "kernels" / wanted.hash)
    cost = patching.cost_of(without)
    progress.finish(f"version {version} built{', ' if cost else ''}{cost}")


def _download(cache: Path, archive: DebianArchive, source: Source, folder: Path) -> Path:
    """The package file, kept in the cache in place of earlier ones."""
    fresh = archive.download(Package(source.package, source.version), folder)
    deb = cache / "debs" / fresh.name
    deb.parent.mkdir(exist_ok=True)
    for older in deb.parent.glob("linux-source-*.deb"):
        older.unlink()
    return fresh.replace(deb)


def _unpack(deb: Path, source: Source, tree: Path) -> None:
    """The source tree out of the tarball out of the package, without a copy on disk."""
    member = f"./usr/src/{source.package}.tar.xz"
    exclude = [f"--exclude={pattern}" for pattern in NOT_UNPACKED]
    stages = (
        ["dpkg-deb", "--fsys-tarfile", str(deb)],
        ["tar", "-xO", member],
        ["xz", "-dc", "-T0"],
        ["tar", "-x", "--strip-components=1", *exclude, "-C", str(tree)],
    )
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for argv in stages:
            source_of_input = processes[-1].stdout if processes else subprocess.DEVNULL
            processes.append(subprocess.Popen(argv, stdin=source_of_input,
                                              stdout=subprocess.PIPE))
            if len(processes) > 1:
                # ours must be closed, so that a stage sees its reader's end
                previous = processes[-2].stdout
                assert previous is not None
                previous.close()
        codes = [processes[-1].wait()]
        codes += [process.wait() for process in processes[:-1]]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()
    if any(codes):
        deb.unlink(missing_ok=True)
        raise SetupError(f"{deb.name} could not be unpacked and was removed; "
                         "run flent-aqm setup again")


def _configure(tree: Path, fragment: str) -> None:
    """allnoconfig plus the fragment; the result is checked against it."""
    (tree / "lab.config").write_text(fragment, encoding="utf-8")
    _make(tree, "KCONFIG_ALLCONFIG=lab.config", "allnoconfig")
    check_config(fragment, (tree / ".config").read_text(encoding="utf-8"))


def _compile(tree: Path, log: Path, progress: Progress) -> None:
    lines = 0

    def count(_line: str) -> None:
        nonlocal lines
        lines += 1
        progress.count("compiling", lines, EXPECTED_LINES)

    jobs = len(os.sched_getaffinity(0))
    try:
        run_watched(["make", "ARCH=um", f"-j{jobs}"], count, cwd=tree, env=_environment(), log=log)
    except CommandFailed as error:
        wrong = [line for line in error.stderr.splitlines() if "rror" in line] or ["see the log"]
        raise SetupError(f"the lab kernel did not compile: {wrong[0].strip()}; "
                         f"all of it is in {log}") from None


def _make(tree: Path, *words: str) -> str:
    return run(["make", "ARCH=um", *words], cwd=tree, env=_environment(), timeout_s=600)


def _environment() -> dict[str, str]:
    """Nothing of the caller's: flags of an outer make, compilers of one's own, locale."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **BUILD_IDENTITY}
