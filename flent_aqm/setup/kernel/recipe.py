# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes the inputs of a kernel build, and computes the hash that identifies its result."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import SetupError, ToolMissing
from flent_aqm.base.paths import caches, find_cached
from flent_aqm.base.regular_file import read_note
from flent_aqm.setup.kernel.additions import Addition
from flent_aqm.setup.kernel.config_check import parse_config

HERE = Path(__file__).resolve().parent
# Options of the lab's kernel.
FRAGMENT = HERE / "lab.config"
PATCHES = HERE / "patches"
# Source of the recorder in kernels with coverage.
COVERAGE = HERE / "coverage.c"
# Folder of SERIES.patch, for kernels older than User-Mode Linux's seccomp mode, on which the lab is
# based. The patch makes the architecture um of set-up's kernel fit such a kernel.
BACKPORTS = HERE / "backports"
SECCOMP_MODE_SINCE = (6, 16)

# File with the source version in use. build.py chooses it once, so that results stay comparable,
# and a repeated set-up needs no network.
CHOICE = Path("kernels") / "choice.json"

# Line at which a patch begins for the program patch. The text above it is for people.
_FIRST_LINE = re.compile(rb"^(?:diff |Index: |--- |\*\*\* )", re.MULTILINE)
# Parts of a patch without effect: names of git's objects, and the function that a hunk is in. No
# line of a hunk begins like that.
_REMARKS = re.compile(rb"^index .*\n|^(@@ -[\d,]+ \+[\d,]+ @@).*$", re.MULTILINE)


@dataclass(frozen=True)
class KernelSource:
    """A version of a Debian source package of the kernel, or a tree of git.

    Attributes:
        package: name such as "linux-source-7.3", "git" for a tree of git.
        version: Debian's version such as "7.3.4-1", or git's name of the tree object.
    """

    package: str
    version: str


@dataclass(frozen=True)
class Backport:
    """The architecture `um` of a newer source, for a kernel that is too old for the lab.

    Attributes:
        donor: the newer source.
        patch: file name and content of the patch that makes the architecture fit the older kernel.
    """

    donor: KernelSource
    patch: tuple[str, bytes]


@dataclass(frozen=True)
class Coverage:
    """Inputs of an instrumented kernel, in place of the user's patches and files.

    Attributes:
        kernel: hash of the user's kernel.
        files: path and content of the files that the user's changes added or changed, as they are
            in the user's kernel, with Makefiles and Kconfig files.
        switches: options, without CONFIG_, that compile the C files which the user added.
        instrumented: paths of the C files whose executed blocks are recorded.
        flags: flags of the compiler for these C files, with spaces between them.
    """

    kernel: str
    files: tuple[tuple[str, bytes], ...]
    switches: tuple[str, ...]
    instrumented: tuple[str, ...]
    flags: str


@dataclass(frozen=True)
class Recipe:
    """The inputs of a kernel build. They are read at one moment, because files may change during
    the minutes that a build takes.

    Attributes:
        source: source version or tree.
        fragment: the lab's options, lines CONFIG_NAME=value, comments and blank lines.
        patches: file name and content of the lab's patches, in the order of application.
        own_options: the user's options, lines CONFIG_NAME=value, which override the lab's.
        own_patches: file name and content of the user's patches or mailboxes, in the order of
            application.
        additions: C files that the user adds, or that replace files of the source.
        backport: set if the source is too old for the lab, otherwise None.
        coverage: set for an instrumented kernel, otherwise None.
    """

    source: KernelSource
    fragment: str
    patches: tuple[tuple[str, bytes], ...]
    own_options: str = ""
    own_patches: tuple[tuple[str, bytes], ...] = ()
    additions: tuple[Addition, ...] = ()
    backport: Backport | None = None
    coverage: Coverage | None = None

    @property
    def is_users(self) -> bool:
        """True if the recipe has any input of the user: options, patches or files. True as well for
        an instrumented kernel. The source doesn't count, even if it is the user's."""
        return bool(self.own_options or self.own_patches or self.additions or self.coverage)

    @property
    def hash(self) -> str:
        """16 hex digits that identify the inputs of the build. Of patches, only what
        _effective_parts() returns counts, not their names."""
        parts = [self.source.package.encode(), self.source.version.encode(),
                 self.fragment.encode(), *_effective_parts(self.patches)]
        if self.is_users:
            parts += [b"own", self.own_options.encode(),
                      *(b"patch " + change for change in _effective_parts(self.own_patches)),
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
                      *_effective_parts([self.backport.patch])]
        return _digest(parts)

    @property
    def lab_hash(self) -> str:
        """16 hex digits that identify the lab's own options and patches, and the backport's patch
        if there is one. Neither the source nor the backport's source counts."""
        changes = [self.backport.patch] if self.backport else []
        return _digest([self.fragment.encode(), *_effective_parts(self.patches),
                        *_effective_parts(changes)])

    @property
    def options_hash(self) -> str:
        """8 hex digits that identify the user's options, for the name of a kept tree."""
        return _digest([self.own_options.encode()])[:8]

    def whole_fragment(self, switches: Iterable[str]) -> str:
        """Return lines CONFIG_NAME=value of all options: the lab's, overridden by the user's, and
        those of `switches` with the value y, which overrides both. If the recipe has no input of
        the user, return `fragment` as it stands, with comments. Raises SetupError if a line of the
        user's options is no option, blank or comment.

        switches: names of the options that compile the user's files, without CONFIG_.
        """
        if not self.is_users:
            return self.fragment
        options = {**parse_config(self.fragment), **parse_config(self.own_options),
                   **dict.fromkeys(switches, "y")}
        return "".join(f"CONFIG_{name}={value}\n" for name, value in options.items())


def _effective_parts(patches: Sequence[tuple[str, bytes]]) -> list[bytes]:
    """Return of each patch, in their order, what has an effect: without the text above its first
    file, git's names of objects, and the functions that hunks are in. So a change of these doesn't
    cause a new build. A text that is no patch is returned whole.

    patches: file name and content of each patch.
    """
    changes = []
    for _name, content in patches:
        first = _FIRST_LINE.search(content)
        changes.append(_REMARKS.sub(rb"\1", content[first.start():]) if first else content)
    return changes


def _digest(parts: Sequence[bytes]) -> str:
    """Return the first 16 hex digits of a SHA-256 hash of these parts."""
    digest = hashlib.sha256()
    for part in parts:
        # With its length before each part, different lists of parts differ when joined.
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


def current_recipe(source: KernelSource, series: str = "") -> Recipe:
    """Return the recipe of a source with the lab's current options and patches, without inputs of
    the user.

    Args:
        source: source version or tree. Its age isn't checked.
        series: series of the source, such as "6.12", by which an old source gets its backport. ""
            for no backport and no check.

    Raises SetupError if `series` is too old and has no backport, ToolMissing if it has one and
    set-up hasn't chosen the source of the lab's kernel yet.
    """
    patches = sorted(PATCHES.glob("*.patch"))
    return Recipe(source, FRAGMENT.read_text(encoding="utf-8"),
                  tuple((path.name, path.read_bytes()) for path in patches),
                  backport=_backport_for(series))


def _backport_for(series: str) -> Backport | None:
    """Return the backport for a series such as "6.12". None if the series needs none, or isn't of
    the form X.Y, such as "".

    Raises SetupError if the series is too old and has no backport, ToolMissing if it has one and
    set-up hasn't chosen the source of the lab's kernel yet.
    """
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
        raise ToolMissing(f"Linux {series} is too old to run in the lab as it is: the lab takes "
                          "User-Mode Linux from the source of its own kernel, and no cache has a "
                          "note on that which can be read; run: flent-aqm setup")
    return Backport(donor, (path.name, path.read_bytes()))


def series_of(version: str) -> str:
    """Return the series of a version, such as "6.12" for "6.12.117": the text before the second
    dot. A version with fewer dots is returned whole."""
    return ".".join(version.split(".")[:2])


def read_choices() -> list[KernelSource]:
    """Return the source versions in use, without repeats, in this order: this user's choice, the
    ready-made kernel's, root's. Choices that are missing or damaged are left out."""
    sources: list[KernelSource] = []
    for cache in caches():
        try:
            source = read_choice(cache)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # absent or damaged: set-up chooses again
        if source not in sources:
            sources.append(source)
    return sources


def stock_source() -> KernelSource | None:
    """Return the source version of the lab's kernel: the first of read_choices() whose kernel is
    built, otherwise the first. None if there is no choice, as before the first set-up."""
    choices = read_choices()
    built = (source for source in choices
             if find_cached("kernels", current_recipe(source).hash, "linux"))
    return next(built, choices[0] if choices else None)


def read_choice(cache: Path) -> KernelSource:
    """Return the source version that a cache's file CHOICE names. Raises OSError, ValueError,
    KeyError or TypeError if the file is missing or damaged."""
    fields = read_note(cache / CHOICE)
    return KernelSource(str(fields["package"]), str(fields["version"]))
