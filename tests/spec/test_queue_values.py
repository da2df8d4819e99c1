# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of queues' parameters, as tc prints them."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.queues.values import (
    Overhead,
    Reader,
    between,
    count_to,
    fraction,
    mask,
    number,
    percent,
    power_of_two,
    rate_bytes_per_s,
    selector,
    size_bytes,
    time_ns,
    time_or_packets,
    time_us,
    whole,
)
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


@pytest.mark.parametrize(("read", "texts", "message"), [
    (rate_bytes_per_s, ("20 mbit", "20Mbit/s", "2MBps", "20", "9" * 16 + "bit"),
     r"^expected a rate .*below 34359738360bit .*; units: bit, kbit, mbit, "),
    (size_bytes, ("1TB", "1kbit", "4g", "15 KB", "9" * 16),
     r"^expected a size .*below 4 GB, .*; units: k, kb, m, mb, g, gb \(powers of 1024\), b or "),
    (time_us, ("4295s", "5m", "5 ms", "9" * 16 + "us"),
     r"^expected a time of 4294\.967295 s at most with its unit .*; units: s, sec, .*, usecs$"),
    (time_ns, ("5s", "5m", "5 ns", "4294967296ns", "0"),
     r"^expected a time of 4\.294967295 s at most with its unit .*; units: ns, nsec, .*, usecs$")])
def test_number_that_is_refused_is_told_its_units_and_limit(
        read: Reader, texts: tuple[str, ...], message: str) -> None:
    """Whatever is wrong: a number of many digits is refused by its form."""
    for text in texts:
        with pytest.raises(ConfigError, match=message):
            read(text)


@pytest.mark.parametrize("read", [
    whole, count_to(9999), power_of_two(2048), percent, between(0, 9999), Overhead(-64, 256, {})])
@pytest.mark.parametrize("text", ["010", "08", "00", "00000000010"])
def test_whole_number_with_zeros_before_it_is_refused(read: Reader, text: str) -> None:
    """tc takes 010 for 8."""
    with pytest.raises(ConfigError, match=r"^expected "):
        read(text)


@pytest.mark.parametrize(("aqm", "key", "text"), [
    ("codel", "aqm_limit", "010"), ("dualpi2", "aqm_coupling_factor", "01"),
    ("cake", "aqm_overhead", "-018"), ("cake", "aqm_mpu", "064")])
def test_zeros_before_a_parameter_are_told_with_the_reason(aqm: str, key: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{key}: '{text}' for {aqm}: expected a whole number "
                                          r"without zeros before it, because tc takes it as octal"):
        Scenario.from_settings({"aqm": aqm, key: text})


@pytest.mark.parametrize(("read", "before", "unit"), [
    (whole, "", ""), (count_to(99), "", ""), (power_of_two(64), "", ""), (percent, "", ""),
    (between(0, 99), "", ""), (Overhead(-64, 256, {}), "", ""), (Overhead(-64, 256, {}), "-", ""),
    (time_or_packets, "", "p"), (time_us, "", "ms"), (size_bytes, "", "kb"), (number, "", ""),
    (fraction, "0.", ""), (rate_bytes_per_s, "", "mbit")])
def test_digits_of_other_scripts_are_refused(read: Reader, before: str, unit: str) -> None:
    """Python takes them for numbers, and tc doesn't."""
    read(f"{before}1{unit}")
    for one in "\u0661\u0967\uff11":
        with pytest.raises(ConfigError):
            read(f"{before}{one}{unit}")
