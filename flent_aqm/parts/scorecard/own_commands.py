# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a Python file with a Tool for a test that the user gives as two commands."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.parts.scorecard.output import write_output
from flent_aqm.tools.command import check_placeholders, command_tool, files_of, words_of

# Contains a hash of the commands' files, so that it differs when one of them changes.
_TEXT = """# Written by flent-aqm scorecard of --client, --server and --reads, and the files {hash}.
from flent_aqm.tools.command import command_tool, files_of, measure_by

CLIENT = {client!r}
SERVER = {server!r}
READS = {reads!r}
TOOL = command_tool({name!r}, CLIENT, SERVER, READS, {longest_s!r})
FILES = files_of(CLIENT, SERVER)


def measure(call, report):
    measure_by(CLIENT, READS, call, report)
"""

_MOST_S = 86_400
# Most characters of the file's name, of which most file systems take 255 bytes.
_LONGEST_NAME = 60

# Programs that several clients share.
_INTERPRETER = re.compile(r"(?:python|perl|ruby|node|lua|php|sh|bash|dash)[\d.]*")


def write_tool(output: Path, name: str | None, client: str, server: str, reads: str,
               longest_s: float) -> Path:
    """Write the Python file own/NAME.py with the test's TOOL below `output`, in place of an
    existing one, and return its path. The programs, and words that are paths of files, are written
    as absolute paths.

    Args:
        output: folder of the option -o.
        name: name of the test, None for that of the client's program, or of the script that an
            interpreter runs, without .py.
        client: command line of the client, with {host} and {port}.
        server: command line of the server, with {port}.
        reads: the option --reads: where the client's output has the numbers.
        longest_s: longest duration of a run.

    Raises ConfigError if a command, --reads or --longest is wrong, or a file can't be read or
    written.
    """
    if not 0 < longest_s <= _MOST_S:
        raise ConfigError(f"--longest: {longest_s:.16g}; expected a number of seconds above 0 and "
                          f"up to {_MOST_S:,}")
    check_placeholders(client, server)  # before paths take the place of the user's words
    client, server = (shlex.join(words_of(option, text))
                      for option, text in (("--client", client), ("--server", server)))
    name = name or _name_of(shlex.split(client))
    command_tool(name, client, server, reads, longest_s)
    path = output / "own" / f"{os.path.basename(name).removesuffix('.py')[:_LONGEST_NAME]}.py"
    digest = hashlib.sha256(b"".join(_read_bytes(file) for file in files_of(client, server)))
    write_output(path, _TEXT.format(client=client, server=server, reads=reads, name=name,
                                    longest_s=longest_s, hash=digest.hexdigest()[:16]))
    return path


def _name_of(client: Sequence[str]) -> str:
    """Return the name of a client for readers: that of its program, without .py. If the program is
    an interpreter, such as python3, it is that of the first file among its arguments, if any.

    client: words of its command line.
    """
    program = client[0]
    if _INTERPRETER.fullmatch(os.path.basename(program)):
        program = next((word for word in client[1:] if os.path.isfile(word)), program)
    return os.path.basename(program).removesuffix(".py")


def _read_bytes(file: str) -> bytes:
    """Return the bytes of a file. Raises ConfigError if it can't be read."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"--client, --server: can't read {file}: {cause_of(error)}; make it "
                          "readable") from None
