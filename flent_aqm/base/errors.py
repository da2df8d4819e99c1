# SPDX-License-Identifier: GPL-3.0-or-later
"""Every error that this package raises on purpose.

    AqmError                one line for the user, exit status 1
    ├── ConfigError         a batch, an argument or a setting is wrong
    ├── ToolMissing         a program or a built part is not there
    ├── SetupError          a download or a build failed
    ├── LabError            the guest could not be started, crashed, or was killed
    │   └── LabTimeout      the guest ran past its wall-time limit
    ├── TestbedError        a router or server can't be reached, is taken, or can't do it
    ├── CommandFailed       a program ended with an error; holds argv and output
    ├── RouterDisagrees     the router reports other settings than asked for
    ├── ParseError          a tool printed something that is not its format
    └── BadResult           a data file is damaged or lacks what was asked of it
        └── NotAvailable    a run doesn't tell this number, and why

Anything else that is raised is a defect of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flent_aqm.base.words import plain


class AqmError(Exception):
    """An expected failure. Its text says what was seen and how to mend it. As a string it is
    one line that no terminal obeys, whatever it quotes of files, names and tools."""

    def __str__(self) -> str:
        return plain(super().__str__())


class ConfigError(AqmError):
    """The user asked for something that doesn't exist or makes no sense.

    key: of a batch, that it is about; "" where it is about none, or nobody said.
    """

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text)
        self.key = key


@contextmanager
def about(key: str) -> Iterator[None]:
    """Let a ConfigError say which key it is about, if it doesn't yet."""
    try:
        yield
    except ConfigError as fault:
        fault.key = fault.key or key
        raise


class ToolMissing(AqmError):
    """A program, or a part that set-up builds, was not found."""


class SetupError(AqmError):
    """A download or a build did not succeed."""


class LabError(AqmError):
    """The virtual lab did not do what it was asked to."""


class LabTimeout(LabError):
    """The lab was stopped because it ran past its wall-time limit."""


class RouterDisagrees(AqmError):
    """What the kernel reports differs from what was requested."""


class ParseError(AqmError):
    """Output of a tool that is not in the expected format."""


class StorageError(AqmError):
    """Results can't be written, such as to a full disk; further runs would be in vain."""


class BadResult(AqmError):
    """A data file that can't be used. As a string it has no more than LONGEST characters: a
    name in the file may have a million."""

    LONGEST = 600

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) <= self.LONGEST:
            return text
        return f"{text[:self.LONGEST * 2 // 3]}…{text[-self.LONGEST // 3:]}"


def a_defect(error: Exception) -> str:
    """Return what to say of an error that nobody foresaw, where work goes on without what
    caused it."""
    return f"a bug in flent-aqm: {type(error).__name__}: {error}; please report it"


class NotAvailable(BadResult):
    """A number that a run doesn't tell. The text completes "not available, because …"."""


class LostProbe(NotAvailable):
    """A percentile that is a lost probe: no number, but worse than any."""


class TestbedError(AqmError):
    """A host of the testbed can't be reached, is in use, or can't do what is needed."""

    __test__ = False  # no test, as pytest would think from its name


class CommandFailed(AqmError):
    """A program ended with an error.

    argv: the command; returncode: its exit status (negative: the signal);
    stdout, stderr: its whole output as text.
    """

    def __init__(self, argv: Sequence[str], returncode: int, stdout: str, stderr: str) -> None:
        self.argv = list(argv)
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr
        last = (stderr.strip() or stdout.strip() or "no output").splitlines()[-1]
        how = f"signal {-returncode}" if returncode < 0 else f"status {returncode}"
        super().__init__(f"{' '.join(self.argv)}: ended with {how}: {last}")
