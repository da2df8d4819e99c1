# SPDX-License-Identifier: GPL-3.0-or-later
"""A release in a folder: what is checked before, and what is in it."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from flent_aqm import __version__
from flent_aqm.base.errors import ConfigError, ToolMissing
from release import publish
from tests.files import ROOT

TAG = f"v{__version__}"


def test_folder_has_all_files_with_their_checksums(tmp_path: Path) -> None:
    """And sha256sum says that they are right."""
    for name in ("a.whl", "notes.md"):
        (tmp_path / name).write_text(name)
    folder = tmp_path / "release"
    folder.mkdir()
    publish.write_release([tmp_path / "a.whl", tmp_path / "notes.md"], folder)
    assert sorted(path.name for path in folder.iterdir()) == ["SHA256SUMS", "a.whl", "notes.md"]
    assert hashlib.sha256(b"a.whl").hexdigest() in (folder / "SHA256SUMS").read_text()
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=True)


def test_release_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """Neither half a folder, nor one with a file twice."""
    one = tmp_path / "a" / "x.whl"
    other = tmp_path / "b" / "x.whl"
    for path in (one, other):
        path.parent.mkdir()
        path.write_text("x")
    with pytest.raises(ConfigError, match=r"two files of the release are called x\.whl"):
        publish.write_release([one, other], tmp_path / "release")
    with pytest.raises(ConfigError, match="release: can't be written: No such file"):
        publish.write_release([one, tmp_path / "gone"], tmp_path / "release")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize(("tag", "address", "trial", "message"), [
    ("v9.9.9", "https://x.example", True, "check_tag: the tag is v9.9.9, and the version in"),
    (TAG, "", False, "unreleased|needs the project's address|isn't that of the tag")])
def test_release_of_what_is_not_ready_is_refused(
        tag: str, address: str, trial: bool, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        publish.check(tag, tmp_path / "new", address, trial=trial)


def test_full_folder_is_refused_and_a_trial_needs_no_tag(tmp_path: Path) -> None:
    publish.check(TAG, tmp_path, "", trial=True)
    publish.check(TAG, tmp_path / "new", "", trial=True)
    (tmp_path / "there").touch()
    with pytest.raises(ConfigError, match="give a folder that is empty or isn't there"):
        publish.check(TAG, tmp_path, "", trial=True)
    with pytest.raises(ConfigError, match="give a folder that is empty or isn't there"):
        publish.check(TAG, tmp_path / "there", "", trial=True)


def test_missing_program_is_told_with_the_part_that_needs_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial's wheels need none."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolMissing, match="buildah is not installed, but needed for an image; ins"):
        publish.check_programs(publish.selected(["wheels", "debian"], trial=True))
    publish.check_programs(publish.selected(["debian", "image"], trial=True))
    with pytest.raises(ToolMissing, match="mmdebstrap is not installed"):
        publish.check_programs(publish.selected(["debian", "image", "site"], trial=False))


def test_debian_part_has_packages_and_sources_alone(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the logs and the picture that the check leaves there."""
    folder = tmp_path / "dist" / "deb"
    folder.mkdir(parents=True)
    expected = ["a_1-1.debian.tar.xz", "a_1-1.dsc", "a_1-1_all.deb", "a_1.orig.tar.gz"]
    for name in (*expected, "build.log", "demo.png", "sdist.log"):
        (folder / name).touch()
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    assert [path.name for path in publish._debian(tmp_path)] == expected


def test_notes_are_the_versions_section_and_what_is_left_out() -> None:
    text = "# Changelog\n\n## 2.0.0, unreleased\n\n- new\n\n### More\n\nx\n\n## 1.0.0\n\n- old\n"
    assert publish.changes_of("2.0.0", text) == "- new\n\n### More\n\nx\n"
    assert publish.changes_of("1.0.0", text) == "- old\n"
    for version in ("3.0.0", "2.0"):
        with pytest.raises(ConfigError, match=f"CHANGELOG.md says nothing of {version}"):
            publish.changes_of(version, text)
    assert publish.notes("- new\n", []) == "- new\n"
    assert publish.notes("- new\n", ["image", "debian"]) == (
        "- new\n\nNot in this release: Debian packages, an image.\n")
    assert "- " in publish.changes_of(__version__, (ROOT / "CHANGELOG.md").read_text())


def test_citation_has_the_day_and_the_address() -> None:
    """And is complete: authors as in the history, version, licence."""
    text = (ROOT / "CITATION.cff").read_text()
    day = datetime.date(2031, 2, 3)
    made = yaml.safe_load(publish.citation(text, day, "https://x.example/y"))
    assert made["date-released"] == day
    assert made["repository-code"] == "https://x.example/y"
    assert made["version"] == __version__
    assert [author["name"] for author in made["authors"]]
    assert publish.ADDRESS in publish.citation(text, day, "")
    with pytest.raises(ConfigError, match="has no line 'date-released"):
        publish.citation(re.sub("date-released.*\n", "", text), day, "")


@pytest.mark.parametrize(("file", "text", "message"), [
    ("CITATION.cff", "", "CITATION.cff has no line 'date-released"),
    ("CHANGELOG.md", f"## {__version__}\n\n## 0.0.1\n\n- x\n", "CHANGELOG.md says nothing of ")])
def test_unfit_text_is_refused_before_anything_is_made(
        file: str, text: str, message: str, tmp_path: Path) -> None:
    """Parts take an hour. Here their makefile would say that it was called."""
    for name in ("release/publish.py", ".ci/check_tag", "flent_aqm/__init__.py", "CITATION.cff",
                 "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / file).write_text(text)
    (tmp_path / "Makefile").write_text("dist:\n\ttouch made\n")
    done = subprocess.run(
        [sys.executable, tmp_path / "release" / "publish.py", TAG, tmp_path / "new", "--trial",
         "--without", "debian", "--without", "image", "--without", "site"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"release: {message}")
    assert not (tmp_path / "made").exists()


def test_mistake_is_one_line_and_writes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "release.publish", "v0.0.1", tmp_path / "new", "--trial"], cwd=ROOT,
        capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("release: check_tag: the tag is v0.0.1")
    assert list(tmp_path.iterdir()) == []
