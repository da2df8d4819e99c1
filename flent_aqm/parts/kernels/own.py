# SPDX-License-Identifier: GPL-3.0-or-later
"""Build a kernel of the user's own from another source, patches, options or C files."""

from __future__ import annotations

import os
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
from flent_aqm.setup.kernel.recipe import KernelSource, series_of
from flent_aqm.setup.kernel.sources import DebianOrigin, GitTree, Origin, parse_origin
from flent_aqm.setup.kernel.tree import NOTES
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.tc_plugin import build_tc

# Options that come with this package, by the word that --config takes for them.
READY_MADE = ("debug", "nat")
# Stable's own kernels, LTS ones mostly, and the newest, beside those that set-up looks at.
MORE_SUITES = ("trixie", "sid", "experimental")
# Most files that a message names.
_MOST_NAMED = 4


@dataclass(frozen=True)
class KernelRequest:
    """The options of `flent-aqm kernel build` for one kernel, with the contents of the files.

    Attributes:
        source: value of --source, None for the source of set-up's kernel.
        patches: (name of the file, content) of each patch, in the order of application.
        additions: C files of qdiscs and congestion controls that are added to the kernel.
        options: fragment of kernel options, lines CONFIG_NAME=value, "" for none.
        tc_files: (name of the qdisc, content of q_QDISC.c) of each plug-in for tc.
    """

    source: str | None = None
    patches: tuple[tuple[str, bytes], ...] = ()
    additions: Sequence[Addition] = ()
    options: str = ""
    tc_files: Sequence[tuple[str, bytes]] = ()


def read_patches(files: Iterable[Path]) -> tuple[tuple[str, bytes], ...]:
    """Return (name without folder, content) of each patch file. Raises ConfigError if a file can't
    be read or is too large."""
    return tuple((path.name, read_bytes("--patch", path)) for path in files)


def read_options(text: str) -> str:
    """Return the kernel options of a fragment as lines CONFIG_NAME=value, without blank lines and
    comments. "" if it has no options. Of an option in several lines, the last value counts.

    Args:
        text: value of --config: a word of READY_MADE, for a fragment of this package, or the path
            of a file.

    Raises ConfigError if the file can't be read or is too large, or if a line of it isn't an
    option.
    """
    path = recipe.HERE / f"{text}.config" if text in READY_MADE else Path(text)
    if not os.path.lexists(path):
        raise ConfigError(f"--config: there is no file {path}; expected one with lines "
                          f"CONFIG_NAME=value, or one of the words {' and '.join(READY_MADE)}")
    content = read_bytes("--config", path).decode("utf-8", "replace")
    try:
        options = parse_config(content)
    except SetupError as fault:
        raise ConfigError(f"--config: {path}: {fault}") from None
    return "".join(f"CONFIG_{name}={value}\n" for name, value in options.items())


def build_named(cache: Path, name: str, request: KernelRequest, command: str
                ) -> tuple[NamedKernel, bool]:
    """Build a kernel unless a cache has it, and a tc with the request's plug-ins, if there are any.
    Save the kernel under its name. Return the kernel, and True if it was built now. Prints the
    progress. The caller holds the cache's lock, which is released while the kernel is compiled.

    Args:
        cache: folder of the cache.
        name: name for the batch key `kernel`.
        request: what to build the kernel from.
        command: command line that builds the same kernel again, which is stored with it.

    Raises ConfigError for a wrong source or if it needs git and that is missing, ToolMissing if
    set-up has to run first or a program of the build is missing, SetupError or another AqmError if
    the build fails. On any error the name keeps its previous kernel.
    """
    progress = Progress(f"kernel {name}")
    if request.tc_files:  # first, as it takes a second to fail
        build_tc(cache, list(request.tc_files))
    origin = _find_origin(cache, request)
    wanted = replace(recipe.current_recipe(origin.source, origin.series),
                     own_patches=request.patches, own_options=request.options,
                     additions=tuple(request.additions))
    fresh = not is_built(wanted)
    if fresh:
        progress.finish(build_kernel(cache, origin, wanted, progress, name))
    built = built_kernel(wanted.hash)
    assert built is not None, "it was just built"
    # While the kernel was compiled, without the lock, the removal of another one may have removed
    # the tc.
    tc = build_tc(cache, list(request.tc_files)) if request.tc_files else ""
    kernel = NamedKernel(
        name, wanted.hash, wanted.lab_hash, built.version, _describe_source(origin, request),
        command,
        tree_name(origin, wanted), tc,
        [*(each.path.rpartition("/")[2] for each in request.additions),
         *(f"q_{each}.c" for each, _content in request.tc_files),
         *(each for each, _content in request.patches),
         *([_describe_options(request.options)] if request.options else [])])
    named.save(cache, kernel)
    return kernel, fresh


def kernel_folder(kernel: NamedKernel) -> Path:
    """Return the folder of a kernel's program. Raises ToolMissing if the program is gone."""
    return kernel.path.parent


def origin_of(cache: Path, kernel: NamedKernel) -> Origin:
    """Return the source that a kernel was built from, a Debian package or a Git tree, as its
    kernel.json records it. Whether it is still there isn't checked. Raises ToolMissing if the
    kernel's program is gone, OSError or ValueError if kernel.json can't be read, KeyError or
    TypeError if it lacks the source."""
    facts = read_note(kernel_folder(kernel) / "kernel.json")
    source = KernelSource(str(facts["package"]), str(facts["version"]))
    if source.package != "git":
        return DebianOrigin(cache, DebianArchive(cache, "apt-more", MORE_SUITES), source)
    return GitTree(cache / "trees", kernel.origin_folder, source.version,
                   series_of(kernel.version))


def changes_of(cache: Path, base: Path, kernel: NamedKernel) -> list[coverage.ChangedFile]:
    """Return the changes of C files and headers from the base kernel to `kernel`, sorted by path:
    of each changed file the lines that only `kernel` has, and the lines of code nearest to removed
    ones. Deleted files are left out. Empty if there are no changes.

    Args:
        cache: folder of the cache.
        base: folder of the base kernel.
        kernel: the kernel under test.

    Raises SetupError if the kernels are built from sources that can't be compared or git fails,
    ToolMissing if the program of `kernel` is gone, OSError or ValueError if a kernel.json can't be
    read, KeyError or TypeError if it lacks the source.
    """
    test = kernel_folder(kernel)
    ours, theirs = (read_note(folder / "kernel.json") for folder in (base, test))
    origin = origin_of(cache, kernel)
    of_source: Mapping[str, tuple[bytes | None, bytes | None]] = {}
    if (ours["package"], ours["version"]) != (theirs["package"], theirs["version"]):
        if ours["package"] != "git" or not isinstance(origin, GitTree):
            raise SetupError(
                "the kernels of the two sides are built from different sources, "
                f"{_short(ours)} and {_short(theirs)}; changed lines can be found only between "
                "kernels of one source, or of one Git repository (--source)")
        of_source = origin.changed_since(str(ours["version"]))
    return coverage.changes_between(base, test, of_source)


def _short(facts: Mapping[str, str]) -> str:
    """Return package and version of a kernel's source, of a Git tree only the first 12 digits.

    facts: content of the kernel's kernel.json.
    """
    package, version = facts["package"], facts["version"]
    return f"{package} {version[:12] if package == 'git' else version}"


def build_recording(cache: Path, kernel: NamedKernel, paths: Iterable[str]) -> NamedKernel:
    """Return a kernel that records which lines of some files of `kernel` run. It is built if no
    cache has it, with the progress printed, and saved as `coverage-HASH`. The caller holds the
    cache's lock, which is released while the kernel is compiled.

    Args:
        cache: folder of the cache.
        kernel: the kernel under test.
        paths: paths of the changed files in the source tree. The files that are recorded are those
            that files_to_instrument() finds for them.

    Raises SetupError if there are none of these, the kernel's source tree is gone, or the lab's own
    patches or options have changed since `kernel` was built, SetupError or another AqmError if the
    build fails. Raises ToolMissing if the program of `kernel` is gone, OSError or ValueError if its
    kernel.json can't be read, KeyError or TypeError if that lacks a value.
    """
    folder = kernel_folder(kernel)
    facts = read_note(folder / "kernel.json")
    tree = cache / "trees" / kernel.tree
    if not (tree / NOTES).is_dir():
        raise SetupError(f"the source of the kernel {kernel.name} is gone from {cache}; build it "
                         f"again: flent-aqm kernel remove {kernel.name}; {kernel.command}")
    origin = origin_of(cache, kernel)
    instrumented = coverage.files_to_instrument(tree, paths)
    if not instrumented:
        names = sorted(paths)
        shown = ", ".join(names[:_MOST_NAMED])
        more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        raise SetupError("none of the changed files is a C file that is compiled into the kernel "
                         f"{kernel.name}, or a header of one in net/: {shown}{more}")
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


def _find_origin(cache: Path, request: KernelRequest) -> Origin:
    """Return the source for a kernel: that of --source, otherwise that of set-up's kernel. The
    files of a folder or repository are read into set-up's own git repository in the cache.

    Raises ConfigError for a wrong --source or if it needs git and that is missing, ToolMissing
    without --source if set-up hasn't chosen a source yet, ToolMissing or another AqmError if apt,
    which looks a package up, is missing or fails, or git fails.
    """
    if request.source is not None:
        return parse_origin(request.source, cache, DebianArchive(cache, "apt-more", MORE_SUITES))
    source = recipe.stock_source()
    if source is None:
        raise ToolMissing("without --source, the source that set-up chose for the lab kernel is "
                          "used, and no cache has such a choice; run: flent-aqm setup, or give "
                          "--source")
    return DebianOrigin(cache, DebianArchive(cache), source)


def _describe_options(options: str) -> str:
    """Return kernel options in a word: that of READY_MADE which stands for them, otherwise
    "options"."""
    return next((word for word in READY_MADE if options == read_options(word)), "options")


def _describe_source(origin: Origin, request: KernelRequest) -> str:
    """Return a kernel's source as text: package and version, or the value of --source with the
    first 12 digits of the hash of the files (Git's tree object) in parentheses."""
    if isinstance(origin, DebianOrigin):
        return f"{origin.source.package} {origin.source.version}"
    return f"{request.source} ({origin.source.version[:12]})"
