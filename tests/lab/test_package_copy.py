# SPDX-License-Identifier: GPL-3.0-or-later
"""The copy of the package that guests see: complete, compiled, and the same wherever made."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import LabError
from flent_aqm.lab import package_copy
from research.bench.checkouts import copy_checkout

MAKE_ANOTHER = """
from pathlib import Path
from flent_aqm.lab import package_copy as copy
copy.paths.SYSTEM_CACHE = copy.paths.user_cache()
copy.package_folder("/run/package", Path("spare"))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache in place of this user's and the machine's."""
    monkeypatch.setattr(paths, "SYSTEM_CACHE", tmp_path / "system")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(paths, "cache_to_write", paths.user_cache)
    return tmp_path / "flent-aqm" / "package"


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def test_copy_holds_each_source_and_its_compiled_file(cache: Path, tmp_path: Path) -> None:
    """All modules are compiled for the place at which the guest has them."""
    folder = package_copy.package_folder("/run/package", tmp_path / "spare")
    assert folder.parent == cache
    files = content(folder)
    sources = {name for name in files if name.endswith(".py")}
    assert "flent_aqm/cli.py" in sources
    assert "router_hooks/router.sh" in files
    compiled = {name for name in files if name.endswith(".pyc")}
    assert len(compiled) == len(sources)
    assert b"/run/package/flent_aqm/cli.py" in next(
        files[name] for name in compiled if Path(name).name.startswith("cli."))
    assert os.access(folder / "router_hooks" / "router.sh", os.X_OK) == os.access(
        paths.resource_dir("router_hooks") / "router.sh", os.X_OK)


def test_copy_that_cannot_be_written_tells_each_folder_with_its_cause(
        cache: Path, tmp_path: Path) -> None:
    """A file stands where the cache would be; the spare folder is below a file, too."""
    (tmp_path / "flent-aqm").write_text("")
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match=r"flent-aqm.*: Not a directory; .*file.*: Not a directory; "
                                       "mend that, or set XDG_CACHE_HOME"):
        package_copy.package_folder("/run/package", tmp_path / "file" / "spare")


def test_file_in_the_place_of_the_copy_is_told(cache: Path, tmp_path: Path) -> None:
    """Not with an empty list of causes."""
    name = f"{package_copy.package_hash()}-{sys.implementation.cache_tag}"
    cache.parent.write_text("in the way\n")
    (tmp_path / "spare").mkdir()
    (tmp_path / "spare" / name).touch()
    with pytest.raises(LabError, match=rf"for the lab: .*; .*/{name}: Not a directory; mend that"):
        package_copy.package_folder("/run/package", tmp_path / "spare")


def test_second_copy_has_the_same_bytes(cache: Path, tmp_path: Path) -> None:
    """Made again, by another process with other settings, nothing differs."""
    first = content(package_copy.package_folder("/run/package", tmp_path / "spare"))
    subprocess.run(
        [sys.executable, "-c", MAKE_ANOTHER],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "other"), "PYTHONHASHSEED": "5",
             "LANG": "C"}, check=True, umask=0o077, cwd=tmp_path)
    again, = (path for path in tmp_path.rglob(f"{package_copy.package_hash()}-*")
              if cache not in path.parents)
    assert content(again) == first


def test_folder_that_cannot_be_written_leaves_the_copy_in_the_spare_one(
        cache: Path, tmp_path: Path) -> None:
    """As for a user without a home."""
    cache.parent.mkdir()
    cache.write_text("in the way\n")
    folder = package_copy.package_folder("/run/package", tmp_path / "spare")
    assert folder.parent == tmp_path / "spare"


def test_copies_long_unused_go_when_one_is_made(cache: Path, tmp_path: Path) -> None:
    """Editing sources doesn't fill the disk."""
    for name, age_s in (("old", package_copy.KEPT_S + 60), ("recent", 60.0)):
        (cache / name).mkdir(parents=True)
        then = time.time() - age_s
        os.utime(cache / name, (then, then))
    package_copy.package_folder("/run/package", tmp_path / "spare")
    assert not (cache / "old").exists()
    assert (cache / "recent").exists()


HASH = "from flent_aqm.lab.package_copy import package_hash as h; print(h())"


def test_hash_is_that_of_the_code_and_not_of_a_users_batches(tmp_path: Path) -> None:
    """A batch of one's own in batches/ makes no other version; the same files inside the package,
    as a wheel has them, neither; a changed module does."""
    folder = copy_checkout(tmp_path / "checkout")

    def hashed() -> str:
        return subprocess.run([folder / ".venv" / "bin" / "python", "-c", HASH], check=True,
                              capture_output=True, text=True, cwd=tmp_path).stdout

    first = hashed()
    (folder / "batches" / "mine.batch").write_text("[Batch::mine]\ninherits = base\n")
    assert hashed() == first
    for name in ("tests_defs", "router_hooks", "batches"):
        (folder / name).rename(folder / "flent_aqm" / name)
    assert hashed() == first
    with (folder / "flent_aqm" / "cli.py").open("a") as file:
        file.write("# more\n")
    assert hashed() != first


def test_source_that_cannot_be_read_is_no_fault_of_a_results_folder(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that was removed since: the hash is computed when a run's files are written."""
    gone = tmp_path / "gone.py"
    monkeypatch.setattr(package_copy, "_sources", lambda: [(gone, "flent_aqm/gone.py")])
    package_copy.package_hash.cache_clear()
    with pytest.raises(LabError) as raised:
        package_copy.package_hash()
    assert str(raised.value) == (
        f"can't read flent-aqm's own file {gone}: No such file or directory; install flent-aqm "
        "again, or make the file readable")


def test_source_that_does_not_compile_is_named_as_it_is_in_the_checkout(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by its place in the lab. Of several faults the first one is told."""
    def sources() -> list[tuple[Path, str]]:
        return [(tmp_path / f"{name}.py", f"flent_aqm/{name}.py") for name in "ab"]

    for path, _ in sources():
        path.write_text("def f(:\n")
    monkeypatch.setattr(package_copy, "_sources", sources)
    with pytest.raises(LabError) as fault:
        package_copy._fill_copy(tmp_path / "copy", "/run/package")
    assert 'File "flent_aqm/a.py", line 1' in str(fault.value)
    assert str(fault.value).count("SyntaxError") == 1
