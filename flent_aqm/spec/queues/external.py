# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes queues that aren't in the table of queues, but in a kernel that the user built.

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
    """Return whether a name is in the form of a qdisc's name and isn't that of a queue in the table
    of queues. The kernel isn't asked. True also for pfifo, a qdisc whose queue has another name."""
    return name not in QUEUES and re.fullmatch(REGISTERED, name) is not None


def option_words(text: str) -> str:
    """Return options for tc, such as `limit 1000 target 5ms`, with single blanks between the words.

    Raises ConfigError if the text is empty, longer than 500 characters, begins or ends with a
    blank, or has other characters than blanks, ASCII letters, digits and _ . % : / -.
    """
    if len(text) > LONGEST or not _WORDS.fullmatch(text):
        raise ConfigError("expected words of letters, digits and _ . % : / - with blanks between, "
                          f"up to {LONGEST} characters, such as limit 1000 target 5ms")
    return " ".join(text.split())


@cache
def queue_of(name: str) -> Queue:
    """Return the table's row of a queue. For any name that the table doesn't have, return a made-up
    row with `external` and the single parameter `options`."""
    if name in QUEUES:
        return QUEUES[name]
    return Queue(
        name, {OPTIONS: Parameter(option_words, reported=None, words="{}")},
        # Plots replace this look with a unique one.
        Look("#004488", "o", "-", ""),
        f"a kernel with sch_{name}, and for options a tc that knows them (flent-aqm kernel build "
        f"NAME --qdisc sch_{name}.c --tc q_{name}.c)", adapt=_possible_report, external=True)


def _possible_report(report: Report, requested: Mapping[str, Scalar],
                     attachment: Attachment) -> Report:
    """Return the report that is expected of an external queue: name of an option -> set of all
    values that the kernel may report. The option's unit isn't known here, only to tc and the
    kernel. Each word of the options that begins with a letter counts as a name, and the word behind
    it as its value. Empty without options.

    Args:
        report: not used.
        requested: the requested parameters, of which only `options` exists.
        attachment: not used.
    """
    words = str(requested.get(OPTIONS, "")).split()
    possible: Report = {}
    for name, value in zip(words, [*words[1:], ""], strict=False):
        # A word that begins with a letter is a name, and the next word is its value.
        if name[:1].isalpha():
            possible[name] = frozenset(_possible_values(name, value))
    return possible


def _possible_values(name: str, value: str) -> Iterator[Scalar]:
    """Yield all values that the kernel may report for an option, some of them twice: the value's
    text, also with the units p and b, and as numbers in all units that it may be in. For a value
    that is missing or begins with a letter, also True, the option's name and "on". For a word for a
    switch, also True and 1, or False and 0.

    Args:
        name: name of the option.
        value: its requested text, "" for an option without a value.
    """
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


def _other_time_units(us: Scalar) -> Iterator[Scalar]:
    """Yield other forms of a time in us: in ns, in us as the kernel reports a time of CoDel, in ms
    if that is a whole number, and in s."""
    kept: Expected = codel_us(us)
    yield from (int(us) * 1000, *((kept,) if not isinstance(kept, frozenset) else kept))
    if int(us) % 1000 == 0:
        yield int(us) // 1000
    yield int(us) / 1e6


def _no_other_forms(_number: Scalar) -> Iterator[Scalar]:
    """Yield nothing: apart from the value itself, the kernel reports a number or size in no other
    unit. Counterpart of _other_time_units() in _READERS."""
    yield from ()


# Readers of an option's text, each with a function for further forms of the value.
_READERS = ((whole, _no_other_forms), (size_bytes, _no_other_forms), (time_us, _other_time_units))
