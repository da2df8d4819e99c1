# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a test definition of a given name is: in Flent's folder, or else in ours.

A test's name may come out of a data file of somebody else, and what it leads to is
executed as Python code. So a name is a plain file name, never a path.
"""

from __future__ import annotations

import os

from flent_aqm.base.paths import resource_dir

SUFFIX = ".conf"


def our_tests() -> list[str]:
    """The names of our test definitions, sorted."""
    try:
        names = os.listdir(resource_dir("tests_defs"))
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def is_only_ours(test_name: str, stock_dir: str) -> bool:
    """Whether a test of that name is ours, and Flent has none of the same name."""
    return test_name in our_tests() and not os.path.exists(
        os.path.join(stock_dir, test_name + SUFFIX))


def locate(filename: str, stock_dir: str) -> str:
    """The file to execute for one that Flent is about to open in stock_dir.

    Gives filename itself where Flent has it, or where nobody has. Raises RuntimeError,
    which Flent reports in one line, when the name that it was made of is a path.
    """
    folder, name = os.path.split(filename)
    if folder != stock_dir:
        raise RuntimeError(
            f"test name {os.path.relpath(filename, stock_dir).removesuffix(SUFFIX)!r} is a path; "
            "expected a plain name, as flent --list-tests shows them")
    ours = resource_dir("tests_defs") / name
    return str(ours) if not os.path.exists(filename) and ours.is_file() else filename
