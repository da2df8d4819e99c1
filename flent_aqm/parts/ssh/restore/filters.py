# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert filters as tc shows them into the commands that create them again.

Supported are u32 without additional hash tables, fw and matchall, with a class or with one
redirection to another device. Shapers with an IFB device or with DSCP classes use these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flent_aqm.base.errors import TestbedError

_HEAD = re.compile(
    r"filter (?:parent (?P<parent>\S+) )?protocol (?P<protocol>[\w.]+) pref (?P<pref>\d+) "
    r"(?P<kind>\w+) (?:chain (?P<chain>\d+) ?)?(?P<rest>.*)")
_MATCH = re.compile(r"match ([0-9a-f]{8})/([0-9a-f]{8}) at (nexthdr\+)?(-?\d+)")
_MIRRED = re.compile(r"action order 1: mirred \(Egress (Redirect|Mirror) to device ([\w.@-]+)\) "
                     r"(?:stolen|pipe)")
# End of a u32 filter's first line: its class, and values that are always the same.
_U32 = re.compile(r"fh \S+ order \d+ key ht \w+ bkt 0 (?:terminal )?"
                  r"(?:\*?flowid (?P<flow>\S+) ?)?(?:not_in_hw ?)?")
_FW = re.compile(r"handle (?P<handle>0x[0-9a-f]+(?:/0x[0-9a-f]+)?) (?:classid (?P<flow>\S+) ?)?")
_MATCHALL = re.compile(r"handle 0x1 (?:flowid (?P<flow>\S+) ?)?(?:not_in_hw ?)?")


def filter_commands(device: str, where: str, lines: Sequence[str]) -> list[list[str]]:
    """Return the arguments for tc that create filters again, a list per filter.

    Args:
        device: name of the device.
        where: `parent 1:`, `ingress` or `egress`: where the filters are attached.
        lines: output of `tc filter show` for it.

    Raises TestbedError that quotes a filter that can't be created again.
    """
    commands = []
    for filter_ in _split_filters(lines):
        words = _filter_arguments(filter_)
        if words is None:
            raise TestbedError(
                f"{device} has a filter that could not be restored exactly: "
                f"{' '.join(' '.join(filter_).split())[:120]!r}; remove it first: "
                f"tc filter del dev {device} {where}")
        if words:
            # The filter's own line is more exact about its parent than `where`.
            named = _HEAD.fullmatch(filter_[0])
            place = ["parent", named["parent"]] if named and named["parent"] else where.split()
            commands.append(["filter", "add", "dev", device, *place, *words])
    return commands


def _split_filters(lines: Sequence[str]) -> list[list[str]]:
    """Return the lines of each filter, without indentation. A line that begins with "filter "
    begins a filter. If the first line doesn't, return it alone."""
    filters: list[list[str]] = []
    for line in lines:
        if line.startswith("filter "):
            filters.append([])
        if not filters:
            return [[line]]
        filters[-1].append(line.strip())
    return filters


def _filter_arguments(lines: Sequence[str]) -> list[str] | None:
    """Return the arguments for tc that follow the parent. Empty for a line that is only a heading.
    None if the filter isn't supported.

    Args:
        lines: the lines of one filter.
    """
    head = _HEAD.fullmatch(lines[0])
    if not head or head["chain"] not in (None, "0"):
        return None
    first = ["protocol", head["protocol"], "pref", head["pref"], head["kind"]]
    rest, body = f"{head['rest']} ".lstrip(), list(lines[1:])
    if not body and (not rest.strip() or re.fullmatch(r"fh \w+: ht divisor 1 ", rest)):
        return []
    if body[:1] == ["not_in_hw"]:
        del body[0]
    if head["kind"] == "u32" and (match := _U32.fullmatch(rest)):
        words = []
        while body and (selector := _MATCH.fullmatch(body[0])):
            words += ["match", "u32", f"0x{selector[1]}", f"0x{selector[2]}", "at",
                      f"{selector[3] or ''}{selector[4]}"]
            del body[0]
        if not words:
            return None
        flow = ["flowid", match["flow"]] if match["flow"] else []
    elif head["kind"] == "fw" and (match := _FW.fullmatch(rest)):
        first[4:] = ["handle", match["handle"], "fw"]
        words, flow = [], ["classid", match["flow"]] if match["flow"] else []
    elif head["kind"] == "matchall" and (match := _MATCHALL.fullmatch(rest)):
        words, flow = [], ["classid", match["flow"]] if match["flow"] else []
    else:
        return None
    action: list[str] = []
    if body and (redirect := _MIRRED.fullmatch(body[0])):
        action = ["action", "mirred", "egress", redirect[1].lower(), "dev", redirect[2]]
        del body[0]
    return None if body else [*first, *words, *flow, *action]
