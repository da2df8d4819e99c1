# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a link that plays a schedule.

Only the texts are checked here: trace files aren't read, because the guest checks the keys too and
has no trace files.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import Any

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.parts.links.access import parse_access
from flent_aqm.parts.links.loss import parse_loss
from flent_aqm.parts.links.outages import parse_outages
from flent_aqm.parts.links.seeded import parse_seeded
from flent_aqm.spec.key import Record, key
from flent_aqm.spec.readers import one_of, whole

_MOST_PATH = 4096
# Values of link_trace_end: after its end a trace repeats, or its last row holds for ever.
ENDS = ("repeat", "hold")


def _trace(key: str, value: object) -> str:
    """Return the value of a trace's key as text. Raises ConfigError if it is neither a possible
    path nor valid words `seeded+…`."""
    text = str(value)
    if len(text) > _MOST_PATH:
        raise ConfigError(f"{key}: the path {text[:60]!r}… is longer than {_MOST_PATH} characters")
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ConfigError(f"{key}: the path {text[:60]!r} contains control characters")
    parse_seeded(key, text)
    return text


def _loss(key: str, value: object) -> str:
    """Return the value of a loss's key as text. Raises ConfigError if parse_loss() refuses it."""
    parse_loss(key, str(value))
    return str(value)


def _access(key: str, value: object) -> str:
    """Return the value of an access's key as text. Raises ConfigError if parse_access() refuses
    it."""
    parse_access(key, str(value), "down" if "_down_" in key else "up")
    return str(value)


def _outages(key: str, value: object) -> str:
    """Return the value of the outages' key as text. Raises ConfigError if parse_outages() refuses
    it."""
    parse_outages(key, str(value))
    return str(value)


def _jitter(key: str, value: object) -> float:
    """Return the jitter in ms. Raises ConfigError if the value is no number from 0 to
    MAX_JITTER_MS."""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if isinstance(value, bool):  # Flent turns 0 and 1 into bool
        number = int(value)
    if not 0 <= number <= defaults.MAX_JITTER_MS:
        raise ConfigError(f"{key}: {value!r} is out of range; expected ms from 0 to "
                          f"{defaults.MAX_JITTER_MS:g}")
    return number


_each_trace: Any = partial(
    key, "", "file, `seeded+NAME=VALUE…`", "how its rate changes: [links](../links.md)", _trace,
    both="link_trace", usual="none", is_file=True)
_each_access: Any = partial(
    key, "", "`docsis`, `lte`, `starlink`, `+NAME=VALUE`", "how it hands out its capacity", _access,
    both="link_access", usual="none")
_each_loss: Any = partial(
    key, "", "`1%`, `gemodel P [R [1-H [1-K]]]`", "loss behind the buffer, as tc-netem(8)", _loss,
    both="link_loss", usual="none")
_each_jitter: Any = partial(
    key, 0.0, "0 to 4000", "random delay, without reordering", _jitter, both="link_jitter_ms",
    unit="ms")
_each_buffer: Any = partial(
    key, None, "1 to 9999999", "the modem's buffer in packets", partial(
        whole, low=1, high=9_999_999), both="modem_buffer_packets", unit="packets", usual="none")


@dataclass(frozen=True)
class Link(Record):
    """Settings of a link that plays a schedule in place of the modem's TBF. Traces are paths of
    files."""

    heading = "A link that changes"

    link_down_trace: str = _each_trace()
    link_up_trace: str = _each_trace()
    link_trace_end: str = key(ENDS[0], "`repeat`, `hold`", "what follows a trace's end",
                              partial(one_of, choices=ENDS))
    link_down_access: str = _each_access()
    link_up_access: str = _each_access()
    link_down_loss: str = _each_loss()
    link_up_loss: str = _each_loss()
    link_down_jitter_ms: float = _each_jitter()
    link_up_jitter_ms: float = _each_jitter()
    link_outages_s: str = key("", "`10-12, 30-30.5`", "when it carries nothing", _outages,
                              usual="none")
    modem_down_buffer_packets: int | None = _each_buffer()
    modem_up_buffer_packets: int | None = _each_buffer()

    @property
    def replaces_modem(self) -> bool:
        """True if any key of this record is given."""
        return self.is_there

    @property
    def only_in_lab(self) -> str:
        """Error for a testbed in real time if any key is given, otherwise "": only the lab's kernel
        plays schedules."""
        return ("link_…, modem_…_buffer_packets: a link that plays a schedule needs the virtual "
                "lab's kernel; on testbed {testbed} leave these keys out" if self.is_there else "")

    def refuse_odd_pairs(self, scenario: Any) -> None:
        """Raise ConfigError if both a trace and a modem's rate are given for the same direction."""
        for way in ("down", "up"):
            if self.of(way, "link_trace") and scenario.path.modem_mbps(way):
                raise ConfigError(f"link_{way}_trace: the trace gives the rate; leave "
                                  f"modem_{way}_mbps out", f"link_{way}_trace")

    def of(self, role: str, name: str) -> Any:
        """Return a setting of the direction `role` (`down` or `up`): of("up", "link_loss") returns
        link_up_loss."""
        group, _, rest = name.partition("_")
        return getattr(self, f"{group}_{role}_{rest}")
