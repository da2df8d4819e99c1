# SPDX-License-Identifier: GPL-3.0-or-later
"""Test definitions of ours, and the parts that they include, by plain name; and what they refuse
while a batch is planned, which Flent passes over.
"""

from __future__ import annotations

import os
from functools import lru_cache, wraps
from typing import Any

from flent_aqm.asked.test_files import locate, refuse_path
from flent_aqm.base.paths import resource_dir

_MOST_COMPILED = 1000
# What a definition refused while it was loaded for its length alone; in the settings, too.
REFUSED = "AQM_REFUSED"


def patch(module: Any) -> None:
    """Patch flent.testenv: execute() is the only function that opens a definition, and compiles
    it; test_error() does nothing while Flent plans."""
    has_list = hasattr(module, "test_paths")
    if has_list:
        _add_to_list(module)
    # All definitions include the same parts, and a window or a list loads many of them.
    module.compile = lru_cache(maxsize=_MOST_COMPILED)(compile)
    stock = module.TestEnvironment.execute

    @wraps(stock)
    def execute(self: Any, filename: str) -> Any:
        if has_list:
            refuse_path(filename, module.test_paths())
            return stock(self, filename)
        return stock(self, locate(filename, module.TEST_PATH))

    module.TestEnvironment.execute = execute
    stock_error = module.TestEnvironment.test_error

    @wraps(stock_error)
    def test_error(self: Any, msg: str) -> None:
        self.env[REFUSED] = (*self.env.get(REFUSED, ()), msg)
        stock_error(self, msg)

    module.TestEnvironment.test_error = test_error


def _add_to_list(module: Any) -> None:
    """Put our folder on the search list of a Flent that has one (docs/upstream)."""
    listed = os.environ.get(module.TEST_PATH_VAR, "").split(os.pathsep)
    ours = str(resource_dir("tests_defs"))
    if ours not in listed:
        os.environ[module.TEST_PATH_VAR] = os.pathsep.join([*filter(None, listed), ours])
