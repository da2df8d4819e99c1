# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows a line on the terminal while work goes on.

The line is on standard error, is removed when the work is done, and is not written if standard
error is a file.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

Item = TypeVar("Item")

_CLEAR = "\r\x1b[K"


@contextmanager
def announced(text: str, stream: TextIO | None = None) -> Iterator[None]:
    """Context manager: show `text` and "..." on a terminal while the block runs, then erase it.
    Nothing is written if `stream` is not a terminal.

    Args:
        text: the work, such as "drawing".
        stream: where to show it (default: standard error).
    """
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


@contextmanager
def told_if_slow(text: str, after_s: float, stream: TextIO | None = None) -> Iterator[None]:
    """Context manager: print a line, also to a file or a log, as soon as the block has taken longer
    than a time.

    Args:
        text: the line, without "flent-aqm: ".
        after_s: the time in s.
        stream: where to print it (default: standard error).
    """
    stream = stream or sys.stderr
    timer = threading.Timer(after_s, lambda: print(f"flent-aqm: {text}", file=stream, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def with_progress(
    items: Iterable[Item], of: int, text: str, stream: TextIO | None = None
) -> Iterator[Item]:
    """Yield the items, and show "TEXT: 3 of 8 ..." on a terminal while the next item is made: 3
    items have been made so far.

    There is no line while the caller uses an item, because the caller may print.

    Args:
        items: an iterator that does the work.
        of: the number of items.
        text: the work, such as "reading data files".
        stream: where to show the line (default: standard error).
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
