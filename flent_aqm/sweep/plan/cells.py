# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a Cell from a batch section that Flent has expanded, and from Flent's settings."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from flent_aqm.base.errors import ConfigError, about
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.cell import (
    PROGRAM,
    ROUTER_COMMAND,
    ROUTER_HOOK,
    Cell,
    derive_seed,
    refuse_unexpanded,
)
from flent_aqm.spec.definitions import our_tests
from flent_aqm.spec.flent_settings import LAB_HOSTS, SECOND_SERVER, SETTINGS
from flent_aqm.spec.flow_groups import rates_from, refuse_unknown_hosts
from flent_aqm.spec.keys import refuse_unknown_parameters
from flent_aqm.spec.readers import flag
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.testbeds import VIRTUAL
from flent_aqm.sweep.plan.arguments import SWITCHES

_CROSS_TRAFFIC = re.compile(r"(?:^|;)\s*cross_traffic\s*=")
_LOCALHOST = "localhost"
_COMMAND_KEYS = ("exec", "type", "essential", "kill")
# Attribute with the errors of a test definition that is loaded only to know its duration, see
# tests_defs/aqm_refuse.inc.
_REFUSED = "AQM_REFUSED"


def make_cell(
    section: Mapping[str, Any], settings: Any, commands: Iterable[Mapping[str, Any]],
    folder: Path, parser: Any,
) -> Cell:
    """Check a run's settings, and return it as a Cell. In the virtual lab, a run without a seed
    gets that of derive_seed().

    Args:
        section: the batch section with all arguments and the repetition in it, expanded.
        settings: Flent's settings, after they took the section's keys, the test's definition was
            loaded, and DATA_FILENAME and the data of the batch (BATCH_…) were set.
        commands: commands of the section, expanded.
        folder: folder in which the data file will be written.
        parser: Flent's argument parser.

    Raises ConfigError if a value is wrong, contains an unknown ${name}, or doesn't fit the test or
    the testbed.
    """
    where = f"batch {settings.BATCH_NAME}"
    refuse_unexpanded(where, section)
    scenario = Scenario.from_settings(section)
    if scenario.lab.seed is None and scenario.lab.testbed == VIRTUAL:
        scenario = scenario.but(seed=derive_seed(
            settings.NAME, scenario, section.get("repetition")))
    with about("client_program"):
        _check_program(where, settings.NAME, scenario)
    with about("cross_traffic"):
        _check_cross_traffic(where, scenario, section)
    with about("test_parameters"):
        # Flent adds those of its command line.
        given = f"{where}: test_parameters" if "test_parameters" in section else "--test-parameter"
        if settings.NAME in our_tests():
            refuse_unknown_parameters(given, settings.TEST_PARAMETERS)
        _check_parameters(where, given, scenario, settings)
    if settings.IP_VERSION not in (parser.get_default("IP_VERSION"), 4, 6):
        raise ConfigError(f"{where}: ip_version: {settings.IP_VERSION!r}; expected 4 or 6",
                          "ip_version")
    with about("hosts"):
        _check_hosts(where, scenario, settings)
    return Cell(
        name=settings.DATA_FILENAME,
        folder=folder,
        test_name=settings.NAME,
        scenario=scenario,
        settings=_non_default_settings(settings, parser),
        commands=_cell_commands(where, commands),
        metadata={
            "BATCH_NAME": settings.BATCH_NAME,
            "BATCH_TIME": settings.BATCH_TIME.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),  # as Flent does
            "BATCH_UUID": settings.BATCH_UUID,
            "BATCH_TITLE": settings.BATCH_TITLE,
            "TITLE": settings.TITLE,
            "NOTE": settings.NOTE,
        },
        length_s=settings.TOTAL_LENGTH,
        debug_log=flag(f"{where}: debug_log", section.get("debug_log", False)),
    )


def _cell_commands(where: str, sections: Iterable[Mapping[str, Any]]
                   ) -> dict[str, Mapping[str, str]]:
    """Return the batch's commands in the form of Cell.commands: hook1, hook2, … by their number
    among all commands, from 1 -> those of the keys exec, type, essential and kill that the command
    has, as text. The command that sets the router, recognised by its exec, is ROUTER_HOOK instead,
    with the keys of ROUTER_COMMAND. It is added as the first one, unless it is among the batch's
    commands.

    Args:
        where: names the batch in messages.
        sections: keys and values of each command, in the batch's order.

    Raises ConfigError if a value contains an unknown ${name}, or if Flent made True or False of
    `exec`.
    """
    commands: dict[str, Mapping[str, str]] = {}
    for number, command in enumerate(sections, 1):
        # Flent gives a command all keys of its batch section, but not the command's name.
        if isinstance(command.get("exec"), bool):
            raise ConfigError(f"{where}, command {number}: exec: {SWITCHES}; expected a command, "
                              "such as /bin/true", "exec")
        keys = {key: str(command[key]) for key in _COMMAND_KEYS if key in command}
        kind = f"{keys['type']} command" if "type" in keys else "command"
        refuse_unexpanded(f"{where}, {kind} {number}", keys)
        if keys.get("exec") == ROUTER_COMMAND[ROUTER_HOOK]["exec"]:
            commands |= ROUTER_COMMAND
        else:
            commands[f"hook{number}"] = keys
    return commands if ROUTER_HOOK in commands else {**ROUTER_COMMAND, **commands}


def add_cross_traffic_parameter(section: MutableMapping[str, Any]) -> None:
    """Put "cross_traffic=VALUE", with the value of the key cross_traffic, before the other test
    parameters of a batch section, in place. Nothing is changed if the section lacks the key, or if
    its test isn't one of this package.

    section: keys and expanded values, among them test_name. The test parameters are the text of its
        key test_parameters, which is added if it is missing.
    """
    if "cross_traffic" in section and section["test_name"] in our_tests():
        others = str(section.get("test_parameters", ""))
        section["test_parameters"] = (
            f"cross_traffic={section['cross_traffic']};{others}".strip("; "))


def _check_program(where: str, test_name: str, scenario: Scenario) -> None:
    """Raise ConfigError if the test is PROGRAM and the scenario has no client_program, or if it is
    another test and the scenario has one.

    Args:
        where: names the batch in messages.
        test_name: name of the test.
        scenario: settings of the testbed.
    """
    if test_name == PROGRAM and not scenario.programs.client_program:
        raise ConfigError(f"{where}: test {PROGRAM} needs the key client_program, the command to "
                          "measure on the client")
    if test_name != PROGRAM and scenario.programs.client_program:
        raise ConfigError(f"{where}: client_program is run by the test {PROGRAM}, not by "
                          f"{test_name}; give test_name = {PROGRAM}, or leave the key out")


def _check_cross_traffic(where: str, scenario: Scenario, section: Mapping[str, Any]) -> None:
    """Raise ConfigError if the scenario requests cross traffic and the test isn't one of this
    package, or if the test parameters have cross_traffic more than once.

    Args:
        where: names the batch in messages.
        section: the batch section, expanded, after add_cross_traffic_parameter().
    """
    if scenario.hosts.cross_traffic and section["test_name"] not in our_tests():
        raise ConfigError(f"{where}: test {section['test_name']} can't run cross traffic, because "
                          "it is not one of flent-aqm's tests; leave the key cross_traffic out, or "
                          "choose one of those")
    if len(_CROSS_TRAFFIC.findall(str(section.get("test_parameters", "")))) > 1:
        raise ConfigError(f"{where}: test_parameters: cross_traffic is given more than once, where "
                          "the batch's key of this name counts, too; give only the key",
                          "test_parameters")


def _check_parameters(where: str, given: str, scenario: Scenario, settings: Any) -> None:
    """Raise ConfigError for test parameters, or a test, that the test's definition would refuse
    only when the run has begun.

    Args:
        where: names the batch in messages.
        given: names in messages what gives the test parameters.
        scenario: settings of the testbed.
        settings: Flent's settings of the run.
    """
    def refuse(fault: object) -> None:
        """Raise ConfigError with this fault of the test parameters."""
        raise ConfigError(f"{given}: {fault}")

    for fault in getattr(settings, _REFUSED, ()):
        # Only the user's own test has faults of its own, such as a file that isn't named.
        if str(fault).startswith(f"{settings.NAME}: "):
            raise ConfigError(f"{where}: {fault}", "test_name")
        refuse(fault)
    parameters = settings.TEST_PARAMETERS
    rates_from(str(parameters.get("rates_mbps", "")), str(parameters.get("rate_step_s", "20")),
               scenario, refuse)


def _check_hosts(where: str, scenario: Scenario, settings: Any) -> None:
    """Raise ConfigError if a test, or its test parameter `flows`, uses a host that the testbed
    doesn't have, or that can't do what `flows` demands. Only testbeds that this package builds
    (virtual, netns) are checked. localhost and IP addresses are accepted as the test's hosts.

    Args:
        where: names the batch in messages.
        scenario: settings of the testbed.
        settings: Flent's settings of the run.
    """
    if scenario.behind_ssh:
        return
    try:
        refuse_unknown_hosts(str(settings.TEST_PARAMETERS.get("flows", "")), scenario,
                             *settings.HOSTS[:1])
    except ConfigError as fault:
        raise ConfigError(f"{where}: test_parameters: {fault}", "test_parameters") from None
    if scenario.path.topology != DUMBBELL:
        _check_topology_hosts(where, scenario, settings.HOSTS)
        return
    hosts = [host for host in LAB_HOSTS
             if host not in SECOND_SERVER or scenario.path.dest2_delay_ms is not None]
    for host in settings.HOSTS:
        if host in SECOND_SERVER and host not in hosts:
            raise ConfigError(f"{where}: hosts: {host} exists only with a second server, "
                              "which the key dest2_delay_ms adds; give it, such as dest2_delay_ms "
                              "= 30, or use the host server")
        if host not in (*LAB_HOSTS, _LOCALHOST) and not _is_address(host):
            raise ConfigError(f"{where}: hosts: there is no host {host!r} in this testbed"
                              f"{did_you_mean(host, hosts)}; expected {_one_of(hosts)}")


def _check_topology_hosts(where: str, scenario: Scenario, hosts: Iterable[str]) -> None:
    """Raise ConfigError if a host of the test is neither a router of the topology nor behind one:
    no servers run elsewhere, and probes that don't pass a router measure nothing. localhost and IP
    addresses are accepted unchecked.

    Args:
        where: names the batch in messages.
        hosts: names or addresses of the test's hosts.
    """
    from flent_aqm.spec.topology.topology import parse_topology

    topology = scenario.path.topology
    parsed = parse_topology("topology", topology)
    graph = parsed.graph
    for host in hosts:
        there = (*graph.serving, *graph.routers)
        if host not in (*there, _LOCALHOST) and not _is_address(host):
            raise ConfigError(
                f"{where}: hosts: {host!r} "
                + ("is on the client's side of all routers, where no servers run"
                   if host in parsed.sources else f"is not in the topology {topology}")
                + f"; expected {_one_of(there)}")


def _one_of(hosts: Iterable[str]) -> str:
    """Return the hosts that a test may have, as the end of a message: these hosts of the network,
    localhost, and IP addresses."""
    return f"one of {', '.join((*hosts, _LOCALHOST))}, or an IP address"


def _is_address(text: str) -> bool:
    """Return whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _non_default_settings(settings: Any, parser: Any) -> dict[str, object]:
    """Return those of Flent's settings that influence a run (SETTINGS) and differ from Flent's
    defaults, by name.

    Args:
        settings: Flent's settings of the run.
        parser: Flent's argument parser, which has the defaults.
    """
    return {key: value for key in SETTINGS
            if (value := getattr(settings, key)) != parser.get_default(key)}
