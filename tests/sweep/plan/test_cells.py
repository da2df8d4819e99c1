# SPDX-License-Identifier: GPL-3.0-or-later
"""What a batch section becomes as a cell, and what is refused of it before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.cell import PROGRAM, ROUTER_COMMAND, Cell, derive_seed
from flent_aqm.spec.flent_settings import SETTINGS
from flent_aqm.spec.scenario import Scenario
from flent_aqm.sweep.plan.cells import add_cross_traffic_parameter, make_cell

DEFAULTS: Mapping[str, object] = {**dict.fromkeys(SETTINGS), "HOSTS": [], "LENGTH": 60,
                                  "TEST_PARAMETERS": {}, "SOCKET_STATS": False}
PARSER = SimpleNamespace(get_default=DEFAULTS.__getitem__)
ALONE = "client-lan, lan-router, router-server"


def made(test: str, section: Mapping[str, object], commands: Iterable[Mapping[str, Any]] = (),
         **settings: Any) -> Cell:
    """The cell of a section, with Flent's settings as by default but for some."""
    all_settings = SimpleNamespace(**{
        **DEFAULTS, "NAME": test, "DATA_FILENAME": "run", "BATCH_NAME": "mine",
        "BATCH_TIME": datetime(2026, 11, 25, 2, 3, 4, 5000, UTC), "BATCH_UUID": "uuid",
        "BATCH_TITLE": "all", "TITLE": "one", "NOTE": "", "TOTAL_LENGTH": 70, **settings})
    return make_cell({"test_name": test, "testbed": "virtual", **section}, all_settings, commands,
                     Path("results"), PARSER)


def test_cell_has_what_differs_from_flents_defaults() -> None:
    """A setting with its default is left out, also one that is off."""
    cell = made("rrul", {"rate_mbps": "20"}, LENGTH=5, HOSTS=["server"])
    assert cell.settings == {"HOSTS": ["server"], "LENGTH": 5}
    assert (cell.name, cell.folder, cell.test_name, cell.length_s) == (
        "run", Path("results"), "rrul", 70)
    assert cell.commands == ROUTER_COMMAND
    assert cell.scenario.router.rate_up_mbps == 20
    assert cell.metadata == {
        "BATCH_NAME": "mine", "BATCH_TIME": "2026-11-25T02:03:04.005000Z", "BATCH_UUID": "uuid",
        "BATCH_TITLE": "all", "TITLE": "one", "NOTE": ""}


@pytest.mark.parametrize(("section", "is_kept"), [
    ({}, False), ({"debug_log": "no"}, False), ({"debug_log": "yes"}, True),
    ({"debug_log": True}, True)])
def test_tools_log_is_kept_only_if_the_batch_asks_for_it(
        section: dict[str, object], is_kept: bool) -> None:
    assert made("rrul", section).debug_log is is_kept


def test_seed_is_derived_only_in_virtual_time_and_only_without_one() -> None:
    """In real time nothing could repeat a run; the repetition makes another seed."""
    seeds = {number: made("rrul", {"repetition": number}).scenario.lab.seed
             for number in ("01", "02")}
    assert seeds == {number: derive_seed("rrul", Scenario.from_settings({}), number)
                     for number in seeds}
    assert seeds["01"] != seeds["02"]
    assert made("rrul", {"seed": "7"}).scenario.lab.seed == 7
    assert made("rrul", {"testbed": "netns"}).scenario.lab.seed is None


@pytest.mark.parametrize(("test", "section", "parameters"), [
    ("ndt7", {"cross_traffic": "1"}, "cross_traffic=1"),
    ("ndt7", {"cross_traffic": "1", "test_parameters": "a=2;b=3"}, "cross_traffic=1;a=2;b=3"),
    ("ndt7", {"test_parameters": "a=2"}, "a=2"),
    ("ndt7", {}, None),
    ("rrul", {"cross_traffic": "1"}, None),  # Flent's own has no such parameter
    ("rrul", {"cross_traffic": "1", "test_parameters": "a=2"}, "a=2"),
    ("rrul", {}, None)])
def test_cross_traffic_is_a_parameter_of_this_packages_tests(
        test: str, section: dict[str, str], parameters: str | None) -> None:
    section = {"test_name": test, **section}
    add_cross_traffic_parameter(section)
    assert section.get("test_parameters") == parameters


@pytest.mark.parametrize("value", [True, False])
def test_command_of_which_flent_makes_a_switch_is_refused(value: bool) -> None:
    """The commands true and false: Flent itself would crash in the run."""
    with pytest.raises(ConfigError, match=r"^batch mine, command 1: exec: Flent reads a val"):
        made("rrul", {}, [{"exec": value, "type": "pre"}])


TRAFFIC = "test_parameters: cross_traffic is given more than once"


@pytest.mark.parametrize(("test", "section", "settings", "fault"), [
    (PROGRAM, {"client_program": "true"}, {}, None),
    ("rrul", {}, {"IP_VERSION": 6}, None),
    ("rrul", {}, {"IP_VERSION": 5}, "ip_version: 5; expected 4 or 6"),
    (PROGRAM, {}, {}, "test program needs the key client_program"),
    ("ndt7", {"client_program": "true"}, {}, "client_program is run by the test program, not"),
    ("rrul", {"cross_traffic": "1"}, {}, "test rrul can't run cross traffic"),
    ("ndt7", {"cross_traffic": "1", "test_parameters": "cross_traffic=1"}, {}, None),
    ("ndt7", {"test_parameters": "a=1; cross_traffic =1;cross_traffic=0"}, {}, TRAFFIC),
    ("ndt7", {"test_parameters": "not_cross_traffic=1;cross_traffic=1"}, {}, None),
    ("ndt7", {}, {"TEST_PARAMETERS": {"steams": "4"}}, "unknown test parameter 'steams'"),
    ("rrul", {}, {"TEST_PARAMETERS": {"steams": "4"}}, None),  # Flent's read what nobody lists
    ("ndt7", {}, {"AQM_REFUSED": ["streams: '0' is too few"]},
     "streams: '0' is too few"),
    ("own_test", {}, {"AQM_REFUSED": ["own_test: no file is named"]}, "own_test: no file"),
    ("aqm_flows", {}, {"TEST_PARAMETERS": {"rates_mbps": "10,5"}}, None),
    ("aqm_flows", {}, {"TEST_PARAMETERS": {"rates_mbps": "10,0"}}, "'10,0' every '20' s is not"),
    ("aqm_flows", {"shaper": "tbf"}, {"TEST_PARAMETERS": {"rates_mbps": "10,5"}},
     "rates_mbps: can't be used with shaper = tbf; expected shaper = htb with one tier"),
    ("aqm_flows", {"tiers": "3"}, {"TEST_PARAMETERS": {"rates_mbps": "10,5"}},
     "rates_mbps: can't be used with tiers = 3; expected"),
    ("aqm_flows", {"burst_shaping": "1"}, {"TEST_PARAMETERS": {"rates_mbps": "10,5"}},
     "rates_mbps: can't be used with burst_shaping; expected"),
    ("rrul", {"title": "${moon}"}, {}, r"title contains \$\{moon\}"),
    ("rrul", {"rate_mbps": "${moon}"}, {}, r"rate_mbps contains \$\{moon\}, which no argument"),
    ("program", {"client_program": "ls ${HOME}"}, {},
     r"client_program contains \$\{HOME\}, .* give the value itself, .*, or start a shell \(sh -"),
    ("rrul", {"link_trace": "${HOME}/x"}, {},
     "link_trace contains .* give the value itself, because the .* not read here$"),
    ("rrul", {"title": "${moon"}, {}, r"title contains \$\{moon, which has no \} at its end; add"),
    ("aqm_flows", {"dest2_delay_ms": "5"}, {
        "HOSTS": ["dest2"], "TEST_PARAMETERS": {"flows": "server:1xcubic"}}, None),
    ("aqm_flows", {}, {"HOSTS": ["client"], "TEST_PARAMETERS": {"flows": "client:1xcubic"}},
     "client would send to itself, the host of the test"),
])
def test_section_that_the_test_cannot_run_is_refused(
        test: str, section: dict[str, object], settings: dict[str, Any], fault: str | None
) -> None:
    """The message names the batch. None: it is accepted."""
    if fault is None:
        assert made(test, section, **settings).test_name == test
        return
    with pytest.raises(ConfigError, match=(
            f"^(batch mine: (test_parameters: .*)?|--test-parameter: .*){fault}")):
        made(test, section, **settings)


@pytest.mark.parametrize(("section", "hosts", "fault"), [
    ({}, ["server", "client", "router", "localhost", "192.0.2.1", "2001:db8::1"], None),
    ({}, ["server", "moon"], ("there is no host 'moon' in this testbed; expected one of client, "
                              "router, server, localhost, or an IP address$")),
    ({}, ["srv"], r"there is no host 'srv' in this testbed; did you mean 'server'\?; expected "),
    ({"dest2_delay_ms": "30"}, ["moon"], ".* one of client, router, server, dest1, dest2"),
    ({}, ["192.0.2.256"], r"there is no host '192\.0\.2\.256'"),
    ({}, ["dest1"], "dest1 exists only with a second server, which the key dest2_delay_ms adds"),
    ({}, ["dest2"], "dest2 exists only with a second server"),
    ({"dest2_delay_ms": "30"}, ["dest1", "dest2", "server"], None),
    ({"testbed": "netns"}, ["moon"], "there is no host 'moon'"),
    ({"testbed": "ssh://root@192.0.2.9"}, ["moon"], None),  # a name that only the net knows
    ({"topology": ALONE}, ["server", "router", "localhost", "192.0.2.1"], None),
    ({"topology": ALONE}, ["dest1"], (
        f"'dest1' is not in the topology {ALONE}; expected one .*, localhost, or an IP address$")),
])
def test_hosts_are_those_of_the_testbed(
        section: dict[str, object], hosts: list[str], fault: str | None) -> None:
    """None: they are accepted."""
    if fault is None:
        assert made("rrul", section, HOSTS=hosts).settings["HOSTS"] == hosts
        return
    with pytest.raises(ConfigError, match=f"^batch mine: hosts: {fault}"):
        made("rrul", section, HOSTS=hosts)


def test_flows_to_a_host_that_is_not_there_are_refused() -> None:
    """They name their hosts in a parameter; those of another machine nobody knows here."""
    flows = {"flows": "1xreno/moon"}
    with pytest.raises(ConfigError, match=r"^batch mine: test_parameters: .*moon"):
        made("aqm_flows", {}, TEST_PARAMETERS=flows)
    assert made("aqm_flows", {"testbed": "ssh://root@192.0.2.9"}, TEST_PARAMETERS=flows)


def test_command_with_an_unknown_name_is_told_by_its_number() -> None:
    """Counted from 1, in the batch's order."""
    with pytest.raises(ConfigError, match=r"^batch mine, post command 2: exec contains \$\{moon"):
        made("rrul", {}, [{"exec": "true", "type": "pre"},
                          {"exec": "echo ${moon}", "type": "post", "name": "${other}"}])
