# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab kernel is made of, and the hash that names the result."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.paths import SYSTEM_CACHE, user_cache

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


def fragment_text() -> str:
    """The options wanted."""
    return FRAGMENT.read_text(encoding="utf-8")


def patch_files() -> list[Path]:
    """Our patches, in the order of their names."""
    return sorted(PATCHES.glob("*.patch"))


def recipe_hash(source: Source, fragment: str, patches: list[bytes]) -> str:
    """16 hex digits that change with each of the inputs."""
    digest = hashlib.sha256()
    for part in (source.package.encode(), source.version.encode(), fragment.encode(), *patches):
        # the length keeps two parts from looking like two others joined
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


def current_hash(source: Source) -> str:
    """The hash for this source with our options and patches as they are now."""
    return recipe_hash(source, fragment_text(), [path.read_bytes() for path in patch_files()])


def read_choice() -> Source | None:
    """The source version chosen earlier by this user, else by root; None if none was."""
    for base in (user_cache(), SYSTEM_CACHE):
        try:
            fields = json.loads((base / CHOICE).read_text(encoding="utf-8"))
            return Source(str(fields["package"]), str(fields["version"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # absent or damaged: set-up chooses again
    return None
