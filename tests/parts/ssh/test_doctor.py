# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm doctor --testbed ssh://… --server HOST`, inside the lab's guest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest

from flent_aqm.base import shell
from flent_aqm.base.errors import CommandFailed, ConfigError, ParseError, TestbedError
from flent_aqm.parts.ssh import answers as answers_of
from flent_aqm.parts.ssh.answers import ServerAnswer, answers, is_there
from flent_aqm.parts.ssh.doctor import _advice, _print_servers, report
from flent_aqm.parts.ssh.offer import batch_command, missing_on_router
from flent_aqm.parts.ssh.probe import RouterProperties
from flent_aqm.parts.ssh.routes import address_of
from flent_aqm.tools.table import TOOLS

InGuest = Callable[..., list[str]]

DOCTOR = 'COLUMNS=200 flent-aqm doctor --testbed "$testbed" --server server; echo "status $?"'
WITHOUT_TC = "in_router mount --bind /dev/null /usr/sbin/tc\n"
WITHOUT_PIE = """fake_tc <<'END'
case "$*" in
    *' pie'*) echo 'Unknown qdisc "pie", hence option "help" is unparsable' >&2; exit 1 ;;
esac
exec "$real_tc" "$@"
END
"""
KINDS = dict.fromkeys(("pfifo", "codel", "fq_codel", "sfq", "pie", "htb", "tbf"), "")


@pytest.mark.lab
def test_doctor_asks_servers_and_gives_a_command_that_runs(in_guest: InGuest) -> None:
    """With the queues that the router has and the tests that find a server."""
    lines = in_guest(f"""
        {WITHOUT_PIE}
        mkdir -p /run/sweep; cd /run/sweep
        {DOCTOR.replace("; echo", " >said; echo")}; cat said
        eval "$(sed -n '/^flent -B/,$p' said) --batch-dry-run" 2>&1 | tail -2
    """, servers=("iperf3", "irtt"))
    text = "\n".join(lines)
    assert re.search(r"irtt +yes +the probe of all tests", text), text
    assert re.search(r"iperf3 +yes +iperf3", text), text
    assert re.search(r"ndt7\S* +no: \d+ closed", text), text
    assert "To start the missing ones on server, if you want their tests, too:" in lines
    assert re.search(r"^  .*flent-aqm serve ndt7 ", text, re.MULTILINE), text
    assert "aqm=no_aqm,codel,sfq,fq_codel,cake" in text
    assert "test_name=iperf3_upload" in text
    assert "status 0" in lines
    assert "Would have run 5 tests." in lines[-2:], text


@pytest.mark.lab
def test_router_without_tc_is_told_so_once(in_guest: InGuest) -> None:
    lines = in_guest(WITHOUT_TC + DOCTOR, servers=("iperf3", "irtt"))
    text = "\n".join(lines)
    assert "status 1" in lines
    assert len(re.findall(r"tc\b.*install it", text)) == 1, text
    assert "fq_codel" not in text


def facts(**kinds: str) -> RouterProperties:
    return RouterProperties({}, "mgmt", {}, {}, {**KINDS, **kinds})


def answered(*names: str) -> list[ServerAnswer]:
    return [ServerAnswer(name, [name], "" if name in names else "no", "")
            for name in ("irtt", "iperf3", "ndt7-cleartext")]


@pytest.mark.parametrize(("names", "kinds", "words"), [
    (("irtt", "iperf3", "ndt7-cleartext"), {}, ["aqm=no_aqm,codel,pie,sfq,fq_codel"]),
    (("irtt", "ndt7-cleartext"), {"pie": "no"}, ["aqm=no_aqm,codel,sfq,fq_codel",
                                                 "test_name=ndt7"]),
    (("irtt", "iperf3"), {"htb": "no"}, ["test_name=iperf3_upload", "shaper=tbf"])])
def test_command_has_what_is_there(names: tuple[str, ...], kinds: dict[str, str],
                                   words: list[str]) -> None:
    command = batch_command("ssh://root@r", "h", facts(**kinds), answered(*names))
    words_of_command = shlex.split(command.replace("\\\n", ""))
    assert words_of_command[:1] == ["flent"]
    assert {"testbed=ssh://root@r", "hosts=h", *words} <= set(words_of_command)


@pytest.mark.parametrize("names", [("iperf3",), ("irtt",), ()])
def test_no_command_where_no_test_could_run(names: tuple[str, ...]) -> None:
    assert batch_command("ssh://root@r", "h", facts(), answered(*names)) == ""


@pytest.mark.parametrize(("host", "setting"), [
    ("h", "server_testbed=ssh://root@h"),
    ("2001:db8::2", "server_testbed=ssh://root@[2001:db8::2]")])
def test_command_that_starts_the_servers_needs_none(host: str, setting: str) -> None:
    """Whatever the check found; but what the router lacks, it still lacks."""
    command = batch_command("ssh://root@r", host, facts(), [], by_sweep=True)
    words = shlex.split(command.replace("\\\n", ""))
    assert {"testbed=ssh://root@r", f"hosts={host}", setting} <= set(words)
    assert not any(word.startswith("test_name=") for word in words)
    assert batch_command("ssh://root@r", host, facts(htb="no", tbf="no", hfsc="no"), [],
                         by_sweep=True) == ""


def test_advice_names_what_the_router_lacks() -> None:
    """Rather than servers, which wouldn't help."""
    assert missing_on_router(facts()) == ""
    lacking = missing_on_router(facts(htb="no", tbf="no", hfsc="no"))
    assert "it has none of the shapers htb, tbf, hfsc" in _advice("ssh://root@r", "h", "", lacking)
    assert "start the server of irtt" in _advice("ssh://root@r", "h", "", "")
    assert _advice("ssh://root@r", "h", "", "", by_sweep="flent x").endswith(
        "let the sweep start them over ssh:\nflent x")
    assert _advice("ssh://root@r", "h", "", "", server_is_there=False, irtt_is_here=False) == (
        "To measure it, install irtt on this machine, which probes in all tests: flent-aqm setup")


def test_commands_that_start_servers_are_not_broken_over_lines(
        capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """So that they can be copied from a terminal of 80 columns. Without a missing server there is
    nothing to start."""
    monkeypatch.setenv("COLUMNS", "80")
    start = f"iperf3 -s -D --pidfile {'/long' * 30}"
    there = ServerAnswer("irtt", ["ndt7"], "", "irtt server")
    _print_servers("h", [there, ServerAnswer("iperf3", ["iperf3"], "5201 closed", start)])
    assert f"on h, if you want their tests, too:\n  {start}\n" in (out := capsys.readouterr().out)
    assert "irtt server" not in out
    _print_servers("h", [there])
    assert "To start" not in capsys.readouterr().out


def test_two_commands_never_start_servers_on_one_port(capsys: pytest.CaptureFixture[str]) -> None:
    """The one that has the other's ports and more does for both; alone each is told."""
    few = ServerAnswer("cleartext", ["a"], "8090 closed", "serve few", frozenset({8090}))
    more = ServerAnswer("tls", ["b"], "8090 closed", "serve more", frozenset({8090, 8490}))
    other = ServerAnswer("other", ["c"], "8081 closed", "serve other", frozenset({8081}))
    _print_servers("h", [few, more, other])
    assert "too:\n  serve more\n  serve other\n" in (out := capsys.readouterr().out)
    assert "serve few" not in out
    for one in (few, more):
        _print_servers("h", [one])
        assert f"too:\n  {one.start}\n" in capsys.readouterr().out


def test_no_command_of_the_table_takes_anothers_port() -> None:
    """Of the real servers, those that share a port are one within the other."""
    servers = [tool.server for tool in TOOLS.values() if tool.server.protocol == "tcp"]
    for one in servers:
        for other in servers:
            mine, its = {*one.every_port}, {*other.every_port}
            assert not mine & its or mine <= its or its <= mine, (one.name, other.name)


@pytest.mark.parametrize(("faults", "there"), [
    ({}, False), ({5202: "5202: No route to host"}, False), ({5201: "5201 closed"}, True),
    # A firewall that accepts only the first of iperf3's two ports.
    ({5201: ""}, True)])
def test_advice_for_a_machine_that_never_answers_is_to_look_for_it(
        faults: dict[int, str], there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that refuses is an answer."""
    monkeypatch.setattr(answers_of, "irtt_answer", lambda address: "UDP 2112: no valid response")
    monkeypatch.setattr(answers_of, "_check_port",
                        lambda port, address: faults.get(port, f"{port} silent"))
    checked = answers("192.0.2.1")
    assert all(one.why for one in checked)
    advice = _advice("ssh://root@r", "h", "", "", server_is_there=is_there(checked))
    assert ("h does not answer at any port" in advice) is not there
    assert ("start the server of irtt" in advice) is there


def test_machine_without_ssh_is_told_of_as_this_one(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its user can't log in to a router, and the hook's long command says nothing."""
    monkeypatch.setattr(shell, "run", lambda argv: "format 1\nuid 1000\nend\n")
    assert report("netns") == 1
    assert capsys.readouterr().err == ("netns: the user on the machine is not root, and only root "
                                       "may change queues; run this as root\n")
    monkeypatch.setattr(shell, "run", lambda argv: "hello\nformat 1\nend\n")
    with pytest.raises(ParseError, match=r"^the machine printed 'hello' before its answer to"):
        report("netns")

    monkeypatch.setattr(shell, "run", lambda argv: "banner\nformat 1\nend\n")
    with pytest.raises(ParseError, match=r"^the machine printed 'banner' before its answer"):
        report("netns")

    def fail(argv: list[str]) -> str:
        raise CommandFailed(argv, 1, "", "sh: no room\n")

    monkeypatch.setattr(shell, "run", fail)
    with pytest.raises(TestbedError, match=r"^netns: the query of this machine failed: sh: no ro"):
        report("netns")


def test_server_without_an_address_is_told_with_the_option_that_names_it() -> None:
    """The user of doctor has given no batch key."""
    with pytest.raises(ConfigError, match=r"^--server: no address is known for 'nowhere\.invalid'"):
        address_of("nowhere.invalid", "--server")


def test_servers_that_do_not_answer_are_told_with_their_start() -> None:
    """Of this machine, at an address where nothing listens."""
    by_server = {one.server: one for one in answers("127.0.0.9")}
    assert all(one.why for one in by_server.values())
    assert by_server["ndt7-cleartext"].start.startswith("flent-aqm serve ndt7 --no-tls")
    assert not any("$" in one.start for one in by_server.values())
    assert not any(one.start in ("", "false") for one in by_server.values())
