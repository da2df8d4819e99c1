# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the length of an HTTP/1.1 message's content from its head."""

from __future__ import annotations

import h11


def length_of(head: h11.Request | h11.Response) -> int:
    """Return the bytes of the content by the content-length header, 0 if there is no such header.

    A body of known length is then only counted, because h11 would process each piece of it.
    """
    return next((int(value) for name, value in head.headers if name == b"content-length"), 0)
