# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a test definition of a given name is: in Flent's folder, or else in ours.

A test's name may come out of a data file of somebody else, and what it leads to is
executed as Python code. So a name is a plain file name, never a path.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from flent_aqm.base.paths import resource_dir

SUFFIX = ".conf"


def our_tests() -> list[str]:
    """Return the names of our test definitions, sorted."""
    try:
        names = os.listdir(resource_dir("tests_defs"))
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def is_only_ours(test_name: str, stock_dir: str) -> bool:
    """Return whether a test of that name is ours, and Flent has none of the same name."""
    return test_name in our_tests() and not os.path.exists(
        os.path.join(stock_dir, test_name + SUFFIX))


def locate(filename: str, stock_dir: str) -> str:
    """Return the file to execute for one that Flent is about to open in stock_dir.

    Gives filename itself where Flent has it, or where nobody has. Raises RuntimeError,
    which Flent reports in one line, when the name that it was made of is a path.
    """
    refuse_path(filename, [stock_dir])
    ours = resource_dir("tests_defs") / os.path.basename(filename)
    return str(ours) if not os.path.exists(filename) and ours.is_file() else filename


def refuse_path(filename: str, folders: Sequence[str]) -> None:
    """Raise RuntimeError unless the file is right in one of the folders of definitions, the
    first of which is Flent's own: then the name that it was made of is a plain one."""
    if os.path.dirname(filename) not in folders:
        name = os.path.relpath(filename, folders[0]).removesuffix(SUFFIX)
        raise RuntimeError(f"test name {name!r} is a path; expected a plain name, as "
                           "flent --list-tests shows them")
