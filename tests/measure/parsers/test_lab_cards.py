# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's text on network cards, as another version's kernel may write it."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.measure.parsers.lab_cards import parse_cards, parse_probes


@pytest.mark.parametrize("text", ["", "soon\n", "12\neth0 sent=1\n"])
def test_list_of_another_form_asks_for_the_kernels_version(text: str) -> None:
    """A kernel that FLENT_AQM_KERNEL names may be of another version."""
    with pytest.raises(ParseError, match=r"another form than expected .* unset FLENT_AQM_KERNEL$"):
        parse_cards(text)


def test_probes_of_another_kernel_are_told_with_what_to_do() -> None:
    """As its cards are."""
    with pytest.raises(ParseError, match=r"7 whole numbers: was .* unset FLENT_AQM_KERNEL$"):
        list(parse_probes("eth0 1 2\n"))
