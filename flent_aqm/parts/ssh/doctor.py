# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm doctor --testbed`: show what a router is and can do, without changing anything."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flent_aqm.base import shell
from flent_aqm.base.errors import CommandFailed, ConfigError, TestbedError
from flent_aqm.base.json_text import json_text
from flent_aqm.base.words import end_of, last_line
from flent_aqm.parts.ssh.answers import (
    CHECK_REACH,
    ServerAnswer,
    answers,
    is_there,
)
from flent_aqm.parts.ssh.connection import SshConnection, hook_command
from flent_aqm.parts.ssh.needs import ALWAYS, KIND_OF_AQM, PARTS
from flent_aqm.parts.ssh.offer import batch_command, missing_on_router
from flent_aqm.parts.ssh.probe import RouterProperties, check_devices, check_host, probe
from flent_aqm.parts.ssh.routes import address_of, own_address_towards
from flent_aqm.parts.ssh.testbed import WATCHDOG_LIMIT_S
from flent_aqm.setup.tools import find_tool
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.testbeds import NETNS
from flent_aqm.tools.irtt import SERVER as IRTT

_KINDS = {*ALWAYS, *KIND_OF_AQM.values(), *PARTS}
# Batch key of a device -> the host towards which the router's route uses it.
_DEVICES = {"dev_down": "client", "dev_up": "server"}
# Name in the probe's answer -> title in the table.
_TEXTS = {
    "model": "model", "system": "system", "kernel": "kernel", "tc": "tc", "json": "tc -j",
    "ethtool": "ethtool", "uid": "user id", "free_kb": "free memory for files, KB",
    "sqm": "sqm-scripts on", "holder": "held by",
}


def report(testbed: str, *, server: str | None = None, as_json: bool = False) -> int:
    """Print a report about the testbed. Return the exit status: 1 if the router's user, tc, memory
    or, with `server`, its devices rule out a sweep, which is also printed to standard error,
    otherwise 0. AQMs that the router lacks, a missing route, and servers that can't be reached
    don't change the status.

    Args:
        testbed: `netns`, or ssh://[user@]host[:port].
        server: name or address of the machine whose servers are checked, None for no such check.
            Of `netns`, no servers are checked.
        as_json: print JSON instead of tables.

    Raises an AqmError if the testbed has another form, the router can't be reached or queried, the
    server's name has no address, this machine has no route to it, or irtt can't be started here.
    """
    Scenario.from_settings({"testbed": testbed})  # raises if the address is wrong
    addresses = {}
    if server:
        addresses["server"] = address_of(server, "--server")
        addresses["client"] = own_address_towards(addresses["server"], "--server")
    facts = _query_testbed(testbed, addresses)
    # A sweep in namespaces of this machine starts its own servers.
    server_answers = answers(addresses["server"]) if server and testbed != NETNS else []
    problem = ""
    try:
        check_host(facts, "machine" if testbed == NETNS else "router")
        if server and testbed != NETNS:
            check_devices(facts, {
                key: facts.routes[addresses[host]] for key, host in _DEVICES.items()
                if addresses[host] in facts.routes})
    except TestbedError as error:
        problem = str(error)
    command = by_sweep = ""
    if server_answers and server and not problem:
        command = batch_command(testbed, server, facts, server_answers)
        if not command:
            by_sweep = batch_command(testbed, server, facts, server_answers, by_sweep=True)
    if as_json:
        print(json_text({
            **asdict(facts), "aqms": _missing_by_aqm(facts), "problem": problem,
            "servers": {one.server: one.why for one in server_answers}, "command": command},
            indent=1))
    else:
        _print_tables(testbed, facts, addresses)
        if facts.text.get("holder"):
            print("A sweep holds the router: it is running, or it was killed less than "
                  f"{WATCHDOG_LIMIT_S} s ago and the router restores itself. If it does not, or "
                  f"at once:\n  flent-aqm restore --testbed {testbed}\n")
        _print_servers(server, server_answers)
        if not problem:
            print(_advice(testbed, server, command, missing_on_router(facts),
                          server_is_there=is_there(server_answers), by_sweep=by_sweep,
                          irtt_is_here=find_tool("irtt") is not None))
    if problem:
        print(f"{testbed}: {problem}", file=sys.stderr)
    return 1 if problem else 0


def _advice(testbed: str, server: str | None, command: str, missing: str, *,
            server_is_there: bool = True, by_sweep: str = "", irtt_is_here: bool = True) -> str:
    """Return the advice at the end of the report: the command that measures if there is one,
    otherwise what is missing for it: a part of the router, the option --server, irtt on this
    machine, an answer of the server's machine, or a running server of a test. "" for `netns`
    without a command.

    Args:
        testbed: `netns`, or ssh://[user@]host[:port].
        server: name or address of the server's machine, if the user gave it.
        command: the command that measures, "" if there is none.
        missing: what the router lacks for any measurement, "" for nothing.
        server_is_there: whether the server's machine answered at all.
        by_sweep: the command that also starts the servers.
        irtt_is_here: whether irtt is installed on this machine.
    """
    if command:
        return f"To measure it:\n{command}"
    if testbed == NETNS:
        return ""
    if missing:
        return f"This router can't be measured: it has {missing}, see the table above."
    if not server:
        return ("With --server HOST, doctor also shows which speed test servers answer there, and "
                "the command that measures this router.")
    if not irtt_is_here:
        return ("To measure it, install irtt on this machine, which probes in all tests: "
                "flent-aqm setup")
    if not server_is_there:
        return (f"{server} does not answer at any port, not even to refuse: check its address, "
                f"{CHECK_REACH}.")
    return (f"To measure it, start the server of irtt, and that of iperf3 or ndt7, on {server}: "
            f"either by hand, as shown above, or let the sweep start them over ssh:\n{by_sweep}")


def _print_servers(server: str | None, server_answers: Sequence[ServerAnswer]) -> None:
    """Print the table of checked servers, and below it the commands that start those that don't
    answer, each on a line of its own. A command is left out if another one's server listens on the
    same ports and more. Without checked servers, print nothing.

    Args:
        server: name or address of their machine.
        server_answers: result of each server's check.
    """
    if not server_answers:
        return
    table = Table(box=None, pad_edge=False)
    for heading in (f"server {server}", "answers", "for"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "answers")
    for answer in server_answers:
        table.add_row(answer.server, f"[red]no:[/] {answer.why}" if answer.why else "[green]yes[/]",
                      "the probe of all tests" if answer.server == IRTT.name
                      else ", ".join(answer.tests))
    _console().print(table, "")
    missing = [answer for answer in server_answers if answer.why]
    if missing:
        # Below the table, because a command that is broken over lines can't be copied.
        print(f"To start the missing ones on {server}, if you want their tests, too:",
              *(f"  {answer.start}" for answer in missing
                if not any(answer.ports < other.ports for other in missing)), "", sep="\n")


def _query_testbed(testbed: str, addresses: Mapping[str, str]) -> RouterProperties:
    """Query the router, or this machine for `netns`, and return what it tells.

    Args:
        testbed: `netns`, or ssh://[user@]host[:port].
        addresses: host ("client", "server") -> address whose route to look up.

    Raises ConfigError for another testbed, ToolMissing without an ssh client, TestbedError if the
    router can't be reached or the query fails, ParseError if its answer has another form.
    """
    if testbed == NETNS:
        def here(*words: str) -> str:
            """Run a command of the hooks on this machine, and return its output. Raises
            TestbedError if it fails.

            Args:
                words: name of the command, then its arguments.
            """
            try:
                return shell.run(hook_command(words[0], NETNS, *words[1:]))
            except CommandFailed as failed:
                why = last_line(failed.stderr) or end_of(failed.returncode)
                raise TestbedError(f"{NETNS}: the query of this machine failed: {why}") from None

        return probe(here, kinds=_KINDS, addresses=addresses.values(), machine="machine")
    if not testbed.startswith("ssh://"):
        raise ConfigError(f"--testbed: {testbed!r} has no router that doctor could query; expected "
                          "ssh://[user@]router[:port] or netns")
    with SshConnection(testbed) as connection:
        return probe(connection.run, kinds=_KINDS, addresses=addresses.values())


def _missing_by_aqm(facts: RouterProperties) -> dict[str, str]:
    """Return the name of each AQM -> why the router lacks its kind of qdisc, "" if the router has
    it. "not tried" if the router wasn't asked for it. Filters that an AQM needs besides don't
    count."""
    return {aqm: facts.kinds.get(kind, "not tried") for aqm, kind in KIND_OF_AQM.items()}


def _console() -> Console:
    """Return a console on standard output, 120 columns wide if that isn't a terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def _print_tables(testbed: str, facts: RouterProperties, addresses: Mapping[str, str]) -> None:
    """Print the tables about the router, its devices and its AQMs. Without tc, leave out the AQMs.

    Args:
        testbed: the testbed's address.
        facts: what the router told.
        addresses: host ("client", "server") -> address.
    """
    console = _console()
    top = Table(box=None, show_header=False, pad_edge=False)
    top.add_row("testbed", escape(testbed))
    for name, title in _TEXTS.items():
        if facts.text.get(name):
            top.add_row(title, escape(facts.text[name]))
    console.print(top, "")
    towards = {address: host for host, address in addresses.items()}
    devices = Table(box=None, pad_edge=False)
    for heading in ("device", "state", "txqueuelen", "driver", "BQL", ""):
        devices.add_column(heading)
    for link in facts.links.values():
        notes = [f"towards the {towards[address]}" for address, device in facts.routes.items()
                 if device == link.name and address in towards]
        if facts.management and link.name in facts.beneath(facts.management):
            notes.append("carries this ssh connection: can't be shaped")
        devices.add_row(escape(link.name), escape(link.state), str(link.txqueuelen),
                        escape(link.driver), "yes" if link.bql else "no", ", ".join(notes))
    console.print(devices, "")
    if not facts.text.get("tc"):  # reported once, by check_host()
        return
    aqms = Table(box=None, pad_edge=False)
    aqms.add_column("AQM")
    aqms.add_column("")
    for aqm, why in {**{kind: facts.kinds.get(kind, "?") for kind in sorted(ALWAYS)},
                     **_missing_by_aqm(facts),
                     **{f"{part} ({use})": facts.kinds.get(part, "?")
                        for part, use in PARTS.items()}}.items():
        aqms.add_row(aqm, f"[red]no:[/] {escape(why)}" if why else "[green]yes[/]")
    console.print(aqms, "")
