# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the lab's kernel from Debian's source package, and kernels of the user.

Each kernel is built once per recipe (recipe.py), into CACHE/kernels/HASH.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from flent_aqm.base.errors import SetupError
from flent_aqm.base.json_text import json_text
from flent_aqm.base.paths import SYSTEM_CACHE, find_cached
from flent_aqm.base.shell import run
from flent_aqm.base.whole_file import write_text
from flent_aqm.setup import install
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.kernel import coverage, locate, patching, published, recipe
from flent_aqm.setup.kernel.additions import own_flags
from flent_aqm.setup.kernel.compile import (
    compile_tree,
    configure,
    make,
    refuse_not_compiled,
    warnings_in,
)
from flent_aqm.setup.kernel.named import all_named
from flent_aqm.setup.kernel.patching import PatchDoesntFit
from flent_aqm.setup.kernel.recipe import Backport, KernelSource, Recipe
from flent_aqm.setup.kernel.sources import DebianOrigin, Origin, cached_archive
from flent_aqm.setup.kernel.tree import NOTES, KernelTree, files_of
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.whole_program import is_whole

# Names of Debian's packages with the kernel's source.
SOURCE_PATTERN = r"linux-source-\d+\.\d+"

# Folders of the kernel's source with the architecture of User-Mode Linux.
ARCHITECTURE = ("arch/um", "arch/x86/um")

# Room for the unpacked source, its objects, and the archive, which has 0.2 GB.
BYTES_NEEDED = 2_000_000_000


def set_up_kernel(cache: Path, archive: DebianArchive, *, update: bool = False) -> None:
    """Build the lab's kernel for the current recipe, and record its source version in the cache as
    the one in use. Nothing is done if the kernel exists for a source version in use and `update` is
    false. The caller holds the cache's lock.

    The source is a version in use whose package is in the cache and takes all required patches. If
    there is none, or if `update` is true, it is the newest version that takes them. Afterwards kept
    trees and packages that no kernel uses are removed.

    update: True to choose the newest source version, even if the kernel exists for the one in use.

    Raises SetupError, CommandFailed or ToolMissing if the source can't be downloaded or the kernel
    can't be built.
    """
    choices = [] if update else recipe.read_choices()
    if any(is_built(recipe.current_recipe(source)) for source in choices):
        return
    if choices and (unfit := locate.unfit_ready_made()):
        Progress("lab kernel").step(f"{unfit}; compiling one")
    source = next((source for source in choices if _build_from_cached(cache, archive, source)),
                  None)
    if source is None:
        source = _build_newest_that_fits(cache, archive)
    choice = cache / recipe.CHOICE
    choice.parent.mkdir(exist_ok=True)  # the kernel itself may lie in the machine's cache
    write_text(choice, json_text(asdict(source)) + "\n")
    _remove_unused_sources(cache, source)


def _remove_unused_sources(cache: Path, source: KernelSource) -> None:
    """Remove kept trees of Debian's packages in which neither the lab's kernel nor a kernel of the
    user was built, and packages of which neither is made. Trees in which a build works stay.

    source: the source version of the lab's kernel.
    """
    stock, named = DebianOrigin.folder_of(source), all_named()
    trees = {stock, *(each.tree for each in named)}
    origins = {stock, *(each.origin_folder for each in named)}
    for tree in (cache / "trees").glob("linux-source-*"):
        if tree.is_dir() and tree.name not in trees and not install.is_held(tree):
            shutil.rmtree(tree, ignore_errors=True)
    for deb in (cache / "debs").glob("linux-source-*.deb"):
        if not any(deb.name.startswith(f"{origin}_") for origin in origins):
            deb.unlink()


def _build_from_cached(cache: Path, archive: DebianArchive, source: KernelSource) -> bool:
    """Build the kernel from a source version whose package is in the cache. Return False if the
    package isn't there, or if a required patch doesn't fit. Otherwise return True. Raises
    SetupError, CommandFailed or ToolMissing if the build fails for another reason."""
    if cached_archive(cache, source) is None:
        return False
    try:
        _build_lab_kernel(cache, archive, recipe.current_recipe(source))
    except PatchDoesntFit:
        return False
    return True


def _build_newest_that_fits(cache: Path, archive: DebianArchive) -> KernelSource:
    """Build the kernel from the newest source version that takes all required patches, unless it
    exists. Return that source version. Raises SetupError if no version takes them, and SetupError,
    CommandFailed or ToolMissing if the archive can't be read or the build fails for another reason.
    """
    faults = []
    for package in archive.versions(SOURCE_PATTERN):
        source = KernelSource(package.name, package.version)
        wanted = recipe.current_recipe(source)
        if is_built(wanted):
            return source
        try:
            _build_lab_kernel(cache, archive, wanted)
        except PatchDoesntFit as fault:
            faults.append(f"{package.name} {package.version}: {fault}")
            Progress("lab kernel").step(f"{faults[-1]}; trying the version before it")
        else:
            return source
    raise SetupError("the required patches of this flent-aqm fit none of Debian's kernel sources "
                     f"({'; '.join(faults)}); update flent-aqm")


def kernel_is_there() -> bool:
    """Return whether the lab's kernel for the current options and patches, of any source version in
    use, exists and is complete."""
    return any(is_built(recipe.current_recipe(source)) for source in recipe.read_choices())


def is_built(wanted: Recipe) -> bool:
    """Return whether the kernel of a recipe is complete in the first cache that has it. False if no
    cache has it."""
    path = find_cached("kernels", wanted.hash, "linux")
    return path is not None and is_whole(path)


def _build_lab_kernel(cache: Path, archive: DebianArchive, wanted: Recipe) -> None:
    """Build the lab's kernel by a recipe into CACHE/kernels/HASH, and print the progress. The
    caller holds the cache's lock. Raises SetupError, PatchDoesntFit, CommandFailed or ToolMissing,
    as build_kernel() does."""
    progress = Progress("lab kernel")
    progress.finish(build_kernel(cache, DebianOrigin(cache, archive, wanted.source), wanted,
                                 progress))


def build_kernel(cache: Path, origin: Origin, wanted: Recipe, progress: Progress,
                 name: str = "") -> str:
    """Build a kernel into CACHE/kernels/HASH, with its configuration, debug information and a
    description. A complete kernel that is there already stays. Return a clause about it for the
    user, such as "version 7.3.4 built", followed by what it lacks if optional patches were left
    out.

    The source stays in CACHE/trees with its objects, for the next build. The output of make is in
    CACHE/kernel-build.log, or kernel-build-NAME.log. The caller holds the cache's lock, which is
    released while a user's kernel is compiled, or while another build works in the same tree or in
    the one that is copied. If the lab's own kernel doesn't compile with optional patches, it is
    compiled again without them. For a user's kernel, changed files that aren't compiled and the
    compiler's warnings about changed files are printed.

    Args:
        cache: the cache folder.
        origin: where the source comes from.
        wanted: the recipe.
        progress: prints the steps.
        name: name of a kernel of the user, "" for the lab's own.

    Raises:
        SetupError: if the source can't be had, the kernel doesn't compile, the options aren't what
            was requested, none of the user's files is compiled (refuse_not_compiled()), or there is
            no room.
        PatchDoesntFit: if a required patch or one of the user doesn't fit.
        CommandFailed, ToolMissing: if a program of the build fails or is missing.
    """
    log = cache / f"kernel-build{f'-{name}' if name else ''}.log"
    with install.held(cache, cache / "trees" / tree_name(origin, wanted)):
        with install.staging(cache) as work:
            tree = _kept_tree(cache, origin, wanted, work, progress)
            applied, left_packed = _make_changes(cache, tree, origin, wanted, work, progress)
        try:
            _compile(cache, tree, wanted, log, progress)
        except SetupError as fault:
            if wanted.is_users or not any(name in patching.OPTIONAL for name, _ in applied):
                raise
            # An optional patch may apply to a source for which it is wrong. Set-up must not fail
            # because of it.
            progress.step(f"{fault}; compiling without the optional patches")
            with install.staging(cache) as work:
                applied, left_packed = _make_changes(cache, tree, origin, wanted, work, progress,
                                                     optional=False)
            _compile(cache, tree, wanted, log, progress)
        if wanted.is_users and wanted.coverage is None:
            names = [path for path in tree.changed if (tree.path / path).is_file()]
            if unused := refuse_not_compiled(tree.path, names, left_packed):
                progress.step(f"not compiled with the lab's options: {', '.join(unused)}")
            for warning in warnings_in(log.read_text(errors="replace"), names):
                progress.step(warning)
        without = patching.left_out(wanted.patches, applied)
        with install.staging(cache) as work:
            result = work / "result"
            result.mkdir()
            run(["strip", "-o", result / "linux", tree.path / "linux"])
            (result / "config").write_bytes((tree.path / ".config").read_bytes())
            # Debug information, to translate the addresses in an oops to functions and lines.
            run(["objcopy", "--only-keep-debug", tree.path / "linux", result / "linux.debug"])
            if wanted.coverage is not None:
                coverage.write_note(result, tree.path / "linux")
            elif wanted.is_users:
                coverage.keep_own(result, tree.changed, tree)
            version = make(tree.path, "-s", "kernelversion").strip()
            (result / "kernel.json").write_text(json_text({
                **asdict(origin.source), "kernel_version": version, "hash": wanted.hash,
                "gcc": run(["gcc", "--version"]).splitlines()[0],
                "patches": [name for name, _content in applied], "left_out": without,
                "own_options": wanted.own_options, "switches": _switches(tree, wanted),
            }, indent=1) + "\n", encoding="utf-8")
            install.publish(result, cache / "kernels" / wanted.hash,
                            lambda folder: is_whole(folder / "linux"))
    cost = patching.cost_of(without)
    return f"version {version} built{', ' if cost else ''}{cost}"


def _compile(cache: Path, tree: KernelTree, wanted: Recipe, log: Path, progress: Progress) -> None:
    """Compile the configured tree. While a user's kernel is compiled, the cache's lock is released,
    so that other set-ups and builds can use the cache meanwhile. Raises SetupError if it doesn't
    compile.

    log: file for make's whole output.
    """
    if wanted.is_users:
        with install.released(cache):
            compile_tree(tree, log, progress)
    else:
        compile_tree(tree, log, progress)


def _kept_tree(cache: Path, origin: Origin, wanted: Recipe, work: Path,
               progress: Progress) -> KernelTree:
    """Return the kept tree for a recipe, with the objects of an earlier build if there was one. If
    there is no such tree, copy a kept tree of the same source, or else unpack the source. The
    caller holds the tree's lock (install.held()).

    work: folder for unfinished work.

    Raises SetupError if there is no room, or if the source can't be downloaded or unpacked,
    CommandFailed if a tree can't be copied, ToolMissing if a program for that is missing.
    """
    path = cache / "trees" / tree_name(origin, wanted)
    if not (path / NOTES).is_dir():
        install.require_space(cache, BYTES_NEEDED, "building the kernel")
        path.parent.mkdir(exist_ok=True)
        shutil.rmtree(path, ignore_errors=True)
        fresh = work / "tree"
        like = _first_kept(_trees_to_copy(cache, origin, path))
        if like is not None:
            progress.step(f"copying the source from {like}")
            # Of a tree in the machine's cache a user can't open the lock.
            with install.held(cache, like) if like.parent == path.parent else nullcontext():
                # The files' times are copied, too, because make compares them.
                run(["cp", "-a", "--reflink=auto", like, fresh], timeout_s=900)
        else:
            fresh.mkdir()
            origin.fill(fresh, work, progress)
        fresh.rename(path)
    return KernelTree(path)


def tree_name(origin: Origin, wanted: Recipe) -> str:
    """Return the name of the folder in CACHE/trees for a recipe. Recipes with different options of
    the user have different trees, because all objects differ. All others of a source share one."""
    return f"{origin.folder}-{wanted.options_hash}" if wanted.own_options else origin.folder


def _trees_to_copy(cache: Path, origin: Origin, path: Path) -> list[Path]:
    """Return the paths at which trees of the same source may exist, from which `path` can be
    copied, the best first."""
    return [place for place in (SYSTEM_CACHE / "trees" / path.name, cache / "trees" / origin.folder,
                                SYSTEM_CACHE / "trees" / origin.folder) if place != path]


def _first_kept(folders: Iterable[Path]) -> Path | None:
    """Return the first of these folders that is a kept tree, None if none is."""
    return next((folder for folder in folders if (folder / NOTES).is_dir()), None)


def _add_backport(cache: Path, tree: KernelTree, backport: Backport, work: Path, progress: Progress
                  ) -> None:
    """Replace the architecture `um` of an old kernel's source by that of a newer one, and apply the
    backport's patch. If neither `cache` nor SYSTEM_CACHE has a kept tree of the newer source,
    _kept_tree() makes one, and its errors are raised. Raises PatchDoesntFit if the patch doesn't
    fit, CommandFailed if the program patch fails for another reason.

    work: folder for unfinished work.
    """
    origin = DebianOrigin(cache, DebianArchive(cache), backport.donor)
    # The kept tree is only read, because it may be in the machine's cache.
    kept = _first_kept(base / "trees" / origin.folder for base in (cache, SYSTEM_CACHE))
    donor = KernelTree(kept) if kept is not None else _kept_tree(
        cache, origin, recipe.current_recipe(backport.donor), work, progress)
    for folder in ARCHITECTURE:
        tree.backport(folder, donor)
    name, content = backport.patch
    patching.apply_own(tree.path, name, content, keep=tree.keep)


def _add_own_flags(tree: KernelTree, patch: bytes) -> None:
    """Append compiler flags to Makefiles for the C files of a patch, which has been applied, so
    that they are compiled as a user's own files (additions.own_flags()). Files that aren't in the
    tree, or whose folder has no Makefile, are left out."""
    for name in files_of(patch):
        folder, _, file = name.rpartition("/")
        if file.endswith(".c") and (tree.path / name).is_file() and (
                tree.path / folder / "Makefile").is_file():
            tree.append(f"{folder}/Makefile", own_flags(file.removesuffix(".c")))


def _switches(tree: KernelTree, wanted: Recipe) -> list[str]:
    """Return the names of the options, without CONFIG_, that compile the user's files, as the
    Makefiles of the tree say, in which the recipe's changes have been made. Files that no option
    compiles are left out."""
    if wanted.coverage is not None:
        return list(wanted.coverage.switches)
    switches = (each.switch((tree.path / each.kind.folder / "Makefile").read_text(encoding="utf-8"))
                for each in wanted.additions)
    return [switch for switch in switches if switch]


def _make_changes(cache: Path, tree: KernelTree, origin: Origin, wanted: Recipe, work: Path,
                  progress: Progress, *, optional: bool = True
                  ) -> tuple[list[patching.Patch], list[str]]:
    """Take back earlier changes, unpack or update the source, make all changes of the recipe, and
    configure the kernel. Optional patches that don't fit are left out. The files that the user's
    changes affect, Makefiles too, are afterwards in `tree.changed`.

    Args:
        cache: the cache folder.
        tree: the kept tree.
        origin: where the source comes from.
        wanted: the recipe.
        work: folder for unfinished work.
        progress: prints the steps.
        optional: True to apply the lab's optional patches, too.

    Returns:
        The lab's patches that were applied, and the paths of files that the user's patches change
            but set-up doesn't unpack.

    Raises PatchDoesntFit if a required patch or one of the user doesn't fit, SetupError if the
    source can't be had or its options aren't what was requested, CommandFailed or ToolMissing if a
    program fails or is missing.
    """
    tree.take_back()
    origin.fill(tree.path, work, progress)
    progress.step("applying patches")
    if wanted.backport is not None:
        _add_backport(cache, tree, wanted.backport, work, progress)
    applied = patching.apply_all(tree.path, wanted.patches, optional=optional, keep=tree.keep)
    tree.watch()
    left_packed: list[str] = []
    for name, content in wanted.own_patches:
        if absent := published.apply(tree.path, name, content, keep=tree.keep):
            progress.step(f"{name}: without its changes to {', '.join(absent)}, which set-up "
                          "doesn't unpack")
            left_packed += absent
        _add_own_flags(tree, content)
    for addition in wanted.additions:
        folder = addition.kind.folder
        if not (tree.path / addition.path).exists():
            tree.append(f"{folder}/Kconfig", addition.kconfig)
            tree.append(f"{folder}/Makefile", addition.makefile)
        tree.append(f"{folder}/Makefile", addition.own_flags)
        tree.write(addition.path, addition.content)
        for name, content in addition.headers:
            tree.write(f"{folder}/{name}", content)
    if wanted.coverage is not None:
        for name, content in wanted.coverage.files:
            (tree.path / name).parent.mkdir(parents=True, exist_ok=True)
            tree.write(name, content)
        coverage.instrument(tree, wanted.coverage.instrumented)
    tree.set_times()
    progress.step("choosing its options")
    configure(tree.path, wanted.whole_fragment(_switches(tree, wanted)))
    progress.step("compiling (about 2 minutes on 2 cores; less where objects are there)")
    return applied, left_packed
