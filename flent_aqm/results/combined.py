# SPDX-License-Identifier: GPL-3.0-or-later
"""Which result sets Flent's combined ones were made of. Flent keeps only their number, in a
title made of file names, so that nobody can tell which queue they are of."""

from __future__ import annotations

from typing import Any

# Where the bridge notes it.
MEMBERS = "_flent_aqm_members"


def members_of(results: Any) -> list[Any]:
    """Return what a result set was combined of; itself where it is a data file's."""
    found: list[Any] = results.__dict__.get(MEMBERS) or [results]
    return found
