# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect the words that Flent and this package write into data files.

A shared file keeps a key, a series' name or a setting only if each of its words is a number or one
of these. A name that somebody gave to a machine, a network or an account is not among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from flent_aqm.base.paths import resource_dir
from flent_aqm.spec.queues.table import QUEUES

_DOCSTRING = re.compile(r'"""(?:.|\n)*?"""')
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_TEXT = re.compile(r'"([^"\n]*)"|\'([^\'\n]*)\'')
_WORD = re.compile(r"[A-Za-z0-9]+")
# Words of kernels and tools that are in no source here: counters of qdiscs, parts of versions.
_OF_TOOLS = frozenset((
    "arm", "aarch64", "amd64", "arm64", "x86", "x64", "generic", "cloud", "rt", "lowlatency",
    "utility", "libbpf", "iproute2", "ss", "maxpacket", "lastcount", "ldelay", "newpackets",
    "noqueue", "overlimit", "unused", "rounds", "maxq", "adj", "hdr", "offset", "indirect", "hits",
    "misses", "collisions", "sparse", "unresponsive", "overmemory", "hh", "tot", "inactive",
    "throttled", "gc", "highprio", "pdrop", "earlydrop", "penaltydrop", "bucketdrop", "queuedrop",
    "childdrop", "maxqlen", "maxprob", "avgprob", "pps", "recvd", "retransmit",
    "gro", "flush", "timeout", "direct", "refcnt", "peeked", "requeues", "giants",
    "lended", "borrowed", "tokens", "ctokens", "pkt", "pkts", "active", "queues", "plimit",
    "fastpath",
    "flent", "org", "host", "user", "removed",
    # congestion controls of Linux
    "reno", "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp",
    "nv", "scalable", "vegas", "veno", "westwood", "yeah", "prague"))
_UNITS = frozenset((
    "ns", "us", "ms", "s", "b", "kb", "mb", "gb", "k", "m", "g", "bit", "kbit", "mbit", "gbit",
    "kbps", "mbps", "gbps", "p", "pps", "pkt", "hz", "min", "h"))
_LONGEST_NUMBER = 9
_NUMBER_AND_UNIT = re.compile(r"\d{1,9}([a-z]{1,4})")
# A number of flows with a congestion control, such as `2xcubic` or `1xudp8`, and a word with its
# number.
_FLOWS = re.compile(r"\d{1,4}x(\d{1,6}|[a-z]+\d{0,4})")
_NUMBERED = re.compile(
    r"(?:burst|cross|core|cpu|eth|wlan|udp|tcp|af|cs|dest|ifb|clients?|run|host|user|v|q|rate|lan|"
    r"wan|vlan|ppp|tun|wg|veth|if|lot|hop|node|band)\d{1,4}")
_HEXADECIMAL = re.compile(r"0x(?:[0-9a-f]{1,4}|0+)")


@cache
def vocabulary() -> frozenset[str]:
    """Return words in lower case: those of texts in quotes on one line of the files of _sources(),
    but for docstrings and comments, names of classes as one word, words of fields' names, those of
    _OF_TOOLS, and those of queues' names. The sources are read once."""
    words = {*_OF_TOOLS, *(part for name in QUEUES for part in _WORD.findall(name))}
    for path in _sources():
        source = _COMMENT.sub("", _DOCSTRING.sub("", path.read_text("utf-8", errors="replace")))
        for text in _TEXT.finditer(source):
            words.update(_WORD.findall((text[1] or text[2] or "").lower()))
        words.update(word for name in _FIELD.findall(source) for word in name.split("_"))
        words.update(map(str.lower, _CLASS.findall(source)))
    return frozenset(words)


# Names of classes, which series have as runners, and of fields, from which keys are made.
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_FIELD = re.compile(r"^    ([a-z][a-z0-9_]{3,40}): ", re.MULTILINE)


def _sources() -> Iterator[Path]:
    """Yield the source files and test definitions of Flent and this package, but for this
    folder."""
    for package in ("flent", "flent_aqm"):
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            # Patterns of secrets are left out, because they are not words of data files.
            yield from (path for path in Path(place).rglob("*.py") if path.parent.name != "share")
            yield from Path(place).glob("tests/*.conf")
            yield from Path(place).glob("tests/*.inc")
    definitions = resource_dir("tests_defs")
    yield from definitions.glob("*.conf")
    yield from definitions.glob("*.inc")


def is_common(text: str) -> bool:
    """Return whether all words of a text, its parts of ASCII letters and digits, are usual ones,
    such as numbers and words that Flent and this package write, see _is_common_word(). False for
    text that is not ASCII, True for text without words."""
    return text.isascii() and all(map(_is_common_word, _WORD.findall(text.lower())))


@cache
def _is_common_word(word: str) -> bool:
    """Return whether a word in lower case is a single character, in vocabulary(), or a number of at
    most _LONGEST_NUMBER digits. Also True for zeros alone, a number with one of _UNITS, up to four
    hexadecimal digits or any number of zeros after 0x, and a usual name with its number, such as
    eth0 (_NUMBERED). Also for a number of flows such as 2xcubic or 1xudp8 (_FLOWS), if what follows
    the x is a number or, without digits at its end, in vocabulary()."""
    if len(word) == 1 or word in vocabulary():
        return True
    if word.isdigit():
        return len(word) <= _LONGEST_NUMBER or not word.strip("0")
    if (match := _NUMBER_AND_UNIT.fullmatch(word)) and match[1] in _UNITS:
        return True
    if match := _FLOWS.fullmatch(word):
        return match[1].isdigit() or match[1].rstrip("0123456789") in vocabulary()
    return bool(_NUMBERED.fullmatch(word) or _HEXADECIMAL.fullmatch(word))
