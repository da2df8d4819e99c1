# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the text of `tc -s -d qdisc show` into the same records as qdiscs.py makes of JSON.

Fallback for a tc without JSON, or with broken JSON of a qdisc. Parameters stay as printed
("5ms", "32Mb", "1000p"): the comparison prints what it expects in the same way. Of the
counters only those that all qdiscs have are read, and CAKE's memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from flent_aqm.base.errors import ParseError
from flent_aqm.router.tc.classes import SIZE_UNIT
from flent_aqm.router.tc.qdiscs import Qdisc
from flent_aqm.spec.queues.table import OF_KIND
from flent_aqm.spec.queues.units import Scalar
from flent_aqm.spec.queues.values import flag

_HEAD = re.compile(r"qdisc (?P<kind>\S+) (?P<handle>[0-9a-f]+:)(?:\[[0-9a-f]{8}\])? "
                   r"(?:dev \S+ )?(?:(?P<root>root)|parent (?P<parent>[0-9a-f]*:[0-9a-f]*))"
                   r"(?P<words>[^\n]*)")
# Stands where tc has options of a qdisc that it doesn't know.
_UNKNOWN = re.compile(r"\[Unknown qdisc[^]]*\]")
_SENT = re.compile(r"Sent (?P<bytes>\d+) bytes (?P<packets>\d+) pkts? "
                   r"\(dropped (?P<drops>\d+), overlimits (?P<overlimits>\d+) "
                   r"requeues (?P<requeues>\d+)\)")
_BACKLOG = re.compile(r"backlog (?P<size>\d+(?:\.\d+)?)(?P<unit>[KM]?)b (?P<packets>\d+)p")
# CAKE's memory, under the names of tc's JSON.
_MEMORY = re.compile(r"^ memory used: (?P<memory_used>\d+[KM]?)b of (?P<memory_limit>\d+[KM]?)b$",
                     re.MULTILINE)
# Words without a value that any queue may have, with their JSON name; a queue's own stand in
# its row. All others are names followed by a value.
_SWITCHES: Mapping[str, tuple[str, Scalar]] = {"ecn": ("ecn", True), "noecn": ("ecn", False)}


def parse_text(text: str, place: str) -> tuple[Qdisc, ...]:
    """Parse the qdiscs of one device. `place` names the device in errors. Raises ParseError."""
    blocks = re.split(r"^(?=qdisc )", text, flags=re.MULTILINE)
    if blocks[0].strip():
        raise ParseError(f"{place}: tc qdisc: expected 'qdisc …', got "
                         f"{blocks[0].strip()[:80]!r}")
    return tuple(_qdisc(block, place) for block in blocks[1:])


def _qdisc(block: str, place: str) -> Qdisc:
    head, sent = _HEAD.match(block), _SENT.search(block)
    if not head or not sent:
        raise ParseError(f"{place}: tc qdisc: not as tc -s -d prints it: "
                         f"{block.splitlines()[0][:200]!r}")
    counters: dict[str, object] = {key: int(value) for key, value in sent.groupdict().items()}
    backlog = _BACKLOG.search(block)
    if backlog:
        counters |= {"backlog": int(float(backlog["size"]) * SIZE_UNIT[backlog["unit"]]),
                     "qlen": int(backlog["packets"])}
    memory = _MEMORY.search(block) if head["kind"] == "cake" else None
    if memory:
        counters |= {name: int(text.rstrip("KM")) * SIZE_UNIT[text.strip("0123456789")]
                     for name, text in memory.groupdict().items()}
    parameters = _parameters(head["kind"], _UNKNOWN.sub("", head["words"]).split())
    queue = OF_KIND.get(head["kind"])
    old = re.search(queue.old_text, block, re.MULTILINE) if queue and queue.old_text else None
    return Qdisc(head["kind"], head["handle"], head["root"] or head["parent"],
                 {**parameters, **(old.groupdict() if old else {})}, counters, printed=True)


def _parameters(kind: str, words: list[str]) -> dict[str, Scalar]:
    switches, names = _words_of(kind)
    parameters: dict[str, Scalar] = {}
    rest = iter(words)
    for word in rest:
        if word in switches:
            name, switch = switches[word]
            parameters[name] = switch
        elif word == "refcnt":
            next(rest, None)
        elif not word.strip("-"):
            continue  # the row of dashes behind `ingress`
        elif word.isdecimal():
            continue  # the second or later value of a list, as fq's priomap
        else:
            parameters[names.get(word, word)] = next(rest, "")
    if "ce_threshold_selector" in parameters:  # JSON has its two parts by themselves
        value, _, mask = str(parameters["ce_threshold_selector"]).partition("/")
        parameters |= {"ce_threshold_selector": _decimal(value),
                       "ce_threshold_mask": _decimal(mask)}
    if kind == "dualpi2" and str(parameters.get("step-thresh-us", "")).endswith("p"):
        parameters["step-thresh-pkts"] = parameters.pop("step-thresh-us")
    if kind == "sfq" and "flows" in parameters:  # old: with the divisor behind it, twice
        parameters["flows"] = str(parameters["flows"]).partition("/")[0]
    return parameters


def _decimal(text: str) -> str:
    """Return a number that tc prints in hexadecimal with 0x as JSON has it, other text as it is."""
    return str(int(text, 16)) if re.fullmatch("0x[0-9a-f]{1,8}", text) else text


def _words_of(kind: str) -> tuple[Mapping[str, tuple[str, Scalar]], Mapping[str, str]]:
    """Return the switches of a queue, and JSON's names of what its text calls otherwise."""
    queue = OF_KIND.get(kind)
    if queue is None:
        return _SWITCHES, {}
    flags = {name: (parameter.reported or name, True)
             for name, parameter in queue.parameters.items() if parameter.read is flag}
    return ({**_SWITCHES, **flags, **(queue.switches or {})},
            {name: parameter.reported for name, parameter in queue.parameters.items()
             if parameter.reported})
