# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of batch keys: what the user wrote is what a message shows."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.readers import number, one_of
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("value", "words"), [
    (True, "x: yes, on and true are no numbers; give it in ms"),
    (False, "x: no, off and false are no numbers; give it in ms"),
    ("", "x: '' is not a number; give it in ms"), ("1,5", "x: '1,5' is not a number"),
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


@pytest.mark.parametrize("value", ["a ;", "a ; ; b", "a ; ''", "a ; '' b"])
def test_empty_command_among_others_is_refused(value: str) -> None:
    """Quoted or not."""
    with pytest.raises(ConfigError, match=r"^server_program: .* has an empty command"):
        Scenario.from_settings({"server_program": value})
