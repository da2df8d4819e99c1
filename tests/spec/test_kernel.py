# SPDX-License-Identifier: GPL-3.0-or-later
"""The key `kernel`, and queues that only a kernel of the user's has."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.protocol import refuse_network_of_ours, refuse_virtual_settings
from flent_aqm.router.tc.words import leaf_words
from flent_aqm.spec.cell import derive_seed
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.queues.queue import Attachment
from flent_aqm.spec.queues.units import parse_psched
from flent_aqm.spec.scenario import Scenario

CLOCK = parse_psched("000003e8 00000040 000f4240 3b9aca00")


def test_kernel_left_out_is_the_stock_kernel() -> None:
    """And a named one comes back from the form in which tools get it."""
    assert Scenario.from_settings({"kernel": ""}) == Scenario.from_settings({}) == Scenario()
    assert Scenario.from_json(Scenario().but(kernel="mine").as_json()).lab.kernel == "mine"


def test_two_kernels_have_the_same_seed() -> None:
    """So that what differs is their doing; other settings still make another one."""
    base = Scenario().but(aqm="codel")
    assert derive_seed("ndt7", base, 1) == derive_seed("ndt7", base.but(kernel="mine"), 1)
    assert derive_seed("ndt7", base, 1) != derive_seed("ndt7", base.but(aqm="pie"), 1)


@pytest.mark.parametrize(("settings", "output"), [
    ({"kernel": "../mine"}, "kernel: '../mine' is not a valid name of a kernel"),
    ({"kernel": ".."}, "is not a valid name of a kernel"),
    ({"kernel": ".mine"}, "hyphens and _, the first a letter or digit, such as"),
    ({"kernel": "a b"}, "is not a valid name of a kernel"),
    ({"kernel": "x" * 41}, "is not a valid name of a kernel"),
    ({"aqm": "foo"}, "aqm: unknown value 'foo'; known: no_aqm"),
    ({"aqm": "foo", "kernel": STOCK}, "dualpi2; a queue of a kernel of yours needs kernel = NAME"),
    ({"aqm": "fq_kodel"}, "did you mean 'fq_codel'? Known: no_aqm"),
    ({"aqm": "fqmine"}, "dualpi2; a queue of a kernel of yours needs kernel = NAME"),
    ({"tiers": True}, "tiers: yes, on and true are no values of this key; known: 1, 3"),
    ({"aqm": "Foo;reboot", "kernel": "mine"}, "aqm: unknown value"),
    ({"up_aqm": "a/b", "kernel": "mine"}, "up_aqm: unknown value"),
    ({"aqm": "foo", "kernel": "mine", "aqm_limit": "5"}, "give it as aqm_options = limit 5"),
    ({"aqm": "foo", "kernel": "mine", "aqm_options": "limit 5\nqdisc del"}, "up to 500 characters"),
    ({"aqm": "foo", "kernel": "mine", "aqm_options": "limit $(id)"}, "up to 500 characters"),
    ({"aqm": "foo", "kernel": "mine", "aqm_options": "a " * 300 + "b"}, "up to 500 characters"),
    ({"aqm": "codel", "kernel": "mine", "aqm_options": "rtt 5ms"}, ("codel has no option "
                                                                   "'rtt'")),
])
def test_odd_values_are_refused_by_name(settings: dict[str, object], output: str) -> None:
    """They come from files and batches of anybody's, and reach file names and tc."""
    with pytest.raises(ConfigError) as refused:
        Scenario.from_settings(settings)
    assert output in str(refused.value)


def test_options_reach_tc_as_they_are() -> None:
    """Of each direction; a queue without any has its name alone."""
    scenario = Scenario.from_settings({
        "aqm": "foo", "kernel": "mine", "aqm_options": "limit 50  target 5ms", "up_aqm": "bar"})
    assert leaf_words(scenario, "down").split() == ["foo", "limit", "50", "target", "5ms"]
    assert leaf_words(scenario, "up") == "bar"
    assert queue_of("bar").report({}, Attachment(10**8, False, CLOCK, 1000)) == {}


@pytest.mark.parametrize(("option", "reported", "fits"), [
    ("limit 50", 50, True), ("limit 50", 51, False), ("limit 50", "50p", True),
    ("target 5ms", 5000, True), ("target 5ms", 4999, True), ("target 5ms", 5_000_000, True),
    ("target 5ms", 5, True), ("target 5ms", 6000, False), ("target 5ms", "5ms", True),
    ("memory 32Mb", 32 * 2**20, True), ("memory 32Mb", 32, False),
    ("ecn", True, True), ("mode fast", "fast", True), ("mode fast", "slow", False),
    ("share 10%", 10.0, True),
])
def test_what_tc_reports_fits_an_option_in_any_unit_that_tc_may_use(
    option: str, reported: object, fits: bool
) -> None:
    """Nobody here knows the option's unit."""
    possible = queue_of("foo").report(
        {"options": option}, Attachment(10**8, False, CLOCK, 1000))
    expected = possible[option.split()[0]]
    assert isinstance(expected, frozenset)
    assert (reported in expected) is fits


@pytest.mark.parametrize(("settings", "testbed", "told"), [
    ({"router_program": "true"}, "netns",
     "nothing is started on the router; leave the key out, or use testbed virtual"),
    ({"router_program": "true"}, "ssh://router",
     "nothing is started on the router; start it by hand and leave the key out, or use testbed"),
    ({"base_delay_ms": "10000.01"}, "netns",
     r"base_delay_ms: 10000\.01 ms needs .* give 10000 ms at most"),
    ({"server_program": "a", "client_program": "b"}, "netns",
     "^client_program, server_program: on testbed netns no programs .*; leave the keys out, or"),
    ({"client_program": "b"}, "netns", "^client_program: on testbed .*; leave the key out, or"),
    ({"host_moderation_us": "7"}, "netns",
     "host_moderation_us: can't be set on testbed netns, only for the cards of the virtual lab's"),
])
def test_advice_is_for_the_testbed(settings: dict[str, object], testbed: str, told: str) -> None:
    """Nobody can start a program by hand in namespaces that each run makes anew."""
    with pytest.raises(ConfigError, match=told):
        refuse_virtual_settings(testbed, Scenario.from_settings(settings))


@pytest.mark.parametrize("key", ["modem_mbps", "modem_down_mbps"])
def test_refusal_of_a_modem_has_the_key_that_was_given(key: str) -> None:
    both = {"modem_up_mbps": "4"} if key == "modem_down_mbps" else {}
    with pytest.raises(ConfigError, match=rf"^[a-z_, ]*\b{key}\b.*: flent-aqm can't set up"):
        refuse_network_of_ours(Scenario.from_settings({key: "4", **both}))


def test_real_testbeds_refuse_a_kernel_of_the_lab() -> None:
    """In one line that names the key."""
    with pytest.raises(ConfigError, match="kernel: mine is a kernel of the virtual lab"):
        refuse_virtual_settings("netns", Scenario().but(kernel="mine"))
