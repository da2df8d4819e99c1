# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of Flent's settings that a data file may give."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.flent_settings import as_words, check_from_data


@pytest.mark.parametrize("version", [4, 6])
def test_ip_version_becomes_an_option(version: int) -> None:
    check_from_data({"IP_VERSION": version})
    assert as_words({"IP_VERSION": version}) == [f"-{version}"]


@pytest.mark.parametrize("version", [4.0, 6.0, 5, True, "4", None])
def test_ip_version_of_another_kind_is_refused(version: object) -> None:
    """Flent has no option -4.0."""
    with pytest.raises(ConfigError, match=r"^IP_VERSION: "):
        check_from_data({"IP_VERSION": version})


@pytest.mark.parametrize(("settings", "why"), [
    ({"LOCAL_BIND": "::1"}, "if you trust it, .* or by flent with --local-bind"),
    ({"TEST_PARAMETERS": {"cmd": "rm"}}, "if you trust it, .* with --test-parameter")])
def test_what_is_not_accepted_is_told_with_what_to_do(
        settings: dict[str, object], why: str) -> None:
    """A user may trust the file."""
    with pytest.raises(ConfigError, match=f"it could do harm; {why}$"):
        check_from_data(settings)


@pytest.mark.parametrize(("settings", "expected"), [
    ({"LENGTH": 100_000}, r"^LENGTH: 100000 is not accepted .* expected a number from 1 to 86400;"),
    ({"IP_VERSION": 5}, r"expected 4 or 6; .* with -4 or -6$"),
    ({"HOSTS": ["192.0.2.1"]}, r"^HOSTS: \['192.0.2.1'\] .* a list, each element the name"),
    ({"TEST_PARAMETERS": {"ndt7_client": "x"}}, "'x' is not accepted .*; expected crate or mlab;"),
    ({"TEST_PARAMETERS": {"streams": "2 -x"}}, "expected a whole number from 1 to 9999;")])
def test_message_on_a_refused_value_says_what_is_accepted(
        settings: dict[str, object], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        check_from_data(settings)
