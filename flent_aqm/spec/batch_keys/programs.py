# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of programs of the user that a run starts on its hosts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.key import Record, key
from flent_aqm.spec.readers import command, number

# Word between two commands of server_program.
BETWEEN = ";"
# Longest time that the user can have a run wait for a server, in s.
MOST_READY_S = 3600.0


def _commands(name: str, value: object) -> str:
    """Return the value of server_program as text without blanks at its ends. It is one or more
    command lines, with the word `;` between them. Raises ConfigError if one of them is empty or its
    first word is '', or if command() refuses the value.

    name: name of the key, for the message.
    """
    text = command(name, value)
    for place, words in enumerate(split_commands(text), 1):
        if not words or not words[0]:
            raise ConfigError(f"{name}: {text[:60]!r} has an empty command at place {place}; "
                              f"expected commands with ' {BETWEEN} ' between them, where a quoted "
                              f"{BETWEEN} counts, too")
    return text


def _ready(name: str, value: object) -> float:
    """Return a time in s, from 0 to MOST_READY_S. Raises ConfigError for any other value.

    name: name of the key, for the message.
    """
    seconds = number(name, value, "seconds")
    if not 0 <= seconds <= MOST_READY_S:
        raise ConfigError(f"{name}: {str(value)[:20]!r}; expected seconds, from 0 to "
                          f"{MOST_READY_S:g}")
    return seconds


@dataclass(frozen=True)
class Programs(Record):
    """Programs of the user on client and server. The program on the router is a key of the router.

    Attributes:
        client_program: command line on the client that the test `program` measures, "" for none.
        server_program: command lines on the server with ` ; ` between them, "" for none.
        server_ready_s: time to wait after the start of each server program, in s. None to wait
            until the program has opened a port.
    """

    heading = "Programs of your own"

    client_program: str = key("", "a command", "command on the client that the test `program` "
                              "[measures](../ci.md)", command)
    server_program: str = key("", "a command, or several with ` ; ` between them",
                              "commands on the server, each started when the one before has "
                              "opened a port", _commands)
    server_ready_s: float | None = key(
        None, f"0 to {MOST_READY_S:g}", "don't look for a port, but wait so long after the start "
        "of each `server_program`", _ready, unit="s")

    @property
    def server_commands(self) -> list[list[str]]:
        """The commands on the server, each as a list of words, in the order of their start. Empty
        without server_program."""
        return split_commands(self.server_program) if self.server_program else []

    @property
    def words(self) -> list[str]:
        """All words of the client's and the server's commands, any of which may be the path of a
        file."""
        return [*shlex.split(self.client_program),
                *(word for words in self.server_commands for word in words)]

    @property
    def only_in_lab(self) -> str:
        """The reason why a testbed in real time starts no programs on its hosts, with {testbed} in
        place of the testbed's name. "" if no key of this record is given."""
        names = list(self.differing())
        return (f"{', '.join(names)}: on testbed {{testbed}} no programs are started on the hosts; "
                f"leave the key{'s' * (len(names) > 1)} out, or use testbed virtual"
                ) if names else ""

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError if server_ready_s is given without server_program."""
        if self.server_ready_s is not None and not self.server_program:
            raise ConfigError("server_ready_s: there is no server_program to wait for; leave the "
                              "key out", "server_ready_s")


def split_commands(text: str) -> list[list[str]]:
    """Split a text into words as a shell does, and return the words of each command line, in their
    order. Command lines have the word `;` between them, also if it is quoted or escaped. A `;`
    within a longer word separates nothing. The words of an empty command line are an empty list, so
    an empty text gives [[]]. Raises ValueError if a quote isn't closed, or if the text ends with a
    backslash that escapes nothing."""
    commands: list[list[str]] = [[]]
    for word in shlex.split(text):
        if word == BETWEEN:
            commands.append([])
        else:
            commands[-1].append(word)
    return commands
