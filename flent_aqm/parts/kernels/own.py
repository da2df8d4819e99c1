# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a kernel of the user's own: another source, patches, options, C files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flent_aqm.base.errors import ConfigError, SetupError, ToolMissing
from flent_aqm.base.regular_file import read_note
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.kernel import coverage, named, recipe
from flent_aqm.setup.kernel.additions import Addition, read_bytes
from flent_aqm.setup.kernel.build import build_kernel, is_built, tree_name
from flent_aqm.setup.kernel.config_check import parse_config
from flent_aqm.setup.kernel.locate import built_kernel
from flent_aqm.setup.kernel.named import NamedKernel
from flent_aqm.setup.kernel.recipe import Recipe, Source, series_of
from flent_aqm.setup.kernel.sources import DebianOrigin, GitTree, Origin, parse_origin
from flent_aqm.setup.kernel.tree import NOTES
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.tc_plugin import build_tc

# Options that come with this package, by the word that --config takes for them.
READY_MADE = ("debug", "nat")
# Stable's own kernels, LTS ones mostly, and the newest, beside those that set-up looks at.
MORE_SUITES = ("trixie", "sid", "experimental")
_NOTHING = Recipe(Source("", ""), "", ())


@dataclass(frozen=True)
class KernelRequest:
    """What a kernel is to be. source: as --source has it, None for that of set-up's kernel;
    patches: (name, content); options: a fragment; tc_files: (queue,
    content of q_QUEUE.c)."""

    source: str | None = None
    patches: tuple[tuple[str, bytes], ...] = ()
    additions: Sequence[Addition] = ()
    options: str = ""
    tc_files: Sequence[tuple[str, bytes]] = ()


def read_patches(files: Iterable[Path]) -> tuple[tuple[str, bytes], ...]:
    """Return names and contents. Raises ConfigError."""
    return tuple((path.name, read_bytes("--patch", path)) for path in files)


def read_options(text: str) -> str:
    """Return the fragment that --config names. Raises ConfigError."""
    path = recipe.HERE / f"{text}.config" if text in READY_MADE else Path(text)
    content = read_bytes("--config", path).decode("utf-8", "replace")
    try:
        options = parse_config(content)
    except SetupError as fault:
        raise ConfigError(f"--config: {path}: {fault}") from None
    return "".join(f"CONFIG_{name}={value}\n" for name, value in options.items())


def build_named(cache: Path, name: str, wishes: KernelRequest, command: str
                ) -> tuple[NamedKernel, bool]:
    """Return the kernel, and whether it had to be built. The caller holds the cache's lock.

    Raises SetupError, ConfigError and others; then the name stands for what it stood for.
    """
    progress = Progress(f"kernel {name}")
    # First, as it takes a second to fail.
    tc = build_tc(cache, list(wishes.tc_files)) if wishes.tc_files else ""
    origin = _origin(cache, wishes)
    wanted = replace(recipe.current_recipe(origin.source, origin.series),
                     own_patches=wishes.patches, own_options=wishes.options,
                     additions=tuple(wishes.additions))
    fresh = not is_built(wanted)
    if fresh:
        progress.finish(build_kernel(cache, origin, wanted, progress, name))
    built = built_kernel(wanted.hash)
    assert built is not None, "it was just built"
    kernel = NamedKernel(
        name, wanted.hash, wanted.lab_hash, built.version, _in_words(origin, wishes), command,
        tree_name(origin, wanted), tc,
        [*(each.path.rpartition("/")[2] for each in wishes.additions),
         *(f"q_{each}.c" for each, _content in wishes.tc_files),
         *(each for each, _content in wishes.patches),
         *([_options_in_words(wishes.options)] if wishes.options else [])])
    named.save(cache, kernel)
    return kernel, fresh


def kernel_folder(kernel: NamedKernel) -> Path:
    """Return the folder of a kernel's program. Raises ToolMissing where it is gone."""
    return kernel.path.parent


def origin_of(cache: Path, kernel: NamedKernel) -> Origin:
    """Return the source that a kernel was built from."""
    facts = read_note(kernel_folder(kernel) / "kernel.json")
    source = Source(str(facts["package"]), str(facts["version"]))
    if source.package != "git":
        return DebianOrigin(cache, DebianArchive(cache, "apt-more", MORE_SUITES), source)
    options = str(facts.get("own_options", ""))
    suffix = f"-{replace(_NOTHING, own_options=options).options_hash}" if options else ""
    return GitTree(cache / "trees", kernel.tree.removesuffix(suffix), source.version,
                   series_of(kernel.version))


def changes_of(cache: Path, base: Path, kernel: NamedKernel) -> list[coverage.Change]:
    """Return the lines of C files and headers that a kernel has and another one has not. base: the
    other's folder. Raises SetupError where the two are made of sources that can't be compared."""
    test = kernel_folder(kernel)
    ours, theirs = (read_note(folder / "kernel.json") for folder in (base, test))
    origin = origin_of(cache, kernel)
    of_source: Mapping[str, tuple[bytes, bytes]] = {}
    if (ours["package"], ours["version"]) != (theirs["package"], theirs["version"]):
        if ours["package"] != "git" or not isinstance(origin, GitTree):
            raise SetupError(
                f"the sides are made of different sources, {ours['package']} {ours['version'][:12]}"
                f" and {theirs['package']} {theirs['version'][:12]}; a change is known between "
                "kernels of one source, or of one repository (--source)")
        of_source = origin.changed_since(str(ours["version"]))
    return coverage.changes_between(base, test, of_source)


def build_recording(cache: Path, kernel: NamedKernel, paths: Iterable[str]) -> NamedKernel:
    """Return a kernel that records which lines of these files of `kernel` run, and build it where
    it isn't in the cache. paths: changed files. The caller holds the cache's lock.

    Raises SetupError where nothing of them is compiled, the kept source is gone, or the lab's part
    of the kernel is another by now.
    """
    folder = kernel_folder(kernel)
    facts = read_note(folder / "kernel.json")
    tree = cache / "trees" / kernel.tree
    if not (tree / NOTES).is_dir():
        raise SetupError(f"the source of the kernel {kernel.name} is gone from {cache}; build it "
                         f"again: {kernel.command}")
    origin = origin_of(cache, kernel)
    instrumented = coverage.files_to_instrument(tree, paths)
    if not instrumented:
        raise SetupError(f"the kernel {kernel.name} has no object of {', '.join(sorted(paths))}")
    wanted = replace(
        recipe.current_recipe(origin.source, origin.series),
        own_options=str(facts["own_options"]),
        coverage=recipe.Coverage(
            kernel.hash, tuple(coverage.own_files(folder, coverage.AFTER).items()),
            tuple(map(str, facts["switches"])), tuple(instrumented),
            coverage.FLAGS))
    if wanted.lab_hash != kernel.lab_hash:
        raise SetupError(f"the kernel {kernel.name} was built with other patches or options of the "
                         f"lab; build it again: {kernel.command}")
    if not is_built(wanted):
        progress = Progress(f"kernel {kernel.name}, with coverage")
        progress.finish(build_kernel(cache, origin, wanted, progress, "coverage"))
    recording = replace(
        kernel, name=f"coverage-{wanted.hash}", hash=wanted.hash, records=kernel.name,
        made_of=[f"coverage of {kernel.name}"])
    named.save(cache, recording)
    return recording


def _origin(cache: Path, wishes: KernelRequest) -> Origin:
    if wishes.source is not None:
        return parse_origin(wishes.source, cache, DebianArchive(cache, "apt-more", MORE_SUITES))
    source = recipe.stock_source()
    if source is None:
        raise ToolMissing("the lab kernel is not built, whose source this would take; run: "
                          "flent-aqm setup")
    return DebianOrigin(cache, DebianArchive(cache), source)


def _options_in_words(options: str) -> str:
    return next((word for word in READY_MADE if options == read_options(word)), "options")


def _in_words(origin: Origin, wishes: KernelRequest) -> str:
    if isinstance(origin, DebianOrigin):
        return f"{origin.source.package} {origin.source.version}"
    return f"{wishes.source} ({origin.source.version[:12]})"
