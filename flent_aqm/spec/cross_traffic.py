# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of cross traffic, what else is on the line while a test runs: tools that make some."""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.switch import OFF, ON, switch
from flent_aqm.tools.table import TOOLS
from flent_aqm.tools.tool import Tool

BULK = "bulk"
KINDS: Mapping[str, Tool] = {
    tool.cross.word: tool for tool in TOOLS.values() if tool.cross is not None}
# What a test parameter may be, as a pattern.
FORM = "(?i)" + "|".join((*ON, *OFF, *KINDS))


def parse_cross_traffic(key: str, value: object) -> bool | str:
    """False for none, True for bulk, which was all there was once, or the name of another kind.

    Raises ConfigError that names the key.
    """
    on = switch(value)
    if on is not None:
        return on
    name = str(value).lower()
    if name not in KINDS:
        raise ConfigError(f"{key}: {str(value)[:40]!r} is neither a switch nor a kind of cross "
                          f"traffic; known: {', '.join(KINDS)}{did_you_mean(name, KINDS)}")
    return True if name == BULK else name


def kind_of(parsed: bool | str) -> Tool | None:
    """Return the tool of a kind, None without cross traffic."""
    return KINDS[BULK if parsed is True else parsed] if parsed else None
