# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies patches as they are published: a single patch, or a mailbox with a series of patches.

`git format-patch` and archives of mailing lists make such mailboxes. Changes to files that set-up
doesn't unpack are left out.
"""

from __future__ import annotations

import email
import email.header
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from flent_aqm.setup.kernel.patching import Keep, apply_own
from flent_aqm.setup.kernel.sources import NOT_UNPACKED
from flent_aqm.setup.kernel.tree import files_of

# Line that separates the mails of a mailbox: a commit's name or an address, and a date.
_MAIL = re.compile(rb"^(?=From \S+ \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$)", re.MULTILINE)
_FILE = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_PLAIN_FILE = re.compile(rb"^(?=--- \S.*\n\+\+\+ \S)", re.MULTILINE)


def apply(tree: Path, name: str, content: bytes, *, keep: Keep) -> list[str]:
    """Apply all patches of a file in their order. Return the changed files that were left out,
    because set-up doesn't unpack them. Raises PatchDoesntFit for the first patch that doesn't
    fit."""
    left_out: list[str] = []
    for subject, patch in _patches(content):
        kept = b""
        for part in _parts(patch):
            names = files_of(part)
            absent = [one for one in names if _is_absent(tree, one)]
            if names and len(absent) == len(names):
                left_out.append(min(absent, key=len))
            else:
                kept += part
        if files_of(kept) or not files_of(patch):
            apply_own(tree, f"{name}{subject}", kept, keep=keep)
    return left_out


def _patches(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield subject and text of each mail with a patch. If the file isn't a mailbox, yield "" and
    its whole content."""
    mails = [mail for mail in _MAIL.split(content) if _MAIL.match(mail)]
    if not mails:
        yield "", content
    for mail in mails:
        message = email.message_from_bytes(mail)
        text = message.get_payload(decode=True)
        if isinstance(text, bytes) and files_of(text):  # not a cover letter
            subject = str(email.header.make_header(email.header.decode_header(
                message.get("Subject", ""))))
            yield f" ({' '.join(subject.split())[:80]})", text


def _parts(patch: bytes) -> list[bytes]:
    """Split a patch by the files that it changes. Text before the first file belongs to the first
    part."""
    pattern = _FILE if _FILE.search(patch) else _PLAIN_FILE
    first, *others = pattern.split(patch)
    return [first + others[0], *others[1:]] if others else [first]


def _is_absent(tree: Path, name: str) -> bool:
    """Return whether set-up doesn't unpack this file. Names in patches may have a folder before the
    path, such as a/."""
    places = {name, name.partition("/")[2]}
    return any(fnmatch(f"linux/{place}", pattern) for place in places
               for pattern in NOT_UNPACKED) and not any((tree / place).exists()
                                                        for place in places if place)
