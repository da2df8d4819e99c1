# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the testbeds by the beginning of the batch key `testbed`, and opens them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import unknown_value
from flent_aqm.base.part import load, parts
from flent_aqm.lab.netns import NetnsTestbed
from flent_aqm.lab.protocol import Testbed
from flent_aqm.lab.virtual import VirtualTestbed
from flent_aqm.spec.testbeds import NETNS, VIRTUAL


def _open_of_part(place: str, value: str) -> Testbed:
    """Import the module of a part's testbed, and return a new testbed. Raises ConfigError if the
    testbed refuses the value.

    Args:
        place: "MODULE:NAME" of the function or class that makes the testbed from `value`.
        value: value of the batch key `testbed`.
    """
    testbed: Testbed = load(place)(value)
    return testbed


# Beginning of the value of `testbed`, up to "://" -> function that makes the testbed from the whole
# value.
TESTBEDS: dict[str, Callable[[str], Testbed]] = {
    VIRTUAL: lambda _: VirtualTestbed(),
    NETNS: lambda _: NetnsTestbed(),
    **{kind: partial(_open_of_part, place)
       for part in parts().values() for kind, place in part.testbeds.items()},
}


def open_testbed(value: str) -> Testbed:
    """Return a new testbed for a value of the batch key `testbed`, of which the text before "://"
    says which (the whole value without "://"). Nothing is started or changed yet. Raises
    ConfigError if there is no such testbed, or if it refuses the value."""
    kind = value.partition("://")[0]
    if kind not in TESTBEDS:
        known = [one if one in (VIRTUAL, NETNS) else f"{one}://[user@]host" for one in TESTBEDS]
        raise ConfigError(f"testbed: {unknown_value(value, known)}")
    return TESTBEDS[kind](value)
