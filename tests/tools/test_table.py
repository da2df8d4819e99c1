# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of tools: what each must tell, and that they don't get in each other's way."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from flent_aqm.base.environment import OWN_TOOL
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.spec.definitions import our_tests
from flent_aqm.spec.flent_settings import TEST_PARAMETERS
from flent_aqm.spec.needs import needs_of_run
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools.own import REFUSAL
from flent_aqm.tools.table import SERVERS, SPEED_TESTS, TOOLS, start_script, tool_of
from flent_aqm.tools.tool import Tool


@pytest.mark.parametrize("tool", SPEED_TESTS.values(), ids=lambda tool: tool.name)
def test_record_of_a_speed_test_is_all_that_it_takes(tool: Tool) -> None:
    """Its test, needs, servers, parameters and metrics follow."""
    assert tool.name in our_tests()
    assert tool_of(tool.name) is tool
    assert find_spec(tool.module)
    assert tool.method.endswith(".")
    assert tool.source
    assert tool.longest_s > 0
    needs = needs_of_run(tool.name, Scenario(), {})
    assert needs.servers == ("irtt", tool.server.name)
    assert {*tool.parameters, tool.server.parameter} <= set(TEST_PARAMETERS)
    assert {tool.metric(number.name) for number in tool.numbers} <= set(METRICS)
    for name, _ in tool.shown.verdict if tool.shown else ():
        assert tool.metric(name) in METRICS


@pytest.mark.parametrize("test", our_tests())
def test_needs_of_each_of_our_tests_are_known(test: str) -> None:
    """Also of those that take no program; those of others are guessed."""
    assert needs_of_run(test, Scenario(), {}).is_known
    assert not needs_of_run("command-output", Scenario(), {}).is_known


def test_client_of_no_file_says_that_none_is_named() -> None:
    environ = {name: value for name, value in os.environ.items() if name != OWN_TOOL}
    ended = subprocess.run([sys.executable, "-P", "-m", "flent_aqm.tools.own", "host=x", "port=1"],
                           env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [f"error: {REFUSAL}"]


def test_file_that_fails_only_as_a_program_is_told_in_one_line(tmp_path: Path) -> None:
    """As one that reads a file which only the other machine has."""
    own = tmp_path / "mine.py"
    own.write_text("import sys\nif 'host=x' in sys.argv:\n    open('/no/such/file')\n")
    ended = subprocess.run([sys.executable, "-P", "-m", "flent_aqm.tools.own", "host=x", "port=1"],
                           env={**os.environ, OWN_TOOL: str(own)}, capture_output=True, text=True,
                           check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: own_test: {own}: ")
    assert "No such file or directory" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(("name", "place"), [("flent", "programs"), ("tc", "sometimes")])
def test_program_that_each_run_has_of_its_own_is_no_tools(
        name: str, place: str, tmp_path: Path) -> None:
    """The run would have written into the user's flent, or not have begun."""
    own = tmp_path / "mine.py"
    own.write_text(f"""
from flent_aqm.tools.tool import *
TOOL = Tool("mine", Server("mine", {{"PORT": (9400,)}}, "x"), {place}=(Program("{name}"),),
            numbers=(Number("download_mbps", "Mbit/s", "down"),))
""")
    ended = subprocess.run(
        [sys.executable, "-P", "-c", "from flent_aqm.tools.own import tool; tool()"],
        env={**os.environ, OWN_TOOL: str(own)}, capture_output=True, text=True, check=False)
    assert ended.stderr.splitlines()[-1].endswith(
        f"mine.py: `programs` or `sometimes` of its TOOL has a Program {name}, which each run has "
        "of its own; leave it out, or if another program is meant, give that another name")


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_record_of_a_tool_goes_to_another_process(tool: Tool) -> None:
    """Flent may parse what a tool wrote in another process than the one that ran it."""
    assert pickle.loads(pickle.dumps(tool)) == tool


def test_no_two_servers_have_a_port() -> None:
    """But those of which a run has one: in cleartext or not, ours or M-Lab's."""
    owners: dict[tuple[str, int], set[str]] = {}
    for server in SERVERS.values():
        for port in server.every_port:
            owners.setdefault((server.protocol, port), set()).add(
                server.name.removesuffix("-cleartext").replace("ndt-server", "ndt7"))
    assert {port: names for port, names in owners.items() if len(names) > 1} == {}


def test_servers_start_in_order_with_a_log_each() -> None:
    """Of this package by its Python, of others by their names; with what comes before and after."""
    assert start_script(["netserver", "speedtest-cleartext", "msak"]).splitlines() == [
        "netserver -D -p 12865 >/dev/null 2>&1 &",
        ('"$PYTHON" -P -m flent_aqm.servers http --no-tls --http-port 8090 '
         ">/run/speedtest-cleartext.log 2>&1 &"),
        "mkdir -p /run/msak",
        ("msak-server -ws_addr :8180 -datadir /run/msak -latency_addr 127.0.0.1:0 "
         "-prometheusx.listen-address 127.0.0.1:0 >/run/msak.log 2>&1 &")]


def test_value_of_another_form_is_refused_and_none_of_the_servers_reaches_the_client() -> None:
    """One line, with what is expected."""
    refused: list[str] = []
    parameters = {"streams": "5", "speedtest_tls": "yes"}
    assert TOOLS["librespeed_cli"].options(parameters, refused.append) == {"streams": "5"}
    assert TOOLS["msak"].options(parameters, refused.append) == {}
    assert refused == ["streams: '5' is not accepted; expected 1 to 4"]


def test_value_that_any_tool_takes_may_come_from_a_data_file() -> None:
    """responsiveness takes halves of seconds, goresponsiveness doesn't."""
    accepts = TEST_PARAMETERS["interval_s"]
    assert accepts("0.5")
    assert accepts("7")
    assert not accepts("7; reboot")
    assert not accepts("11")
