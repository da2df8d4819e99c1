# SPDX-License-Identifier: GPL-3.0-or-later
"""Unpacks Debian packages, and keeps what must go with their programs when they are passed on:
which packages of which source they are, and their licences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from flent_aqm.base.shell import run

# Beside the programs of a part: facts on its packages, and their copyright files by package.
PACKAGES = "packages.json"
LICENCES = "licences"


@dataclass(frozen=True)
class Deb:
    """A binary package and its source; built_using names sources that were linked in."""

    package: str
    version: str
    source: str
    source_version: str
    built_using: str


def read_deb(path: Path) -> Deb:
    """Return what a package file says of itself. Raises CommandFailed."""
    control = run(["dpkg-deb", "-f", path])
    fields: dict[str, str] = dict(re.findall(r"^([\w-]+): (.*)$", control, re.MULTILINE))
    # "Source" is left out where it has the package's name, its version where that is the same.
    source = re.fullmatch(r"(\S+)(?: \((.*)\))?", fields.get("Source", fields["Package"]))
    assert source is not None  # dpkg-deb has checked the field
    return Deb(fields["Package"], fields["Version"], source[1], source[2] or fields["Version"],
               fields.get("Static-Built-Using", fields.get("Built-Using", "")))


def unpack(debs: Sequence[Path], tree: Path, *, papers: Path) -> None:
    """Unpack packages into tree, and write PACKAGES and LICENCES into the folder papers."""
    facts = []
    (papers / LICENCES).mkdir()
    for path in debs:
        run(["dpkg-deb", "-x", path, tree])
        deb = read_deb(path)
        facts.append(asdict(deb))
        text = tree / "usr" / "share" / "doc" / deb.package / "copyright"
        if text.is_file():  # of a package with a link here, the other one has it
            (papers / LICENCES / deb.package).write_bytes(text.read_bytes())
    (papers / PACKAGES).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
