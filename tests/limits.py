# SPDX-License-Identifier: GPL-3.0-or-later
"""An end for tests of what would wait for ever if it were wrong."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def ending_within_s(limit_s: int) -> Iterator[None]:
    """The test fails if the block takes longer. Only in the main thread."""
    def fail(number: int, frame: object) -> None:
        pytest.fail(f"not done within {limit_s} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(limit_s)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
