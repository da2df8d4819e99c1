# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines the table of queues, with a row for each queue that can be requested.

A row determines the check of the queue's parameters, the values that the kernel has to report, how
versions of tc print them, the words for tc, the requirements of a router, and the look in plots.
docs/extend.md explains how to add a row. The functions of this file are for Queue.adapt (report,
values of the parameters, attachment) and Queue.complete (requested texts, rate, whether the queue
shapes).

Defaults are those of Linux net/sched/sch_NAME.c, with a frame of 1514 bytes, except for parameters
with `sent`. Colours are Okabe and Ito's, and for the rarer queues Paul Tol's muted ones, which
colour-blind people can distinguish. Lines, markers and hatches distinguish queues in grey print.
"""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.spec.queues import red
from flent_aqm.spec.queues.queue import (
    Attachment,
    LineStyle,
    Look,
    Parameter,
    Queue,
    Report,
    Unit,
)
from flent_aqm.spec.queues.units import Scalar
from flent_aqm.spec.queues.values import (
    Choice,
    Framing,
    Graded,
    NamedTime,
    Overhead,
    at_least,
    at_most,
    below_1,
    between,
    codel_us,
    count_to,
    dualpi2_factor,
    flag,
    fraction,
    jiffies_ms_in_us,
    jiffies_us,
    mask,
    newly_at_least,
    number,
    percent,
    power_of_two,
    psched_us,
    rate_bytes_per_s,
    selector,
    sfb_share,
    size_bytes,
    time_ns,
    time_or_packets,
    time_us,
    whole,
)

# An Ethernet frame with the usual MTU: 1500 bytes and a header of 14.
FRAME_BYTES = 1514
_MB = 2**20

_SOLID: LineStyle = "-"
_DASHED: LineStyle = (0, (5, 1.5))
_DOTTED: LineStyle = (0, (1, 1.2))
_DASH_DOT: LineStyle = (0, (6, 1.5, 1, 1.5))
_DASH_DOT_DOT: LineStyle = (0, (7, 1.5, 1, 1.5, 1, 1.5))
_SHORT: LineStyle = (0, (2.5, 2.5))
_LONG: LineStyle = (0, (10, 2.5))
# Line styles for groups that aren't queues, and for several groups of the same queue, in this
# order.
LINES = (_SOLID, _DASHED, _DOTTED, _DASH_DOT, _LONG, _DASH_DOT_DOT, _SHORT)


def _sfq_report(report: Report, requested: Mapping[str, Scalar], attachment: Attachment) -> Report:
    """Return the report that is expected of SFQ: values by their names in tc's JSON, with those of
    the RED in each flow if it is requested. Flows, limit and depth limit each other, as in
    sfq_change().

    Args:
        report: the values that follow from each parameter alone.
        requested: values of the parameters, requested or default, by name.
        attachment: the queue's surroundings on its device, not used.
    """
    depth = min(int(requested.get("depth", 127)), 127)
    flows = int(requested.get("flows", 128))
    flows = min(flows, 0x10000 - 128)
    if "divisor" in requested:
        flows = min(flows, int(requested["divisor"]))
    limit = 127
    if "limit" in requested:
        limit = min(int(requested["limit"]), depth * flows)
        flows = min(flows, limit)
    return {"divisor": 1024, **report, "limit": limit, "depth": depth, "flows": flows,
            **red.report_in_sfq(requested)}


def _cake_report(report: Report, requested: Mapping[str, Scalar], attachment: Attachment) -> Report:
    """Return the report that is expected of CAKE. The overhead is the requested number, or that of
    tc's words for a framing, 0 without either. Link layer and mpu are those of the words, unless
    they are requested, too. Left out are an mpu of 0, and the link layer noatm if no overhead or
    the word `raw` is requested. The bandwidth, in bytes/s, is the attachment's rate if CAKE shapes,
    otherwise it is "unlimited".

    Args:
        report: the values that follow from each parameter alone.
        requested: values of the parameters, requested or default, by name.
        attachment: the queue's surroundings on its device.
    """
    framing = CAKE_OVERHEAD.framing(requested.get("overhead", 0))
    raw = framing.raw or "overhead" not in requested
    link_layer = requested.get("linklayer") or framing.link_layer or "noatm"
    mpu = requested.get("mpu", framing.mpu)
    shown = {key: value for key, value in report.items() if key not in ("atm", "mpu")}
    if link_layer != "noatm" or not raw:
        shown["atm"] = str(link_layer)
    if mpu:
        shown["mpu"] = mpu
    return {"ingress": False, **shown, "raw": raw, "overhead": framing.overhead,
            "bandwidth": attachment.rate_bit_s // 8 if attachment.shapes else "unlimited"}


def _sfb_report(report: Report, requested: Mapping[str, Scalar], attachment: Attachment) -> Report:
    """Return the report that is expected of SFB. tc derives max or target from the other if one
    isn't given or is 0 (iproute2 tc/q_sfb.c). Without either, max is 25 and target 20. A limit of 0
    becomes the device's txqueuelen (sfb_change()).

    Args:
        report: the values that follow from each parameter alone.
        requested: values of the parameters, requested or default, by name.
        attachment: the queue's surroundings on its device.
    """
    most, target = int(requested.get("max", 0)), int(requested.get("target", 0))
    most = most or ((target * 5 + 1) // 4 if target else 25)
    return {**report, "limit": requested["limit"] or attachment.txqueuelen, "max": most,
            "target": target or (most * 4 + 3) // 5}


def _dualpi2_report(report: Report, requested: Mapping[str, Scalar],
                    attachment: Attachment) -> Report:
    """Return the report that is expected of DualPI2. The default memory limit is two frames per
    packet of the limit. The step threshold is reported as step-thresh-us if it is a time, as
    step-thresh-pkts if it is a number of packets.

    Args:
        report: the values that follow from each parameter alone.
        requested: values of the parameters, requested or default, by name.
        attachment: the queue's surroundings on its device, not used.
    """
    report = {"memory-limit": 2 * FRAME_BYTES * int(requested["limit"]), **report}
    step = report.pop("step-thresh-us")
    if isinstance(step, str):
        return {**report, "step-thresh-pkts": int(step.removesuffix("p"))}
    return {**report, "step-thresh-us": step}


def _fq_report(report: Report, requested: Mapping[str, Scalar], attachment: Attachment) -> Report:
    """Return the report that is expected of fq. Pacing is only reported if it is off. The handling
    of packets beyond the horizon is reported by its name: horizon_drop or horizon_cap.

    Args:
        report: the values that follow from each parameter alone. It is changed.
        requested: values of the parameters, requested or default, by name, not used.
        attachment: the queue's surroundings on its device, not used.
    """
    paces, drops = report.pop("pacing"), report.pop("horizon_drop")
    return {**report, **({} if paces else {"pacing": False}),
            "horizon_drop" if drops else "horizon_cap": True}


def _fq_codel_report(report: Report, requested: Mapping[str, Scalar],
                     attachment: Attachment) -> Report:
    """Return the report that is expected of FQ-CoDel. If the selector VALUE/MASK is requested, tc
    prints two numbers: VALUE as ce_threshold_selector, MASK as ce_threshold_mask.

    Args:
        report: the values that follow from each parameter alone. It is changed.
        requested: values of the parameters, requested or default, by name, not used.
        attachment: the queue's surroundings on its device, not used.
    """
    both = report.pop("ce_threshold_selector", "")
    if not isinstance(both, str) or not both:
        return report
    value, mask_ = (int(part, 0) for part in both.split("/"))
    return {**report, "ce_threshold_selector": value, "ce_threshold_mask": mask_}


def _red_report(report: Report, requested: Mapping[str, Scalar], attachment: Attachment) -> Report:
    """Return the report that is expected of RED, as red.report() computes it.

    Args:
        report: not used.
        requested: values of the parameters, requested or default, by name.
        attachment: the queue's surroundings on its device.
    """
    return red.report(requested, attachment.rate_bit_s, attachment.clock)


def _complete_cake(requested: Mapping[str, str], rate_bit_s: int, shapes: bool) -> Mapping[str,
                                                                                           str]:
    """Return CAKE's parameters for tc, name -> text: the bandwidth first, or `unlimited` -> "" if
    CAKE doesn't shape. Words for a framing are next, because the parameters that change a part of
    the framing have to follow. Then the other requested ones.

    Args:
        requested: requested parameters, name -> text.
        rate_bit_s: rate to which CAKE shapes, in bit/s.
        shapes: True if CAKE shapes.
    """
    framing = {name: text for name, text in requested.items()
               if name == "overhead" and not text.lstrip("-").isdecimal()}
    return {**({"bandwidth": f"{rate_bit_s}bit"} if shapes else {"unlimited": ""}), **framing,
            **requested}


def _no_parameters(requested: Mapping[str, str], rate_bit_s: int, shapes: bool) -> Mapping[str,
                                                                                           str]:
    """Return no parameters for tc, because the parameters of this queue belong to its classes."""
    return {}


def _switch_parameter(words: str) -> Parameter:
    """Return the row of a switch that is off by default, and that tc only reports if it is on.

    words: tc's words for on and off, separated by "/", such as "ecn/noecn".
    """
    return Parameter(flag, "", False, only_if_set=True, words=words)


_CODEL = {
    "limit": Parameter(whole, "packets", 1000),
    "target": Parameter(time_us, "us", 5000, codel_us),
    "interval": Parameter(time_us, "us", 100_000, codel_us),
    "ce_threshold": Parameter(time_us, "us", None, codel_us, zero=True),
    "ecn": _switch_parameter("ecn/noecn"),
}
_PIE = {
    "limit": Parameter(whole, "packets", 1000),
    "target": Parameter(time_us, "us", 15_000, psched_us),
    "tupdate": Parameter(time_us, "us", 15_000, jiffies_us),
    "alpha": Parameter(whole, "", 2),
    "beta": Parameter(whole, "", 20),
    "ecn": _switch_parameter("ecn/noecn"),
    "bytemode": _switch_parameter("bytemode/nobytemode"),
    "dq_rate_estimator": _switch_parameter("dq_rate_estimator/no_dq_rate_estimator"),
}
_DIFFSERV = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
_ISOLATION = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost",
              "dual-dsthost", "triple-isolate")
# Names of round-trip times in tc-cake(8), in us.
_RTTS_US = {"datacentre": 100, "lan": 1000, "metro": 10_000, "regional": 30_000,
            "internet": 100_000, "oceanic": 300_000, "satellite": 10**6,
            "interplanetary": 3_600_000_000}
CAKE_OVERHEAD = Overhead(-64, 256, {
    "raw": Framing(0, "noatm"), "conservative": Framing(48, "atm"),
    "pppoa-vcmux": Framing(10, "atm"), "pppoa-llc": Framing(14, "atm"),
    "pppoe-vcmux": Framing(32, "atm"), "pppoe-llcsnap": Framing(40, "atm"),
    "bridged-vcmux": Framing(24, "atm"), "bridged-llcsnap": Framing(32, "atm"),
    "ipoa-vcmux": Framing(8, "atm"), "ipoa-llcsnap": Framing(16, "atm"),
    "pppoe-ptm": Framing(30, "ptm"), "bridged-ptm": Framing(22, "ptm"),
    "docsis": Framing(18, "noatm", 64), "ethernet": Framing(38, mpu=84),
    "ether-vlan": Framing(4),
})
_ACK_FILTER = Graded(("no-ack-filter", "ack-filter", "ack-filter-aggressive"), "aggressive")
_CAKE = {
    "rtt": Parameter(NamedTime(_RTTS_US), "us", 100_000),
    "diffserv": Parameter(Choice(_DIFFSERV), "", "diffserv3", words="{}"),
    "isolation": Parameter(Choice(_ISOLATION), "", "triple-isolate",
                           reported="flowmode", words="{}"),
    "nat": Parameter(flag, "", False, words="nat/nonat"),
    "wash": Parameter(flag, "", False, words="wash/nowash"),
    "split_gso": Parameter(flag, "", True, words="split-gso/no-split-gso"),
    "ack_filter": Parameter(
        _ACK_FILTER, "", False,
        lambda value: "aggressive" if value == "aggressive" else "enabled" if value else "disabled",
        "ack-filter"),
    "overhead": Parameter(CAKE_OVERHEAD, "bytes", zero=True),
    "linklayer": Parameter(Choice(("noatm", "atm", "ptm")), "", reported="atm", words="{}"),
    "mpu": Parameter(between(0, 256), "bytes", None, only_if_set=True, zero=True),
    "memlimit": Parameter(size_bytes, "bytes", None, only_if_set=True, zero=True),
    "fwmark": Parameter(mask, "", "0", zero=True),
    "ingress": Parameter(flag, "", False, words="ingress/egress"),
    "autorate_ingress": Parameter(
        flag, "", False, lambda _: "autorate-ingress", "autorate", only_if_set=True,
        words="autorate-ingress/"),
}
_CAKE_SWITCHES: Mapping[str, tuple[str, Scalar]] = {
    "nonat": ("nat", False), "nowash": ("wash", False), "ingress": ("ingress", True),
    "split-gso": ("split_gso", True), "no-split-gso": ("split_gso", False),
    "raw": ("raw", True), "atm": ("atm", "atm"), "ptm": ("atm", "ptm"),
    "noatm": ("atm", "noatm"), "ack-filter": ("ack-filter", "enabled"),
    "no-ack-filter": ("ack-filter", "disabled"),
    "ack-filter-aggressive": ("ack-filter", "aggressive"),
    "autorate-ingress": ("autorate", "autorate-ingress"),
    **{word: ("diffserv", word) for word in _DIFFSERV},
    **{word: ("flowmode", word) for word in _ISOLATION},
}

_FIFO = "sch_fifo (in every kernel that has qdiscs)"

# The order is that of legends and of plots side by side.
QUEUES: Mapping[str, Queue] = {
    "no_aqm": Queue(
        "pfifo", {"limit": Parameter(whole, "packets", 1000, zero=True, sent=True)},
        Look("#D55E00", "o", _SOLID, ""), _FIFO),
    "bfifo": Queue(
        "bfifo", {
            "limit": Parameter(size_bytes, "bytes", 1000 * FRAME_BYTES, zero=True, sent=True),
        }, Look("#8C510A", "X", _LONG, "++"), _FIFO),
    "red": Queue(
        "red", {
            "limit": Parameter(size_bytes, "bytes"),
            "min": Parameter(size_bytes, "bytes"),
            "max": Parameter(size_bytes, "bytes"),
            "avpkt": Parameter(size_bytes, "bytes"),
            "burst": Parameter(whole, "packets"),
            "probability": Parameter(below_1),
            "ecn": Parameter(flag, "", False, words="ecn/"),
            "harddrop": Parameter(flag, "", False, words="harddrop/"),
            "adaptive": Parameter(flag, "", False, words="adaptive/"),
            "nodrop": Parameter(flag, "", False, words="nodrop/"),
            "bandwidth": Parameter(rate_bytes_per_s, "bytes_per_s", reported=None),
        }, Look("#882255", "v", _SHORT, "oo"), "sch_red (CONFIG_NET_SCH_RED)", red.complete,
        _red_report,
        shows_classes=True, marks_at=(12,)),
    "sfb": Queue(
        "sfb", {
            "limit": Parameter(whole, "packets", 1000, zero=True, sent=True),
            "max": Parameter(whole, "packets", zero=True),
            "target": Parameter(whole, "packets", zero=True),
            # tc's own defaults are 33/65535 and 3/65535
            "increment": Parameter(fraction, "", 0.00050355, sfb_share, zero=True),
            "decrement": Parameter(fraction, "", 0.0000457779, sfb_share, zero=True),
            "penalty_rate": Parameter(whole, "packets_per_s", 10, zero=True),
            "penalty_burst": Parameter(whole, "packets", 20, zero=True),
            "rehash": Parameter(whole, "us", 600_000, jiffies_ms_in_us, zero=True, also_ms=True),
            "db": Parameter(whole, "us", 60_000, jiffies_ms_in_us, zero=True, also_ms=True),
        }, Look("#999933", "<", _DASH_DOT_DOT, ".."),
        "sch_sfb (Linux 2.6.39, CONFIG_NET_SCH_SFB)", adapt=_sfb_report, shows_classes=True,
        # before iproute2 5.5
        old_text=r"^  increment (?P<increment>[\d.]+) decrement (?P<decrement>[\d.]+) "
                 r"penalty rate (?P<penalty_rate>\d+) burst (?P<penalty_burst>\d+) "
                 r"\((?P<rehash>\d+ms) (?P<db>\d+ms)\)",
        marks_at=(20,)),
    "codel": Queue(
        "codel", _CODEL, Look("#E69F00", "s", _DASHED, "//"),
        "sch_codel (Linux 3.5, CONFIG_NET_SCH_CODEL)",
        marks_at=(24, 32)),  # the second counts marks above ce_threshold, as in fq_codel
    "pie": Queue("pie", _PIE, Look("#56B4E9", "D", _SHORT, "||"),
                 "sch_pie (Linux 3.14, CONFIG_NET_SCH_PIE)", marks_at=(36,)),
    "sfq": Queue(
        "sfq", {
            "limit": Parameter(whole, "packets"),
            "depth": Parameter(whole, "packets"),
            "flows": Parameter(whole),
            "divisor": Parameter(whole),
            "quantum": Parameter(size_bytes, "bytes", FRAME_BYTES, at_least(256)),
            "perturb": Parameter(whole, "s", None, only_if_set=True, zero=True),
            "headdrop": Parameter(flag, "", False, only_if_set=True, words="headdrop/"),
            # parameters of the RED in each flow
            "redflowlimit": Parameter(size_bytes, "bytes", reported=None),
            **{name: Parameter(size_bytes, "bytes", reported=None) for name in ("min", "max",
                                                                                "avpkt")},
            "burst": Parameter(whole, "packets", reported=None),
            "probability": Parameter(below_1, reported=None),
            "ecn": Parameter(flag, "", False, reported=None, words="ecn/"),
            "harddrop": Parameter(flag, "", False, reported=None, words="harddrop/"),
        }, Look("#CC79A7", "^", _DOTTED, "xx"), "sch_sfq (CONFIG_NET_SCH_SFQ)", adapt=_sfq_report,
        shows_classes=True, switches={"harddrop": ("harddrop", True)},
        derived={"min": "bytes", "max": "bytes"}),
    "drr": Queue(
        "drr", {
            # a class per flow
            "flows": Parameter(count_to(1023), "", 64, reported=None),
            "quantum": Parameter(size_bytes, "bytes", FRAME_BYTES, reported=None),
        }, Look("#777777", ">", _LONG, "--"),
        "sch_drr and cls_flow (CONFIG_NET_SCH_DRR, CONFIG_NET_CLS_FLOW)", _no_parameters,
        classes=True,
        parts=("flow",)),
    "hhf": Queue(
        "hhf", {
            "limit": Parameter(whole, "packets", 1000),
            "quantum": Parameter(size_bytes, "bytes", FRAME_BYTES, at_least(256)),
            "hh_limit": Parameter(whole, "", 2048),
            "reset_timeout": Parameter(time_us, "us", 40_000, jiffies_us),
            "admit_bytes": Parameter(size_bytes, "bytes", 2**17),
            "evict_timeout": Parameter(time_us, "us", 1_000_000, jiffies_us),
            "non_hh_weight": Parameter(whole, "", 2),
        }, Look("#AA3377", "8", _SHORT, "o."), "sch_hhf (Linux 3.14, CONFIG_NET_SCH_HHF)"),
    "fq_codel": Queue(
        "fq_codel", {
            **_CODEL,
            "limit": Parameter(whole, "packets", 10_240),
            "flows": Parameter(whole, "", 1024),
            "quantum": Parameter(whole, "bytes", FRAME_BYTES, at_least(256)),
            "memory_limit": Parameter(size_bytes, "bytes", 32 * _MB, at_most(2**31), zero=True),
            "drop_batch": Parameter(whole, "", 64, at_least(1)),
            "ecn": Parameter(flag, "", True, only_if_set=True, words="ecn/noecn"),
            "ce_threshold_selector": Parameter(selector),
        }, Look("#0072B2", "P", _DASH_DOT, "\\\\"),
        "sch_fq_codel (Linux 3.5, CONFIG_NET_SCH_FQ_CODEL)", adapt=_fq_codel_report,
        shows_classes=True,
        marks_at=(12, 28)),
    "fq": Queue(
        "fq", {
            "limit": Parameter(whole, "packets", 10_000),
            "flow_limit": Parameter(whole, "packets", 100),
            "buckets": Parameter(power_of_two(2**18), "", 1024),
            "quantum": Parameter(size_bytes, "bytes", 2 * FRAME_BYTES),
            "initial_quantum": Parameter(size_bytes, "bytes", 10 * FRAME_BYTES, zero=True),
            "refill_delay": Parameter(time_us, "us", 40_000),
            "horizon": Parameter(time_us, "us", 10_000_000),
            "horizon_drop": Parameter(flag, "", True, words="horizon_drop/horizon_cap"),
            "maxrate": Parameter(rate_bytes_per_s, "bytes_per_s"),
            "low_rate_threshold": Parameter(rate_bytes_per_s, "bytes_per_s", 550_000 // 8,
                                            only_if_set=True, zero=True),
            "pacing": Parameter(flag, "", True, words="pacing/nopacing"),
            "ce_threshold": Parameter(time_us, "us", zero=True),
            "orphan_mask": Parameter(whole, zero=True),
            "timer_slack": Parameter(time_ns, "ns"),
        }, Look("#44AA99", "p", _LONG, "\\\\|"), "sch_fq (Linux 3.12, CONFIG_NET_SCH_FQ)",
        adapt=_fq_report,
        switches={"horizon_cap": ("horizon_cap", True), "nopacing": ("pacing", False)},
        # Values for sockets, which a router doesn't have, and bands by priority (Linux 6.7), which
        # keep the kernel's settings.
        ignored=frozenset({"orphan_mask", "bands", "priomap", "weights", "offload_horizon",
                           "timer_slack"})),
    "fq_pie": Queue(
        "fq_pie", {
            **_PIE,
            "limit": Parameter(whole, "packets", 10_240),
            "flows": Parameter(whole, "", 1024),
            "quantum": Parameter(size_bytes, "bytes", FRAME_BYTES, newly_at_least(256)),
            "memory_limit": Parameter(size_bytes, "bytes", 32 * _MB),
            "ecn_prob": Parameter(whole, "percent", 10),
        }, Look("#332288", "d", _DASH_DOT_DOT, "**"),
        "sch_fq_pie (Linux 5.6, CONFIG_NET_SCH_FQ_PIE) and tc of iproute2 5.6",
        shows_classes=True, marks_at=(16,)),
    "cake": Queue(
        "cake", _CAKE, Look("#009E73", "*", _DASHED, "OO"),
        "sch_cake (Linux 4.19, CONFIG_NET_SCH_CAKE) and tc of iproute2 4.19", _complete_cake,
        _cake_report,
        shows_classes=True,
        switches=_CAKE_SWITCHES, derived={"bandwidth": "bytes_per_s"}),
    "cake_mq": Queue(
        "cake_mq", _CAKE, Look("#225522", "H", _LONG, "O."),
        "sch_cake of Linux 7.0, tc of iproute2 7.0 and a device with several queues",
        _complete_cake,
        _cake_report, shows_classes=True,
        switches=_CAKE_SWITCHES, derived={"bandwidth": "bytes_per_s"}, needs_new_tc=True,
        per_queue="cake"),
    "dualpi2": Queue(
        "dualpi2", {
            "limit": Parameter(whole, "packets", 10_000),
            "memlimit": Parameter(size_bytes, "bytes", reported="memory-limit"),
            "target": Parameter(time_us, "us", 15_000),
            "tupdate": Parameter(time_us, "us", 16_000),
            "alpha": Parameter(number, "", 41 / 256, dualpi2_factor),
            "beta": Parameter(number, "", 819 / 256, dualpi2_factor),
            "step_thresh": Parameter(time_or_packets, "us", 1000, reported="step-thresh-us"),
            "min_qlen_step": Parameter(whole, "packets", 0, reported="min-qlen-step", zero=True),
            "coupling_factor": Parameter(whole, "", 2, reported="coupling"),
            "classic_protection": Parameter(percent, "percent", 10, reported="c-protection",
                                            zero=True, words="classic_protection {}%"),
            "drop_on_overload": Parameter(
                flag, "", True, lambda on: "drop" if on else "overflow", "drop-overload",
                words="drop_on_overload/overflow"),
            "drop_dequeue": Parameter(
                flag, "", True, lambda on: "drop-dequeue" if on else "drop-enqueue", "drop-early",
                words="drop_dequeue/drop_enqueue"),
            "any_ect": Parameter(flag, "", False, lambda on: "any-ect" if on else "l4s-ect",
                                 "ecn-mask", words="any_ect/l4s_ect"),
            # tc's JSON leaves the value out if it is off
            "split_gso": Parameter(
                flag, "", True, lambda on: True if on else frozenset({False, "nothing"}),
                "split-gso", words="split_gso/no_split_gso"),
        }, Look("#000000", "h", _DOTTED, "||||"),
        "sch_dualpi2 (Linux 6.17, CONFIG_NET_SCH_DUALPI2) and tc of iproute2 6.18",
        adapt=_dualpi2_report,
        shows_classes=True, switches={
            "drop_on_overload": ("drop-overload", "drop"),
            "overflow": ("drop-overload", "overflow"),
            "drop_enqueue": ("drop-early", "drop-enqueue"),
            "drop_dequeue": ("drop-early", "drop-dequeue"), "l4s_ect": ("ecn-mask", "l4s-ect"),
            "any_ect": ("ecn-mask", "any-ect"), "split_gso": ("split-gso", True),
            "no_split_gso": ("split-gso", False),
        }, derived={"step-thresh-pkts": "packets"},
        marks_at=(24, 28), needs_new_tc=True),  # the second counts marks by the step threshold
}

OF_KIND: Mapping[str, Queue] = {queue.kind: queue for queue in QUEUES.values()}


def unit_of(kind: str, reported: str) -> Unit:
    """Return the unit of a value that a qdisc reports. "" for a number without unit, a switch or a
    word, and for an unknown qdisc or name.

    Args:
        kind: name of the qdisc.
        reported: name of the value in tc's JSON.
    """
    queue = OF_KIND.get(kind)
    parameter = reported_parameter(kind, reported)
    if queue is None or parameter is None:
        return ((queue.derived if queue else None) or {}).get(reported, "")
    return parameter.unit


def reported_parameter(kind: str, reported: str) -> Parameter | None:
    """Return the parameter that a qdisc reports under a name in tc's JSON. None if the qdisc isn't
    in the table, or has no such parameter. A parameter that tc doesn't report is found by its own
    name.

    Args:
        kind: name of the qdisc.
        reported: name of the value in tc's JSON.
    """
    queue = OF_KIND.get(kind)
    if queue is None:
        return None
    return next((parameter for name, parameter in queue.parameters.items()
                 if (parameter.reported or name) == reported), None)
