# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab kernel is made of, and the hash that names the result."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.paths import caches

HERE = Path(__file__).resolve().parent
FRAGMENT = HERE / "lab.config"
PATCHES = HERE / "patches"

# Which source version is in use: chosen once, so that results stay comparable and a
# repeated set-up needs no network.
CHOICE = Path("kernels") / "choice.json"


@dataclass(frozen=True)
class Source:
    """A Debian source package of the kernel, such as linux-source-7.3 and 7.3.4-1."""

    package: str
    version: str


@dataclass(frozen=True)
class Recipe:
    """All inputs of a build, read at one moment: files may change during the minutes it takes.

    patches: (file name, content), in the order of application.
    """

    source: Source
    fragment: str
    patches: tuple[tuple[str, bytes], ...]

    @property
    def hash(self) -> str:
        """16 hex digits that change with each of the inputs."""
        digest = hashlib.sha256()
        parts = (self.source.package.encode(), self.source.version.encode(),
                 self.fragment.encode(), *(content for _name, content in self.patches))
        for part in parts:
            # the length keeps two parts from looking like two others joined
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
        return digest.hexdigest()[:16]


def current_recipe(source: Source) -> Recipe:
    """This source with our options and patches as they are now."""
    patches = sorted(PATCHES.glob("*.patch"))
    return Recipe(source, FRAGMENT.read_text(encoding="utf-8"),
                  tuple((path.name, path.read_bytes()) for path in patches))


def read_choices() -> list[Source]:
    """Return the source versions chosen earlier: by this user, by who made the ready-made
    kernel, by root; without repeats."""
    found: list[Source] = []
    for cache in caches():
        try:
            source = read_choice(cache)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # absent or damaged: set-up chooses again
        if source not in found:
            found.append(source)
    return found


def read_choice(cache: Path) -> Source:
    """Return the source version chosen in one cache. Raises OSError, ValueError, KeyError or
    TypeError where there is none."""
    fields = json.loads((cache / CHOICE).read_text(encoding="utf-8"))
    return Source(str(fields["package"]), str(fields["version"]))
