# SPDX-License-Identifier: GPL-3.0-or-later
"""venv.sh, with the real pip, for a package without content."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from flent_aqm.base.paths import PACKAGE

SCRIPT = "flent_aqm/setup/venv.sh"
# How pip has the package built: without setuptools, which it would download.
BACKEND = """
import zipfile
from pathlib import Path

def build_editable(folder, config_settings=None, metadata_directory=None):
    return wheel(folder, "ours", "Provides-Extra: test\\nRequires-Dist: tool; extra == 'test'\\n")

"""


def wheel(folder: str, name: str, metadata: str = "") -> str:
    """Write a wheel that has nothing but its metadata; return its name."""
    info, file = f"{name}-1.dist-info", f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder, file), "w") as archive:
        archive.writestr(f"{info}/METADATA",
                         f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{metadata}")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\n"
                         "Root-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return file


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree with a space")
    (tree / SCRIPT).parent.mkdir(parents=True)
    shutil.copy(PACKAGE / "setup" / "venv.sh", tree / SCRIPT)
    (tree / "release").mkdir()
    (tree / "release" / "constraints.txt").touch()
    (tree / "setup.cfg").touch()
    (tree / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n')
    (tree / "backend.py").write_text(BACKEND + inspect.getsource(wheel))
    (tree / "index").mkdir()
    for name in ("PySide6_Essentials", "qtpy", "tool"):
        wheel(str(tree / "index"), name)
    return tree


def set_up(tree: Path, *words: str) -> str:
    """Run the script; return what it says."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": (tree / "index").as_uri()}
    return subprocess.run([tree / SCRIPT, sys.executable, *words], env=env, check=True,
                          capture_output=True, text=True).stderr


def has(tree: Path, name: str) -> bool:
    return any(tree.glob(f".venv/lib/*/site-packages/{name}-1.dist-info"))


def test_tests_get_more_and_keep_it(tree: Path) -> None:
    """One that comes for the demo makes no test's environment smaller."""
    assert "creating .venv" in set_up(tree)
    assert has(tree, "ours")
    assert not has(tree, "tool")
    assert set_up(tree) == ""
    said = set_up(tree, "test")
    assert "creating" not in said
    assert has(tree, "tool")
    assert set_up(tree) == set_up(tree, "test") == ""

    (tree / "setup.cfg").write_text("# changed\n")
    said = set_up(tree)
    assert ".[test]" in said
    assert "creating" not in said
    assert set_up(tree, "test") == ""
