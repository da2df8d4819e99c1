# SPDX-License-Identifier: GPL-3.0-or-later
"""Remember from which result sets a combined one of Flent was made.

Flent keeps only their number, and a title made of file names, from which the queue can't be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Attribute of a combined result set with the list of its members.
MEMBERS = "_flent_aqm_members"


def members_of(results: Any) -> list[Any]:
    """Return the result sets from which Flent's result set `results` was combined, or [results] if
    none are recorded (MEMBERS), as for the result set of a data file."""
    members: list[Any] = results.__dict__.get(MEMBERS) or [results]
    return members


# A title has no room for more names of tests.
MOST_NAMED = 4


def description_of(results: Sequence[Any], own: str) -> str:
    """Return the text on the test for a plot's title: the different names of tests, sorted, with
    commas between them, if there are at least two; "6 tests" if there are more than four
    (MOST_NAMED); else `own`.

    Args:
        results: Flent's result sets of the plot, of which combined ones stand for their members.
        own: Flent's description of the first result set's test.
    """
    names = sorted({str(member.meta("NAME")) for one in results for member in members_of(one)})
    if len(names) < 2:
        return own
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} tests"
