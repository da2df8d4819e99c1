# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies patches as they are published: a single patch, or a mailbox with a series of patches.

`git format-patch` and archives of mailing lists make such mailboxes. Changes to files that set-up
doesn't unpack are left out.
"""

from __future__ import annotations

import email
import email.header
import re
from collections.abc import Iterator, Sequence
from email.errors import HeaderParseError
from fnmatch import fnmatch
from pathlib import Path

from flent_aqm.setup.kernel.patching import Keep, PatchDoesntFit, apply_own
from flent_aqm.setup.kernel.sources import NOT_UNPACKED
from flent_aqm.setup.kernel.tree import files_of

# Line that separates the mails of a mailbox: a commit's name or an address, and a date.
_MAIL = re.compile(rb"^(?=From \S+ \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$)", re.MULTILINE)
_FILE = re.compile(rb"^(?=diff --git )", re.MULTILINE)
# Lines of a part that name its file, and those of them with a folder before the path.
_NAME = re.compile(rb"^(--- |\+\+\+ |(?:rename|copy) (?:from|to) )([^\t\n]+)", re.MULTILINE)
_WITH_FOLDER = (b"--- ", b"+++ ")
_GIT_HEAD = re.compile(rb"^diff --git (\S+) (\S+)$", re.MULTILINE)
_PLAIN_FILE = re.compile(rb"^(?=--- \S.*\n\+\+\+ \S)", re.MULTILINE)


def apply(tree: Path, name: str, content: bytes, *, keep: Keep) -> list[str]:
    """Apply all patches of a file in their order. Return the paths of changed files that were left
    out, because set-up doesn't unpack them. A path is repeated if several patches change the file.

    Args:
        tree: folder of the kernel's source.
        name: name of the file, for messages.
        content: content of the file, a patch or a mailbox.
        keep: called with the names of files before they are changed, as apply_own() does.

    Raises PatchDoesntFit for the first patch that doesn't fit, for a mailbox without any patch, or
    for a file that is neither a patch nor a mailbox. Raises CommandFailed if the program patch
    fails for another reason, ToolMissing if it isn't installed, and errors of `keep`. The patches
    before it stay applied.
    """
    left_out: list[str] = []
    patches = list(_split_mailbox(content))
    if not patches:
        raise PatchDoesntFit(f"{name} is a mailbox without a patch: none of its mails changes the "
                             "text of a file, by lines --- FILE and +++ FILE; expected mails as "
                             "git format-patch writes them")
    for subject, patch in patches:
        kept = b""
        for part in _split_by_file(patch):
            named = _named_files(part)
            if named and all(_is_absent(tree, paths) for paths in named):
                left_out.append(min(named[-1], key=len))
            else:
                kept += part
        # Of a file that changes none, not even a packed one, apply_own() says what is expected.
        if files_of(kept) or (not files_of(patch) and (kept or not patch)):
            apply_own(tree, f"{name}{subject}", kept, keep=keep)
    return left_out


def _split_mailbox(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield subject and content of each part of a mailbox's mails (the mail's text, or an
    attachment) that has a patch, in their order. Nothing is yielded if no mail has one. The subject
    is " (SUBJECT)", for messages, and shortened if it is long. If the file isn't a mailbox, yield
    "" and its whole content."""
    mails = [mail for mail in _MAIL.split(content) if _MAIL.match(mail)]
    if not mails:
        yield "", content
    for mail in mails:
        message = email.message_from_bytes(mail)
        for part in message.walk():
            text = part.get_payload(decode=True)
            if not isinstance(text, bytes) or not files_of(text):  # such as a cover letter
                continue
            yield f" ({' '.join(_decode(message.get('Subject', '')).split())[:80]})", text


def _decode(header: str | email.header.Header) -> str:
    """Return the text of a mail's header, as it stands if it can't be decoded: if it has an unknown
    charset, bytes that its charset doesn't have, or damaged base64."""
    try:
        return str(email.header.make_header(email.header.decode_header(header)))
    except (HeaderParseError, LookupError, ValueError):
        return str(header)


def _split_by_file(patch: bytes) -> list[bytes]:
    """Split a patch into a part for each file that it changes, in their order. Text before the
    first file belongs to the first part. A text that names no file is one part."""
    pattern = _FILE if _FILE.search(patch) else _PLAIN_FILE
    first, *others = pattern.split(patch)
    return [first + others[0], *others[1:]] if others else [first]


def _named_files(part: bytes) -> list[list[str]]:
    """Return the files that a patch of one file names, in the order of its lines: for each the
    paths in the source that its name may stand for. Lines --- and +++ usually have a folder before
    the path, such as a/, those of renames and copies don't. A patch without such lines, which
    changes a mode or a binary content, names its file at its beginning."""
    named = [(line, name) for line, name in _NAME.findall(part) if name != b"/dev/null"]
    if not named:
        named = [(b"--- ", name) for line in _GIT_HEAD.findall(part) for name in line]
    return [[path for path in (text, *([text.partition("/")[2]] if line in _WITH_FOLDER else []))
             if path] for line, name in named
            for text in [name.decode("utf-8", "surrogateescape").strip()]]


def _is_absent(tree: Path, paths: Sequence[str]) -> bool:
    """Return whether a file is one that set-up doesn't unpack, and isn't in the tree.

    Args:
        tree: folder of the kernel's source.
        paths: paths that the file may have, as _named_files() returns them.
    """
    return any(fnmatch(f"linux/{path}", pattern) for path in paths
               for pattern in NOT_UNPACKED) and not any((tree / path).exists() for path in paths)
