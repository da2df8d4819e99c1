# SPDX-License-Identifier: GPL-3.0-or-later
"""Made runs are those of tests/results/metrics."""

from __future__ import annotations

from ..metrics.conftest import make_run

__all__ = ["make_run"]
