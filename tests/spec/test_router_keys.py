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


@pytest.mark.parametrize("queues", [{}, {"tx_queues": "4"}])
def test_queue_for_several_queues_is_refused_with_a_topology(queues: dict[str, object]) -> None:
    """Whose devices have one each: neither with nor without tx_queues would it run."""
    with pytest.raises(ConfigError, match=r"^aqm: cake_mq is for devices with several queues, and "
                                          r"those of topology clients:2 have one each; choose"):
        Scenario.from_settings(
            {"aqm": "cake_mq", "shaper": "cake", "topology": "clients:2", **queues})


def test_number_of_a_topology_that_was_cut_at_its_plus_is_told_so() -> None:
    """In a topology, + separates words."""
    with pytest.raises(ConfigError, match=r"'plan_mbps=1e' in .* to 40000, written without \+$"):
        Scenario.from_settings({"topology": "subscribers:4+plan_mbps=1e+2"})
    with pytest.raises(ConfigError, match=r"to 40000$"):
        Scenario.from_settings({"topology": "subscribers:4+plan_mbps=1e"})
