# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm serve`: serve speed tests.

The server has its options beside it, as labs start it alone, with few imports.
"""

from __future__ import annotations

from flent_aqm.measure.serve.command import add_arguments, main

__all__ = ["add_arguments", "main"]
