# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of queues' parameters, as tc prints them."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.queues.values import mask, rate_bytes_per_s, selector
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("text", "printed"), [
    ("0", "0"), ("10", "0xa"), ("0xff", "0xff"), ("0XFF", "0xff"), ("0x0", "0"),
    ("4294967295", "0xffffffff")])
def test_mask_is_hexadecimal(text: str, printed: str) -> None:
    assert mask(text) == printed


@pytest.mark.parametrize("text", ["010", "00", "4294967296", "-1", "0x", "ff", "1 ", ""])
def test_other_masks_are_refused(text: str) -> None:
    """010 may be meant as octal."""
    with pytest.raises(ConfigError, match="expected a mask of 32 bits"):
        mask(text)


@pytest.mark.parametrize(("text", "printed"), [("1/3", "0x1/0x3"), ("0x10/255", "0x10/0xff"),
                                               ("0/0", "0/0")])
def test_selector_is_hexadecimal(text: str, printed: str) -> None:
    assert selector(text) == printed


@pytest.mark.parametrize("text", ["01/3", "1/03", "1/256", "1", "1/2/3", "/"])
def test_other_selectors_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected VALUE/MASK of eight bits"):
        selector(text)


def test_parameter_that_is_none_is_not_given() -> None:
    usual = Scenario.from_settings({"aqm": "codel"}).as_dict()
    for settings in ({"aqm_target": None}, {"aqm_parameters": {"target": None}},
                     {"aqm_target": ""}):
        assert Scenario.from_settings({"aqm": "codel", **settings}).as_dict() == usual


@pytest.mark.parametrize("text", ["20 mbit", "20Mbit/s", "2MBps", "20"])
def test_rate_that_is_refused_is_told_its_units(text: str) -> None:
    """All but the last have a unit."""
    with pytest.raises(ConfigError, match=r"^expected a rate in bits per second with its unit and "
                                          r"without a blank, .*; units: bit, kbit, mbit, "):
        rate_bytes_per_s(text)
