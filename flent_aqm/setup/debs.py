# SPDX-License-Identifier: GPL-3.0-or-later
"""Unpacks Debian packages, with information on their sources and licences.

That information has to accompany the programs if they are passed on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from flent_aqm.base.json_text import json_text
from flent_aqm.base.shell import run

# Files beside the programs of a part: information on their packages, and a folder with the
# packages' copyright files.
PACKAGES = "packages.json"
LICENCES = "licences"


@dataclass(frozen=True)
class Deb:
    """A binary package and its source.

    Attributes:
        package: name of the binary package.
        version: version of the binary package.
        source: name of the source package.
        source_version: version of the source package.
        built_using: text of the control file's field Static-Built-Using, or of Built-Using if it
            has no such field: sources of other packages' code in this one, "NAME (= VERSION)" with
            commas between. "" if it has neither.
    """

    package: str
    version: str
    source: str
    source_version: str
    built_using: str


def read_deb(path: Path) -> Deb:
    """Return the package's name, version and sources from the control file in a package file.
    Raises CommandFailed if dpkg-deb can't read it, ToolMissing without dpkg-deb.

    path: the package file.
    """
    control = run(["dpkg-deb", "-f", path])
    fields: dict[str, str] = dict(re.findall(r"^([\w-]+): (.*)$", control, re.MULTILINE))
    # The field Source is omitted if it is the package's name, and its version if that is the same.
    source = re.fullmatch(r"(\S+)(?: \((.*)\))?", fields.get("Source", fields["Package"]))
    assert source is not None  # dpkg-deb has checked the field
    return Deb(fields["Package"], fields["Version"], source[1], source[2] or fields["Version"],
               fields.get("Static-Built-Using", fields.get("Built-Using", "")))


def unpack(debs: Sequence[Path], tree: Path, *, papers: Path) -> None:
    """Unpack package files into one folder, and write what has to accompany their programs:
    PACKAGES, a JSON list with the fields of each package's Deb, and the folder LICENCES with the
    copyright file of each package that has one, under the package's name.

    Raises CommandFailed if dpkg-deb can't unpack one, ToolMissing without dpkg-deb.

    Args:
        debs: the package files.
        tree: folder for the packages' content, which is created if it doesn't exist.
        papers: existing folder, without LICENCES, to which PACKAGES and LICENCES are written.
    """
    facts = []
    (papers / LICENCES).mkdir()
    for path in debs:
        run(["dpkg-deb", "-x", path, tree])
        deb = read_deb(path)
        facts.append(asdict(deb))
        text = tree / "usr" / "share" / "doc" / deb.package / "copyright"
        if text.is_file():  # if it is a link, the package that it leads to has the file
            (papers / LICENCES / deb.package).write_bytes(text.read_bytes())
    (papers / PACKAGES).write_text(json_text(facts, indent=1) + "\n", encoding="utf-8")
