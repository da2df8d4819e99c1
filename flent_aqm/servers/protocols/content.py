# SPDX-License-Identifier: GPL-3.0-or-later
"""Content of HTTP messages: its length by the head, and random bytes for bulk transfers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h11

# Random content, the same in every process. No link can compress it.
FILLER = random.Random(0).randbytes(1 << 16)


def length_of(head: h11.Request | h11.Response) -> int:
    """Return the number of bytes of the content by the content-length header, 0 if there is no such
    header.

    Callers count a body of known length themselves, because h11 would process each piece of it.

    Args:
        head: head of a message.
    """
    return next((int(value) for name, value in head.headers if name == b"content-length"), 0)
