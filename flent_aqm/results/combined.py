# SPDX-License-Identifier: GPL-3.0-or-later
"""Which result sets Flent's combined ones were made of. Flent keeps only their number, in a
title made of file names, so that nobody can tell which queue they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Where who combines them notes it.
MEMBERS = "_flent_aqm_members"


def members_of(results: Any) -> list[Any]:
    """Return what a result set was combined of; itself where it is a data file's."""
    members: list[Any] = results.__dict__.get(MEMBERS) or [results]
    return members


# More names of tests than this have no room in a title.
MOST_NAMED = 4


def description_of(results: Sequence[Any], own: str) -> str:
    """Return what a title says of the test of some result sets: own, Flent's description of the
    first one's, or the names of all where there are several."""
    names = sorted({str(member.meta("NAME")) for one in results for member in members_of(one)})
    if len(names) < 2:
        return own
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} tests"
