# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of cross traffic: what else is on the line while a test runs."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.base import defaults
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.base.switch import OFF, ON, switch


@dataclass(frozen=True)
class Kind:
    """directions: which it has; None: those of the load, or what cross_direction says.
    runner: of its data sets; port: of its server; server: as testbed/guest/serving.sh names
    it, "" for the one that its port has among those of the tests; tools: what it needs;
    encrypted: whether its random numbers have to repeat."""

    directions: tuple[str, ...] | None
    runner: str
    port: int
    server: str
    tools: tuple[str, ...]
    encrypted: bool = False


BULK = "bulk"
KINDS: dict[str, Kind] = {
    BULK: Kind(None, "aqm_iperf3", defaults.IPERF3_CROSS_PORT, "", ("iperf3",)),
    "call": Kind(("upload", "download"), "aqm_call", defaults.CALL_PORT, "irtt-call", ("irtt",)),
    "video": Kind(("download",), "aqm_video", defaults.FETCH_PORT, "fetch", ()),
    "web": Kind(("download",), "aqm_web", defaults.FETCH_PORT, "fetch", ()),
    "quic": Kind(("download",), "aqm_quic", defaults.QUIC_PORT, "quic", ("aioquic",), True),
}
# What a test parameter may be, as a pattern.
FORM = "(?i)" + "|".join((*ON, *OFF, *KINDS))


def parse_cross_traffic(key: str, value: object) -> bool | str:
    """False for none, True for bulk, which was all there was once, or the name of another kind.

    Raises ConfigError that names the key.
    """
    on = switch(value)
    if on is not None:
        return on
    name = str(value).lower()
    if name not in KINDS:
        raise ConfigError(f"{key}: {str(value)[:40]!r} is neither a switch nor a kind of cross "
                          f"traffic; known: {', '.join(KINDS)}{did_you_mean(name, KINDS)}")
    return True if name == BULK else name


def kind_of(parsed: bool | str) -> Kind | None:
    """Return the kind, None without cross traffic."""
    return KINDS[BULK if parsed is True else parsed] if parsed else None
