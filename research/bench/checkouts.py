# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy this checkout to other places, with a Python environment of its own.

The environment is what `make setup` makes there: programs and packages lie in the copy, and name
it. Files of packages, which nothing writes to, are hard links where the file system allows it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
# What a checkout has that no clone of it has: at its top, and anywhere.
_NOT_AT_TOP = {".git", ".venv", ".venv.lock", "results", "build", "dist", ".mypy_cache",
               ".ruff_cache", ".pytest_cache", ".hypothesis"}
_NOWHERE = {"__pycache__"}
# Files of an environment that name its place, besides the first lines of programs.
_NAME_THE_PLACE = ("pyvenv.cfg", ".set-up", "lib/python*/site-packages/flent_aqm.pth",
                   "lib/python*/site-packages/flent_aqm-*.dist-info/direct_url.json",
                   "bin/activate*", "bin/Activate.ps1")


def copy_checkout(folder: Path) -> Path:
    """Copy this checkout's files, also uncommitted ones, and this process's environment to
    `folder`, which must not exist (FileExistsError), and return it. Build products, caches, results
    and .git are left out. Raises CalledProcessError if the environment can't be copied."""
    def ignored(above: str, names: list[str]) -> set[str]:
        return set(names) & (_NOWHERE | (_NOT_AT_TOP if Path(above) == SOURCE else set()))

    shutil.copytree(SOURCE, folder, symlinks=True, ignore=ignored)
    copy_environment(folder)
    return folder


@contextmanager
def python_for_all_users() -> Iterator[Path]:
    """Context manager: yield the path of a Python with this package that every user can start. It
    is this process's own if others may read and enter this checkout and all folders above it.
    Otherwise it is that of a copy, which is removed at the end of the with statement."""
    if all(path.stat().st_mode & 0o005 == 0o005 for path in (SOURCE, *SOURCE.parents)):
        yield Path(sys.executable)
        return
    with tempfile.TemporaryDirectory(prefix="flent-aqm-checkout-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield copy_checkout(Path(name, "flent-aqm")) / ".venv" / "bin" / "python"


def copy_environment(folder: Path) -> None:
    """Give the checkout in `folder` an environment (.venv) with the packages of this process's own.
    It must not have one yet. Its files are hard links to those of the old one where that is
    possible, so they must not be changed in place, but files that name the old place are new.
    Raises CalledProcessError if they can't be copied."""
    old, new = Path(sys.prefix), folder / ".venv"
    # `cp -l` stops at the first file that can't be linked
    if subprocess.run(["cp", "-a", "-l", old, new], capture_output=True, check=False).returncode:
        shutil.rmtree(new, ignore_errors=True)
        subprocess.run(["cp", "-a", old, new], check=True)
    for path in {*(each for name in _NAME_THE_PLACE for each in new.glob(name)),
                 *(new / "bin").iterdir()}:
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        changed = _with_new_path(content, os.fsencode(old.parent), os.fsencode(folder))
        if changed != content:
            # a new file: the old one may have the same content by a link
            mode = path.stat().st_mode
            path.unlink()
            path.write_bytes(changed)
            path.chmod(mode)


def _with_new_path(content: bytes, old: bytes, new: bytes) -> bytes:
    """Return a file's content with the path of a checkout replaced wherever it occurs. If the
    interpreter in a program's first line lies in the checkout, and the new path has a blank or that
    line would have more than 120 bytes after #!, the program is started by a shell, as in the
    programs that pip writes.

    Args:
        content: content of the file.
        old: path of the old checkout.
        new: path of the new checkout.
    """
    first, _, rest = content.partition(b"\n")
    if first.startswith(b"#!" + old + b"/"):
        words = first[2:].replace(old, new)
        if b" " in new or len(words) > 120:
            python = words.split(b"/bin/python")[0] + b"/bin/python"
            return (b"#!/bin/sh\n'''exec' \"" + python + b"\" \"$0\" \"$@\"\n' '''\n"
                    + rest.replace(old, new))
        return b"#!" + words + b"\n" + rest.replace(old, new)
    return content.replace(old, new)
