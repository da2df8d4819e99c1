# SPDX-License-Identifier: GPL-3.0-or-later
"""flent-aqm doctor --testbed: what a router is and can do, before anything is changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flent_aqm.asked.scenario import Scenario
from flent_aqm.base import shell
from flent_aqm.base.errors import CommandFailed, ConfigError, TestbedError
from flent_aqm.parts.ssh.connection import Connection, hook_command
from flent_aqm.parts.ssh.needs import ALWAYS, KIND_OF_AQM, PARTS
from flent_aqm.parts.ssh.probe import Facts, check_host, probe
from flent_aqm.parts.ssh.routes import address_of, own_address_towards

_KINDS = {*ALWAYS, *KIND_OF_AQM.values(), *PARTS}
# name in the probe -> what stands in the table
_TEXTS = {
    "model": "model", "system": "system", "kernel": "kernel", "tc": "tc", "json": "tc -j",
    "ethtool": "ethtool", "uid": "user id", "free_kb": "free memory for files, KB",
    "sqm": "sqm-scripts on", "holder": "held by",
}


def report(testbed: str, *, server: str | None = None, as_json: bool = False) -> int:
    """Print it. Exit status 1 when no sweep could run there. Raises an AqmError."""
    Scenario.from_settings({"testbed": testbed})  # refuses what is no testbed
    addresses = {}
    if server:
        addresses["server"] = address_of(server)
        addresses["client"] = own_address_towards(addresses["server"])
    facts = _facts(testbed, addresses)
    problem = ""
    try:
        check_host(facts)
    except TestbedError as error:
        problem = str(error)
    if as_json:
        json.dump({**asdict(facts), "aqms": _aqms(facts), "problem": problem}, sys.stdout,
                  indent=1)
        print()
    else:
        _print(testbed, facts, addresses)
    if problem:
        print(f"{testbed}: {problem}", file=sys.stderr)
    return 1 if problem else 0


def _facts(testbed: str, addresses: Mapping[str, str]) -> Facts:
    if testbed == "netns":
        def here(*words: str) -> str:
            try:
                return shell.run(hook_command(words[0], "netns", *words[1:]))
            except CommandFailed as failed:
                raise TestbedError(str(failed)) from None

        return probe(here, kinds=_KINDS, addresses=addresses.values())
    if not testbed.startswith("ssh://"):
        raise ConfigError(f"--testbed: {testbed} has no router to ask; "
                          "give ssh://[user@]router[:port] or netns")
    with Connection(testbed) as connection:
        return probe(connection.run, kinds=_KINDS, addresses=addresses.values())


def _aqms(facts: Facts) -> dict[str, str]:
    """AQM -> "" or why the router can't do it."""
    return {aqm: facts.kinds.get(kind, "not asked for") for aqm, kind in KIND_OF_AQM.items()}


def _print(testbed: str, facts: Facts, addresses: Mapping[str, str]) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
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
    aqms = Table(box=None, pad_edge=False)
    aqms.add_column("AQM")
    aqms.add_column("")
    for aqm, why in {**{kind: facts.kinds.get(kind, "?") for kind in sorted(ALWAYS)},
                     **_aqms(facts),
                     **{f"{part} ({use})": facts.kinds.get(part, "?")
                        for part, use in PARTS.items()}}.items():
        aqms.add_row(aqm, f"[red]no:[/] {escape(why)}" if why else "[green]yes[/]")
    console.print(aqms)
