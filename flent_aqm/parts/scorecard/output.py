# SPDX-License-Identifier: GPL-3.0-or-later
"""Write files to the folder that the option `-o` names, and refuse files there or in that of
`--against`."""

from __future__ import annotations

import errno
from pathlib import Path

from flent_aqm.base.errors import BadResult, ConfigError, cause_of
from flent_aqm.base.whole_file import write_text

# open_regular()'s errors for something that isn't a regular file. All other errors of the system
# say nothing about the content.
_NO_FILE = (errno.EISDIR, errno.EINVAL, errno.ENXIO, errno.ELOOP)


def refusal(path: Path, fault: Exception, kind: str, again: str) -> BadResult:
    """Return the BadResult for a file in the folder of the option -o or --against that can't be
    read or is damaged. Its message has the cause and what to do: after an error of the system, make
    the file readable or name another folder; if the content is wrong, or the path is no regular
    file, as do_again() says.

    Args:
        path: path of the file.
        fault: the exception that was raised while the file was read.
        kind: kind of file that was expected, such as "a scorecard file".
        again: how to make the file again, such as "score the test again".
    """
    if isinstance(fault, OSError) and fault.errno not in _NO_FILE:
        return BadResult(f"{path}: can't be read: {cause_of(fault)}; make it readable, or name "
                         "another folder")
    return BadResult(f"{path}: not {kind}, or damaged ({cause_of(fault)}); {do_again(again)}")


def do_again(again: str) -> str:
    """Return the end of a message about a file in the folder of the option -o or --against that
    this version can't use: if flent-aqm wrote the file, remove it and make it again, otherwise name
    another folder.

    Args:
        again: how to make the file again, such as "score the test again".
    """
    return f"if flent-aqm wrote it, remove it and {again}, otherwise name another folder"


def write_output(path: Path, text: str) -> None:
    """Write a text file in UTF-8, in place of an existing one, and create its folder and those
    above. The file appears complete or not at all. Raises ConfigError if the folder or file can't
    be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise ConfigError(f"-o: can't write {path}: {cause_of(error)}; mend that, or choose "
                          "another folder with -o") from None
