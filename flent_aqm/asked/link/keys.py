# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a scenario that shape a link, checked as far as their text goes: the guest, which
checks them as well, has no trace."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from flent_aqm.asked.link.access import parse_access
from flent_aqm.asked.link.loss import parse_loss
from flent_aqm.asked.link.outages import parse_outages
from flent_aqm.asked.link.seeded import parse_seeded
from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError

# For both directions; with down_ or up_ behind link_ or modem_, for one.
BOTH_WAYS = ("link_trace", "link_loss", "link_jitter_ms", "link_access", "modem_buffer_packets")
_MOST_PATH = 4096
# What comes after a trace's end: its beginning, or its last row for ever.
ENDS = ("repeat", "hold")


def of_way(key: str, way: str) -> str:
    """Return the key for one direction: link_loss, up -> link_up_loss."""
    group, _, rest = key.partition("_")
    return f"{group}_{way}_{rest}"


def link_settings(given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of Scenario that are the link's, from what a batch gives. Raises
    ConfigError that names the key."""
    found: dict[str, object] = {}
    for key in BOTH_WAYS:
        for way in ("down", "up"):
            name = of_way(key, way)
            value = given.get(name)
            if value in (None, ""):
                value = given.get(key)
            if value not in (None, ""):
                found[name] = _CHECKS[key](name, value)
    end = given.get("link_trace_end") or ENDS[0]
    if end not in ENDS:
        raise ConfigError(f"link_trace_end: unknown value {end!r}; known: {', '.join(ENDS)}")
    outages = str(given.get("link_outages_s") or "")
    parse_outages("link_outages_s", outages)
    return {**found, "link_trace_end": end, "link_outages_s": outages}


def _trace(key: str, value: object) -> str:
    text = str(value)
    if len(text) > _MOST_PATH or re.search(r"[\x00-\x1f\x7f]", text):
        raise ConfigError(f"{key}: {text[:60]!r} is not the path of a file")
    parse_seeded(key, text)
    return text


def _loss(key: str, value: object) -> str:
    parse_loss(key, str(value))
    return str(value)


def _access(key: str, value: object) -> str:
    parse_access(key, str(value), "down" if "_down_" in key else "up")
    return str(value)


def _jitter(key: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if isinstance(value, bool):  # Flent makes it of 0 and 1
        number = int(value)
    if not 0 <= number <= defaults.MAX_JITTER_MS:
        raise ConfigError(f"{key}: {value!r} is out of range; expected ms from 0 to "
                          f"{defaults.MAX_JITTER_MS:g}")
    return number


def _packets(key: str, value: object) -> int:
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if not re.fullmatch(r"[1-9][0-9]{0,6}", text):
        raise ConfigError(f"{key}: {text[:40]!r} is not a number of packets from 1 to 9999999")
    return int(text)


_CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "link_trace": _trace, "link_loss": _loss, "link_jitter_ms": _jitter, "link_access": _access,
    "modem_buffer_packets": _packets}
