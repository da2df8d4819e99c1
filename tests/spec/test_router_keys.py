# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of the router that depend on each other."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("value", "up_aqm", "parameters"), [
    ("no", "fq_codel", (("ecn", "no"),)), (False, "fq_codel", (("ecn", "no"),)),
    ("yes", "fq_codel", (("ecn", "yes"),)), ("", None, ())])
def test_parameter_of_the_upload_alone_counts_also_if_it_is_no(
        value: object, up_aqm: str | None, parameters: tuple[tuple[str, str], ...]) -> None:
    """Only an empty value is none."""
    router = Scenario.from_settings({"aqm": "fq_codel", "up_aqm_ecn": value}).router
    assert (router.up_aqm, router.up_aqm_parameters) == (up_aqm, parameters)


@pytest.mark.parametrize("kernel", ["stock", "mine"])
@pytest.mark.parametrize("key", ["aqm", "up_aqm"])
def test_switch_is_no_queue(key: str, kernel: str) -> None:
    """Flent makes True and False of its words. `up_aqm = no` gave the upload the download's."""
    for word in (True, False):
        with pytest.raises(ConfigError, match=f"{key}: .*are no values of this key"):
            Scenario.from_settings({"aqm": "codel", "kernel": kernel, key: word})
    with pytest.raises(ConfigError, match="is not a set of parameters"):
        Scenario.from_settings({"aqm": "codel", "aqm_parameters": False})
