# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm lab`: runs any command on the client of a lab, in virtual time."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.copy_out import copy_out
from flent_aqm.lab.follow import Follower
from flent_aqm.lab.guest_files import APPLY_IN_GUEST, FULL_SECOND
from flent_aqm.lab.virtual import Lab
from flent_aqm.setup.optional import optional_there
from flent_aqm.setup.tools import can_start
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.keys import SCENARIO_KEYS, refuse_unknown_scenario_keys
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import KEYS, Scenario
from flent_aqm.spec.topology.topology import parse_topology
from flent_aqm.tools.table import SERVERS

# At most this many bytes of a script that the command names are read.
_SCRIPT_BYTES = 1 << 20

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
        parser.add_argument(option, dest=key, metavar=metavar, help=_words(key))
    parser.add_argument("--burst-shaping", action="store_true", help=_words("burst_shaping"))
    parser.add_argument("--aqm-parameter", metavar="NAME=VALUE", action="append", default=[],
                        help="parameter of the AQM, such as target=10ms; may be repeated")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[],
                        help="any other batch key that describes the testbed, such as "
                        "modem_mbps=20 or dest2_delay_ms=30")
    parser.add_argument("--results", metavar="DIR", type=Path,
                        help="folder for the files that COMMAND writes into its current folder "
                             "(default: your current folder); everything else is read-only")
    parser.add_argument("--mlab-server", action="store_true",
                        help="run M-Lab's ndt-server, which must be on PATH, instead of this "
                             "package's")
    parser.add_argument("--wall-limit", metavar="S", type=float, default=defaults.WALL_LIMIT_S,
                        help="stop the lab after S seconds of wall time (default: %(default)g)")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")


def _words(key: str) -> str:
    """Return the help text of a batch key: its effect, its values and its default."""
    row = next(row for name, row in KEYS.items() if key in (name, row.both))
    values = f"one of {', '.join(QUEUES)}" if key == "aqm" else row.values
    default = f" (default: {row.default_words})" if row.default_words else ""
    # The text is that of the documents, without Markdown's links and backquotes.
    return re.sub(r"\[(.*?)\]\(.*?\)|`", r"\1", f"{row.help}; {values}{default}").replace(
        "%", "%%")


def main(args: argparse.Namespace) -> int:
    """Run the lab, and return the exit status of the command. Raises AqmError."""
    scenario = Scenario.from_settings({
        **{key: getattr(args, key) for key, _ in _OPTIONS.values()},
        "burst_shaping": args.burst_shaping, **_parameters(args.aqm_parameter),
        **_others(args.set)})
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    interactive = not command
    if interactive and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("a shell needs a terminal; give a command: " + EXAMPLE)
    if interactive and scenario.path.topology != DUMBBELL:
        graph = parse_topology("topology", scenario.path.topology).graph
        print(f"hosts: {', '.join(graph.hosts)}; routers: {', '.join(graph.routers)}\n"
              "ip netns exec NAME COMMAND runs a command on one", file=sys.stderr)
    here = Path.cwd()
    since_ns = time.time_ns()
    results = _results_folder(args.results)
    with Lab(
        scenario,
        command or ["bash", "--norc", "-i"],
        servers=_servers(command, args.mlab_server or scenario.hosts.ndt7_server == "mlab"),
        prelude=[[".", APPLY_IN_GUEST], FULL_SECOND],
        programs=optional_there(),
        env={"PS1": r"client:\w\$ "} if interactive else {},
        interactive=interactive,
        writable_cwd=here != Path("/"),  # an overlay on / would hide the guest's own mounts
        wall_limit_s=args.wall_limit if not interactive else None,
    ) as lab:
        if interactive:
            status = lab.run().status
        else:
            status = _run_and_show(lab)
        # The command sees the files of the current folder, but of no other results folder.
        _keep(lab, results or here, since_ns if results in (None, here) else None)
        return status


def _parameters(words: list[str]) -> dict[str, str]:
    """Return the batch keys for the values of --aqm-parameter: "target=10ms" -> aqm_target. Raises
    ConfigError if one is not NAME=VALUE."""
    for word in words:
        if "=" not in word.strip("="):
            raise ConfigError(f"--aqm-parameter: {word!r}; expected NAME=VALUE, "
                              "such as target=10ms")
    return {f"aqm_{name}": value for name, _, value in (word.partition("=") for word in words)}


def _others(words: list[str]) -> dict[str, str]:
    """Return the settings given with --set. Raises ConfigError if a key is unknown."""
    settings = dict(word.partition("=")[::2] for word in words)
    refuse_unknown_scenario_keys("--set", settings)
    return settings


def _servers(command: Sequence[str], mlab: bool) -> list[str]:
    """Return the names of the servers to start in the lab: those of all tests whose programs this
    machine has.

    A server that takes long to start is left out, unless the command, or a file that it names,
    contains a word that belongs to it.

    mlab: use M-Lab's ndt-server for NDT7. Raises ConfigError if it is not on PATH.
    """
    output = "\n".join([*command, *map(_script, command)])
    more = [name for name, one in SERVERS.items() if one.in_lab and name not in defaults.SERVERS
            and (not command or not one.words or any(word in output for word in one.words))]
    names = [name for name in (*defaults.SERVERS, *more) if can_start(SERVERS[name])]
    if not mlab:
        return names
    if not shutil.which("ndt-server"):
        raise ConfigError("--mlab-server: there is no ndt-server on PATH; leave the option out to "
                          "use this package's server")
    return ["ndt-server" if name == "ndt7" else name for name in names]


def _script(word: str) -> str:
    """Return the text of the file that a word of the command names, or "" if there is none."""
    try:
        if not os.path.isfile(word):
            return ""
        with open(word, "rb") as file:
            return file.read(_SCRIPT_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def _results_folder(folder: Path | None) -> Path | None:
    """Make the folder of --results, and return its path. Raises ConfigError if it can't be
    written."""
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--results: can't create {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"--results: {folder} is not writable")
    return folder.resolve()


def _run_and_show(lab: Lab) -> int:
    """Run the lab, and print the command's output unchanged as it comes. Return the command's exit
    status."""
    with Follower([(lab.stdout, sys.stdout.fileno()), (lab.stderr, sys.stderr.fileno())]):
        return lab.run().status


def _keep(lab: Lab, results: Path, since_ns: int | None) -> None:
    """Copy the files that the command wrote out of the lab. Print the new names of files whose own
    names are taken, and files that could not be copied.

    Args:
        lab: the lab, which has ended.
        results: folder to copy to.
        since_ns: start of the lab in ns since the epoch, if the command saw the files in `results`.
            None if it did not.
    """
    for name, got in copy_out(lab.results, results, since_ns=since_ns):
        print(f"flent-aqm: {name!r} exists already and is kept; the command's file is {got!r}",
              file=sys.stderr)
    if lab.left_behind:
        print(f"flent-aqm: not handed over: {lab.left_behind}: more than 100 folders in one "
              "another, or a path of more than 2,000 bytes", file=sys.stderr)
