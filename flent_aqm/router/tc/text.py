# SPDX-License-Identifier: GPL-3.0-or-later
"""What `tc -s -d qdisc show` prints without -j, as the same records.

For a tc that has no JSON, or whose JSON of a qdisc is broken. Parameters stay as printed
("5ms", "32Mb", "1000p"): the comparison prints what it expects in the same way. Of the
counters only those that all qdiscs have are read, and CAKE's memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from flent_aqm.asked.queues.units import Scalar
from flent_aqm.base.errors import ParseError
from flent_aqm.router.tc.classes import SIZE_UNIT
from flent_aqm.router.tc.qdiscs import Qdisc

_HEAD = re.compile(r"qdisc (?P<kind>\S+) (?P<handle>[0-9a-f]+:)(?:\[[0-9a-f]{8}\])? "
                   r"(?:dev \S+ )?(?:(?P<root>root)|parent (?P<parent>[0-9a-f]*:[0-9a-f]*))"
                   r"(?P<words>[^\n]*)")
_SENT = re.compile(r"Sent (?P<bytes>\d+) bytes (?P<packets>\d+) pkts? "
                   r"\(dropped (?P<drops>\d+), overlimits (?P<overlimits>\d+) "
                   r"requeues (?P<requeues>\d+)\)")
_BACKLOG = re.compile(r"backlog (?P<size>[\d.]+)(?P<unit>[KM]?)b (?P<packets>\d+)p")
# CAKE's, with the names that JSON has.
_MEMORY = re.compile(r"^ memory used: (?P<memory_used>\d+[KM]?)b of (?P<memory_limit>\d+[KM]?)b$",
                     re.MULTILINE)
# The second line of SFB before iproute2 5.5.
_OLD_SFB = re.compile(r"^  increment (?P<increment>[\d.]+) decrement (?P<decrement>[\d.]+) penalty "
                      r"rate (?P<penalty_rate>\d+) burst (?P<penalty_burst>\d+) "
                      r"\((?P<rehash>\d+ms) (?P<db>\d+ms)\)", re.MULTILINE)
# Words without a value; all others are names followed by one.
_SWITCHES: Mapping[str, tuple[str, Scalar]] = {
    "ecn": ("ecn", True), "noecn": ("ecn", False), "harddrop": ("harddrop", True),
    "adaptive": ("adaptive", True), "nodrop": ("nodrop", True), "bytemode": ("bytemode", True),
    "dq_rate_estimator": ("dq_rate_estimator", True), "headdrop": ("headdrop", True),
    # DualPI2, whose JSON has other names than its text
    "drop_on_overload": ("drop-overload", "drop"), "overflow": ("drop-overload", "overflow"),
    "drop_enqueue": ("drop-early", "drop-enqueue"),
    "drop_dequeue": ("drop-early", "drop-dequeue"), "l4s_ect": ("ecn-mask", "l4s-ect"),
    "any_ect": ("ecn-mask", "any-ect"), "split_gso": ("split-gso", True),
    "no_split_gso": ("split-gso", False),
    # CAKE
    "nat": ("nat", True), "nonat": ("nat", False), "wash": ("wash", True),
    "nowash": ("wash", False), "ingress": ("ingress", True), "split-gso": ("split_gso", True),
    "no-split-gso": ("split_gso", False), "raw": ("raw", True),
    "atm": ("atm", "atm"), "ptm": ("atm", "ptm"), "noatm": ("atm", "noatm"),
    "ack-filter": ("ack-filter", "enabled"), "no-ack-filter": ("ack-filter", "disabled"),
    **{word: ("diffserv", word) for word in (
        "diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")},
    **{word: ("flowmode", word) for word in (
        "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
        "triple-isolate")},
}


_NAMES_OF_DUALPI2 = {
    "memlimit": "memory-limit", "step_thresh": "step-thresh-us", "min_qlen_step": "min-qlen-step",
    "coupling_factor": "coupling", "classic_protection": "c-protection",
}


def parse_text(text: str, place: str) -> tuple[Qdisc, ...]:
    """The qdiscs of one device. place: what to call it in an error. Raises ParseError."""
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
    parameters = _parameters(head["kind"], head["words"].split())
    old = _OLD_SFB.search(block) if head["kind"] == "sfb" else None
    return Qdisc(head["kind"], head["handle"], head["root"] or head["parent"],
                 {**parameters, **(old.groupdict() if old else {})}, counters, printed=True)


def _parameters(kind: str, words: list[str]) -> dict[str, Scalar]:
    parameters: dict[str, Scalar] = {}
    rest = iter(words)
    for word in rest:
        # fq_codel and others have flows as a number; only CAKE's is a word of its own.
        if word in _SWITCHES and not (word == "flows" and kind != "cake"):
            name, switch = _SWITCHES[word]
            parameters[name] = switch
        elif word == "refcnt":
            next(rest, None)
        elif not word.strip("-"):
            continue  # the row of dashes behind `ingress`
        else:
            name = _NAMES_OF_DUALPI2.get(word, word) if kind == "dualpi2" else word
            parameters[name] = next(rest, "")
    if kind == "sfq" and "flows" in parameters:  # old: with the divisor behind it, twice
        parameters["flows"] = str(parameters["flows"]).partition("/")[0]
    return parameters
