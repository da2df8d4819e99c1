# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of testbed by the beginning of a batch's key `testbed`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.part import load, parts
from flent_aqm.lab.netns import NetnsTestbed
from flent_aqm.lab.protocol import Testbed
from flent_aqm.lab.virtual import VirtualTestbed


def _of_part(place: str, value: str) -> Testbed:
    testbed: Testbed = load(place)(value)
    return testbed


# What stands before "://", or the whole -> what makes one from the key's whole value.
TESTBEDS: dict[str, Callable[[str], Testbed]] = {
    "virtual": lambda _: VirtualTestbed(),
    "netns": lambda _: NetnsTestbed(),
    **{kind: partial(_of_part, place)
       for part in parts().values() for kind, place in part.testbeds.items()},
}


def open_testbed(value: str) -> Testbed:
    """Return the testbed that Scenario.testbed names. Nothing is touched yet. Raises
    ConfigError."""
    kind = value.partition("://")[0]
    if kind not in TESTBEDS:
        raise ConfigError(f"testbed: {value} is not supported by this version; use "
                          f"{' or '.join(TESTBEDS)}")
    return TESTBEDS[kind](value)
