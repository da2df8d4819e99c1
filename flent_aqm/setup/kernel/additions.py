# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds a user's own C files to a kernel: queues (sch_NAME.c) and congestion controls (tcp_NAME.c).

A file whose name the source has already, such as a changed sch_codel.c, replaces the source's file.
For a new file, lines are added to Kconfig and Makefile.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.spec.kernel import REGISTERED

# Largest size of a file.
LONGEST_BYTES = 2_000_000
_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([A-Za-z0-9_-]+\.h)"', re.MULTILINE)


@dataclass(frozen=True)
class FileKind:
    """A kind of C files that users can add to a kernel.

    Attributes:
        prefix: beginning of their file names, "sch_" or "tcp_".
        folder: their folder in the kernel's source.
        option: beginning of the names of their options, without CONFIG_.
        depends: option on which their options depend, without CONFIG_.
        field: beginning of the line that sets the name in the structure by which such a file
            registers itself, ".id" or ".name".
    """

    prefix: str
    folder: str
    option: str
    depends: str
    field: str


QUEUE = FileKind("sch_", "net/sched", "NET_SCH_", "NET_SCHED", ".id")
CONTROL = FileKind("tcp_", "net/ipv4", "TCP_CONG_", "TCP_CONG_ADVANCED", ".name")


@dataclass(frozen=True)
class Addition:
    """A C file to add to the kernel, or to put in place of the source's file of that name.

    Attributes:
        kind: kind of the file.
        name: name of the queue or congestion control, without the kind's prefix.
        content: content of the C file.
        headers: name and content of the headers beside the user's file that it includes, directly
            or through other headers.
    """

    kind: FileKind
    name: str
    content: bytes
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def path(self) -> str:
        """Path of the file in the kernel's source, such as "net/sched/sch_mine.c"."""
        return f"{self.kind.folder}/{self.kind.prefix}{self.name}.c"

    @property
    def option(self) -> str:
        """Name of the option that compiles the file if it is new, without CONFIG_, such as
        NET_SCH_MINE."""
        return f"{self.kind.option}{self.name.upper()}"

    @property
    def kconfig(self) -> str:
        """Lines to append to a Kconfig file, which declare the file's option."""
        return (f'\nconfig {self.option}\n\ttristate "{self.name}"\n'
                f"\tdepends on {self.kind.depends}\n")

    @property
    def makefile(self) -> str:
        """Lines to append to a Makefile, which compile the file if the option is set."""
        return f"\nobj-$(CONFIG_{self.option}) += {self.kind.prefix}{self.name}.o\n"

    def switch(self, makefile: str) -> str:
        """Return the name of the option by which a Makefile compiles the file, without CONFIG_: for
        a new file `option`, for one that the source has already perhaps another, such as
        TCP_CONG_HSTCP for tcp_highspeed.c. "" if no option decides that, as for sch_mq.c.

        makefile: text of the Makefile in the file's folder, with `makefile` if the file is new.
        """
        found = re.search(rf"^obj-\$\(CONFIG_(\w+)\)\s*[+:]?=(?:.*\s)?"
                          rf"{self.kind.prefix}{self.name}\.o(?:\s|$)",
                          makefile.replace("\\\n", " "), re.MULTILINE)
        return found[1] if found else ""

    @property
    def own_flags(self) -> str:
        """Lines to append to a Makefile, with the compiler's flags for the file (own_flags())."""
        return own_flags(f"{self.kind.prefix}{self.name}")


def own_flags(stem: str) -> str:
    """Return lines to append to a Makefile, with the compiler's flags for a user's own file,
    STEM.c: it is compiled with line numbers, to locate a crash, and without the headers that patch
    0015 includes in other files.

    stem: name of the file without its suffix.
    """
    return f"\nCFLAGS_{stem}.o += -g\nPCH_{stem}.o := n\n"


def read_additions(kind: FileKind, option: str, files: Iterable[Path]) -> list[Addition]:
    """Read the files given with a command's option. Return an Addition for each, in their order.

    Args:
        kind: the kind of files.
        option: the option, such as "--qdisc", for messages.
        files: paths of the files.

    Raises ConfigError if a file's name isn't the kind's prefix, a NAME of lower-case letters,
    digits and _, and .c, if the file doesn't register NAME (has no `.id = "NAME"` or `.name =
    "NAME"`), if two files have the same name, or if a file or one of its headers can't be read or
    is too large.
    """
    additions: dict[str, Addition] = {}
    for path in files:
        named = re.fullmatch(rf"{kind.prefix}({REGISTERED})\.c", path.name)
        if named is None:
            raise ConfigError(f"{option}: {path.name!r} is not called {kind.prefix}NAME.c; "
                              "expected a NAME of at most 15 lower-case letters, digits and _, "
                              "with a letter first")
        content = read_bytes(option, path)
        registered = re.findall(rf'{re.escape(kind.field)}\s*=\s*"([^"]*)"',
                                content.decode("utf-8", "replace"))
        if named[1] not in registered:
            others = ", but " * bool(registered) + ", ".join(f'"{each}"' for each in registered)
            raise ConfigError(f'{option}: {path} has no line {kind.field} = "{named[1]}"{others}; '
                              f"register {named[1]} there, or rename the file to "
                              f"{kind.prefix}NAME.c with the name that it registers; change other "
                              "files of the kernel by --patch")
        if named[1] in additions:
            raise ConfigError(f"{option}: {path.name} is given twice; give one file of this name")
        additions[named[1]] = Addition(kind, named[1], content,
                                       tuple(_read_own_headers(option, path.parent,
                                                               content).items()))
    return list(additions.values())


def _read_own_headers(option: str, folder: Path, content: bytes) -> dict[str, bytes]:
    """Return name -> content of the headers in `folder` that a file includes as "NAME.h", directly
    or through other headers. Headers that aren't in the folder are left out. Raises ConfigError if
    one can't be read or is too large.

    Args:
        option: the command's option, for messages.
        folder: the file's folder.
        content: the file's content.
    """
    headers: dict[str, bytes] = {}
    texts = [content]
    while texts:
        for name in map(bytes.decode, _INCLUDED.findall(texts.pop())):
            if name not in headers and os.path.isfile(folder / name):
                headers[name] = read_bytes(option, folder / name)
                texts.append(headers[name])
    return headers


def read_bytes(option: str, path: Path) -> bytes:
    """Return a file's content. Raises ConfigError if there is no such file, or if it can't be read
    or is larger than LONGEST_BYTES.

    Args:
        option: the command's option with the file, for messages.
        path: path of the file.
    """
    try:
        if not path.is_file():
            raise ConfigError(f"{option}: {path} is a folder, pipe or device; expected a file"
                              if path.exists() else f"{option}: there is no file {path}")
        if path.stat().st_size > LONGEST_BYTES:
            raise ConfigError(f"{option}: {path} has {path.stat().st_size:,} bytes; expected at "
                              f"most {LONGEST_BYTES:,}")
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{option}: can't read {path}: {cause_of(error)}") from None
