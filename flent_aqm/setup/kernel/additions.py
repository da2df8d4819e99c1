# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds a user's own C files to a kernel: queues (sch_NAME.c) and congestion controls (tcp_NAME.c).

A file whose name the source has already, such as a changed sch_codel.c, replaces the source's file.
For a new file, lines are added to Kconfig and Makefile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.kernel import REGISTERED

# Largest size of a file.
LONGEST_BYTES = 2_000_000
_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([A-Za-z0-9_-]+\.h)"', re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """The place of files of one kind in the kernel's source."""

    # Beginning of their file names.
    prefix: str
    folder: str
    # Beginning of their options.
    option: str
    # Option on which theirs depend.
    depends: str
    # Field with the name in the structure by which such a file registers itself.
    field: str


QUEUE = Place("sch_", "net/sched", "NET_SCH_", "NET_SCHED", ".id")
CONTROL = Place("tcp_", "net/ipv4", "TCP_CONG_", "TCP_CONG_ADVANCED", ".name")


@dataclass(frozen=True)
class Addition:
    """A file to add to the kernel."""

    place: Place
    # Name of the queue or congestion control.
    name: str
    content: bytes
    # Name and content of the headers beside the file that it includes.
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def path(self) -> str:
        """Path in the kernel's source."""
        return f"{self.place.folder}/{self.place.prefix}{self.name}.c"

    @property
    def option(self) -> str:
        """Option that compiles the file, without CONFIG_."""
        return f"{self.place.option}{self.name.upper()}"

    @property
    def kconfig(self) -> str:
        """Lines of Kconfig that declare the option."""
        return (f'\nconfig {self.option}\n\ttristate "{self.name}"\n'
                f"\tdepends on {self.place.depends}\n")

    @property
    def makefile(self) -> str:
        """Line of the Makefile that compiles the file if the option is set."""
        return f"\nobj-$(CONFIG_{self.option}) += {self.place.prefix}{self.name}.o\n"

    @property
    def own_flags(self) -> str:
        """Lines of the Makefile with the compiler's flags for a user's own file."""
        return own_flags(f"{self.place.prefix}{self.name}")


def own_flags(stem: str) -> str:
    """Return lines of a Makefile for a user's own file, STEM.c. The file is compiled with line
    numbers, to locate a crash, and only with the headers that it includes, as in other builds
    (patch 0015)."""
    return f"\nCFLAGS_{stem}.o += -g\nPCH_{stem}.o := n\n"


def read_additions(place: Place, option: str, files: Iterable[Path]) -> list[Addition]:
    """Return the files given with a command's option. Raises ConfigError for a file that isn't of
    this kind.

    Args:
        place: the kind of files.
        option: the option, for messages.
        files: paths of the files.
    """
    additions: dict[str, Addition] = {}
    for path in files:
        named = re.fullmatch(rf"{place.prefix}({REGISTERED})\.c", path.name)
        if named is None:
            raise ConfigError(f"{option}: {path.name!r} is not called {place.prefix}NAME.c; "
                              "expected at most 15 small letters, digits and _ as NAME")
        content = read_bytes(option, path)
        registered = re.findall(rf'{re.escape(place.field)}\s*=\s*"([^"]*)"',
                                content.decode("utf-8", "replace"))
        if named[1] not in registered:
            raise ConfigError(f"{option}: {path} has {place.field} = "
                              f"{', '.join(map(repr, registered)) or 'nothing'}; expected a file "
                              "of "
                              f"this name to register {named[1]!r}")
        additions[named[1]] = Addition(place, named[1], content,
                                       tuple(_headers(option, path.parent, content).items()))
    return list(additions.values())


def _headers(option: str, folder: Path, content: bytes) -> dict[str, bytes]:
    """Return name and content of the headers that a file includes, also indirectly, from its own
    folder."""
    headers: dict[str, bytes] = {}
    texts = [content]
    while texts:
        for name in map(bytes.decode, _INCLUDED.findall(texts.pop())):
            if name not in headers and (folder / name).is_file():
                headers[name] = read_bytes(option, folder / name)
                texts.append(headers[name])
    return headers


def read_bytes(option: str, path: Path) -> bytes:
    """Return a file's content. Raises ConfigError if it can't be read or is too large. option: the
    option with the file, for messages."""
    try:
        if not path.is_file():
            raise ConfigError(f"{option}: there is no file {path}")
        if path.stat().st_size > LONGEST_BYTES:
            raise ConfigError(f"{option}: {path} is larger than {LONGEST_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{option}: can't read {path}: {error.strerror}") from None
