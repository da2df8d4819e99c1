# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes the user's programs on the lab's server, and finds out whether one of them failed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import ConfigError, LabError
from flent_aqm.base.words import plain
from flent_aqm.tools.command import find_command

# Seconds of virtual time within which a server has to open a port.
PATIENCE_S = 30
# Longest time of --ready.
MOST_READY_S = 3600.0
# Most bytes that a server may print.
MOST_OUTPUT_BYTES = 64 << 20
# Bytes at the end of a server's output in which its last line is looked for.
_TAIL_BYTES = 4096
_LONGEST_LINE = 200


@dataclass(frozen=True)
class OwnServers:
    """Commands to start on the server, in this order, each when the one before is ready.

    Attributes:
        commands: words of each command.
        ready_s: seconds of virtual time after which a server is ready. None: when it has opened a
            TCP or UDP port.
    """

    commands: Sequence[Sequence[str]] = ()
    ready_s: float | None = None

    def variables(self) -> dict[str, str]:
        """Return the shell variables that guest/own_servers.sh reads. Empty if there are no
        commands."""
        if not self.commands:
            return {}
        return {"OWN_SERVERS": str(len(self.commands)), "SERVER_PATIENCE_S": str(PATIENCE_S),
                "SERVER_READY_S": "" if self.ready_s is None else f"{self.ready_s:g}"}

    def too_talkative(self, out: Path) -> str:
        """Return a sentence on the first server that has printed more than MOST_OUTPUT_BYTES, "" if
        there is none.

        Args:
            out: folder of the output files.
        """
        for number in range(1, len(self.commands) + 1):
            path = out / f"server-{number}"
            if path.is_file() and path.stat().st_size > MOST_OUTPUT_BYTES:
                return (f"{self._option(number)} printed more than {MOST_OUTPUT_BYTES >> 20} MiB; "
                        "have it print less, or send its output to /dev/null")
        return ""

    def refuse_failed(self, out: Path) -> None:
        """Raise LabError if a server could not be started or opened no port in time, or if it ended
        with an error before the command on the client did.

        Args:
            out: folder of the output files, which were written inside.
        """
        number, _, why = _first_line(out / "server_fault").partition(" ")
        failed = int(number) if number.isdigit() and int(number) <= len(self.commands) else 0
        if failed and why == "silent":
            raise LabError(f"{self._option(failed)} opened no TCP or UDP port within "
                           f"{PATIENCE_S} s; if it needs none, give --ready SECONDS to wait for "
                           f"that long instead{_last_line(out / f'server-{failed}')}")
        for position in range(1, len(self.commands) + 1):
            status = _first_line(out / f"server-{position}-status")
            # A server that has served its only client and ends is none that failed.
            if position == failed or status not in ("", "0"):
                raise LabError(
                    f"{self._option(position)} ended with status {plain(status)[:10]} before "
                    f"{'it was ready' if position == failed else 'the command did'}"
                    f"{_last_line(out / f'server-{position}')}")

    def _option(self, number: int) -> str:
        """Return a server's command as the user's option, cut to _LONGEST_LINE characters, for
        messages.

        Args:
            number: number of the server in the order of the commands, from 1.
        """
        return f"--server {plain(shlex.join(self.commands[number - 1]))[:_LONGEST_LINE]!r}"


NO_SERVERS = OwnServers()


def parse_own_servers(texts: Sequence[str], ready: str | None) -> OwnServers:
    """Return the servers that --server and --ready request.

    Args:
        texts: commands as a shell would read them.
        ready: seconds as text, None for the default.

    Raises ConfigError if a command is empty or has no such program, if `ready` is no valid time, or
    if it is given without a command.
    """
    if ready is not None and not texts:
        raise ConfigError("--ready: there is no --server to wait for")
    return OwnServers([_split_command(text) for text in texts],
                      None if ready is None else _parse_ready(ready))


def _parse_ready(text: str) -> float:
    """Parse the seconds of --ready. Raises ConfigError if the text is not a number from 0 to
    MOST_READY_S."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= MOST_READY_S:
        raise ConfigError(f"--ready: {text[:20]!r}; expected seconds, from 0 to "
                          f"{MOST_READY_S:g}")
    return seconds


def _split_command(text: str) -> list[str]:
    """Split a command as a shell would. Raises ConfigError if it is empty or can't be split, or if
    there is no such program."""
    try:
        words = shlex.split(text)
    except ValueError as fault:
        raise ConfigError(f"--server: {text[:60]!r}: {fault}") from None
    if not words:
        raise ConfigError("--server: the command is empty; expected a command such as "
                          "'./server 0.0.0.0:4433'")
    find_command("--server", words[0])
    return words


def _first_line(path: Path) -> str:
    """Return the first line of a file without surrounding white space, "" if it can't be read."""
    try:
        with path.open("rb") as file:
            return file.readline(_TAIL_BYTES).decode(errors="replace").strip()
    except OSError:
        return ""


def _last_line(path: Path) -> str:
    """Return the end of a message: "; it printed last: " and the last line that a server printed,
    or "; it printed nothing".

    Args:
        path: file with the server's output, which may be missing.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        lines = []
    printed = [plain(line).strip() for line in lines if line.strip()]
    return f"; it printed last: {printed[-1][:_LONGEST_LINE]}" if printed else \
        "; it printed nothing"
