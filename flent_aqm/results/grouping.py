# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in groups by their settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from flent_aqm.base.errors import ConfigError

Setting = str | float | bool
Item = TypeVar("Item")

LONGEST_SHOWN = 60

# Short names of settings that people type often.
ALIASES = {"rate": "rate_mbps", "rate_up": "rate_up_mbps", "rate_down": "rate_down_mbps",
           "burst": "burst_shaping", "cross": "cross_traffic", "delay": "base_delay_ms",
           "router": "router_model", "tool": "test"}


def parse_keys(text: str) -> tuple[str, ...]:
    """Names of settings, separated by commas; short names become whole."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(ALIASES.get(name, name) for name in names)


def grouped(items: Iterable[tuple[Mapping[str, Setting], Item]],
            keys: Sequence[str]) -> dict[tuple[Setting, ...], list[Item]]:
    """Items by their settings' values, in order: numbers by size. A run that lacks a setting
    has "" there. Raises ConfigError for a setting that no run has."""
    everything = list(items)
    known = sorted({name for settings, _ in everything for name in settings})
    for key in keys:
        if key not in known:
            raise ConfigError(f"no run has the setting {key!r}; "
                              f"known: {', '.join(map(harmless, known))}")
    groups: dict[tuple[Setting, ...], list[Item]] = {}
    for settings, item in everything:
        groups.setdefault(tuple(settings.get(key, "") for key in keys), []).append(item)
    return dict(sorted(groups.items(), key=lambda group: [_order(one) for one in group[0]]))


def shown(value: Setting) -> str:
    """A setting as text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, (int, float)) else harmless(value)


def harmless(text: str) -> str:
    """Text out of a data file, without what a terminal would obey, and not too long."""
    return "".join(one if one.isprintable() else "?" for one in text[:LONGEST_SHOWN])


def _order(value: Setting) -> tuple[bool, float, str]:
    number = isinstance(value, (int, float))
    return (not number, float(value) if number else 0.0, str(value))
