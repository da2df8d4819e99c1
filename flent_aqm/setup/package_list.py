# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads packages.txt, the list of system packages that packages.sh installs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("packages.txt")


@dataclass(frozen=True)
class SystemPackage:
    """A system package of packages.txt.

    Attributes:
        names: alternative names of the package, the preferred first.
        group: who needs it, a key of parts.GROUPS such as "run".
        programs: names of its programs by which flent-aqm knows that it is installed. Empty for a
            package that is looked for by its own name, such as a library.
        purpose: what it is needed for, as text for people.
    """

    names: tuple[str, ...]
    group: str
    programs: tuple[str, ...]
    purpose: str


def read_packages() -> list[SystemPackage]:
    """Return all packages of the list, in the file's order."""
    packages = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        names, group, programs, purpose = line.split(maxsplit=3)
        packages.append(SystemPackage(
            tuple(names.split("|")), group,
            () if programs == "-" else tuple(programs.split(",")), purpose))
    return packages
