# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment with nothing but stock Flent is that of tests/bridge."""

from __future__ import annotations

from ...bridge.conftest import stock

__all__ = ["stock"]
