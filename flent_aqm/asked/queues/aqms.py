# SPDX-License-Identifier: GPL-3.0-or-later
"""All AQMs with their parameters: how each is read, its default, what the kernel makes of it.

Defaults are those of Linux net/sched/sch_NAME.c, with a frame of 1514 bytes, but for those
that router_hooks/defaults.sh gives; names are those that tc takes and router_hooks/schemes/
NAME.sh lists, with `_` for `-`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flent_aqm.asked.queues import red
from flent_aqm.asked.queues.units import Clock, Scalar
from flent_aqm.asked.queues.values import (
    Expected,
    Reader,
    as_asked,
    at_least,
    at_most,
    below_1,
    codel_us,
    count_to,
    dualpi2_factor,
    flag,
    fraction,
    jiffies_ms_in_us,
    jiffies_us,
    newly_at_least,
    number,
    one_of,
    percent,
    psched_us,
    sfb_share,
    size_bytes,
    time_us,
    whole,
)
from flent_aqm.base.errors import ConfigError

# An Ethernet frame of the usual MTU: 1500 bytes and 14 of header.
FRAME_BYTES = 1514
_MB = 2**20


@dataclass(frozen=True)
class Parameter:
    """One parameter of an AQM.

    read: from text to the number that tc sends; default: that number, None for what is
    left out; kernel: from that number to what the kernel reports; reported: tc's name in its
    report, "" for the same one, None for what isn't reported; only_if_set: the report
    leaves out a switch that is off; zero: 0 is a value, which for most it isn't: tc leaves it
    out, and the default holds, or tc or the kernel refuses it.
    """

    read: Reader
    default: Scalar | None = None
    kernel: Callable[[Scalar], Expected] = as_asked
    reported: str | None = ""
    only_if_set: bool = False
    zero: bool = False


@dataclass(frozen=True)
class Place:
    """What an AQM's report follows from besides its own parameters. txqueuelen: packets, of
    the device that it is on."""

    rate_bit_s: int
    shapes: bool
    clock: Clock
    txqueuelen: int


Report = dict[str, Expected]


@dataclass(frozen=True)
class Aqm:
    """One AQM. kind: the qdisc; adapt: changes the report by place and asked values."""

    kind: str
    parameters: Mapping[str, Parameter]
    adapt: Callable[[Report, Mapping[str, Scalar], Place], Report] = \
        lambda report, asked, place: report
    # Whether it is classes that hold the packets, which are told in a way of their own.
    classes: bool = field(default=False)

    def report(self, asked: Mapping[str, str], place: Place) -> Report:
        """What the kernel has to report for the asked parameters, by tc's names."""
        values = {name: parameter.read(asked[name]) if name in asked else parameter.default
                  for name, parameter in self.parameters.items()}
        given = {name: value for name, value in values.items() if value is not None}
        report: Report = {}
        for name, value in given.items():
            parameter = self.parameters[name]
            if parameter.reported is not None and (value or not parameter.only_if_set):
                report[parameter.reported or name] = parameter.kernel(value)
        return self.adapt(report, given, place)


def check_parameter(aqm: str, name: str, text: str) -> str:
    """The text, when it is a parameter of that AQM; raises ConfigError that names both."""
    known = AQMS[aqm].parameters
    if name not in known:
        raise ConfigError(f"aqm_{name}: {aqm} has no such parameter; known: {', '.join(known)}")
    try:
        value = known[name].read(text)
    except ConfigError as fault:
        raise ConfigError(f"aqm_{name}: {text!r} for {aqm}: {fault}") from None
    if not value and not isinstance(value, bool) and not known[name].zero:
        raise ConfigError(f"aqm_{name}: {text!r} for {aqm}: 0 is no value there; for the default "
                          "leave it out")
    # A hook's own reading of switches and sizes is not needed then.
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text


def hook_value(aqm: str, name: str, text: str) -> str:
    """A checked value as the hook gets it: sizes in bytes, times in microseconds."""
    parameter = AQMS[aqm].parameters[name]
    value = parameter.read(text)
    if parameter.read is time_us:
        return f"{value}us"
    if parameter.read is size_bytes:
        return str(value)
    return text


def _sfq(report: Report, asked: Mapping[str, Scalar], place: Place) -> Report:
    """sfq_change(): flows, limit and depth bound each other."""
    depth = min(int(asked.get("depth", 127)), 127)
    flows = int(asked.get("flows", 128))
    flows = min(flows, 0x10000 - 128)
    if "divisor" in asked:
        flows = min(flows, int(asked["divisor"]))
    limit = 127
    if "limit" in asked:
        limit = min(int(asked["limit"]), depth * flows)
        flows = min(flows, limit)
    return {"divisor": 1024, **report, "limit": limit, "depth": depth, "flows": flows}


def _cake(report: Report, asked: Mapping[str, Scalar], place: Place) -> Report:
    if "overhead" in asked:
        report = {**report, "atm": "noatm"}
    return {**report, "bandwidth": place.rate_bit_s // 8 if place.shapes else "unlimited",
            "ingress": False, "fwmark": "0", "raw": "overhead" not in asked,
            "overhead": asked.get("overhead", 0)}


def _sfb(report: Report, asked: Mapping[str, Scalar], place: Place) -> Report:
    """iproute2 tc/q_sfb.c: of max and target, tc derives the one that isn't given, or is 0.
    sfb_change(): a limit of 0 is the device's txqueuelen."""
    most, target = int(asked.get("max", 0)), int(asked.get("target", 0))
    most = most or ((target * 5 + 1) // 4 if target else 25)
    return {**report, "limit": asked["limit"] or place.txqueuelen, "max": most,
            "target": target or (most * 4 + 3) // 5}


def _dualpi2(report: Report, asked: Mapping[str, Scalar], place: Place) -> Report:
    """Room for the limit's packets, two frames each; and what has no setting here."""
    memory = 2 * FRAME_BYTES * int(asked["limit"])
    return {"memory-limit": memory, "drop-overload": "drop", "drop-early": "drop-dequeue",
            "ecn-mask": "l4s-ect", "split-gso": True, **report}


def _red(report: Report, asked: Mapping[str, Scalar], place: Place) -> Report:
    return {**red.report(asked, place.rate_bit_s, place.clock), "nodrop": False}


_CODEL = {
    "limit": Parameter(whole, 1000),
    "target": Parameter(time_us, 5000, codel_us),
    "interval": Parameter(time_us, 100_000, codel_us),
    "ce_threshold": Parameter(time_us, None, codel_us, zero=True),
    "ecn": Parameter(flag, False, only_if_set=True),
}
_PIE = {
    "limit": Parameter(whole, 1000),
    "target": Parameter(time_us, 15_000, psched_us),
    "tupdate": Parameter(time_us, 15_000, jiffies_us),
    "alpha": Parameter(whole, 2),
    "beta": Parameter(whole, 20),
    "ecn": Parameter(flag, False, only_if_set=True),
    "bytemode": Parameter(flag, False, only_if_set=True),
    "dq_rate_estimator": Parameter(flag, False, only_if_set=True),
}

AQMS: Mapping[str, Aqm] = {
    "no_aqm": Aqm("pfifo", {"limit": Parameter(whole, 1000, zero=True)}),
    "bfifo": Aqm("bfifo", {"limit": Parameter(size_bytes, 1000 * FRAME_BYTES, zero=True)}),
    "codel": Aqm("codel", _CODEL),
    "fq_codel": Aqm("fq_codel", {
        **_CODEL,
        "limit": Parameter(whole, 10_240),
        "flows": Parameter(whole, 1024),
        "quantum": Parameter(whole, FRAME_BYTES, at_least(256)),
        "memory_limit": Parameter(size_bytes, 32 * _MB, at_most(2**31), zero=True),
        "drop_batch": Parameter(whole, 64, at_least(1)),
        "ecn": Parameter(flag, True, only_if_set=True),
    }),
    "sfq": Aqm("sfq", {
        "limit": Parameter(whole),
        "depth": Parameter(whole),
        "flows": Parameter(whole),
        "divisor": Parameter(whole),
        "quantum": Parameter(size_bytes, FRAME_BYTES, at_least(256)),
        "perturb": Parameter(whole, None, only_if_set=True, zero=True),
    }, _sfq),
    "cake": Aqm("cake", {
        "rtt": Parameter(time_us, 100_000),
        "diffserv": Parameter(one_of("diffserv3", "diffserv4", "diffserv8", "besteffort",
                                     "precedence"), "diffserv3"),
        "isolation": Parameter(one_of("flowblind", "srchost", "dsthost", "hosts", "flows",
                                      "dual-srchost", "dual-dsthost", "triple-isolate"),
                               "triple-isolate", reported="flowmode"),
        "nat": Parameter(flag, False),
        "wash": Parameter(flag, False),
        "split_gso": Parameter(flag, True),
        "ack_filter": Parameter(flag, False, lambda on: "enabled" if on else "disabled",
                                "ack-filter"),
        "overhead": Parameter(whole, zero=True),
        "mpu": Parameter(whole, None, only_if_set=True, zero=True),
        "memlimit": Parameter(size_bytes, None, only_if_set=True, zero=True),
    }, _cake),
    "pie": Aqm("pie", _PIE),
    "fq_pie": Aqm("fq_pie", {
        **_PIE,
        "limit": Parameter(whole, 10_240),
        "flows": Parameter(whole, 1024),
        "quantum": Parameter(size_bytes, FRAME_BYTES, newly_at_least(256)),
        "memory_limit": Parameter(size_bytes, 32 * _MB),
        "ecn_prob": Parameter(whole, 10),
    }),
    "red": Aqm("red", {
        "limit": Parameter(size_bytes),
        "min": Parameter(size_bytes),
        "max": Parameter(size_bytes),
        "avpkt": Parameter(size_bytes),
        "burst": Parameter(whole),
        "probability": Parameter(below_1),
        "ecn": Parameter(flag, False),
        "harddrop": Parameter(flag, False),
        "adaptive": Parameter(flag, False),
    }, _red),
    "sfb": Aqm("sfb", {
        "limit": Parameter(whole, 1000, zero=True),
        "max": Parameter(whole, zero=True),
        "target": Parameter(whole, zero=True),
        # tc's own are 33/65535 and 3/65535
        "increment": Parameter(fraction, 0.00050355, sfb_share, zero=True),
        "decrement": Parameter(fraction, 0.0000457779, sfb_share, zero=True),
        "penalty_rate": Parameter(whole, 10, zero=True),
        "penalty_burst": Parameter(whole, 20, zero=True),
        "rehash": Parameter(whole, 600_000, jiffies_ms_in_us, zero=True),
        "db": Parameter(whole, 60_000, jiffies_ms_in_us, zero=True),
    }, _sfb),
    "drr": Aqm("drr", {
        # each a class, and classes have 10 bits of number in schemes/drr.sh
        "flows": Parameter(count_to(1023), 64, reported=None),
        "quantum": Parameter(size_bytes, FRAME_BYTES, reported=None),
    }, classes=True),
    "dualpi2": Aqm("dualpi2", {
        "limit": Parameter(whole, 10_000),
        "memlimit": Parameter(size_bytes, reported="memory-limit"),
        "target": Parameter(time_us, 15_000),
        "tupdate": Parameter(time_us, 16_000),
        "alpha": Parameter(number, 41 / 256, dualpi2_factor),
        "beta": Parameter(number, 819 / 256, dualpi2_factor),
        "step_thresh": Parameter(time_us, 1000, reported="step-thresh-us"),
        "min_qlen_step": Parameter(whole, 0, reported="min-qlen-step", zero=True),
        "coupling_factor": Parameter(whole, 2, reported="coupling"),
        "classic_protection": Parameter(percent, 10, reported="c-protection", zero=True),
    }, _dualpi2),
}
