# SPDX-License-Identifier: GPL-3.0-or-later
"""Overrides of keys that the matrix varies."""

from __future__ import annotations

import pytest

from flent_aqm.bridge.overrides import keys_and_values, restore_zeros, restrict

ARGS: dict[str, dict[str, object]] = {
    "codel": {"aqm": "codel"}, "sfq": {"aqm": "sfq"},
    "off": {"burst_shaping": "0"}, "on": {"burst_shaping": "1"},
}
LISTS = [["codel", "sfq"], ["off", "on"]]


def test_restrict_keeps_the_arguments_with_the_value() -> None:
    """What no override speaks of stays as it is."""
    assert restrict(LISTS, dict(ARGS), {"aqm": "sfq", "other": 1}) == [["sfq"], ["off", "on"]]


def test_restrict_takes_flents_booleans_for_switches() -> None:
    """Flent makes True and False of yes and no."""
    assert restrict(LISTS, dict(ARGS), {"burst_shaping": True})[1] == ["on"]
    assert restrict(LISTS, dict(ARGS), {"burst_shaping": "off"})[1] == ["off"]


def test_restrict_makes_an_argument_for_a_new_value() -> None:
    """A value that no argument has becomes the list's only one."""
    args = dict(ARGS)
    names = restrict(LISTS, args, {"aqm": "pie"})[0]
    assert len(names) == 1
    assert args[names[0]]["aqm"] == "pie"


def test_restore_zeros_leaves_switches_alone() -> None:
    """A rate of 0 is a number, burst shaping of 0 is a no."""
    overrides: dict[str, object] = {"rate_mbps": False, "burst_shaping": False, "seed": "7"}
    restore_zeros(overrides)
    assert overrides == {"rate_mbps": "0", "burst_shaping": False, "seed": "7"}


@pytest.mark.parametrize(("text", "found"), [
    ("test_parameters=a=1;b=2", {"test_parameters": "a=1;b=2"}),
    (" Test_Parameters = a=1 ; b=2,3 ", {"Test_Parameters": "a=1 ; b=2,3"}),
    ("aqm=pie;test_parameters=a=1;b=2", {"aqm": "pie", "test_parameters": "a=1;b=2"}),
    ("test_parameters='a=1;b=2'", {"test_parameters": "a=1;b=2"}),
    ("test_parameters=\"'a=1;b=2'\"", {"test_parameters": "a=1;b=2"}),
    ("test_parameters=", {"test_parameters": ""}),
    ("aqm=codel; rate_mbps=5", {"aqm": "codel", "rate_mbps": "5"}),
    ("router_model=omnia+cores=2", {"router_model": "omnia+cores=2"}),
    ("aqm=pie; client_model = 'ideal+rx_packet_ns=5' ;rate_mbps=5;test_parameters=router_model=1",
     {"aqm": "pie", "client_model": "ideal+rx_packet_ns=5", "rate_mbps": "5",
      "test_parameters": "router_model=1"}),
])
def test_values_with_equals_signs_are_read_as_typed(text: str, found: dict[str, str]) -> None:
    """Test parameters take all that follows, a model what is before the next ;, and Flent's own
    reader the rest."""
    from flent.util import keyval

    assert keys_and_values(keyval, text) == found
