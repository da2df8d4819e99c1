# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes kernels that the user has built, by the names that the user gave them.

    CACHE/named/NAME.json      description, with the hash of the kernel below CACHE/kernels
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.base.json_text import json_text
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.paths import caches, find_cached
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.whole_file import write_text
from flent_aqm.setup.install import is_held
from flent_aqm.setup.kernel import recipe
from flent_aqm.setup.kernel.recipe import KernelSource, series_of
from flent_aqm.spec.kernel import STOCK, parse_kernel

FOLDER = "named"
# End of a tree's name for options of the user (Recipe.options_hash).
_OF_OPTIONS = re.compile(r"-[0-9a-f]{8}$")
_QUEUE_OPTION = re.compile(r"^CONFIG_NET_SCH_(\w+)=y$", re.MULTILINE)
# Options that aren't called as a qdisc, and qdiscs that have no option of their own.
_NO_QDISC = frozenset({"fifo", "default"})
_IN_EVERY_KERNEL = frozenset({"pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast", "mq", "noqueue"})


@dataclass(frozen=True)
class NamedKernel:
    """Description of a kernel that the user has built.

    Attributes:
        name: name that the user gave, a value of the batch key `kernel`.
        hash: hash of the kernel's recipe.
        lab_hash: hash of the lab's own options and patches with which it was built.
        version: version such as 7.3.4.
        source: where the source came from, as text for the user.
        command: command line that built the kernel. For an instrumented kernel, that of the kernel
            whose changes it records.
        tree: name of the folder of its kept source in CACHE/trees, "" if none is kept.
        tc: name of the folder below CACHE/tc of a tc that knows its queues' options, "" if there is
            none.
        made_of: names of the user's files and patches, and a word for the user's options, if there
            are any. For an instrumented kernel, "coverage of NAME".
        records: for an instrumented kernel, name of the kernel whose changes it records. "" for
            others.
    """

    name: str
    hash: str
    lab_hash: str
    version: str
    source: str
    command: str
    tree: str = ""
    tc: str = ""
    made_of: list[str] = field(default_factory=list)
    records: str = ""

    @property
    def origin_folder(self) -> str:
        """Name of the folder in CACHE/trees for a kernel of the same source without options of the
        user (Origin.folder): `tree` without the hash of the options. "" if no tree is kept."""
        return _OF_OPTIONS.sub("", self.tree)

    @property
    def program(self) -> Path | None:
        """Path of the kernel's program in the first cache that has it, None if no cache has it."""
        return find_cached("kernels", self.hash, "linux")

    @property
    def path(self) -> Path:
        """Path of the kernel's program. Raises ToolMissing if it is gone from the cache."""
        program = self.program
        if program is None:
            raise ToolMissing(f"kernel: the program of {self.name} is gone from the cache; build "
                              f"it again: {self.command}")
        return program

    @property
    def kinds(self) -> frozenset[str]:
        """Names of the qdiscs that the kernel has: those of the options CONFIG_NET_SCH_NAME=y in
        its configuration, in lower case, and those that every kernel has. Raises ToolMissing if the
        kernel is gone from the cache."""
        return (frozenset(map(str.lower, _QUEUE_OPTION.findall(self._config()))) - _NO_QDISC
                | _IN_EVERY_KERNEL)

    @property
    def absent_kinds(self) -> frozenset[str]:
        """Names of the qdiscs that the lab's options switch on and this kernel hasn't. Raises
        ToolMissing if the kernel is gone from the cache."""
        lab = recipe.FRAGMENT.read_text(encoding="utf-8")
        return (frozenset(map(str.lower, _QUEUE_OPTION.findall(lab))) - _NO_QDISC
                - self.kinds)

    @property
    def can_nat(self) -> bool:
        """True if the kernel has the option for masquerading, so that a router with it can
        translate addresses, as a kernel built with --config nat. Raises ToolMissing if the kernel
        is gone from the cache."""
        return "CONFIG_NETFILTER_XT_TARGET_MASQUERADE=y\n" in self._config()

    def _config(self) -> str:
        """Return the text of the kernel's configuration. Raises ToolMissing if the kernel is gone
        from the cache."""
        return self.path.with_name("config").read_text(encoding="utf-8")


def find_named(name: str) -> NamedKernel:
    """Return the kernel of this name. Whether its program is still there isn't checked. Raises
    ToolMissing if there is none, if its description can't be read, or if it was built with other
    patches or options of the lab. Raises SetupError if its version is too old for this lab,
    ToolMissing if the lab has a backport for it but set-up hasn't chosen a source yet."""
    path = find_cached(FOLDER, f"{name}.json")
    kernel = None if path is None else _read_description(path)
    if path is not None and kernel is None:
        raise ToolMissing(f"kernel: the description of {name!r}, {path}, can't be read, is "
                          "damaged, or is of another version of flent-aqm; build the kernel again, "
                          f"with its options: flent-aqm kernel build {name} …")
    if kernel is None:
        names = [kernel_of_user.name for kernel_of_user in all_named()]
        there = f"known: {', '.join(['stock', *names])}"
        raise ToolMissing(f"kernel: no kernel is called {name!r}; make one with flent-aqm kernel "
                          f"build {name}{did_you_mean(name, ['stock', *names]) or '; ' + there}")
    series = series_of(kernel.version)
    if kernel.lab_hash != recipe.current_recipe(KernelSource("", ""), series).lab_hash:
        raise ToolMissing(f"kernel: {name} was built by another version of the lab, with other "
                          f"patches or options; build it again: {kernel.command}")
    return kernel


def all_named() -> list[NamedKernel]:
    """Return all kernels that users have built, instrumented ones too, sorted by name. Their
    programs may be gone. If several caches have a kernel of the same name, that of the first of
    caches() counts. Damaged descriptions are left out."""
    by_name: dict[str, NamedKernel] = {}
    for path in _description_files():
        kernel = _read_description(path)
        if kernel is not None:
            by_name.setdefault(kernel.name, kernel)
    return [by_name[name] for name in sorted(by_name)]


def is_in(cache: Path, name: str) -> bool:
    """Return whether a cache has a kernel of this name, so that remove() can remove it."""
    return _read_description(cache / FOLDER / f"{name}.json") is not None


def save(cache: Path, kernel: NamedKernel) -> None:
    """Write the description of a kernel to the cache, whose folder must exist. An earlier
    description of the same name is replaced."""
    folder = cache / FOLDER
    folder.mkdir(exist_ok=True)
    write_text(folder / f"{kernel.name}.json", json_text(asdict(kernel), indent=1) + "\n")


def remove(cache: Path, name: str) -> None:
    """Remove a kernel's name from the cache. Its program, its kept source, and the tc that was
    built with it are removed from this cache, too, if no other kernel uses them, and so are
    instrumented kernels that record its changes. The git repository of its source is removed if no
    kernel of that source is left, with whichever options. A source in which a build works stays,
    and so does its repository. The caller holds the cache's lock. Raises ConfigError if the cache
    has no such name, or if its description can't be read."""
    path = cache / FOLDER / f"{name}.json"
    kernel = _read_description(path)
    if kernel is None and path.exists():
        raise ConfigError(f"kernel remove: the description of {name!r} can't be read, is damaged, "
                          f"or is of another version of flent-aqm; remove the file {path}")
    if kernel is None:
        raise ConfigError(f"kernel remove: {_why_not_removed(cache, name)}")
    path.unlink()
    for other in all_named():
        if other.records == name and (cache / FOLDER / f"{other.name}.json").is_file():
            remove(cache, other.name)
    source = recipe.stock_source()
    stock = recipe.current_recipe(source).hash if source else ""
    others = all_named()
    if kernel.hash not in (stock, *(other.hash for other in others)):
        shutil.rmtree(cache / "kernels" / kernel.hash, ignore_errors=True)
    if kernel.tc and kernel.tc not in {other.tc for other in others}:
        shutil.rmtree(cache / "tc" / kernel.tc, ignore_errors=True)
    stock_tree = f"{source.package}_{source.version}" if source else ""
    used = (stock_tree, *(other.tree for other in others))
    trees = cache / "trees"
    if kernel.tree and kernel.tree not in used and not is_held(trees / kernel.tree):
        shutil.rmtree(trees / kernel.tree, ignore_errors=True)
    origin = kernel.origin_folder
    if origin and origin not in {other.origin_folder for other in others} and not any(
            is_held(tree) for tree in trees.glob(f"{origin}*")):
        shutil.rmtree(trees / f"{origin}.git", ignore_errors=True)


def _why_not_removed(cache: Path, name: str) -> str:
    """Return a clause for a message: why a cache has no kernel of this name to be removed, and who
    can remove it or which names there are."""
    if name == STOCK:
        return (f"{STOCK} is the lab's own kernel, which flent-aqm setup builds; only kernels of "
                "flent-aqm kernel build can be removed")
    elsewhere = find_cached(FOLDER, f"{name}.json")
    if elsewhere is not None:
        return (f"{name!r} is in {elsewhere.parent.parent}, not in {cache}; only the user who "
                "installed it there can remove it")
    names = sorted(path.stem for path in (cache / FOLDER).glob("*.json"))
    return (f"there is no kernel {name!r} in {cache}"
            + (did_you_mean(name, names) or f"; known: {', '.join(names) or 'none'}"))


def _description_files() -> Iterator[Path]:
    """Yield the paths of the description files in all caches, in the order of caches(), and sorted
    within a cache. Caches that can't be read are left out."""
    for base in caches():
        folder = base / FOLDER
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue  # there is no such folder, or it is another user's
        yield from (folder / name for name in names if name.endswith(".json"))


def _read_description(path: Path) -> NamedKernel | None:
    """Return the kernel that a description file describes, None if the file is missing, damaged, or
    has fields that this version doesn't know."""
    try:
        kernel = NamedKernel(**read_note(path))
        parse_kernel("name", kernel.name)
    except (OSError, ValueError, TypeError, ConfigError):
        return None  # absent or damaged
    words = vars(kernel) | {"made_of": ""}
    if not isinstance(kernel.made_of, list) or not all(
            isinstance(word, str) and word.isprintable()
            for word in (*words.values(), *kernel.made_of)):
        return None
    return kernel
