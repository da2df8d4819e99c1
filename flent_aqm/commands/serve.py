# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm serve`: serves speed tests.

The options are declared beside the server's code, because labs start it without this package's
other commands, with few imports.
"""

from __future__ import annotations

from flent_aqm.servers.command import add_arguments, main

__all__ = ["add_arguments", "main"]
