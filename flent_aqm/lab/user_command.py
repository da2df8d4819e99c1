# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command of the user, or a shell, on the client of a lab, and hands over its files."""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError, LabTimeout, cause_of
from flent_aqm.base.words import plain
from flent_aqm.lab.copy_out import OutputFollower, copy_out, flents_data_file
from flent_aqm.lab.place import RunEnvironment
from flent_aqm.lab.virtual import Lab
from flent_aqm.setup.optional import optional_there
from flent_aqm.setup.tools import can_start
from flent_aqm.spec.scenario import Scenario
from flent_aqm.tools.table import SERVERS

# Folders in which the guest has files of its own, and those above. They end with the lab.
_GUEST_FOLDERS = {Path(path) for path in ("/", "/tmp", "/run", "/dev", "/dev/shm")}
# At most this many bytes of a script that the command names are read.
_SCRIPT_BYTES = 1 << 20


def add_wall_limit(parser: argparse.ArgumentParser, stopped: str) -> None:
    """Declare the option --wall-limit, whose value `args.wall_limit` is in s.

    stopped: what is stopped after that time, for the help text.
    """
    parser.add_argument("--wall-limit", metavar="S", type=_wall_limit_s,
                        default=defaults.WALL_LIMIT_S,
                        help=f"stop {stopped} after S seconds of wall time "
                             "(default: %(default)g)")


def _wall_limit_s(text: str) -> float:
    """Parse the value of --wall-limit. Raises ConfigError if it is not a number of seconds above
    0 and below 10^9."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 1e9:
        raise ConfigError(f"--wall-limit: {text!r}; expected a number of seconds above 0 and below "
                          "10^9")
    return seconds


def run_command(scenario: Scenario, command: Sequence[str], *, prelude: Sequence[Sequence[str]],
                servers: Sequence[str], results: Path | None = None,
                wall_limit_s: float = defaults.WALL_LIMIT_S,
                clock_start_ns: int = defaults.CLOCK_START_NS) -> int:
    """Boot a lab, run a command on its client, and copy the files that it wrote to the user's
    folder. Return the command's exit status.

    The command's output is printed unchanged as it comes. Messages about files that got another
    name or could not be copied go to standard error.

    Args:
        scenario: the settings of the lab.
        command: words of the command. Empty for a shell at the user's terminal, which has no time
            limit. Call check_terminal() before.
        prelude: commands to run before. If one fails, the command is not run, and the exit status
            is that of the failed one.
        servers: names of the servers to start.
        results: folder for the files that the command writes to its current folder, by default the
            user's current folder. It is created if it doesn't exist. If the current folder is /,
            the command can't write to it.
        wall_limit_s: wall time in s after which a command is stopped.
        clock_start_ns: time on the lab's clock at boot, in ns since 1970, UTC.

    Raises an AqmError if the folder can't be written, if the lab doesn't start or fails, or if the
    command doesn't end in time. If the run fails, no files are copied.
    """
    interactive = not command
    here = Path.cwd()
    since_ns = time.time_ns()
    folder = make_results_folder(results)
    with Lab(
        scenario,
        command or ["bash", "--norc", "-i"],
        servers=servers,
        prelude=prelude,
        programs=optional_there(),
        env={"PS1": r"client:\w\$ "} if interactive else {},
        interactive=interactive,
        writable_cwd=here != Path("/"),  # an overlay on / would hide the guest's own mounts
        wall_limit_s=None if interactive else wall_limit_s,
        clock_start_ns=clock_start_ns,
    ) as lab:
        shown = OutputFollower([] if interactive else [
            (lab.stdout, sys.stdout.fileno()), (lab.stderr, sys.stderr.fileno())])
        with shown, wall_limit_named():
            status = lab.run().status
        # The command sees the files of the current folder, but of no other results folder.
        copy_results(lab, folder or here, since_ns if folder in (None, here) else None, command)
        shown.refuse_lost()
        return status


@contextmanager
def wall_limit_named() -> Iterator[None]:
    """Context manager: name the option --wall-limit in a LabTimeout that the block raises at this
    limit."""
    try:
        yield
    except LabTimeout as error:
        if not error.at_limit:
            raise
        raise LabTimeout(f"{error}; if it only needs longer, give --wall-limit S") from None


def check_terminal(example: str) -> None:
    """Raise ConfigError unless standard input and output are a terminal, which a shell needs.

    Args:
        example: example of a command with which no terminal is needed, for the message.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("a shell needs a terminal on standard input and output; give a command: "
                          + example)


def servers_for(command: Sequence[str], mlab: bool = False) -> list[str]:
    """Return the names of the servers to start in the lab: those of defaults.SERVERS first, then
    the other servers with `in_lab`. Servers whose program or module this machine lacks are left
    out.

    Of the other servers, one that takes long to start (it has `words`) is left out, too, unless one
    of its words occurs in the command or in a file that the command names. For a shell, and if the
    word `doctor` occurs there, such a server is started in any case.

    Args:
        command: words of the command, empty for a shell.
        mlab: M-Lab's ndt-server takes the place of this package's server for NDT7.

    Raises ConfigError if M-Lab's ndt-server is to be used, but is not on PATH.
    """
    text = "\n".join([*command, *map(_script_text, command)])
    looks_at_all = not command or re.search(r"\bdoctor\b", text)
    more = [name for name, server in SERVERS.items()
            if server.in_lab and name not in defaults.SERVERS
            and (looks_at_all or not server.words or any(word in text for word in server.words))]
    names = [name for name in (*defaults.SERVERS, *more) if can_start(SERVERS[name])]
    if not mlab:
        return names
    if not shutil.which("ndt-server"):
        raise ConfigError("M-Lab's ndt-server is not on PATH, or this user may not execute it; "
                          "mend that, or leave out --mlab-server and ndt7_server=mlab to use this "
                          "package's server")
    return ["ndt-server" if name == "ndt7" else name for name in names]


def _script_text(word: str) -> str:
    """Return the first MiB of the file that a word of the command names, as text. "" if there is no
    such file or it can't be read."""
    try:
        if not os.path.isfile(word):
            return ""
        with open(word, "rb") as file:
            return file.read(_SCRIPT_BYTES).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def make_results_folder(folder: Path | None) -> Path | None:
    """Make the folder of --results, and return its absolute path. None if `folder` is None. Raises
    ConfigError if it can't be made or written."""
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ConfigError(f"--results: {folder} is there, and is no folder; give another folder"
                          ) from None
    except OSError as error:
        raise ConfigError(f"--results: can't create {folder}: {cause_of(error)}; give another "
                          "folder") from None
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"--results: {folder} is not writable; give another folder")
    return folder.resolve()


def copy_results(lab: RunEnvironment, results: Path, since_ns: int | None,
                 command: Sequence[str]) -> None:
    """Copy the files that the command wrote out of the lab, as copy_out() does: an existing file is
    replaced only if the command saw it, otherwise it stays, and the copy gets a number in its name
    unless its content is the same. Print to standard error the new names, where the first data file
    of Flent is if that isn't the current folder, which Flent names, the first file that the lab did
    not hand over, and the first file outside of the current folder that the command names. Raises
    ConfigError if a file can't be read or written.

    Args:
        lab: the lab, which has ended and is not closed yet.
        results: existing folder to copy to.
        since_ns: start of the lab in ns since the epoch, if the command saw the files in `results`.
            None if it did not.
        command: words of the command.
    """
    for name, got in copy_out(lab.results, results, since_ns=since_ns):
        print(f"flent-aqm: {name!r} existed before and was kept; the command's file is named "
              f"{got!r}", file=sys.stderr)
    if results != Path.cwd() and (name := flents_data_file(lab.results)):
        print(f"flent-aqm: {plain(name)} is in {plain(results)}", file=sys.stderr)
    if lab.left_behind:
        print(f"flent-aqm: not copied out of the lab: {lab.left_behind}: more than 100 folders in "
              "one another, or a path of more than 2,000 bytes", file=sys.stderr)
    if lost := [path for path in lab.files_that_end_here() if _is_named(path, command)]:
        print(f"flent-aqm: not copied out of the lab: {plain(str(lost[0]))}"
              f"{f' and {len(lost) - 1} more' if lost[1:] else ''}: outside of the current folder; "
              "let the command write below it, and give --results for another folder",
              file=sys.stderr)


def _is_named(file: Path, command: Sequence[str]) -> bool:
    """Return whether a word of the command, or what follows its "=", is the path of a file or of a
    folder above it. /tmp, /run and /dev/shm themselves don't count, nor do paths within a script
    that is a word, because scripts use these folders for what only they need."""
    named = {os.path.abspath(text) for word in command for text in (word, word.partition("=")[2])
             if text}
    return any(str(path) in named for path in (file, *file.parents) if path not in _GUEST_FOLDERS)
