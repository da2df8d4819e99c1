# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm try-router`: start a pretend router and its server, reached by ssh, in the lab."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from flent_aqm.base.errors import ToolMissing
from flent_aqm.base.shell import NOT_FOUND, find_program
from flent_aqm.lab.guest_files import in_guest
from flent_aqm.lab.user_command import (
    add_wall_limit,
    check_terminal,
    run_command,
    servers_for,
)
from flent_aqm.spec.scenario import Scenario

# Folder of the scripts that set up ssh in the guest.
GUEST = Path(__file__).resolve().parent / "guest"
EXAMPLE = ("flent-aqm try-router -- flent-aqm doctor --testbed ssh://root@192.168.1.1 "
           "--server 10.0.0.2")
# Printed before the shell's first prompt.
_WELCOME = """\
The router is root@192.168.1.1, the server 10.0.0.2. Type any command of
docs/routers.md, such as
  flent-aqm doctor --testbed ssh://root@192.168.1.1 --server 10.0.0.2
  ssh root@192.168.1.1 tc qdisc
While the shell waits for you, hours leap by. To stop a sweep in the middle and
look at what it leaves, put all of it on one line:
  flent … & sleep 20; kill -9 %1; ssh root@192.168.1.1 tc qdisc
exit ends both; files that you wrote to this folder are kept."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's description and arguments: --no-servers, --wall-limit, and `command`, a
    list of all words from the first that is no option on, which may begin with "--"."""
    parser.usage = "flent-aqm try-router [options] [-- COMMAND [ARGUMENT ...]]"
    parser.description = (
        "Start a pretend router and a server, both reached by ssh, and run COMMAND on the client "
        "beside them, so that each command for a real router can be tried. Addresses are those of "
        "docs/routers.md: router root@192.168.1.1, server 10.0.0.2. Everything is in the lab, in "
        "virtual time: it needs no root and changes nothing on this machine. Without COMMAND, a "
        "shell starts.")
    parser.add_argument("--no-servers", action="store_true",
                        help="don't start speed test servers, because a sweep with "
                             "server_testbed starts them itself")
    add_wall_limit(parser, "COMMAND")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")


def main(args: argparse.Namespace) -> int:
    """Run the command, or a shell after a welcome on standard error, beside the pretend router, and
    return its exit status. Files that it writes to the current folder are kept. If the pretend
    router can't be set up, the command is not run, and the status is that of the set-up.

    Raises ToolMissing if there is no ssh client or ssh server, ConfigError if a shell has no
    terminal, and any AqmError of the lab.
    """
    for program, package in (("ssh", "openssh-client"), ("sshd", "openssh-server")):
        if not find_program(program):
            raise ToolMissing(f"{program} is {NOT_FOUND}, and the pretend router is reached by "
                              f"ssh; install the package {package}")
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        check_terminal(EXAMPLE)
        print(_WELCOME, file=sys.stderr)
    scripts = str(in_guest(GUEST))
    return run_command(
        Scenario(), command, prelude=[["sh", f"{scripts}/pretend_router.sh", scripts]],
        servers=[] if args.no_servers else servers_for(command), wall_limit_s=args.wall_limit,
        # A sweep's folder has the name of its second, and must be a new one each time.
        clock_start_ns=time.time_ns())
