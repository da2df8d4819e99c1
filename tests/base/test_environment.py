# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment variables: what the table says, and what the files do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flent_aqm.base import environment
from flent_aqm.base.environment import USER, VARIABLES

ROOT = Path(__file__).resolve().parents[2]
NAMES = {value: name for name, value in vars(environment).items()
         if isinstance(value, str) and value.startswith("FLENT_AQM_")}
# Where a variable is used by its name in Python, or written out elsewhere.
SOURCES = [path for folder in ("flent_aqm", "router_hooks", "tests_defs", "batches")
           for path in sorted((ROOT / folder).rglob("*"))
           if path.suffix in {".py", ".sh", ".inc", ".conf", ".batch", ".pl"}
           and path.name != "environment.py"]


def _uses(path: Path) -> set[str]:
    """The variables that a file sets or reads; what only its comments name doesn't count."""
    lines = [line.split("#")[0] if path.suffix != ".py" else line
             for line in path.read_text().splitlines()]
    text = re.sub(r'""".*?"""', "", "\n".join(lines), flags=re.DOTALL)
    return ({name for name in re.findall(r"\bFLENT_AQM_[A-Z_]+\b", text) if name in NAMES}
            | {value for value, name in NAMES.items() if f"environment.{name}" in text})


def _taken_out(file: str) -> bool:
    folder = Path(*Path(file).parts[:3])
    return folder.parent == Path("flent_aqm/parts") and not (ROOT / folder).is_dir()


def test_each_variable_of_the_sources_stands_in_the_table() -> None:
    """A name that nobody described has no meaning."""
    names = {name for path in SOURCES
             for name in re.findall(r"\bFLENT_AQM_[A-Z]+(?:_[A-Z]+)*\b", path.read_text())}
    assert names <= set(VARIABLES)
    assert set(NAMES) == set(VARIABLES)


@pytest.mark.parametrize("name", VARIABLES)
def test_variable_is_set_and_read_where_the_table_says(name: str) -> None:
    """And nowhere else, but in messages and documents."""
    row = VARIABLES[name]
    listed = {file for file in (*row.set_by, *row.read_by) if file != USER and not _taken_out(file)}
    using = {str(path.relative_to(ROOT)) for path in SOURCES if name in _uses(path)}
    assert listed <= using
    in_messages = {"flent_aqm/parts/cluster/agreement.py"}  # names one in a message
    assert using - listed <= in_messages
