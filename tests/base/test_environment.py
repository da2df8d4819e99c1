# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment variables that the sources use are those of environment.py."""

from __future__ import annotations

import re

from flent_aqm.base import environment
from tests.files import ROOT

NAMES = {value: name for name, value in vars(environment).items()
         if isinstance(value, str) and value.startswith("FLENT_AQM_")}
# Files that use a variable, by its name in Python or written out.
SOURCES = [path for folder in ("flent_aqm", "router_hooks", "tests_defs", "batches")
           for path in sorted((ROOT / folder).rglob("*"))
           if path.suffix in {".py", ".sh", ".inc", ".conf", ".batch", ".pl"}
           and path.name != "environment.py"]


def test_each_variable_of_the_sources_stands_in_the_table_and_is_used() -> None:
    """A name that nobody described has no meaning, nor has a description that nothing uses."""
    texts = [path.read_text() for path in SOURCES]
    written = {name for text in texts
               for name in re.findall(r"\bFLENT_AQM_[A-Z]+(?:_[A-Z]+)*\b", text)}
    assert written <= set(NAMES)
    unused = {value for value, name in NAMES.items()
              if not any(f"environment.{name}" in text or value in text for text in texts)}
    assert unused == set()
