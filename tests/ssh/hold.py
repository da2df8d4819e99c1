# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds a router as a sweep does, and runs code meanwhile: hold.py TESTBED DEVICES CODE.

For the tests, inside the guest. The code has session, connection, time, and shell(text).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from flent_aqm.errors import AqmError
from flent_aqm.testbed.ssh.connection import Connection
from flent_aqm.testbed.ssh.session import Session


def main(testbed: str, devices: str, code: str) -> None:
    """Begin, run the code, end; prints the error of one line if there is one."""
    try:
        with Connection(testbed) as connection:
            session = Session(connection, devices.split())
            session.begin()

            def shell(text: str) -> None:
                subprocess.run(
                    ["sh", "-c", f'. "$GUEST_SH"\n{text}'], check=False,
                    env={**os.environ, **connection.environment,
                         "FLENT_AQM_SSH_TOKEN": session.token})

            exec(code, {"session": session, "connection": connection, "time": time,
                        "shell": shell, "os": os})
            session.end()
    except AqmError as error:
        print(error, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
