# SPDX-License-Identifier: GPL-3.0-or-later
"""Test definitions of ours, and the parts that they include, by plain name."""

from __future__ import annotations

from functools import wraps
from typing import Any

from flent_aqm.asked.test_files import locate


def patch(module: Any) -> None:
    """Patch flent.testenv: execute() is the only function that opens a definition."""
    stock = module.TestEnvironment.execute

    @wraps(stock)
    def execute(self: Any, filename: str) -> Any:
        return stock(self, locate(filename, module.TEST_PATH))

    module.TestEnvironment.execute = execute
