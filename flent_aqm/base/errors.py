# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the errors that this package raises for mistakes and failures it expects.

    AqmError                one line for the user, exit status 1
    ├── ConfigError         a batch, an argument or a setting is wrong
    ├── ToolMissing         a program or a built part is not there
    ├── SetupError          a download or a build failed
    ├── LabError            the guest could not be started, crashed, or was killed
    │   └── LabTimeout      the guest ran past its wall-time limit
    ├── TestbedError        a router or server can't be reached, is taken, or can't do it
    ├── CommandFailed       a program ended with an error; holds argv and output
    ├── RouterDisagrees     the router reports other settings than requested
    ├── ParseError          a tool printed something that is not its format
    ├── StorageError        results can't be written, such as to a full disk
    └── BadResult           a data file is damaged, or lacks a number that was requested
        └── NotAvailable    a run has no such number or plot, for the reason in the text
            ├── TooFewSamples   the percentile needs more samples than there are
            └── LostProbe       the number is the round-trip time of a lost probe

Any other exception that leaves a command is a defect of this package.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flent_aqm.base.words import end_of, last_line, plain

# In Python's error if all folders for temporary files are full or may not be written.
NO_TEMPORARY_FOLDER = "No usable temporary directory"


class AqmError(Exception):
    """Base class of expected failures.

    The text says what was seen, what was expected and how to mend it. str() returns it as one line
    without control characters, because it may quote files and tools of strangers.
    """

    def __str__(self) -> str:
        return plain(super().__str__())


class ConfigError(AqmError):
    """A batch, an argument or a setting is wrong.

    Attributes:
        key: the batch key that the error is about, "" if it is about none.
    """

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text)
        self.key = key


def cause_of(fault: Exception) -> str:
    """Return the end of a message that says what went wrong: the system's words for an OSError that
    has them, such as "No space left on device", but "Not a directory" where the system says "File
    exists" of a file that is in a new folder's place; for a KeyError, IndexError, TypeError or
    AttributeError what is wrong with data from outside, such as "'rate' is missing" for
    KeyError('rate'); for any other exception its text, or its type's name if it has none.

    fault: the exception that was raised when a file, connection or name was used, or data was read.
    """
    if isinstance(fault, KeyError):
        return f"{str(fault.args[0])[:60]!r} is missing"
    if isinstance(fault, IndexError):
        return "a value is missing"
    if isinstance(fault, (TypeError, AttributeError)):
        return "a value is of another kind than expected"
    if isinstance(fault, FileExistsError) and isinstance(fault.filename, str | os.PathLike) and (
            os.path.lexists(fault.filename) and not os.path.isdir(fault.filename)):
        return os.strerror(errno.ENOTDIR)
    if isinstance(fault, OSError) and fault.strerror:
        return fault.strerror
    return str(fault) or type(fault).__name__


def why_unreadable(folder: os.PathLike[str]) -> str:
    """Return the reason why the entries of a folder can't be listed, such as "No such file or
    directory" or "Not a directory", "" if they can."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        return cause_of(error)
    return ""


@contextmanager
def about(key: str) -> Iterator[None]:
    """Context manager: set `key` on each ConfigError that the block raises, unless the error names
    a key already. The error is raised further.

    key: the batch key.
    """
    try:
        yield
    except ConfigError as fault:
        fault.key = fault.key or key
        raise


class ToolMissing(AqmError):
    """A program, a Python package, or a file that set-up builds, is not there, is too old, is
    damaged, or can't be started."""


class SetupError(AqmError):
    """Set-up can't go on: a download or a build failed, or something that it needs, such as a
    source package or room on the disk, is missing."""


class LabError(AqmError):
    """A run in the lab or in namespaces failed in another way than by its command's exit status:
    the lab could not be prepared or started, crashed, or was stopped; a program or setting that the
    run needs failed; or its output can't be read."""


class LabTimeout(LabError):
    """LabError of a run whose lab or namespaces were stopped before its command had ended: at the
    wall-time limit, or earlier because the command was known never to end.

    Attributes:
        at_limit: whether it was stopped at the limit, so that a higher one may help.
    """

    at_limit = True


class RouterDisagrees(AqmError):
    """The router reports other settings than requested."""


class ParseError(AqmError):
    """What a tool, a router or the kernel printed, wrote or answered is not in the expected format:
    it is cut off, empty, impossible, or a refusal."""


class StorageError(AqmError):
    """Results can't be written, such as to a full disk. Further runs would be in vain."""


class BadResult(AqmError):
    """A data file, or the result of a measurement, can't be used.

    str() shortens a text of more than LONGEST characters, because names in a file may be of any
    length: it returns the beginning and the end, together LONGEST characters, with "…" between
    them.
    """

    LONGEST = 600

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) <= self.LONGEST:
            return text
        return f"{text[:self.LONGEST * 2 // 3]}…{text[-self.LONGEST // 3:]}"


def a_defect(error: Exception) -> str:
    """Return "a bug in flent-aqm: TYPE: TEXT; please report it" for an unexpected exception. It is
    for callers that go on without the file or run that caused the exception."""
    return f"a bug in flent-aqm: {type(error).__name__}: {error}; please report it"


class NotAvailable(BadResult):
    """BadResult because the requested number or plot can't be made of this run or these runs. The
    text is a reason that completes the sentence "not available, because …"."""


class TooFewSamples(NotAvailable):
    """NotAvailable because the requested percentile needs more samples than there are."""


class LostProbe(NotAvailable):
    """NotAvailable because the requested percentile falls on a lost probe. Such a percentile ranks
    as worse than any number."""


class TestbedError(AqmError):
    """A router, a server or a cluster's scheduler can't be reached, is in use, or can't do what is
    needed, or the connection to it or to its workers has broken."""

    __test__ = False  # keeps pytest from collecting the class because of its name


class CommandFailed(AqmError):
    """A program ended with an error. The message has the command, how it ended, and the last_line()
    of its standard error, or if there is none, of its standard output, or "no output".

    Attributes:
        argv: the command's words.
        returncode: its exit status, or the negative number of the signal that ended it.
        stdout, stderr: its whole output. For a program that shell.run() stopped at a limit, stdout
            is "" and stderr ends with the reason. For a program of set-up (setup/stream.py), stdout
            is "" and stderr has the last lines of both.
    """

    def __init__(self, argv: Sequence[str], returncode: int, stdout: str, stderr: str) -> None:
        self.argv = list(argv)
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr
        last = last_line(stderr) or last_line(stdout) or "no output"
        super().__init__(f"{' '.join(self.argv)}: ended with {end_of(returncode)}: {last}")
