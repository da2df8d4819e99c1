# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab kernel is made of, and the hash that names the result."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import SetupError, ToolMissing
from flent_aqm.base.paths import caches, find_cached
from flent_aqm.base.regular_file import read_note
from flent_aqm.setup.kernel.additions import Addition
from flent_aqm.setup.kernel.config_check import parse_config

HERE = Path(__file__).resolve().parent
FRAGMENT = HERE / "lab.config"
PATCHES = HERE / "patches"
# The recorder of kernels with coverage.
COVERAGE = HERE / "coverage.c"
# SERIES.patch, of kernels from before User-Mode Linux had the seccomp mode, on which the lab is
# built: by it the architecture um of set-up's kernel fits them.
BACKPORTS = HERE / "backports"
SECCOMP_MODE_SINCE = (6, 16)

# Which source version is in use: chosen once, so that results stay comparable and a
# repeated set-up needs no network.
CHOICE = Path("kernels") / "choice.json"

# Where a patch begins for the program patch; what stands above is for people.
_FIRST_LINE = re.compile(rb"^(?:diff |Index: |--- |\*\*\* )", re.MULTILINE)
# What changes nothing from there on: names of git's objects, and the function that a hunk is in.
# No line of a hunk begins so.
_REMARKS = re.compile(rb"^index .*\n|^(@@ -[\d,]+ \+[\d,]+ @@).*$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A Debian source package of the kernel, such as linux-source-7.3 and 7.3.4-1."""

    package: str
    version: str


@dataclass(frozen=True)
class Backport:
    """The architecture `um` of a newer source, for a kernel that is too old for the lab.

    donor: the newer source; patch: (file name, content), by which it fits the older one.
    """

    donor: Source
    patch: tuple[str, bytes]


@dataclass(frozen=True)
class Coverage:
    """What a kernel with coverage of a user's changes has in place of their patches and files.

    kernel: hash of the user's kernel; files: (path, content) of all that the user changed;
    switches: options, without CONFIG_, that compile the user's files; instrumented: C files that
    note what runs of them; flags: of the compiler, for these files.
    """

    kernel: str
    files: tuple[tuple[str, bytes], ...]
    switches: tuple[str, ...]
    instrumented: tuple[str, ...]
    flags: str


@dataclass(frozen=True)
class Recipe:
    """All inputs of a build, read at one moment: files may change during the minutes it takes.

    patches: (file name, content), in the order of application. Of a user's own kernel besides:
    own_options, a fragment whose lines hold in place of the lab's; own_patches; additions;
    backport, where the source is too old; coverage, of an instrumented kernel.
    """

    source: Source
    fragment: str
    patches: tuple[tuple[str, bytes], ...]
    own_options: str = ""
    own_patches: tuple[tuple[str, bytes], ...] = ()
    additions: tuple[Addition, ...] = ()
    backport: Backport | None = None
    coverage: Coverage | None = None

    @property
    def is_users(self) -> bool:
        """Whether there is anything of the user's in it."""
        return bool(self.own_options or self.own_patches or self.additions or self.coverage)

    @property
    def hash(self) -> str:
        """16 hex digits that change with each of the inputs."""
        parts = [self.source.package.encode(), self.source.version.encode(),
                 self.fragment.encode(), *_changes(self.patches)]
        if self.is_users:
            parts += [b"own", self.own_options.encode(),
                      *(b"patch " + change for change in _changes(self.own_patches)),
                      *(part for each in self.additions
                        for part in (f"file {each.path}".encode(), each.content,
                                     *(text for header in each.headers
                                       for text in (f"header {header[0]}".encode(), header[1]))))]
        if self.coverage is not None:
            parts += [b"coverage", self.coverage.kernel.encode(), COVERAGE.read_bytes(),
                      self.coverage.flags.encode(),
                      *(path.encode() for path in self.coverage.instrumented)]
        if self.backport is not None:
            donor = self.backport.donor
            parts += [b"backport", donor.package.encode(), donor.version.encode(),
                      *_changes([self.backport.patch])]
        return _digest(parts)

    @property
    def lab_hash(self) -> str:
        """What changes with the lab's own part alone: options and patches."""
        changes = [self.backport.patch] if self.backport else []
        return _digest([self.fragment.encode(), *_changes(self.patches), *_changes(changes)])

    @property
    def switches(self) -> tuple[str, ...]:
        """Options, without CONFIG_, that compile the user's files."""
        return self.coverage.switches if self.coverage is not None else tuple(
            each.option for each in self.additions)

    @property
    def options_hash(self) -> str:
        """8 hex digits that stand for the user's options."""
        return _digest([self.own_options.encode()])[:8]

    @property
    def whole_fragment(self) -> str:
        """All options; where two lines are of the same one, the later holds."""
        if not self.is_users:
            return self.fragment
        options = {**parse_config(self.fragment), **parse_config(self.own_options),
                   **dict.fromkeys(self.switches, "y")}
        return "".join(f"CONFIG_{name}={value}\n" for name, value in options.items())


def _changes(patches: Sequence[tuple[str, bytes]]) -> list[bytes]:
    """Return what each of them changes, without the words about it: a better explanation
    builds no kernel anew."""
    changes = []
    for _name, content in patches:
        first = _FIRST_LINE.search(content)
        changes.append(_REMARKS.sub(rb"\1", content[first.start():]) if first else content)
    return changes


def _digest(parts: Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        # the length keeps two parts from looking like two others joined
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


def current_recipe(source: Source, series: str = "") -> Recipe:
    """Return this source with our options and patches as they are now.

    series: of the source, such as 6.12; with it, an old one gets its backport. Raise SetupError
    for one that is too old and has none, ToolMissing where a backport has no donor, as set-up
    never ran.
    """
    patches = sorted(PATCHES.glob("*.patch"))
    return Recipe(source, FRAGMENT.read_text(encoding="utf-8"),
                  tuple((path.name, path.read_bytes()) for path in patches),
                  backport=_backport_for(series))


def _backport_for(series: str) -> Backport | None:
    path = BACKPORTS / f"{series}.patch"
    if not path.is_file():
        numbers = re.fullmatch(r"(\d+)\.(\d+)", series)
        if numbers and tuple(map(int, numbers.groups())) < SECCOMP_MODE_SINCE:
            names = ", ".join(sorted(each.stem for each in BACKPORTS.glob("*.patch")))
            raise SetupError(f"Linux {series} is too old for the lab, which needs User-Mode "
                             "Linux's seccomp mode; expected "
                             f"{'.'.join(map(str, SECCOMP_MODE_SINCE))} or newer, or {names}, to "
                             "which the lab adds it")
        return None
    donor = stock_source()
    if donor is None:
        raise ToolMissing(f"Linux {series} takes its architecture um from set-up's kernel, which "
                          "is not built; run: flent-aqm setup")
    return Backport(donor, (path.name, path.read_bytes()))


def series_of(version: str) -> str:
    """Return 6.12 of 6.12.117."""
    return ".".join(version.split(".")[:2])


def read_choices() -> list[Source]:
    """Return the source versions chosen earlier: by this user, by who made the ready-made
    kernel, by root; without repeats."""
    sources: list[Source] = []
    for cache in caches():
        try:
            source = read_choice(cache)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # absent or damaged: set-up chooses again
        if source not in sources:
            sources.append(source)
    return sources


def stock_source() -> Source | None:
    """Return the source of set-up's kernel, None where set-up never ran."""
    choices = read_choices()
    built = (source for source in choices
             if find_cached("kernels", current_recipe(source).hash, "linux"))
    return next(built, choices[0] if choices else None)


def read_choice(cache: Path) -> Source:
    """Return the source version chosen in one cache. Raises OSError, ValueError, KeyError or
    TypeError where there is none."""
    fields = read_note(cache / CHOICE)
    return Source(str(fields["package"]), str(fields["version"]))
