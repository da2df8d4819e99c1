# SPDX-License-Identifier: GPL-3.0-or-later
"""Queues that aren't in the table of queues: those of a kernel that the user built.

Such a queue is requested by its qdisc's name. Its options (the key aqm_options) are passed to tc as
given. The values that tc then reports under their names are compared with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.switch import OFF, ON
from flent_aqm.spec.kernel import REGISTERED
from flent_aqm.spec.queues.queue import Attachment, Look, Parameter, Queue, Report
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.queues.units import Scalar
from flent_aqm.spec.queues.values import Expected, codel_us, size_bytes, time_us, whole

OPTIONS = "options"
LONGEST = 500
_WORDS = re.compile(r"[A-Za-z0-9_.%:/-]+( +[A-Za-z0-9_.%:/-]+)*")


def is_external(name: str) -> bool:
    """Return whether this can be the name of a queue that isn't in the table."""
    return name not in QUEUES and re.fullmatch(REGISTERED, name) is not None


def option_words(text: str) -> str:
    """Check and return options as tc takes them, such as `limit 1000 target 5ms`. Raises
    ConfigError."""
    if len(text) > LONGEST or not _WORDS.fullmatch(text):
        raise ConfigError("expected words of letters, digits and _ . % : / - with blanks between, "
                          f"up to {LONGEST} characters, such as limit 1000 target 5ms")
    return " ".join(text.split())


@cache
def queue_of(name: str) -> Queue:
    """Return the row of a queue, which is made up if the table doesn't have it."""
    if name in QUEUES:
        return QUEUES[name]
    return Queue(
        name, {OPTIONS: Parameter(option_words, reported=None, words="{}")},
        # Plots replace this look with a unique one.
        Look("#004488", "o", "-", ""),
        f"a kernel with sch_{name}, and for options a tc that knows them (flent-aqm kernel build "
        f"NAME --qdisc sch_{name}.c --tc q_{name}.c)", adapt=_report, external=True)


def _report(report: Report, requested: Mapping[str, Scalar], place: Attachment) -> Report:
    """Return option -> all values that the kernel may report. The option's unit isn't known here,
    only to tc and the kernel."""
    words = str(requested.get(OPTIONS, "")).split()
    possible: Report = {}
    for name, value in zip(words, [*words[1:], ""], strict=False):
        # A word that begins with a letter is a name, and the next word is its value.
        if name[:1].isalpha():
            possible[name] = frozenset(_readings(name, value))
    return possible


def _readings(name: str, value: str) -> Iterator[Scalar]:
    """Yield all values that the kernel may report for an option with this text."""
    if not value or value[:1].isalpha():  # a switch, or a word
        yield from (True, name, "on")
    if value:
        yield from (value, f"{value}p", f"{value}b")  # packets and bytes in tc's text
    if value in ON:
        yield from (True, 1)
    if value in OFF:
        yield from (False, 0)
    for read, more in _READERS:
        try:
            number = read(value)
        except ConfigError:
            continue
        yield number
        yield from more(number)
    try:
        yield float(value.rstrip("%"))
    except ValueError:
        pass


def _of_time(us: Scalar) -> Iterator[Scalar]:
    """Yield a time in ns, in ms, in s, and as CoDel stores it."""
    kept: Expected = codel_us(us)
    yield from (int(us) * 1000, *((kept,) if not isinstance(kept, frozenset) else kept))
    if int(us) % 1000 == 0:
        yield int(us) // 1000
    yield int(us) / 1e6


def _nothing_more(_number: Scalar) -> Iterator[Scalar]:
    """Yield nothing."""
    yield from ()


# Readers of an option's text, each with a function for further forms of the value.
_READERS = ((whole, _nothing_more), (size_bytes, _nothing_more), (time_us, _of_time))
