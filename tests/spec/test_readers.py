# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of batch keys: what the user wrote is what a message shows."""

from __future__ import annotations

import re

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.flow_groups import groups_from
from flent_aqm.spec.keys import refuse_unused_rates
from flent_aqm.spec.readers import number, one_of
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("value", "words"), [
    (True, "x: yes, on and true are no numbers; give the number alone, in ms"),
    (False, "x: no, off and false are no numbers; give the number alone, in ms"),
    ("", "x: '' is not a number; give the number alone, in ms"),
    ("10 ms", "x: '10 ms' is not a number; give the number alone, in ms"),
    ("nan", "x: 'nan' is not a finite number; give it in ms"),
    ("1e999", "x: '1e999' is not a finite number")])
def test_value_that_is_no_number_is_shown_as_it_was_written(value: object, words: str) -> None:
    """Flent makes True of `yes`, which the user never sees."""
    with pytest.raises(ConfigError, match=f"^{words}"):
        number("x", value, "ms")


@pytest.mark.parametrize(("value", "found"), [("1", 1.0), (1, 1.0), (" 2.5 ", 2.5), ("-3", -3.0)])
def test_number_or_its_text_is_a_number(value: object, found: float) -> None:
    assert number("x", value, "ms") == found


@pytest.mark.parametrize(("value", "words"), [
    (False, "x: no, off and false are no values of this key; known: htb, none"),
    (True, "x: yes, on and true are no values of this key; known: htb, none"),
    ("False", "x: unknown value 'False'; known: htb, none")])
def test_choice_that_is_none_is_shown_as_it_was_written(value: object, words: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        one_of("x", value, ("htb", "none"))
    assert str(refusal.value) == words


@pytest.mark.parametrize(("settings", "words"), [
    ({"seed": False}, "seed: no, off and false are no values of this key; expected a whole number"),
    ({"client_program": True}, "client_program: yes, on and true are no values of this key; "),
    ({"dev_up": True}, "dev_up: yes, on and true are no values of this key; expected a name"),
    ({"testbed": True}, "testbed: yes, on and true are no values of this key; expected virtual"),
    ({"server_testbed": False}, "server_testbed: no, off and false are no values of this key; "),
    ({"topology": False}, "topology: no, off and false are no values of this key; expected a top"),
    ({"tx_queues": False}, "tx_queues: no, off and false count as 0, which is not a whole number")])
def test_word_for_a_switch_is_shown_as_it_was_written(settings: dict[str, object], words: str
                                                      ) -> None:
    with pytest.raises(ConfigError) as refusal:
        Scenario.from_settings(settings)
    assert str(refusal.value).startswith(words)


@pytest.mark.parametrize(("settings", "words"), [
    ({"modem_mbps": False}, r"in Mbit/s; leave the key out or empty for none$"),
    ({"modem_up_mbps": "0"}, (r"^modem_up_mbps: 0 .*, or neither: for none, leave out the "
                               "keys of both and modem_mbps$")),
    ({"modem_mbps": "0.01"}, r"expected 0\.064 to 40000$"),
    ({"dest2_delay_ms": "no"}, r"in ms; leave the key out or empty for none$"),
    ({"link_loss": False}, r"; leave the key out or empty for none$"),
    ({"base_delay_ms": False}, r"in ms$"),
    ({"rate_mbps": "0"}, r"^rate_mbps: 0 .*; for no limit give shaper = none$"),
    ({"rate_up_mbps": "off"}, r"^rate_up_mbps: .*; for no limit give shaper = none$"),
    ({"rate_mbps": "-1"}, r"expected 0\.064 to 40000, or 1% to 100% of the modem's rate$")])
def test_word_for_none_is_told_how_to_have_none(settings: dict[str, object], words: str) -> None:
    """A value that is wrong for another reason isn't."""
    with pytest.raises(ConfigError, match=words):
        Scenario.from_settings(settings)


@pytest.mark.parametrize(("settings", "words"), [
    ({"testbed": "ssh://my_router"}, r"known: .*\(names of letters, digits, - and \."),
    ({"server_testbed": "ssh://fd00::1"}, r"or an IPv6 address in brackets\)$"),
    ({"dev_down": ".eth0"}, r"such as eth0, the first no \. @ or -$"),
    ({"client_program": "'' x"}, "the first word a program"),
    ({"client_program": "a\tb"}, r"has the control character '\\t' at place 2; .* with blanks"),
    ({"client_program": "a" * 4097}, "has 4097 characters; expected 4096 at most")])
def test_refused_value_does_not_have_the_form_that_is_told(settings: dict[str, object], words: str
                                                           ) -> None:
    with pytest.raises(ConfigError, match=words):
        Scenario.from_settings(settings)


@pytest.mark.parametrize("text", ["{", "[]"])
def test_scenario_that_is_no_object_names_its_variable(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^FLENT_AQM_SCENARIO: .* is not a JSON object; leave"):
        Scenario.from_json(text)


@pytest.mark.parametrize(("value", "place"), [
    ("a ;", 2), ("a ; ; b", 2), ("a ; ''", 2), ("a ; '' b", 2), (r"find . -exec x {} \;", 2),
    ("a ; b ; " + "c " * 40 + "; ; d", 4)])
def test_empty_command_among_others_is_refused(value: str, place: int) -> None:
    """Quoted or not, and also where it is too far back to be shown."""
    with pytest.raises(ConfigError, match=r"^server_program: .* has an empty command at place "
                                          rf"{place}; .* where a quoted ; counts, too$"):
        Scenario.from_settings({"server_program": value})


@pytest.mark.parametrize(("settings", "words"), [
    ({"kernel": True}, "^kernel: yes, on and true are no values of this key; expected the name of"),
    ({"tx_queues": "5.0"}, "from 1 to 16, in digits alone without zeros before it$"),
    ({"tx_queues": "17"}, "from 1 to 16$"),
    ({"modem_up_mbps": "5"}, "^modem_up_mbps: modem_down_mbps is missing beside it; give both"),
    ({"modem_down_mbps": "5"}, "^modem_down_mbps: modem_up_mbps is missing beside it; give both"),
    ({"reorder_ms": "5", "dest2_delay_ms": "10001"}, "dest2_delay_ms = 10001, only with 10000"),
    ({"aqm": "Foo", "kernel": "mine"}, ", or the name of a qdisc of your kernel: up to 15 lower"),
    ({"topology": "parking_lot:2+nat"}, r"takes no words; leave '\+nat' out$")])
def test_message_names_what_is_wrong_and_what_is_allowed(
        settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Scenario.from_settings(settings)


def test_rate_without_a_shaper_counts_for_red() -> None:
    """RED's thresholds follow from it."""
    refuse_unused_rates("lab", Scenario().but(shaper="none", aqm="red"), ["rate_mbps"])
    with pytest.raises(ConfigError, match="rate_mbps has no effect with shaper = none"):
        refuse_unused_rates("lab", Scenario().but(shaper="none", aqm="codel"), ["rate_mbps"])


@pytest.mark.parametrize(("text", "why"), [
    ("1xcubic@0-61", "ends at 61 s; expected a time within the load of 60 s"),
    ("1xcubic@40-20", "lasts -20 s, from 40 s to 20 s of the load; expected 1 s or more"),
    ("129xcubic", "has 129 flows; expected 128 at most"),
    ("+".join(["1xcubic"] * 9), "^flows: 9 groups; expected 8 at most"),
    ("1xCubic", "^flows: '1xCubic' is not understood")])
def test_refused_flows_are_told_which_bound_they_exceed(text: str, why: str) -> None:
    faults: list[str] = []
    groups_from(text, 60, faults.append)
    assert len(faults) == 1
    assert re.search(why, faults[0])
