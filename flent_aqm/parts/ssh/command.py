# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm restore`: restore a router to its state before a sweep, if the sweep didn't do it."""

from __future__ import annotations

import argparse

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.ssh.connection import SshConnection
from flent_aqm.spec.scenario import Scenario


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's only argument, the required --testbed ADDRESS, and set the description
    that --help shows."""
    parser.description = (
        "Restore a router or server whose sweep ended without restoring it, and unlock it. A "
        "sweep that is still running there fails. Without this command, the router's own watchdog "
        "restores it within 60 s of a sweep's end.")
    parser.add_argument("--testbed", metavar="ADDRESS", required=True,
                        help="ssh://[user@]host[:port], as in the batch")


def main(args: argparse.Namespace) -> int:
    """Restore the router --testbed and print what was done, or that there was nothing to restore.
    Return the exit status 0. The router is restored even while a sweep runs there, whose next
    command then fails.

    Raises TestbedError if the router can't be reached, its user can't write files there, a sweep
    begins or another process restores it at this moment, or its state isn't the original one
    afterwards. Raises ToolMissing without an ssh client, ConfigError if the testbed isn't of the
    form ssh://[user@]host[:port].
    """
    testbed = Scenario.from_settings({"testbed": args.testbed}).lab.testbed
    if not testbed.startswith("ssh://"):
        raise ConfigError(f"--testbed: {args.testbed!r} is not a router reached by ssh; expected "
                          "ssh://[user@]host[:port]")
    with SshConnection(testbed) as connection:
        print(connection.run("restore").strip())
    return 0
