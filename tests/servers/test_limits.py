# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of addresses that have flooded the servers."""

from __future__ import annotations

import pytest

from flent_aqm.servers import limits
from flent_aqm.servers.limits import Quiet


def test_address_that_floods_again_is_the_newest_of_a_full_list(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes no other's place, and others go first."""
    monkeypatch.setattr(limits, "_MOST_QUIET", 3)
    quiet = Quiet()
    for host in ("a", "b", "c", "a"):
        quiet.add(host)
    assert [host for host in "abcd" if host in quiet] == ["a", "b", "c"]
    quiet.add("d")
    assert [host for host in "abcd" if host in quiet] == ["a", "c", "d"]
