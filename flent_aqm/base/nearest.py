# SPDX-License-Identifier: GPL-3.0-or-later
"""The known name that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the end of an error message about an unknown name: "; did you mean 'x'?", or ""
    where no known one is like it."""
    import difflib  # here, as only a mistake needs it

    # A unit left out, such as `rate` for rate_mbps, is a common mistake, and far from near.
    names = sorted(names)
    close = difflib.get_close_matches(name, names, 1) or [
        one for one in names if one.startswith(f"{name}_")]
    return f"; did you mean {close[0]!r}?" if close else ""
