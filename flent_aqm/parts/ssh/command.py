# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm restore`: bring a router back by hand to the state that a sweep found."""

from __future__ import annotations

import argparse

from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.ssh.connection import Connection
from flent_aqm.spec.scenario import Scenario


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Restore a router or server whose sweep ended without restoring it, and unlock it. If "
        "a sweep is still running there, it fails. Without this command, the router's own watchdog "
        "restores it within 60 s of a sweep's end.")
    parser.add_argument("--testbed", metavar="ADDRESS", required=True,
                        help="ssh://[user@]host[:port], as in the batch")


def main(args: argparse.Namespace) -> int:
    """Restore, and say what was done. Raises TestbedError when it isn't as it was found."""
    testbed = Scenario.from_settings({"testbed": args.testbed}).lab.testbed
    if not testbed.startswith("ssh://"):
        raise ConfigError(f"--testbed: {testbed} never needs restoring; expected "
                          "ssh://[user@]host[:port]")
    with Connection(testbed) as connection:
        print(connection.run("restore").strip())
    return 0
