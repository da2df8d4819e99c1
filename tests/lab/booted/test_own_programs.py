# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm lab --server`, `--router`: any two programs on the line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.own_programs import NO_PROGRAMS, refuse_missing
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools.table import SERVERS
from tests.files import ROOT

FLENT_AQM = Path(sys.executable).with_name("flent-aqm")
_ECHO = """
import socket, sys
kind, port = sys.argv[1:]
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
sock.bind(("0.0.0.0", int(port)))
if kind == "tcp":
    sock.listen()
    connection, _ = sock.accept()
    connection.sendall(connection.recv(100))
while kind == "udp":
    data, address = sock.recvfrom(100)
    sock.sendto(data, address)
"""
_CLIENT = """
import socket, sys, time
kind, port = sys.argv[1:]
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
sock.settimeout(5)
sock.connect(("server", int(port)))
begin_s = time.monotonic()
sock.send(b"x")
print(kind, sock.recv(100), round(1000 * (time.monotonic() - begin_s)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an echo server and its client."""
    (tmp_path / "echo.py").write_text(_ECHO)
    (tmp_path / "client.py").write_text(_CLIENT)
    (tmp_path / "tmp").mkdir()
    return tmp_path


def lab(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `flent-aqm lab` in a folder, as a user does, without a terminal. Its temporary files go
    to the folder's tmp."""
    return subprocess.run([FLENT_AQM, "lab", *words], capture_output=True, check=False, cwd=folder,
                          timeout=300, stdin=subprocess.DEVNULL, text=True,
                          env={**os.environ, "TMPDIR": str(folder / "tmp")})


def left_behind(folder: Path) -> list[str]:
    """Processes that were started in a folder or below and still run, and the lab's temporary
    folders there. A process's end may take the kernel a moment."""
    for _ in range(50):
        found = [path.name for path in (folder / "tmp").iterdir()]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(process / "cwd")).is_relative_to(folder):
                    found.append((process / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue  # it has ended, or is of another user
        if not found:
            break
        time.sleep(0.1)
    return found


@pytest.mark.lab
def test_client_meets_servers_that_listen_over_tcp_and_udp(folder: Path) -> None:
    """Each is awaited; one that serves a single client and ends is no failure. A program on the
    router sees its devices. The same again prints the same."""
    words = ["--aqm", "fq_codel", "--rate", "20", "--delay", "40",
             "--server", "python3 echo.py udp 4433", "--server", "python3 echo.py tcp 4434",
             "--router", "sh -c 'tc qdisc show dev up | head -n 1; sleep 1000'",
             "--", "sh", "-c", "python3 client.py udp 4433; python3 client.py tcp 4434"]
    ended = lab(folder, *words)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "udp b'x' 40\ntcp b'x' 40\n"
    assert lab(folder, *words).stdout == ended.stdout


@pytest.mark.lab
@pytest.mark.parametrize(("words", "why"), [
    (["--server", "python3 nowhere.py"],
     ("the server 'python3 nowhere.py' ended with status 2 before it was ready; it printed last: "
     "python3: can't open file")),
    (["--server", "sleep 1000"], ("the server 'sleep 1000' opened no TCP or UDP port within 30 s; "
     "if it needs none, or longer, give a time to wait instead: --ready SECONDS, or "
     "server_ready_s in a batch; it printed nothing")),
    # It goes into the background.
    (["--server", "sh -c '(sleep 1; python3 echo.py udp 4433) & exit 0'"],
     ("ended with status 0 before it had opened a port; if it went into the background, have it "
      "stay in the foreground; it printed nothing")),
    (["--ready", "0.1", "--server", "sh -c 'sleep 1; echo no more; exit 3'"],
     "ended with status 3 before the command did; it printed last: no more"),
    (["--server", "python3 echo.py udp 4433", "--server", "python3 echo.py udp 4433"],
     ("ended with status 1 before it was ready; it printed last: OSError: [Errno 98] Address "
      "already in use; the port is taken, maybe by one of the lab's own servers (docs/ci.md lists "
      "theirs): give another port")),
    (["--server", "iperf3 -s"], "it printed last: iperf3: exiting; the port is taken, maybe by"),
    (["--server", "./text"], "before it was ready; it printed last: ./text: Exec format error"),
    (["--router", "sh -c 'echo broken; exit 4'"],
     ("the program on the router (router_program, --router) ended with status 4 before the run "
      "did: broken")),
])
def test_program_that_fails_is_named_in_one_line(
    folder: Path, words: list[str], why: str
) -> None:
    """With its status and its last words; the exit status is 1."""
    (folder / "text").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))  # of no known machine
    (folder / "text").chmod(0o755)
    before = {*folder.iterdir()}
    ended = lab(folder, *words, "--", "sleep", "3")
    assert ended.returncode == 1
    assert why in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert {*folder.iterdir()} == before
    assert left_behind(folder) == []


def test_page_names_the_ports_of_the_labs_own_servers() -> None:
    """Of those that run beside any command, and of those that it has to name."""
    page = (ROOT / "docs" / "ci.md").read_text()
    sentence, = re.findall(r"servers of the lab run beside.*?need other ports\.", page)
    always, named = ({port for first, last in re.findall(r"(\d{4,})(?: to (\d+))?", part)
                      for port in range(int(first), int(last or first) + 1)}
                     for part in sentence.split("names their"))
    servers = [server for server in SERVERS.values() if server.in_lab]
    held = {port for server in servers if not server.words for port in server.every_port}
    assert always == held
    assert named == {port for server in servers for port in server.every_port} - held


@pytest.mark.lab
def test_server_that_never_stops_printing_is_stopped(folder: Path) -> None:
    """Before its output fills the disk."""
    ended = lab(folder, "--server", "yes", "--ready", "1", "--", "sleep", "1000000")
    assert ended.returncode == 1
    assert ended.stderr == ("flent-aqm: the server 'yes' printed more than 64 MiB; have it print "
                            "less, or send its output to /dev/null by a shell of its own: sh -c "
                            "'exec COMMAND >/dev/null 2>&1'\n")
    assert left_behind(folder) == []


@pytest.mark.parametrize(("words", "why"), [
    (["--server", "./nothing 4433"], "there is no program './nothing'; give the path of one"),
    (["--server", "'x"], "no closing quotation mark"),
    (["--server", ""], "the command is empty"),
    (["--server", "sh ; ; sh"],
     "has an empty command at place 2; expected commands with ' ; ' between them"),
    (["--ready", "3"], "--ready: there is no --server to wait for"),
    (["--ready", "soon", "--server", "sh"], "'soon' is not a number; give the number"),
    (["--ready", "nan", "--server", "sh"], "not a finite number"),
    (["--ready", "-1", "--server", "sh"], "'-1'; expected seconds, from 0 to 3600"),
    (["--server", "./echo.py"], "is not executable; run: chmod +x ./echo.py"),
])
def test_wrong_words_are_refused_before_anything_starts(
    folder: Path, words: list[str], why: str
) -> None:
    """Each with what was expected."""
    ended = lab(folder, *words, "--", "true")
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert why in ended.stderr


def test_batch_refuses_programs_as_lab_does(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Keys instead of options; a time to wait needs a server."""
    monkeypatch.chdir(folder)
    scenario = Scenario.from_settings({"client_program": "./echo.py x"})
    with pytest.raises(ConfigError, match=r"client_program: \./echo\.py is not executable; run"):
        refuse_missing(scenario.programs)
    with pytest.raises(ConfigError, match="server_ready_s: there is no server_program"):
        Scenario.from_settings({"server_ready_s": "3"})
    two = Scenario.from_settings({"server_program": "sh -c 'a; b' ; ./c 1"})
    assert two.programs.server_commands == [["sh", "-c", "a; b"], ["./c", "1"]]


def test_without_servers_nothing_is_written_for_the_guest() -> None:
    """Runs without them stay as they were."""
    assert NO_PROGRAMS.variables() == {}
