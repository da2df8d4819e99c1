# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the user's own, by the names that they gave them.

    CACHE/named/NAME.json      what it is, and the hash of the kernel below CACHE/kernels
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.paths import caches, find_cached
from flent_aqm.base.regular_file import read_note
from flent_aqm.base.whole_file import write_text
from flent_aqm.setup.kernel import recipe
from flent_aqm.setup.kernel.recipe import Source, series_of
from flent_aqm.spec.kernel import parse_kernel

FOLDER = "named"
_QUEUE_OPTION = re.compile(r"^CONFIG_NET_SCH_(\w+)=y$", re.MULTILINE)


@dataclass(frozen=True)
class NamedKernel:
    """What a name stands for.

    hash: of the kernel; lab_hash: of the lab's own options and patches that it was built with;
    version: such as 7.3.4; source: in words; made_of: the user's files and patches; command:
    what built it; tree: the folder of its kept source; tc: of a tc that knows its queues'
    options.
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
    # Of an instrumented kernel: the name of the kernel whose changes it records.
    records: str = ""

    @property
    def program(self) -> Path | None:
        """None where it is gone."""
        return find_cached("kernels", self.hash, "linux")

    @property
    def path(self) -> Path:
        """The program. Raises ToolMissing where it is gone."""
        program = self.program
        if program is None:
            raise ToolMissing(f"kernel: the program of {self.name} is gone from the cache; build "
                              f"it again: {self.command}")
        return program

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of queues that it has, by its configuration."""
        return frozenset(map(str.lower, _QUEUE_OPTION.findall(self._config())))

    @property
    def absent_kinds(self) -> frozenset[str]:
        """The kinds of queues that the lab's kernel has and this one hasn't."""
        lab = recipe.FRAGMENT.read_text(encoding="utf-8")
        return frozenset(map(str.lower, _QUEUE_OPTION.findall(lab))) - self.kinds

    @property
    def can_nat(self) -> bool:
        """Whether its router can put its own address on what passes: nat.config."""
        return "CONFIG_NETFILTER_XT_TARGET_MASQUERADE=y\n" in self._config()

    def _config(self) -> str:
        return self.path.with_name("config").read_text(encoding="utf-8")


def find_named(name: str) -> NamedKernel:
    """Return the kernel of that name. Raise ToolMissing for one that isn't there, or was built
    for another version of the lab."""
    path = find_cached(FOLDER, f"{name}.json")
    if path is None or (kernel := _read(path)) is None:
        names = [each.name for each in all_named()]
        there = f"known: {', '.join(['stock', *names])}"
        raise ToolMissing(f"kernel: there is none called {name!r}"
                          f"{did_you_mean(name, ['stock', *names]) or '; ' + there}; make one with "
                          f"flent-aqm kernel build {name}")
    series = series_of(kernel.version)
    if kernel.lab_hash != recipe.current_recipe(Source("", ""), series).lab_hash:
        raise ToolMissing(f"kernel: {name} was built with other patches or options of the lab; "
                          f"build it again: {kernel.command}")
    return kernel


def all_named() -> list[NamedKernel]:
    """Return all kernels with names, by name; this user's go before the machine's."""
    by_name: dict[str, NamedKernel] = {}
    for path in _files():
        kernel = _read(path)
        if kernel is not None:
            by_name.setdefault(kernel.name, kernel)
    return [by_name[name] for name in sorted(by_name)]


def save(cache: Path, kernel: NamedKernel) -> None:
    """Let the name stand for this kernel from now on."""
    folder = cache / FOLDER
    folder.mkdir(exist_ok=True)
    write_text(folder / f"{kernel.name}.json", json.dumps(asdict(kernel), indent=1) + "\n")


def remove(cache: Path, name: str) -> None:
    """Forget a name; its kernel and kept source go with it where nothing else uses them.
    Raises ConfigError where there is none in this cache."""
    path = cache / FOLDER / f"{name}.json"
    kernel = _read(path)
    if kernel is None:
        raise ConfigError(f"kernel remove: there is no kernel {name!r} in {cache}"
                          f"{did_you_mean(name, [each.name for each in all_named()])}")
    path.unlink()
    for each in all_named():
        if each.records == name and (cache / FOLDER / f"{each.name}.json").is_file():
            remove(cache, each.name)
    source = recipe.stock_source()
    stock = recipe.current_recipe(source).hash if source else ""
    others = all_named()
    if kernel.hash not in (stock, *(each.hash for each in others)):
        shutil.rmtree(cache / "kernels" / kernel.hash, ignore_errors=True)
    stock_tree = f"{source.package}_{source.version}" if source else ""
    trees = (stock_tree, *(each.tree for each in others))
    if kernel.tree and kernel.tree not in trees:
        shutil.rmtree(cache / "trees" / kernel.tree, ignore_errors=True)
        shutil.rmtree(cache / "trees" / f"{kernel.tree}.git", ignore_errors=True)


def _files() -> Iterator[Path]:
    for base in caches():
        folder = base / FOLDER
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue  # there is none, or it is another user's
        yield from (folder / name for name in names if name.endswith(".json"))


def _read(path: Path) -> NamedKernel | None:
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
