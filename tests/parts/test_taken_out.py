# SPDX-License-Identifier: GPL-3.0-or-later
"""Each part's folder is taken out of a copy of the tree, and all else goes on as before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flent_aqm.base.part import FOLDER, parts
from tests.files import ROOT

# What the environment has scripts and paths of ours in.
_OURS = ("bin/*", "pyvenv.cfg", "lib/python*/site-packages/flent_aqm*.pth")
_LEFT = {".git", ".venv", "build", "results", "dist"}
# The shortest run that goes through all of the core: batch, lab, queue, proof, test, data file.
_BATCH = """[Batch::one]
inherits = base
output_path = results
test_name = iperf3_upload
aqm = fq_codel
length = 2
"""


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """The tree with an environment of its own, on the disk of the tree, as files are linked."""
    if not os.access(ROOT, os.W_OK):
        pytest.skip("the copy has to be on the disk of the checkout, which can't be written")
    target = ROOT / "build" / f"taken_out-{os.getpid()}"
    shutil.copytree(ROOT, target, symlinks=True, ignore=lambda folder, names: (
        _LEFT if folder == str(ROOT) else {"__pycache__"}))
    shutil.copytree(ROOT / ".venv", target / ".venv", symlinks=True, copy_function=os.link)
    for pattern in _OURS:
        for path in (target / ".venv").glob(pattern):
            if path.is_symlink() or str(ROOT).encode() not in path.read_bytes():
                continue
            text, mode = path.read_bytes(), path.stat().st_mode
            path.unlink()
            path.write_bytes(text.replace(bytes(ROOT), bytes(target)))
            path.chmod(mode)
    yield target
    shutil.rmtree(target)


@pytest.fixture
def without(copy: Path, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The copy without a part, its tests and its page."""
    name = request.param
    there = [path for path in (copy / "flent_aqm" / "parts" / name, copy / "tests" / "parts" / name)
             if path.exists()]
    for number, path in enumerate(there):
        path.rename(tmp_path / str(number))
    yield copy
    for number, path in enumerate(there):
        (tmp_path / str(number)).rename(path)


def _run(folder: Path, *words: str) -> str:
    done = subprocess.run([folder / ".venv" / "bin" / words[0], *words[1:]], cwd=folder,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout + done.stderr


def test_folders_are_the_parts() -> None:
    """And their tests have the same names."""
    names = {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert names == set(parts())
    assert {path.name for path in Path(__file__).parent.iterdir()
            if path.is_dir() and path.name[0] != "_"} <= names


@pytest.mark.parametrize("without", parts(), indirect=True)
def test_core_goes_on_without_a_part(without: Path) -> None:
    """It is right by its types, its commands start, and a run is made, here and in the guest by
    the copy."""
    # With the original's environment, whose packages the cache knows.
    _run(without, "mypy", "--python-executable", sys.executable, "flent_aqm")
    _run(without, "ruff", "check", ".")
    assert "lab" in _run(without, "flent-aqm")
    assert str(without) in _run(without, "python", "-P", "-c",
                                "import flent_aqm; print(flent_aqm.__file__)")
    folder = without / "results"
    (without / "batches" / "one.batch").write_text(_BATCH)
    try:
        _run(without, "flent", "-B", "batches/one.batch", "-b", "one")
        assert list(folder.glob("**/*iperf3_upload*.flent.gz"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
