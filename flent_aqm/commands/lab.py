# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm lab`: runs any command on the client of a lab, in virtual time."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.guest_files import APPLY_IN_GUEST, FULL_SECOND
from flent_aqm.lab.own_programs import refuse_missing
from flent_aqm.lab.user_command import (
    add_wall_limit,
    check_terminal,
    run_command,
    servers_for,
)
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.batch_keys.programs import BETWEEN
from flent_aqm.spec.cross_traffic import BULK
from flent_aqm.spec.keys import (
    SCENARIO_KEYS,
    refuse_unknown_scenario_keys,
    refuse_unused_rates,
)
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import KEYS, Scenario
from flent_aqm.spec.topology.topology import parse_topology
from flent_aqm.sweep.record import RECORD_LIMIT_S, record_command

# Batch keys that have an option: option -> key and metavar. Others are given with --set.
_ALL_OPTIONS = {
    "--aqm": ("aqm", "NAME"), "--rate": ("rate_mbps", "MBPS"),
    "--rate-up": ("rate_up_mbps", "MBPS"), "--rate-down": ("rate_down_mbps", "MBPS"),
    "--shaper": ("shaper", "NAME"), "--tiers": ("tiers", "N"), "--ingress": ("ingress", "PLACE"),
    "--txqueuelen": ("txqueuelen", "PACKETS"), "--delay": ("base_delay_ms", "MS"),
    "--topology": ("topology", "NAME"), "--router-model": ("router_model", "NAME"),
    "--kernel": ("kernel", "NAME"), "--seed": ("seed", "N"),
}
# Options whose key exists. Keys of a part that was removed don't.
_OPTIONS = {option: (key, metavar) for option, (key, metavar) in _ALL_OPTIONS.items()
            if key in SCENARIO_KEYS}

EXAMPLE = "flent-aqm lab --aqm fq_codel --rate 100 -- iperf3 -c server -t 5"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm lab`."""
    parser.usage = "flent-aqm lab [options] [-- COMMAND [ARGUMENT ...]]"
    parser.description = (
        "Boot client, router and server in virtual time and run COMMAND on the client. The "
        "hosts are called client, router and server. Without COMMAND, a shell starts.")
    for option, (key, metavar) in _OPTIONS.items():
        parser.add_argument(option, dest=key, metavar=metavar, help=_help_text(key))
    parser.add_argument("--burst-shaping", action="store_true", help=_help_text("burst_shaping"))
    parser.add_argument("--aqm-parameter", metavar="NAME=VALUE", action="append", default=[],
                        help="parameter of the AQM, such as target=10ms; may be repeated")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[],
                        help="any other batch key that describes the testbed, such as "
                        "modem_mbps=20 or dest2_delay_ms=30")
    parser.add_argument("--server", metavar="CMD", action="append", default=[],
                        help="also run CMD on the server, and start COMMAND when it has opened a "
                             "TCP or UDP port; may be repeated")
    parser.add_argument("--ready", metavar="S",
                        help="start COMMAND S seconds after each --server, whether or not it has "
                             "opened a port")
    parser.add_argument("--router", metavar="CMD",
                        help="also run CMD on the router, once its queue is in place")
    parser.add_argument("--record", metavar="FILE", type=Path,
                        help="measure latency and ping beside COMMAND, capture its packets, and "
                             "write a data file FILE, whose name ends in .flent.gz")
    parser.add_argument("--time-limit", metavar="S",
                        help="with --record: longest time that COMMAND may take, in seconds of "
                             f"virtual time (default: {RECORD_LIMIT_S})")
    parser.add_argument("--results", metavar="DIR", type=Path,
                        help="folder for the files that COMMAND writes into its current folder "
                             "(default: your current folder); everything else is read-only")
    parser.add_argument("--mlab-server", action="store_true",
                        help="run M-Lab's ndt-server, which must be on PATH, instead of this "
                             "package's")
    add_wall_limit(parser, "the lab")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")


def _help_text(key: str) -> str:
    """Return the help text of a batch key for argparse: its effect, its values and its default,
    without Markdown and with % doubled."""
    row = next(row for name, row in KEYS.items() if key in (name, row.both))
    values = f"one of {', '.join(QUEUES)}" if key == "aqm" else row.values
    default = f" (default: {row.default_words})" if row.default_words else ""
    # The text is that of the documents, without Markdown's links and backquotes.
    return re.sub(r"\[(.*?)\]\(.*?\)|`", r"\1", f"{row.help}; {values}{default}").replace(
        "%", "%%")


def main(args: argparse.Namespace) -> int:
    """Run the command in a lab, or a shell if there is no command. Copy the files that it wrote to
    --results, by default the current folder, and return its exit status. With --record, measure
    beside it, and write a data file if the command succeeds. Raises ConfigError if an option is
    wrong, another AqmError if the lab can't be started, doesn't end in time, or the measurement
    fails."""
    settings, options = _settings(args)
    with _named_as_given(options):
        scenario = Scenario.from_settings(settings)
        refuse_unused_rates("lab", scenario, settings)
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    refuse_missing(scenario.programs,
                   server=options.get("server_program", "--set server_program"))
    if args.record is not None:
        return record_command(scenario, command, args.record, results=args.results,
                              time_limit=args.time_limit, wall_limit_s=args.wall_limit)
    if args.time_limit is not None:
        raise ConfigError("--time-limit: it limits only a command that --record measures; add "
                          "--record FILE, or give the command as timeout S COMMAND, which counts "
                          "virtual time, too")
    if cross := scenario.hosts.cross_traffic:
        raise ConfigError("cross_traffic: it starts with a test, or with a command that --record "
                          "measures; add --record FILE, or give it to flent: --test-parameter "
                          f"cross_traffic={BULK if cross is True else cross}", "cross_traffic")
    if not command:
        check_terminal(EXAMPLE)
    if not command and scenario.path.topology != DUMBBELL:
        graph = parse_topology("topology", scenario.path.topology).graph
        print(f"hosts: {', '.join(graph.hosts)}; routers: {', '.join(graph.routers)}\n"
              "ip netns exec NAME COMMAND runs a command on one", file=sys.stderr)
    return run_command(
        scenario, command, prelude=[[".", APPLY_IN_GUEST], FULL_SECOND],
        servers=servers_for(command, args.mlab_server or scenario.hosts.ndt7_server == "mlab"),
        results=args.results, wall_limit_s=args.wall_limit)


@contextmanager
def _named_as_given(options: Mapping[str, str]) -> Iterator[None]:
    """Context manager: in a ConfigError of the block about a key that an option gives, name the
    option, with the key in brackets if that has another name: users who write --rate need not know
    rate_mbps.

    options: batch key -> option that gives it.
    """
    try:
        yield
    except ConfigError as fault:
        text = str(fault)
        about = re.match(r"(?:lab: )?(\w+)", text)
        if about is None or about[1] not in options:
            raise
        option = options[about[1]]
        key = "" if option == f"--{about[1].replace('_', '-')}" else f" ({about[1]})"
        raise ConfigError(f"{option}{key}{text[about.end():]}", fault.key) from None


def _settings(args: argparse.Namespace) -> tuple[dict[str, object], dict[str, str]]:
    """Return the batch keys that the options give, with their values, and with the options that
    give them, --set aside. Raises ConfigError if an option is wrong, or if --set gives a key that
    another option gives."""
    servers = _server_program(args.server, args.ready)
    of_options: dict[str, dict[str, object]] = {
        **{option: {key: getattr(args, key)} for option, (key, _) in _OPTIONS.items()},
        "--burst-shaping": {"burst_shaping": args.burst_shaping or None},
        "--aqm-parameter": {**_aqm_parameter_keys(args.aqm_parameter)},
        "--router": {"router_program": args.router},
        "--server": {"server_program": servers or None},
        "--ready": {"server_ready_s": args.ready}}
    settings: dict[str, object] = {**_set_keys(args.set)}
    for option, keys in of_options.items():
        given = {key: value for key, value in keys.items() if value is not None}
        if twice := next((key for key in given if key in settings), None):
            raise ConfigError(f"--set: {twice} is given by {option}, too; leave one out")
        settings |= given
    return settings, {key: option for option, keys in of_options.items() for key in keys
                      if keys[key] is not None}


def _server_program(commands: list[str], ready: str | None) -> str:
    """Return the value of the batch key server_program: the commands of --server, joined with
    BETWEEN, "" without any. Raises ConfigError if --ready stands alone or a command is empty.

    Args:
        commands: values of --server.
        ready: value of --ready, None without it.
    """
    if ready is not None and not commands:
        raise ConfigError("--ready: there is no --server to wait for; add --server CMD, or leave "
                          "--ready out")
    if not all(command.strip() for command in commands):
        raise ConfigError("--server: the command is empty; expected a command such as "
                          "'./server 0.0.0.0:4433'")
    return f" {BETWEEN} ".join(commands)


def _aqm_parameter_keys(words: list[str]) -> dict[str, str]:
    """Return the batch keys for the values of --aqm-parameter, key -> value: aqm_target -> "10ms"
    for "target=10ms". Blanks around both are left out. Raises ConfigError if a value is not
    NAME=VALUE, or a name occurs twice."""
    keys: dict[str, str] = {}
    for word in words:
        name, value = (part.strip() for part in word.partition("=")[::2])
        if not (name and value):
            raise ConfigError(f"--aqm-parameter: {word!r}; expected NAME=VALUE, "
                              "such as target=10ms")
        if f"aqm_{name}" in keys:
            raise ConfigError(f"--aqm-parameter: {name!r} is given twice; leave one out")
        keys[f"aqm_{name}"] = value
    return keys


def _set_keys(words: list[str]) -> dict[str, str]:
    """Return the batch keys given with --set, with their values. Keys that begin with a prefix of
    parameters, such as aqm_, are not checked here. Raises ConfigError if a word has no "=" or no
    key, if another key is unknown, or if a key is given twice."""
    settings: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (equals and key.strip()):
            raise ConfigError(f"--set: {word!r}; expected KEY=VALUE, such as modem_mbps=20")
        if key in settings:
            raise ConfigError(f"--set: {key!r} is given twice; leave one out")
        settings[key] = value
    refuse_unknown_scenario_keys("--set", settings)
    return settings
