# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the user in the lab: servers beside the command on the client, and a recorded command
on the client. Checks that they can be started, and says in a line how they failed."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.defaults import CLIENT_STDERR, CLIENT_STDOUT, CLIENT_STOPPED
from flent_aqm.base.errors import LabError
from flent_aqm.base.words import plain
from flent_aqm.spec.batch_keys.programs import Programs
from flent_aqm.tools.command import find_command

# Seconds of virtual time within which a server has to open a port.
PATIENCE_S = 30
# Most bytes that a server, or a recorded command, may print on each of its outputs.
MOST_OUTPUT_BYTES = 64 << 20
# Bytes at the end of an output in which its last line is looked for.
_TAIL_BYTES = 4096
_LONGEST_LINE = 200
_OF_SCRIPT = re.compile(r"^/run/lab/(?:router_program|server-\d+): (?:line )?\d+: (?:exec: )?")
# Bytes at the begin and at the end of a longer output that a run's log gets.
_LOGGED_BYTES = 1 << 16


@dataclass(frozen=True)
class OwnPrograms:
    """The user's programs in one boot of the lab: servers, and a recorded command on the client.

    Attributes:
        programs: the scenario's settings of the programs.
    """

    programs: Programs

    @property
    def servers(self) -> Sequence[Sequence[str]]:
        """Commands to start on the server, in this order. Each is started when the one before has
        opened a port, or with server_ready_s, after so many seconds."""
        return self.programs.server_commands

    def variables(self) -> dict[str, str]:
        """Return the variables of guest/own_programs.sh for the servers. Empty without servers."""
        if not self.servers:
            return {}
        ready_s = self.programs.server_ready_s
        return {"OWN_SERVERS": str(len(self.servers)), "SERVER_PATIENCE_S": str(PATIENCE_S),
                "SERVER_READY_S": "" if ready_s is None else f"{ready_s:g}"}

    def outputs(self, out: Path) -> dict[str, Path]:
        """Return the files with the programs' output: name of the program, for messages -> path.
        They need not exist. The command on the client has one for each of its two outputs.

        out: folder of the output files.
        """
        files = {self._name(number): out / f"server-{number}"
                 for number in range(1, len(self.servers) + 1)}
        if self.programs.client_program:
            files["the command on the client"] = out / CLIENT_STDOUT
            files["the command on the client, on standard error,"] = out / CLIENT_STDERR
        return files

    def too_talkative(self, out: Path) -> str:
        """Return a message about the first program that has printed more than MOST_OUTPUT_BYTES to
        one of the files of outputs(), "" if there is none. out: folder of the output files."""
        for name, path in self.outputs(out).items():
            if path.is_file() and path.stat().st_size > MOST_OUTPUT_BYTES:
                return (f"{name} printed more than {MOST_OUTPUT_BYTES >> 20} MiB; "
                        "have it print less, or send its output to /dev/null by a shell of its "
                        "own: sh -c 'exec COMMAND >/dev/null 2>&1'")
        return ""

    def refuse_failed(self, out: Path) -> None:
        """Raise LabError if a server ended with an error before the command on the client did, or
        without server_ready_s, if it ended before it had opened a port, or opened none within
        PATIENCE_S seconds. A server that ended after the test had stopped the command, or after
        the command had ended with status 0, has not failed. out: folder of the output files,
        which were written inside."""
        number, _, why = _first_line(out / "server_fault").partition(" ")
        failed = int(number) if number.isdecimal() and int(number) <= len(self.servers) else 0
        if failed and why == "silent":
            raise LabError(f"{self._name(failed)} opened no TCP or UDP port within {PATIENCE_S} s; "
                           "if it needs none, or longer, give a time to wait instead: --ready "
                           "SECONDS, or server_ready_s in a batch"
                           f"{_last_line(out / f'server-{failed}')}")
        stopped = out / CLIENT_STOPPED
        ended_before = set(_tail(stopped).split()) if stopped.is_file() else None
        for place in range(1, len(self.servers) + 1):
            if ended_before is not None and f"server-{place}-status" not in ended_before:
                continue
            status = _first_line(out / f"server-{place}-status")
            if place == failed and status == "0":
                raise LabError(
                    f"{self._name(place)} ended with status 0 before it had opened a port; if it "
                    "went into the background, have it stay in the foreground"
                    f"{_last_line(out / f'server-{place}')}")
            # A server that has served its only client and ends is none that failed.
            if place == failed or status not in ("", "0"):
                raise LabError(
                    f"{self._name(place)} ended with status {plain(status)[:10]} before "
                    f"{'it was ready' if place == failed else 'the command did'}"
                    f"{_last_line(out / f'server-{place}')}"
                    f"{_port_hint(out / f'server-{place}')}")

    def logged(self, out: Path) -> str:
        """Return the outputs with headings, for a run's log. Empty outputs are left out, long ones
        are cut in the middle. "" if there is no output. out: folder of the output files."""
        return "".join(f"--- {name}\n{text}\n" for name, path in self.outputs(out).items()
                       if (text := _shortened(path)))

    def _name(self, number: int) -> str:
        """Return the name of a server for messages: "the server 'COMMAND'", in which the command is
        cut to _LONGEST_LINE characters. If another server has the same command, its number follows:
        "the server 'COMMAND' (2)". number: its position in `servers`, from 1."""
        commands = [plain(shlex.join(words))[:_LONGEST_LINE] for words in self.servers]
        command = commands[number - 1]
        which = f" ({number})" if commands.count(command) > 1 else ""
        return f"the server {command!r}{which}"


NO_PROGRAMS = OwnPrograms(Programs())


def refuse_missing(programs: Programs, *, client: str = "client_program",
                   server: str = "server_program") -> None:
    """Raise ConfigError if find_command() finds that a server or the command on the client can't be
    started.

    Args:
        programs: the scenario's settings of the programs.
        client: how the user gave the command on the client, for the message.
        server: how the user gave the servers, for the message.
    """
    commands = [(server, words) for words in programs.server_commands]
    if programs.client_program:
        commands.insert(0, (client, shlex.split(programs.client_program)))
    for key, words in commands:
        find_command(key, words[0])


def _first_line(path: Path) -> str:
    """Return the first line of a file, at most _TAIL_BYTES bytes of it, without white space at its
    ends. "" if that line is blank, or if the file is empty or can't be read."""
    try:
        with path.open("rb") as file:
            return file.readline(_TAIL_BYTES).decode(errors="replace").strip()
    except OSError:
        return ""


def _last_line(path: Path) -> str:
    """Return the end of a message: "; it printed last: LINE", with the last line that isn't blank
    in the last _TAIL_BYTES bytes, cut to _LONGEST_LINE characters. "; it printed nothing" if there
    is none, or if the file can't be read.

    path: file with the program's output.
    """
    printed = [plain(line).strip() for line in _tail(path).split("\n") if line.strip()]
    return f"; it printed last: {without_script(printed[-1])[:_LONGEST_LINE]}" if printed else \
        "; it printed nothing"


def without_script(line: str) -> str:
    """Return a line of output without the lab's own script before it, which the shell that can't
    start a program names first: "nothing: not found"."""
    return _OF_SCRIPT.sub("", line)


def _port_hint(path: Path) -> str:
    """Return the end of a message on a server that says in the last _TAIL_BYTES bytes of its output
    that its port is taken: that the lab's own servers may have it. Else "". path: file with the
    server's output."""
    if not re.search("address already in use|EADDRINUSE", _tail(path), re.IGNORECASE):
        return ""
    return ("; the port is taken, maybe by one of the lab's own servers (docs/ci.md lists theirs): "
            "give another port")


def _tail(path: Path) -> str:
    """Return the last _TAIL_BYTES bytes of a file as text, "" if it can't be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _shortened(path: Path) -> str:
    """Return the text of a file, without white space at its ends. Of more than twice _LOGGED_BYTES,
    the middle is replaced by a line with the number of bytes left out. "" if the file can't be
    read."""
    try:
        with path.open("rb") as file:
            first = file.read(_LOGGED_BYTES)
            left_out = os.fstat(file.fileno()).st_size - 2 * _LOGGED_BYTES
            if left_out > 0:
                file.seek(left_out, os.SEEK_CUR)
                first += f"\n… {left_out} bytes left out …\n".encode()
            return (first + file.read(_LOGGED_BYTES)).decode(errors="replace").strip()
    except OSError:
        return ""
