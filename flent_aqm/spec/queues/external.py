# SPDX-License-Identifier: GPL-3.0-or-later
"""Queues that nobody here knows: of a kernel that the user built.

Such a queue is asked for by its qdisc's name. Its options are passed as given (the key
aqm_options), and what tc then reports under their names is compared with them.
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
    """Return whether this may be the name of a queue that is not in the table."""
    return name not in QUEUES and re.fullmatch(REGISTERED, name) is not None


def option_words(text: str) -> str:
    """Return a reader of options: words as tc takes them, such as `limit 1000 target 5ms`."""
    if len(text) > LONGEST or not _WORDS.fullmatch(text):
        raise ConfigError("expected words of letters, digits and _ . % : / - with blanks between, "
                          f"up to {LONGEST} characters, such as limit 1000 target 5ms")
    return " ".join(text.split())


@cache
def queue_of(name: str) -> Queue:
    """Return the row of a queue, in the table or not."""
    if name in QUEUES:
        return QUEUES[name]
    return Queue(
        name, {OPTIONS: Parameter(option_words, reported=None, words="{}")},
        # Plots give it a look that no other has.
        Look("#004488", "o", "-", ""),
        f"a kernel with sch_{name}, and for options a tc that knows them (flent-aqm kernel build "
        f"NAME --qdisc sch_{name}.c --tc q_{name}.c)", adapt=_report, external=True)


def _report(report: Report, requested: Mapping[str, Scalar], place: Attachment) -> Report:
    """Return what each option may come back as: tc and the kernel know its unit, and we don't."""
    words = str(requested.get(OPTIONS, "")).split()
    possible: Report = {}
    for name, value in zip(words, [*words[1:], ""], strict=False):
        # A name is a word that no number begins; its value the next word.
        if name[:1].isalpha():
            possible[name] = frozenset(_readings(name, value))
    return possible


def _readings(name: str, value: str) -> Iterator[Scalar]:
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
    """Yield times in ns, ms, s, and as CoDel keeps them."""
    kept: Expected = codel_us(us)
    yield from (int(us) * 1000, *((kept,) if not isinstance(kept, frozenset) else kept))
    if int(us) % 1000 == 0:
        yield int(us) // 1000
    yield int(us) / 1e6


def _nothing_more(_number: Scalar) -> Iterator[Scalar]:
    yield from ()


_READERS = ((whole, _nothing_more), (size_bytes, _nothing_more), (time_us, _of_time))
