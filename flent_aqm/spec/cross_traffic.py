# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the kinds of cross traffic (other traffic on the line during a test) and their tools."""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.switch import OFF, ON, SWITCH_WORDS, switch
from flent_aqm.tools.table import TOOLS
from flent_aqm.tools.tool import Tool

BULK = "bulk"
# Name of the kind -> tool that makes it.
KINDS: Mapping[str, Tool] = {
    tool.cross.word: tool for tool in TOOLS.values() if tool.cross is not None}
# Regular expression for the values of the test parameter.
FORM = "(?i)" + "|".join((*ON, *OFF, *KINDS))


def parse_cross_traffic(key: str, value: object) -> bool | str:
    """Return False for no cross traffic, True for the kind `bulk`, or the name of another kind in
    lower case.

    Data files of early versions have True, because bulk was the only kind.

    Args:
        key: name of the key, for the message.
        value: a word that switch() knows, such as "yes" (for `bulk`) or "no", True or False, or the
            name of a kind in any case.

    Raises ConfigError for any other value.
    """
    on = switch(value)
    if on is not None:
        return on
    name = str(value).lower()
    if name not in KINDS:
        raise ConfigError(f"{key}: {str(value)[:40]!r} is no kind of cross traffic; "
                          f"expected {SWITCH_WORDS}, or {', '.join(KINDS)}"
                          f"{did_you_mean(name, KINDS)}")
    return True if name == BULK else name


def kind_of(parsed: bool | str) -> Tool | None:
    """Return the tool that makes the cross traffic, None without cross traffic.

    parsed: a result of parse_cross_traffic().
    """
    return KINDS[BULK if parsed is True else parsed] if parsed else None
