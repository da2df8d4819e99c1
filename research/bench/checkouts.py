# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of this checkout in other places, with a Python environment of their own.

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
    """Copy sources and environment to a new folder, and return the folder."""
    def ignored(above: str, names: list[str]) -> set[str]:
        return set(names) & (_NOWHERE | (_NOT_AT_TOP if Path(above) == SOURCE else set()))

    shutil.copytree(SOURCE, folder, symlinks=True, ignore=ignored)
    copy_environment(folder)
    return folder


@contextmanager
def python_for_all_users() -> Iterator[Path]:
    """Yield a Python with this package that every user can start: this process's own, or, below a
    home that others can't look into, that of a copy."""
    if all(path.stat().st_mode & 0o005 == 0o005 for path in (SOURCE, *SOURCE.parents)):
        yield Path(sys.executable)
        return
    with tempfile.TemporaryDirectory(prefix="flent-aqm-checkout-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield copy_checkout(Path(name, "flent-aqm")) / ".venv" / "bin" / "python"


def copy_environment(folder: Path) -> None:
    """Give the checkout in a folder an environment with the packages of this process's own."""
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
        changed = _moved(content, os.fsencode(old.parent), os.fsencode(folder))
        if changed != content:
            # a new file: the old one may have the same content by a link
            mode = path.stat().st_mode
            path.unlink()
            path.write_bytes(changed)
            path.chmod(mode)


def _moved(content: bytes, old: bytes, new: bytes) -> bytes:
    """Replace the place of a checkout in a file. The first line of a program can't name a path with
    a blank or a long path: then a shell starts Python, as in the programs that pip writes."""
    first, _, rest = content.partition(b"\n")
    if first.startswith(b"#!" + old + b"/"):
        words = first[2:].replace(old, new)
        if b" " in new or len(words) > 120:
            python = words.split(b"/bin/python")[0] + b"/bin/python"
            return (b"#!/bin/sh\n'''exec' \"" + python + b"\" \"$0\" \"$@\"\n' '''\n"
                    + rest.replace(old, new))
        return b"#!" + words + b"\n" + rest.replace(old, new)
    return content.replace(old, new)
