# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands above the diff of each of the lab's kernel patches, as git's own parser reads it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from flent_aqm.setup.kernel import patching, recipe

SOURCE = Path(__file__).resolve().parents[2]
PATCHES = [*sorted(recipe.PATCHES.iterdir()), *sorted(recipe.BACKPORTS.iterdir())]
COLUMNS = 75
_FIELD = re.compile(r"^([A-Z][A-Za-z-]+): (.*(?:\n .*)*)$", re.MULTILINE)


@dataclass(frozen=True)
class Header:
    """Author and subject, what the patch is for, and its fields."""

    author: str
    subject: str
    message: str
    fields: dict[str, str]


@pytest.fixture(params=PATCHES, ids=lambda path: path.stem)
def patch(request: pytest.FixtureRequest) -> Path:
    """One of the patches."""
    assert isinstance(request.param, Path)
    return request.param


def read_header(patch: Path, folder: Path) -> Header:
    """What `git am` would take for the commit."""
    output = subprocess.run(["git", "mailinfo", "-k", folder / "message", folder / "diff"],
                          input=patch.read_bytes(), capture_output=True, check=True).stdout.decode()
    first = dict(line.split(": ", 1) for line in output.splitlines() if line)
    message = (folder / "message").read_text()
    return Header(f"{first['Author']} <{first['Email']}>", first["Subject"],
                  _FIELD.split(message)[0].strip(), dict(_FIELD.findall(message)))


def test_patch_has_the_header_of_a_kernel_maintainer(patch: Path, tmp_path: Path) -> None:
    """Author, subject, why, invariants, how it was tested, base, licence, who signs it off."""
    header = read_header(patch, tmp_path)
    subject = re.fullmatch(r"\[PATCH(?: \d/\d)?\] ((?:[a-z0-9/]+: )+[a-z].*[^.])", header.subject)
    assert subject, header.subject
    assert len(subject[1]) <= COLUMNS
    assert len(header.message.split()) >= 30, "why, and what it changes"
    for name in ("Invariants", "Tested"):
        assert len(header.fields[name].split()) >= 5, name
    assert re.match(r"Linux \d+\.\d+\.\d+ \(Debian linux-source-", header.fields["Base"])
    assert header.fields["SPDX-License-Identifier"] == "GPL-2.0-only"
    assert header.fields["Signed-off-by"] == header.author
    wide = [line for line in (tmp_path / "message").read_text().splitlines()
            if len(line) > COLUMNS and not line.startswith("Signed-off-by: ")]
    assert wide == []


def test_patch_names_tests_that_there_are(patch: Path, tmp_path: Path) -> None:
    """And kept results."""
    tested = read_header(patch, tmp_path).fields["Tested"]
    named = re.findall(r"\b(?:tests|research)/[\w./-]*\w", tested)
    assert [name for name in named if not (SOURCE / name).exists()] == []


def test_patch_says_which_others_it_needs(patch: Path, tmp_path: Path) -> None:
    """The same that set-up goes by, where it leaves patches out."""
    optional = patching.OPTIONAL.get(patch.name, patching.Optional(""))
    output = read_header(patch, tmp_path).fields.get("Needs", "").split()
    assert [f"{name}.patch" for name in output] == list(optional.needs)
    for needed in optional.needs:
        assert needed in patching.OPTIONAL, "a required one is always there"
        assert needed < patch.name, "they are applied in the order of names"


def test_steps_of_a_series_are_numbered_in_order(tmp_path: Path) -> None:
    """In their names and in their subjects."""
    steps: dict[str, list[str]] = {}
    for path in PATCHES:
        if match := re.match(r"(\d{4})-(\d)-", path.name):
            steps.setdefault(match[1], []).append(
                f"{match[2]} {read_header(path, tmp_path).subject.split(']')[0]}")
    assert steps
    for series in steps.values():
        assert series == [f"{n} [PATCH {n}/{len(series)}" for n in range(1, len(series) + 1)]
