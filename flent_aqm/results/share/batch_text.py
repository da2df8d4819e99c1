# SPDX-License-Identifier: GPL-3.0-or-later
"""Clean a batch file for publication.

Removes comments, and data on machines, networks and people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flent_aqm.base.errors import BadResult
from flent_aqm.base.words import counted
from flent_aqm.results.share.left_over import left_over
from flent_aqm.results.share.secrets import REPLACED, Secrets, is_address
from flent_aqm.results.share.vocabulary import is_common

_ASSIGNMENT = re.compile(r"(\s*)([\w.-]+)(\s*[=:]\s*)(.*)")
_COMMENT = ("#", ";")
_HOST_KEY = re.compile(r"hosts?$|local_bind$|^remote_metadata$")
_FOLDER_KEY = re.compile(r"(?:path|dir|folder|file)$")
_TESTBED_KEY = re.compile(r"testbed$")
_ROUTER = "ssh://root@router"
# Keys whose values are free text of the user, or commands.
_FREE_KEYS = frozenset(("exec", "title", "note", "batch_title", "filename_extra", "description"))


@dataclass(frozen=True)
class CleanBatch:
    """A cleaned batch file.

    Attributes:
        text: its text.
        changed: messages for the user: the number and new text of each line that was changed, then
            how many lines of comments were removed. Empty if the text is unchanged.
    """

    text: str
    changed: list[str]


def clean_batch(name: str, text: str, by_hand: str = "remove it from the batch file"
                ) -> CleanBatch:
    """Return a batch file that can be published: without lines of comments, and with secrets
    replaced. A text that has neither is unchanged.

    Args:
        name: name of the file, for messages.
        text: its text.
        by_hand: what the user has to do about a line that can't be cleaned, for the message.

    Raises BadResult with the number of the first line that would still reveal a machine or a
    person, or if the text names more than secrets.MOST_HOSTS hosts.
    """
    try:
        secrets = Secrets({"batch": text})
    except BadResult as error:
        raise BadResult(f"{name}: {error}") from None
    # Hosts in values of such keys are replaced in all lines, also in earlier ones.
    for line in text.splitlines():
        match = _ASSIGNMENT.fullmatch(line)
        if match and _HOST_KEY.search(match[2]):
            for word in re.split(r"[,;\s]+", match[4]):
                if word and not (is_common(word) or is_address(word)):
                    secrets.learn(word)
    kept, changed, comments = [], [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(_COMMENT):
            comments += 1
            continue
        clean = _clean_line(line, secrets)
        if clean != line:
            changed.append(f"{name}, line {number}: now {clean.strip()!r}")
        kept.append((number, clean))
    for number, line in kept:
        left = left_over(secrets.gone, secrets.users, [line])
        if left:
            raise BadResult(f"{name}, line {number}: {left!r} would be published, which may "
                            f"reveal a machine or a person; {by_hand}")
    if comments:
        changed.append(f"{name}: {counted(comments, 'line')} of comments removed")
    if not changed:
        return CleanBatch(text, [])
    return CleanBatch("".join(f"{line}\n" for _, line in kept).lstrip("\n"), changed)


def _clean_line(line: str, secrets: Secrets) -> str:
    """Return a line of a batch file with secrets replaced. A value is cleaned by the function that
    _cleaner_for() returns for its key, or replaced if the key shows that it is a secret, such as
    password. Keys, and lines without key and value, are cleaned by Secrets.clean()."""
    match = _ASSIGNMENT.fullmatch(line)
    if match is None:  # a section, or the continuation of a value
        return secrets.clean(line)[0]
    indent, key, sign, value = match.groups()
    clean = _cleaner_for(key)(value, secrets)
    if clean == value and key.lower() not in _FREE_KEYS:
        # The key may show that the value is a secret, as in password = X.
        whole = f"{key}{sign}{value}"
        clean_whole = secrets.clean(whole)[0]
        if clean_whole != whole:
            return indent + clean_whole
    return f"{indent}{key if is_common(key) else secrets.clean(key)[0]}{sign}{clean}"


def _cleaner_for(key: str) -> Callable[[str, Secrets], str]:
    """Return the function that cleans the value of a key, by the key's name: that for a testbed,
    for hosts, for a folder or file, or for any other value. It takes the value and the secrets of
    the file, and returns the clean value."""
    key = key.lower()
    if _TESTBED_KEY.search(key):
        return lambda value, secrets: _ROUTER if value.startswith("ssh:") else secrets.clean(
            value)[0]
    if _HOST_KEY.search(key):
        return _clean_hosts
    if _FOLDER_KEY.search(key):
        return _clean_folder
    return lambda value, secrets: secrets.clean(value)[0]


def _clean_hosts(value: str, secrets: Secrets) -> str:
    """Return a list of hosts, separated by commas, semicolons or blanks, with names and addresses
    replaced that reveal a machine."""
    return "".join(_clean_host(part, secrets) if number % 2 == 0 else part
                   for number, part in enumerate(re.split(r"([,;\s]+)", value)))


def _clean_host(word: str, secrets: Secrets) -> str:
    """Return a host's name or address as Secrets.clean() returns it. A name that this doesn't
    change, and that is not of usual words (is_common()), is replaced by Secrets.stand_in_for()."""
    clean, kinds = secrets.clean(word)
    return clean if kinds or is_common(clean) else secrets.stand_in_for(word)


def _clean_folder(value: str, secrets: Secrets) -> str:
    """Return the last part of a path that is absolute, begins with a drive's letter or with ~, with
    secrets replaced. REPLACED if that part is empty or not of usual words (is_common(), without
    variables such as ${NAME}). Another path is kept, with secrets replaced."""
    clean = secrets.clean(value)[0]
    if not re.match(r"[/\\~]|[A-Za-z]:", value):
        return clean
    last = re.split(r"[/\\]", clean.rstrip("/\\"))[-1]
    return last if last and is_common(re.sub(r"\$\{\w+\}", "", last)) else REPLACED


def lines_that_tell(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number (from 1) of each line that reveals a machine or a user, and one revealing
    part of it: an IP address, a hardware address, or USER:PASSWORD@HOST of a URL (a user such as
    root only with a password). Nothing if there is none. Names of hosts are not found."""
    for number, line in enumerate(text.splitlines(), 1):
        left = left_over((), (), [line])
        if left:
            yield number, left
