# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of speed tests over loopback."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

MODULE = [sys.executable, "-P", "-m", "flent_aqm.measure.speedtests"]


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    """A server of its own, on ports that were free: in cleartext, and over TLS."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        found = int(one.getsockname()[1]), int(other.getsockname()[1])
    with subprocess.Popen([*MODULE, "serve", "--port", str(found[0]),
                           "--tls-port", str(found[1])]) as process:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", found[1]), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield found
        process.terminate()
        assert process.wait(10) == 0


@pytest.fixture(scope="module")
def port(ports: tuple[int, int]) -> int:
    """Its port in cleartext."""
    return ports[0]
