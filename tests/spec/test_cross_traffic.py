# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of cross_traffic, and what each makes of a run."""

from __future__ import annotations

import re

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.cross_traffic import FORM, KINDS, kind_of, parse_cross_traffic
from flent_aqm.spec.needs import needs_of_run, refuse_servers_behind_ssh
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("value", "parsed"), [
    ("0", False), ("no", False), (False, False), ("1", True), ("On", True), (True, True),
    ("bulk", True), ("call", "call"), ("Video", "video"), ("web", "web")])
def test_old_words_mean_what_they_meant(value: object, parsed: bool | str) -> None:
    """Bulk is what there was, so its runs are the same runs as ever; and what a batch may say
    a data file may bring."""
    assert parse_cross_traffic("cross_traffic", value) == parsed
    assert Scenario.from_settings({"cross_traffic": value}).as_dict()["cross_traffic"] == parsed
    assert re.fullmatch(FORM, str(value))


def test_unknown_kind_is_refused_with_the_known_ones() -> None:
    """One line."""
    with pytest.raises(ConfigError, match="'vidoe' is no kind of cross traffic; expected "
                       r"yes or no \(or true, on, 1, or false, off, 0\), or bulk, call, video, "
                       "web, quic; did you mean 'video'"):
        parse_cross_traffic("cross_traffic", "vidoe")


def test_kind_survives_the_way_into_the_guest() -> None:
    """And makes another run, with another seed."""
    scenario = Scenario.from_settings({"cross_traffic": "call"})
    assert Scenario.from_json(scenario.as_json()) == scenario
    assert scenario.identity() != Scenario().but(cross_traffic=True).identity()


@pytest.mark.parametrize(("kind", "servers", "tools"), [
    ("no", ("irtt", "ndt7-cleartext"), ("ndt7-client",)),
    ("yes", ("irtt", "ndt7-cleartext", "iperf3"), ("ndt7-client", "iperf3")),
    ("call", ("irtt", "ndt7-cleartext", "irtt-call"), ("ndt7-client", "irtt")),
    ("web", ("irtt", "ndt7-cleartext", "fetch"), ("ndt7-client",))])
def test_only_the_servers_of_the_kind_are_started(
    kind: str, servers: tuple[str, ...], tools: tuple[str, ...]
) -> None:
    """Bulk's are those that the test names."""
    needs = needs_of_run("ndt7", Scenario.from_settings({"cross_traffic": kind}), {})
    assert (needs.servers, needs.tools) == (servers, tools)


@pytest.mark.parametrize(("test", "settings", "parameters", "key"), [
    ("ndt7", {"cross_traffic": "quic"}, {}, "cross_traffic: quic"),
    ("ndt7", {"ndt7_server": "mlab"}, {"ndt7_tls": "yes"}, "ndt7_server: mlab"),
    ("quic_download", {}, {}, "the test"),
    ("responsiveness", {"cross_traffic": "call"}, {"http_version": "3"}, "http_version: 3")])
def test_server_that_ssh_cannot_start_is_refused(
    test: str, settings: dict[str, str], parameters: dict[str, object], key: str
) -> None:
    """And only there, by the name of what asks for it."""
    here = Scenario.from_settings(settings)
    refuse_servers_behind_ssh(needs_of_run(test, here, parameters), here)
    there = here.but(testbed="ssh://root@192.0.2.1",
                    server_testbed="ssh://root@198.51.100.9")
    with pytest.raises(ConfigError, match=f"{key} needs the server .* can't start on "
                                          "server_testbed"):
        refuse_servers_behind_ssh(needs_of_run(test, there, parameters), there)


def test_no_cross_traffic_has_no_kind() -> None:
    """True is bulk."""
    assert kind_of(False) is None
    assert kind_of(True) is KINDS["bulk"]
