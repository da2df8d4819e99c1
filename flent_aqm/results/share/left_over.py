# SPDX-License-Identifier: GPL-3.0-or-later
"""Check whether a file to be shared still reveals a machine or a person.

This is the last check. It shares no pattern with the code that cleans files, so that a gap in a
pattern is found. Words are split and passed to parsers of addresses and URLs.
"""

from __future__ import annotations

import ipaddress
import string
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from flent_aqm.results.share.secrets import NOBODY, tells_of_nobody, texts

_HEX = frozenset(string.hexdigits)
_ALNUM = frozenset(string.ascii_letters + string.digits)
_CARD_NAMES = ("enx", "wlx", "wwx", "slx")
_MAC_DIGITS = 12


def left_over(removed: Iterable[str], users: Collection[str], tree: Any) -> str:
    """Return a part of a text in `tree`, keys included, that must not be shared, "" if there is
    none: a removed text that is not within a longer word, an IP address that reveals a machine, a
    hardware address, USER:PASSWORD@HOST of a URL (a user such as root only with a password), or a
    user in a path. If there are several, the first that is found.

    Args:
        removed: texts that were removed. Upper and lower case are the same.
        users: names of people, which are searched for in paths.
        tree: content of the file, a value as JSON has them.
    """
    gone = sorted(one.lower() for one in removed)
    names = {one.lower() for one in users}
    for text in texts(tree):
        left = _removed_text_in(gone, text) or next(_revealing_parts(text, names), "")
        if left:
            return left
    return ""


def _removed_text_in(gone: Iterable[str], text: str) -> str:
    """Return the first of the removed texts, in the order of `gone`, that occurs in a text, but not
    within a longer word, as it is written there. "" if none does.

    Args:
        gone: removed texts, in lower case.
        text: the text.
    """
    lowered = text.lower()
    for removed in gone:
        place = lowered.find(removed)
        while place >= 0:
            end = place + len(removed)
            around = lowered[max(place - 1, 0):place], lowered[end:end + 1]
            if not any(character.isalnum() for character in around):
                # A few letters become two in lower case.
                return text[place:end] if len(text) == len(lowered) else removed
            place = lowered.find(removed, place + 1)
    return ""


def _revealing_parts(text: str, users: Collection[str]) -> Iterator[str]:
    """Yield what a text contains of IP addresses that reveal a machine, hardware addresses,
    USER:PASSWORD@HOST of URLs (_credentials_in()), and names of users that begin a part of a path.

    Args:
        text: the text.
        users: names of people in lower case. Upper and lower case are the same in paths.
    """
    for word in _parts_of(text, _ALNUM | set("._-:[]%")):
        yield from _ipv4_in(word)
        yield from _hardware_address(word)
    for word in _parts_of(text, _ALNUM | set(":.")):
        if word.count(":") > 1:
            yield from _ipv6_at_the_start(word)
    for word in text.split():
        _scheme, separator, behind = word.partition("://")
        if separator:
            yield from _credentials_in(f"x://{behind}")
    folders = text.replace("\\", "/").replace("~", "/").split("/")[1:]
    for folder in folders:
        name = folder.split()[0] if folder.split() else ""
        if name.strip("'\",;:)").lower() in users:
            yield name


def _parts_of(text: str, characters: Collection[str]) -> Iterator[str]:
    """Yield each part of a text that consists only of the given characters, up to the next other
    character."""
    start = None
    for place, character in enumerate(text):
        if character in characters:
            start = place if start is None else start
        elif start is not None:
            yield text[start:place]
            start = None
    if start is not None:
        yield text[start:]


def _ipv4_in(word: str) -> Iterator[str]:
    """Yield IPv4 addresses in a word that reveal a machine, as they are written: four numbers with
    dots between them, or, as part of a name such as ip-10-1-2-3, with dashes or underscores.
    Numbers in a longer sequence with the same separator, such as a version, are left out."""
    # Numbers and the characters between them, alternately.
    parts = ["".join(same) for _, same in groupby(word, str.isdigit)]
    for place in range(len(parts) - 6):
        numbers, between = parts[place:place + 7:2], set(parts[place + 1:place + 6:2])
        if not all(number.isdigit() for number in numbers) or len(between) != 1:
            continue
        separator, = between
        before = parts[place - 1] if place else ""
        after = parts[place + 7] if place + 7 < len(parts) else ""
        # A longer sequence is a version or a date.
        if separator not in (".", "-", "_") or (before == separator and place > 1) \
                or (after == separator and len(parts) > place + 8):
            continue
        named = separator == "." or before[-2:].strip("._-") or after[1:2].isalpha()
        if named and _is_revealing_address(".".join(numbers)):
            yield separator.join(numbers)


def _hardware_address(word: str) -> Iterator[str]:
    """Yield the word, without punctuation at its ends, if it is a hardware address: six pairs of
    hexadecimal digits with dashes or underscores between them, six pairs or single digits with
    colons, or twelve digits after a card's prefix such as enx. Yield nothing otherwise, or if all
    digits are 0."""
    word = word.strip("[]:._-%")
    if word.lower().startswith(_CARD_NAMES) and _is_twelve_digits(word[3:]):
        yield word
    for separator in (":", "-", "_"):
        parts = word.split(separator)
        for place in range(len(parts) - 5):
            six = parts[place:place + 6]
            if all(1 <= len(part) <= 2 and _HEX.issuperset(part) for part in six) and (
                    separator == ":" or all(len(part) == 2 for part in six)) \
                    and len(parts) == 6 and any(part.strip("0") for part in six):
                yield word


def _is_twelve_digits(digits: str) -> bool:
    """Return whether a text is twelve hexadecimal digits, not all 0."""
    return len(digits) == _MAC_DIGITS and _HEX.issuperset(digits) and digits.strip("0") != ""


def _ipv6_at_the_start(word: str) -> Iterator[str]:
    """Yield the first of these that is an IPv6 address that reveals a machine: the word, the word
    without its last character, and the word without all colons and dots at its end. Yield nothing
    if none is."""
    for one in (word, word[:-1], word.rstrip(":.")):
        if ":" in one and _is_revealing_address(one):
            yield one
            return


def _credentials_in(word: str) -> Iterator[str]:
    """Yield the host of a URL with user and password before it, USER:PASSWORD@HOST:PORT as far as
    given, if the URL has both, or one of them that is not in NOBODY. Yield nothing otherwise, or if
    the word is not a URL. Quotes and brackets around the word are ignored."""
    try:
        parts = urlsplit(word.strip("'\"<>()[],;"))
        credentials = [one for one in (parts.username, parts.password) if one]
    except ValueError:
        return  # not a URL
    if credentials and (credentials[0] not in NOBODY or len(credentials) > 1):
        yield parts.netloc


def _is_revealing_address(word: str) -> bool:
    """Return whether a word is an IP address, but not one that reveals nobody (tells_of_nobody()).
    """
    try:
        address = ipaddress.ip_address(word)
    except ValueError:
        return False
    return not tells_of_nobody(str(address))
