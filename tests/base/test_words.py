# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in sentences."""

from __future__ import annotations

import pytest

from flent_aqm.base.words import significant


@pytest.mark.parametrize(("value", "digits", "text"), [
    (31.42, 3, "31.4"), (1000.0, 3, "1000"), (1234.5, 3, "1230"), (12_345_678.0, 2, "12000000"),
    (0.01234, 3, "0.0123"), (0.0, 3, "0"), (-1999.0, 2, "-2000"), (999.96, 3, "1000"),
    (5.0, 2, "5")])
def test_number_has_its_significant_digits_and_no_exponent(
        value: float, digits: int, text: str) -> None:
    assert significant(value, digits) == text
