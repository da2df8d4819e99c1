# SPDX-License-Identifier: GPL-3.0-or-later
"""What is made of a router's answers, without a router."""

from __future__ import annotations

from pathlib import Path

import pytest

from flent_aqm.base import paths
from flent_aqm.base.errors import ConfigError, ParseError, TestbedError
from flent_aqm.parts.ssh import answers
from flent_aqm.parts.ssh.probe import check_devices, check_host, parse_probe
from flent_aqm.parts.ssh.restore import bursts
from flent_aqm.parts.ssh.routes import own_address_towards
from flent_aqm.parts.ssh.testbed import _servers_of
from flent_aqm.router.expected import burst_bytes, old_ticks
from flent_aqm.router.printed import size_text
from flent_aqm.setup import tools
from flent_aqm.spec.cell import ROUTER_COMMAND, Cell
from flent_aqm.spec.queues.units import parse_psched
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools.table import SERVERS

CLOCK = parse_psched("000003e8 00000040 000f4240 3b9aca00")
ANSWER = """format 1
route management mgmt
link down up 1000 - no -
link mgmt up 1000 - no -
link up up 1000 - no -
end
"""


def test_router_that_does_not_tell_which_device_carries_ssh_is_refused() -> None:
    """Any of them might be it; with it told, the others are taken."""
    devices = {"dev_down": "down", "dev_up": "up"}
    check_devices(parse_probe(ANSWER), devices)
    with pytest.raises(TestbedError, match="doesn't tell which of its devices carries the ssh"):
        check_devices(parse_probe(ANSWER.replace("route management mgmt\n", "")), devices)


def test_device_with_an_odd_name_is_told_with_the_names_that_can_be() -> None:
    """Its letters may be removed on the way."""
    with pytest.raises(ParseError, match=r"unexpected line 'link  up 1000 - no -'; expected "
                                         "'link NAME .*' with names of 1 to 15 letters"):
        parse_probe(ANSWER.replace("link mgmt", "link "))


def test_line_is_told_with_its_own_form_and_an_empty_answer_as_empty() -> None:
    """Not each is about a device's name, and nothing was printed before an empty one."""
    with pytest.raises(ParseError, match=r"line 'kind pie perhaps'; expected 'kind NAME yes' or"):
        parse_probe(ANSWER.replace("end\n", "kind pie perhaps\nend\n"))
    with pytest.raises(ParseError, match=r"^the machine's answer to the probe is empty; expect"):
        parse_probe("", "machine")


def test_machine_that_does_not_tell_its_user_is_not_said_to_have_another() -> None:
    with pytest.raises(TestbedError, match=r"^the router doesn't tell by `id -u` whether its use"):
        check_host(parse_probe(ANSWER))


def test_length_of_more_digits_than_python_reads_is_an_unexpected_line() -> None:
    with pytest.raises(ParseError, match="unexpected line 'link down up 9999"):
        parse_probe(ANSWER.replace("link down up 1000", "link down up " + 5000 * "9"))


@pytest.mark.parametrize(("machine", "told", "refusal"), [
    ("router", "uid 1000", "user on the router is not root, .*; log in as root: ssh://root@ROUTER"),
    ("machine", "uid 1000", "the user on the machine is not root, .*; run this as root$"),
    ("router", "uid 0", r"no tc that tells its version .* \(OpenWrt: tc-full\)"),
    ("server", "uid 0\ntc tc utility\nfree_kb 9", "only 9 KB are free in /var/run"),
    # Nothing is stored on this one.
    ("machine", "uid 0\ntc tc utility\nfree_kb 9", "")])
def test_host_that_cannot_be_used_is_told_with_what_helps(
        machine: str, told: str, refusal: str) -> None:
    facts = parse_probe(ANSWER.replace("route", f"{told}\nroute"))
    if not refusal:
        check_host(facts, machine)
        return
    with pytest.raises(TestbedError, match=refusal):
        check_host(facts, machine)


@pytest.mark.parametrize("kbit", [64, 999, 3333, 8419, 13_000, 100_700, 940_000, 9_999_999])
def test_burst_that_old_tc_shows_rounded_is_told_so_that_it_comes_back(kbit: int) -> None:
    """Shown with its ticks, as HTB's, and without, as TBF's."""
    rate = kbit * 125
    burst = bursts("tc utility, iproute2-5.15.0", CLOCK)
    for size_bytes in (1600, 15 * 1024, 30 * 1024 + 7):
        ticks = old_ticks(size_bytes, rate, CLOCK)
        shown = size_text(burst_bytes(ticks, rate, CLOCK))
        by_ticks, by_size = (int(burst(f"{shown}/1", f"{kbit}Kbit", known).removesuffix("b"))
                             for known in (f"{ticks:08x}", ""))
        assert old_ticks(by_ticks, rate, CLOCK) == ticks
        assert size_text(burst_bytes(old_ticks(by_size, rate, CLOCK), rate, CLOCK)) == shown


@pytest.mark.parametrize("burst_words", [
    ("many", "1Mbit", ""), ("1600b/1", "fast", "0f"), ("1600b/1", "0bit", "0f"),
    ("1600b/1", "1Mbit", "xyz"), ("9" * 40 + "b", "1Mbit", ""), ("1600b", "9" * 40 + "Gbit", "")])
def test_burst_of_another_form_stays_as_it_is(burst_words: tuple[str, str, str]) -> None:
    """Whatever the router says, at once and without a fault."""
    assert bursts("whatever", CLOCK)(*burst_words) == burst_words[0].partition("/")[0]


def test_irtt_is_found_where_a_sweep_finds_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the cache, not on PATH; without any the way to get it is told."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(paths, "caches", lambda: [tmp_path])
    monkeypatch.setattr(tools, "caches", lambda: [tmp_path])
    assert answers.irtt_answer("127.0.0.1") == (
        "irtt is not installed here; run: flent-aqm setup")
    program = tmp_path / "bin" / "irtt"
    program.parent.mkdir()
    for status, answer in ((0, ""), (1, "UDP 2112: no valid response")):
        program.write_text(f"#!/bin/sh\nexit {status}\n")
        program.chmod(0o755)
        assert answers.irtt_answer("127.0.0.1") == answer


def test_server_that_a_sweep_needs_is_told_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting it helps if its port is closed. The sweep can start those that it can start behind
    ssh, at an address that its key takes."""
    def refusal(why: str, host: str, name: str = "iperf3") -> str:
        monkeypatch.setattr(answers, "_check_port", lambda port, address: why)
        with pytest.raises(TestbedError) as caught:
            answers.refuse_unreachable([name, "irtt"], "10.0.0.2", host, "ssh://root@router")
        return str(caught.value)

    closed = refusal("5201 closed", "server")
    assert closed.startswith("hosts: the server iperf3 does not answer on server (5201 closed)")
    assert "start it there (or, if it runs, let firewalls accept the port)" in closed
    assert "server_testbed=ssh://root@server; flent-aqm doctor --testbed ssh://root@r" in closed
    assert "ssh://root@[fd00::2];" in refusal("5201 closed", "fd00::2")
    assert "check its address in hosts" in refusal("5201 silent", "server")
    assert "start it" not in refusal("5201: No route to host", "server")
    by_hand = next(name for name, server in SERVERS.items()
                   if not server.behind_ssh and server.protocol == "tcp")
    assert "server_testbed" not in refusal("1 closed", "server", by_hand)
    # One of iperf3's two ports is enough for most tests.
    # The port that refuses tells more than the silent one before it.
    monkeypatch.setattr(answers, "_check_port", lambda port, address: (
        f"{port} silent" if port == 5201 else f"{port} closed"))
    with pytest.raises(TestbedError, match=r"\(5202 closed\), and the runs need it; start it"):
        answers.refuse_unreachable(["iperf3"], "10.0.0.2", "server", "ssh://root@router")
    monkeypatch.setattr(answers, "_check_port",
                        lambda port, address: "" if port == 5201 else f"{port} closed")
    answers.refuse_unreachable(["iperf3", "irtt"], "10.0.0.2", "server", "ssh://root@router")


@pytest.mark.parametrize(("test", "cross", "parameters", "names"), [
    ("ndt7", "yes", {}, {"irtt", "ndt7-cleartext", "iperf3"}),
    ("ndt7", "yes", {"cross_port": "5999"}, {"irtt", "ndt7-cleartext"}),
    ("ndt7", "no", {"ndt7_port": "80"}, {"irtt"}),
    # The test's port says nothing of that of cross traffic, and the reverse.
    ("iperf3_upload", "yes", {"iperf3_port": "5998"}, {"irtt", "iperf3"}),
    ("iperf3_upload", "yes", {"cross_port": "5999"}, {"irtt", "iperf3"}),
    ("iperf3_upload", "yes", {"cross_port": "5999", "iperf3_port": "5998"}, {"irtt"}),
    ("unknown", "yes", {}, set())])
def test_server_whose_port_a_parameter_moves_is_not_looked_for(
        test: str, cross: str, parameters: dict[str, str], names: set[str]) -> None:
    cell = Cell(name="run", folder=Path(), test_name=test,
                scenario=Scenario.from_settings({"cross_traffic": cross}),
                settings={"TEST_PARAMETERS": parameters}, commands=ROUTER_COMMAND, metadata={},
                length_s=5)
    assert _servers_of([cell]) == names


def test_address_without_a_route_is_told_from_one_that_takes_no_packets() -> None:
    """A broadcast address has a route."""
    assert own_address_towards("127.0.0.1", "hosts") == "127.0.0.1"
    with pytest.raises(ConfigError, match=r"^hosts: this machine can't send packets to 127\.255"):
        own_address_towards("127.255.255.255", "hosts")
