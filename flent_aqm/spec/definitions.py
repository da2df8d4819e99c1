# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the file of a test definition: in Flent's folder, or else in this package's.

A test's name may come from any data file, and the definition is executed as Python code. Therefore
a name has to be a plain file name, never a path.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from flent_aqm.base.paths import resource_dir

SUFFIX = ".conf"


def our_tests() -> list[str]:
    """Return the names of this package's test definitions, sorted. Empty if their folder doesn't
    exist."""
    try:
        names = os.listdir(resource_dir("tests_defs"))
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def is_only_ours(test_name: str, stock_dir: str) -> bool:
    """Return whether this package has a test with this name, and Flent has none.

    Args:
        test_name: name of the test, without path and suffix.
        stock_dir: folder of Flent's definitions.
    """
    return test_name in our_tests() and not os.path.exists(
        os.path.join(stock_dir, test_name + SUFFIX))


def locate(filename: str, stock_dir: str) -> str:
    """Return the path of the definition to execute.

    That is this package's file if Flent lacks the file and this package has it, otherwise
    `filename`.

    Args:
        filename: path that Flent is about to open, in its own folder.
        stock_dir: folder of Flent's definitions.

    Raises RuntimeError, which Flent reports in one line, if the test's name is a path.
    """
    refuse_path(filename, [stock_dir])
    ours = resource_dir("tests_defs") / os.path.basename(filename)
    return str(ours) if not os.path.exists(filename) and ours.is_file() else filename


def refuse_path(filename: str, folders: Sequence[str]) -> None:
    """Raise RuntimeError if the file is not directly in one of the folders of definitions. The
    test's name was then a path, not a plain name.

    Args:
        filename: path of the definition that Flent is about to open.
        folders: folders of definitions, Flent's own first.
    """
    if os.path.dirname(filename) not in folders:
        name = filename.removeprefix(os.path.join(folders[0], "")).removesuffix(SUFFIX)
        raise RuntimeError(f"test name {name!r} is a path; expected a plain name, as "
                           "flent --list-tests shows them")
