# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the JSON of `tc -s -d -j qdisc show` into records."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError
from flent_aqm.spec.queues.units import Scalar

# Options that count packets, so they change during a run: HTB's, and those of SFQ's REDs.
_COUNTERS_AMONG_OPTIONS = {"direct_packets_stat", "prob_mark", "prob_mark_head", "prob_drop",
                           "forced_mark", "forced_mark_head", "forced_drop"}
# iproute2 prints HFSC's options between braces, which is not JSON.
_HFSC_OPTIONS = re.compile(r"\{default ([0-9a-f]+) \}")
_TOO_LARGE = float(1 << 64)
_NO_COUNTERS = {"kind", "handle", "parent", "root", "refcnt", "options", "dev", "offloaded"}


@dataclass(frozen=True)
class Qdisc:
    """A qdisc.

    parent: "root", or the handle of a class.
    parameters: under tc's names and in tc's units.
    counters: numbers, and for CAKE's tins a list of mappings.
    printed: the parameters are from tc's text, which has units and fewer digits.
    """

    kind: str
    handle: str
    parent: str
    parameters: Mapping[str, Scalar]
    counters: Mapping[str, object]
    printed: bool = False


def parse_json(text: str, place: str) -> tuple[Qdisc, ...]:
    """Parse the qdiscs of one device. `place` names the device in errors. Raises ParseError."""
    try:
        whole = json.loads(_HFSC_OPTIONS.sub(r'{"default":"0x\1"}', text))
    except ValueError as fault:
        raise ParseError(f"{place}: tc's qdiscs are not JSON: {fault}; got "
                         f"{text.strip()[:80]!r}") from None
    if not isinstance(whole, list):
        raise ParseError(f"{place}: tc's qdiscs: expected a list, got {text.strip()[:80]!r}")
    return tuple(_qdisc(item, place) for item in whole)


def _qdisc(value: object, place: str) -> Qdisc:
    fields = _object(value, f"{place}: qdisc")
    kind = _text(fields, "kind", f"{place}: qdisc")
    options = _object(fields.get("options", {}), f"{kind}: options")
    counters = {key: item for key, item in fields.items() if key not in _NO_COUNTERS}
    counters |= {key: options[key] for key in _COUNTERS_AMONG_OPTIONS & options.keys()}
    return Qdisc(
        kind=kind,
        handle=_text(fields, "handle", kind),
        parent="root" if fields.get("root") is True else _text(fields, "parent", kind),
        # iproute2 7 writes "priomap ", with a blank.
        parameters={key.strip(): _scalar(item, f"{kind}: {key}") for key, item in options.items()
                    if key not in _COUNTERS_AMONG_OPTIONS},
        counters={key: _counter(item, f"{kind}: {key}") for key, item in counters.items()},
    )


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ParseError(f"{place}: expected an object, got {value!r:.80}")
    return value


def _text(fields: Mapping[str, object], key: str, place: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise ParseError(f"{place}: {key}: expected text, got {value!r:.80}")
    return value


def _counter(value: object, place: str) -> object:
    """Return a number, or one for each of CAKE's tins. CoDel's state `dropping` is true or left
    out, and counts as 1."""
    if value is True:
        return 1
    if isinstance(value, list):
        return [{key: _counter(item, f"{place}: {key}")
                 for key, item in _object(tin, place).items()} for tin in value]
    if not isinstance(value, (int, float)) or not _is_sane(value):
        raise ParseError(f"{place}: expected a number, got {value!r:.80}")
    return value


def _is_sane(value: float | str) -> bool:
    """Return whether a number is one that 64 bits hold: JSON has 1e999 for infinity, too."""
    return isinstance(value, str) or abs(value) < _TOO_LARGE


def _scalar(value: object, place: str) -> Scalar:
    if value is None:  # so iproute2 7 writes a switch of DualPI2's that is on
        return True
    if isinstance(value, list):  # fq's bands
        return " ".join(str(_scalar(item, place)) for item in value)
    if not isinstance(value, (int, float, str)) or not _is_sane(value):
        raise ParseError(f"{place}: expected a number, a text or a flag, got {value!r:.80}")
    return value
