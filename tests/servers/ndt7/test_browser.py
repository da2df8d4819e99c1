# SPDX-License-Identifier: GPL-3.0-or-later
"""NDT7 by a real browser, with M-Lab's ndt7.js, which set-up fetches where it isn't there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flent_aqm.base.shell import find_program
from flent_aqm.measure.parsers.ndt7 import parse_ndt7
from flent_aqm.setup.optional import find
from flent_aqm.spec.needs import needs_of_run
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools.ndt7 import SCRIPT

from .conftest import StartServer

FLENT_AQM = Path(sys.executable).with_name("flent-aqm")


@pytest.fixture(scope="module")
def library() -> Path:
    """The file of M-Lab's."""
    if find(SCRIPT) is None:
        done = subprocess.run([FLENT_AQM, "setup", "--speedtests", "ndt7-js"], check=False,
                              capture_output=True, text=True, timeout=600)
        if done.returncode:  # no npm, which no package list brings, or no registry
            pytest.skip(done.stderr.strip().splitlines()[-1])
    path = find(SCRIPT)
    assert path is not None
    return path


@pytest.mark.parametrize("direction", ["download", "upload"])
def test_page_tells_what_the_other_clients_tell(
    start_server: StartServer, library: Path, direction: str
) -> None:
    """In their form: throughput at the receiver, the server's TCP_INFO, the end."""
    server = start_server("--no-tls", "--duration", "1")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "flent_aqm.measure.ndt7_browser", str(library),
         str(find_program("chromium")), "ws", f"127.0.0.1:{server.port}", direction],
        capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    subtest = parse_ndt7(done.stdout).subtests[direction]
    assert subtest.complete
    assert not subtest.errors
    assert subtest.throughput_mbps is not None
    assert subtest.throughput_mbps > 1
    assert subtest.tcp
    assert server.next_log()["client_metadata"]["client_name"] == "flent-aqm-browser"


def test_run_by_a_browser_needs_it_and_no_client() -> None:
    """Of the servers one alone beside irtt's."""
    needs = needs_of_run("ndt7_browser", Scenario(), {})
    assert needs.tools == ("chromium", "ndt7-js")
    assert needs.servers == ("irtt", "ndt7-cleartext")
