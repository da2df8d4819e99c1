# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Have ^C reach the programs that tests start and interrupt. Shells without job control
    start what runs in the background with SIGINT ignored, and children take that over."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
