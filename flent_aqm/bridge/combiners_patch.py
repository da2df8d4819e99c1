# SPDX-License-Identifier: GPL-3.0-or-later
"""Which result sets Flent's combined ones were made of: results/combined.py tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Any

from flent_aqm.results.combined import MEMBERS


def patch(module: Any) -> None:
    """Patch flent.combiners: those that make one result set of each group."""
    for name in ("GroupsCombiner", "GroupsPointsCombiner", "GroupsConcatCombiner"):
        _patch_one(getattr(module, name))


def _patch_one(combiner: Any) -> None:
    stock = combiner.group

    @wraps(stock)
    def group(self: Any, groups: Mapping[str, Sequence[Any]], config: Any) -> Any:
        made = stock(self, groups, config)
        if len(made) == len(groups):
            for one, members in zip(made, groups.values(), strict=True):
                one.__dict__[MEMBERS] = list(members)
        return made

    combiner.group = group
