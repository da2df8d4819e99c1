# SPDX-License-Identifier: GPL-3.0-or-later
"""Test parameters of the speed tests over HTTP: their forms, and words for the client."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flent_aqm.base import defaults

_UNSENT = (r"draft|kernel|[1-9][0-9]{3,8}", "draft, kernel, or bytes, 1000 or more")
# Client -> test parameter -> the form of its values, and that in words. The client's own
# option has the same name with hyphens.
OPTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "responsiveness": {
        "interval_s": (r"[1-9]|10|0\.5", "0.5, or 1 to 10"),
        "most_connections": (r"[1-9]|[1-5][0-9]|6[0-4]", "1 to 64"),
        "probes_per_s": (r"[1-9][0-9]?|100", "1 to 100"),
        "unsent": _UNSENT,
        "http_version": (r"[23]", "2 or 3"),
    },
    "goresponsiveness": {
        "interval_s": (r"[1-9]|10", "a whole number of seconds, 1 to 10"),
        "most_connections": (r"[1-9]|[1-5][0-9]|6[0-4]", "1 to 64"),
        "probes_per_s": (r"[1-9][0-9]?|100", "1 to 100"),
    },
    "librespeed_cli": {"streams": (r"[1-9]|[1-5][0-9]|6[0-4]", "1 to 64")},
    "msak": {"streams": (r"[1-4]", "1 to 4")},
    "webrtc_call": {"call_length_s": (r"[1-9][0-9]|1[01][0-9]|120",
                                      "a whole number of seconds, 10 to 120")},
    "crusader": {"streams": (r"[1-9]|[1-5][0-9]|6[0-4]", "1 to 64")},
    "cloudflare": {
        "http_version": (r"[12]", "1 or 2"),
        "unsent": _UNSENT,
    },
}


# Clients whose servers are programs of their own: the test parameter that says where it listens,
# and where it usually does.
OWN_SERVERS: Mapping[str, tuple[str, int]] = {
    "msak": ("msak_port", defaults.MSAK_PORT), "ethr": ("ethr_port", defaults.ETHR_PORT),
    "crusader": ("crusader_port", defaults.CRUSADER_PORT),
    "webrtc_call": ("webrtc_port", defaults.WEBRTC_PORT)}


def words_of(client: str, parameter: Callable[..., Any], refuse: Callable[[str], object]
             ) -> list[str]:
    """Return words of the client's command line. parameter: Flent's get_test_parameter; refuse:
    its test_error, which reports a text and may return."""
    words: list[str] = []
    for name, (form, expected) in OPTIONS.get(client, {}).items():
        value = parameter(name, default=None)
        if value is None:
            continue
        if not re.fullmatch(form, str(value)):
            refuse(f"{name}: {str(value)!r} is not known; expected {expected}")
            continue
        if name == "http_version" and value == "3" and parameter("unsent", default=None):
            refuse("unsent: only for HTTP/2; leave it out with http_version=3")
        words += [f"--{name.replace('_', '-')}", str(value)]
    return words
