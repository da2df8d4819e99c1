# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the content of an HTTP/1.1 message is."""

from __future__ import annotations

import h11


def length_of(head: h11.Request | h11.Response) -> int:
    """Return bytes of the content, where the head says how many; 0 for none, and where it doesn't.

    A body of known length is only counted. h11 would look at every piece of it.
    """
    return next((int(value) for name, value in head.headers if name == b"content-length"), 0)
