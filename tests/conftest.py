# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Have ^C reach the programs that tests start and interrupt. Shells without job control
    start what runs in the background with SIGINT ignored, and children take that over."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their number: what gzip packs holds the time, so that the processes of
    pytest-xdist, which collect by themselves, would name one test differently."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None
