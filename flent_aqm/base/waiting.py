# SPDX-License-Identifier: GPL-3.0-or-later
"""A line on a terminal while one waits: it stands on standard error, goes when the work is done,
and never gets into a file or a log."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

Item = TypeVar("Item")

_CLEAR = "\r\x1b[K"


@contextmanager
def announced(text: str, stream: TextIO | None = None) -> Iterator[None]:
    """Show what is being done meanwhile, such as "drawing"."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield
        return
    stream.write(f"{_CLEAR}{text} ...")
    stream.flush()
    try:
        yield
    finally:
        stream.write(_CLEAR)
        stream.flush()


def with_progress(
    items: Iterable[Item], of: int, text: str, stream: TextIO | None = None
) -> Iterator[Item]:
    """Give the items one by one, and tell how many there have been while the next is made.

    of: how many there will be; text: what is done, such as "reading data files". While the
    last one is used there is no line, as its user may write some.
    """
    waiting = iter(items)
    done = 0
    while True:
        try:
            with announced(f"{text}: {done:,} of {of:,}", stream):
                item = next(waiting)
        except StopIteration:
            return
        done += 1
        yield item
