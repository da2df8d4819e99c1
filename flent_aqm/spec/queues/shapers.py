# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the shapers' parameters, and the words of tc's manual pages that other keys replace.

HTB's parameters except r2q apply to each of its classes. Defaults are tc's, which
router/expected.py computes from the rate.
"""

from __future__ import annotations

from collections.abc import Mapping

from flent_aqm.spec.queues.queue import Parameter
from flent_aqm.spec.queues.values import Choice, between, size_bytes

# tc prints adsl as atm.
_LINK_LAYER = Parameter(Choice(("ethernet", "atm")))
_U16 = 2**16 - 1
_OVERHEAD = Parameter(between(0, _U16), "bytes", zero=True)

SHAPER_PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {
    "htb": {
        "burst": Parameter(size_bytes, "bytes"),
        "cburst": Parameter(size_bytes, "bytes"),
        "quantum": Parameter(between(1, 2**31), "bytes"),
        "prio": Parameter(between(0, 7), zero=True),
        "mpu": _OVERHEAD,
        "overhead": _OVERHEAD,
        "linklayer": _LINK_LAYER,
        "mtu": Parameter(between(256, 2**17), "bytes"),
        "r2q": Parameter(between(1, 10**6)),
    },
    "tbf": {"mpu": _OVERHEAD, "overhead": _OVERHEAD, "linklayer": _LINK_LAYER},
}

# Qdisc -> word of its manual page that is no parameter here -> the keys to use instead.
KEYS_FOR_WORDS: Mapping[str, Mapping[str, str]] = {
    "cake": {"bandwidth": "rate_mbps, with shaper = cake",
             "unlimited": "any other shaper than cake"},
    "htb": {"rate": "rate_mbps", "ceil": "rate_mbps and burst_shaping",
            **dict.fromkeys(("default", "parent", "classid", "handle", "root", "dev"),
                            "tiers or topology")},
    "tbf": {"rate": "rate_mbps",
            **dict.fromkeys(("burst", "buffer", "maxburst"), "tbf_burst_ms")},
    "hfsc": {"default": "tiers or topology", "ls": "rate_mbps and tiers",
             "ul": "rate_mbps and topology",
             "m2": "rate_mbps", "rate": "rate_mbps"},
}
# Word of tc-stab(8), which any qdisc takes -> the keys to use instead.
KEYS_FOR_STAB: Mapping[str, str] = {
    "stab": "shaper_overhead, shaper_mpu and shaper_linklayer, with shaper = htb or tbf, or CAKE's "
            "own overhead, mpu and linklayer"}
# Qdisc -> word of its manual page that can't be set -> why.
NOT_SETTABLE: Mapping[str, Mapping[str, str]] = {
    "red": dict.fromkeys(("qevent", "early_drop", "mark", "block"),
                         "it sends packets through your own filters, for which there is no key"),
    "htb": {"offload": "it leaves the work to a network card, which no testbed has",
            "direct_qlen": "it limits packets that no class takes, of which there are none"},
    "fq": {**dict.fromkeys(("bands", "priomap", "weights"),
                           "tc knows it only since iproute2 6.7, so the kernel's default stays"),
           "offload_horizon": "it is for network cards that pace by themselves"},
    "tbf": {**dict.fromkeys(("latency", "limit"), "it is for a queue that the AQM replaces"),
            **dict.fromkeys(("peakrate", "mtu", "minburst"),
                            "it is for a second bucket, which tc's JSON doesn't show, so no run "
                            "could prove it; tbf_burst_ms sets how long a burst may be")},
    "hfsc": dict.fromkeys(
        ("rt", "sc", "m1", "d", "umax", "dmax"),
        "it is for service curves that guarantee a delay, with two slopes; here each class has "
        "one curve with one slope, its rate"),
    "dualpi2": dict.fromkeys(
        ("max_rtt", "typical_rtt"), "tc computes target, tupdate, alpha and beta from it; "
                                    "give these four"),
}
