# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds a router as a sweep does, and meanwhile runs shell code: hold.py TESTBED DEVICES.

For the tests, inside the guest. The code comes by standard input, and has guest.sh's
functions and what a sweep's hooks have. $PPID is the sweep.
"""

from __future__ import annotations

import os
import subprocess
import sys

from flent_aqm.base.errors import AqmError
from flent_aqm.parts.ssh.connection import SshConnection
from flent_aqm.parts.ssh.session import RouterSession


def main(testbed: str, devices: str) -> None:
    """Begin, run the code, end; prints the error of one line if there is one."""
    code = sys.stdin.read()
    try:
        with SshConnection(testbed) as connection:
            session = RouterSession(connection, devices.split())
            session.begin(clear=True)
            subprocess.run(["sh", "-c", f'. "$GUEST_SH"\n{code}'], check=False, env={
                **os.environ, **connection.environment, "FLENT_AQM_SSH_TOKEN": session.token})
            if not connection.is_open():
                print("connection broken", flush=True)
            session.end()
    except AqmError as error:
        print(error, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
