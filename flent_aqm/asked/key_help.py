# SPDX-License-Identifier: GPL-3.0-or-later
"""What each key of a batch takes and does, in words: docs/reference/keys.md is made of it.

Defaults are those of Scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class KeyHelp:
    """values: what the key takes; help: one line of what it does; default: where Scenario's says
    too little; of_one_way: the keys that set one direction, where this one sets both."""

    values: str
    help: str
    default: str = ""
    of_one_way: tuple[str, str] | None = None


def _each_way(key: str) -> tuple[str, str]:
    """Return the keys of the two directions: link_loss -> link_down_loss, link_up_loss."""
    first, _, rest = key.partition("_")
    return f"{first}_down_{rest}", f"{first}_up_{rest}"


_RATE = "0.064 to 40000"
_DELAY = "0 to 604800000"
_BUFFER = "0 to 10000"
# Group -> keys in the order of the page.
KEY_HELP: Mapping[str, Mapping[str, KeyHelp]] = {
    "Where": {
        "testbed": KeyHelp("`virtual`, `netns`, `ssh://[user@]router[:port]`",
                           "lab, namespaces of this machine's kernel, or a router behind ssh"),
        "kernel": KeyHelp("names of `flent-aqm kernel list`",
                          "the lab's kernel; with several, each cell runs once per kernel"),
        "seed": KeyHelp("below 10^18", "of the lab's randomness",
                        "computed from test, settings and repetition"),
        "server_testbed": KeyHelp("`ssh://[user@]server[:port]`",
                                  "behind ssh: start the servers there, and add the base delay"),
        "dev_down": KeyHelp("a device", "behind ssh: the download leaves through it",
                            "the one towards the client"),
        "dev_up": KeyHelp("a device", "behind ssh: the upload leaves through it",
                          "the one towards the server"),
        "jobs": KeyHelp("1 to 1024", "parallel runs; in real time always 1", "one per core"),
        "scheduler": KeyHelp("`tcp://HOST:PORT`", "send runs to a Dask scheduler's workers",
                             "none"),
        "summary_by": KeyHelp("keys", "settings by which the table at the end groups runs",
                              "all that differ"),
    },
    "The queue": {
        "aqm": KeyHelp("a name of [queues](queues.md)", "queue on both devices of the router"),
        "aqm_NAME": KeyHelp("see [queues](queues.md)", "parameter of the queue, "
                            "`aqm_target = 10ms`", "the kernel's"),
        "aqm_options": KeyHelp("words for tc", "options of a queue of your own kernel", "none"),
        "up_aqm": KeyHelp("as `aqm`", "the upload's queue", "as `aqm`"),
        "up_aqm_parameters": KeyHelp("`up_aqm_NAME`", "the upload's parameters",
                                     "as `aqm_NAME`"),
        "shaper": KeyHelp("`htb`, `tbf`, `cake`, `none`", "what limits the rate"),
        "tiers": KeyHelp("1, 3", "with 3, HTB has three classes by DSCP"),
        "ingress": KeyHelp("`lan`, `ifb`", "shape the download as it leaves, or as it arrives"),
        "burst_shaping": KeyHelp("0, 1", "HTB with ceil 1.6 × rate, burst 15KB, cburst 30KB"),
        "txqueuelen": KeyHelp("packets", "length of the devices' queue", "the device's"),
        "tx_queues": KeyHelp("1 to 16", "transmit queues of the router's devices", "1"),
    },
    "The line": {
        "rate_mbps": KeyHelp(f"{_RATE}, or `85%` of the modem's", "the shaper's rate", "100",
                              _each_way("rate_mbps")),
        "base_delay_ms": KeyHelp(_DELAY, "added round trip, at the server, half each way"),
        "dest2_delay_ms": KeyHelp(_DELAY, "a second server `dest2`, farther by this", "none"),
        "modem_mbps": KeyHelp(_RATE, "a modem behind the router", "none",
                              _each_way("modem_mbps")),
        "modem_down_buffer_ms": KeyHelp(_BUFFER, "its drop-tail queue towards the client"),
        "modem_up_buffer_ms": KeyHelp(_BUFFER, "the same towards the server"),
        "modem_buffer_packets": KeyHelp("1 to 9999999", "the same in packets", "none",
                                        _each_way("modem_buffer_packets")),
    },
    "A link that changes": {
        "link_trace": KeyHelp("file, `seeded+NAME=VALUE…`",
                              "how its rate changes: [links](../links.md)", "none",
                              _each_way("link_trace")),
        "link_trace_end": KeyHelp("`repeat`, `hold`", "what follows a trace's end"),
        "link_access": KeyHelp("`docsis`, `lte`, `starlink`, `+NAME=VALUE`",
                               "how it hands out its capacity", "none",
                               _each_way("link_access")),
        "link_loss": KeyHelp("`1%`, `gemodel P [R [1-H [1-K]]]`",
                             "loss behind the buffer, as tc-netem(8)", "none",
                             _each_way("link_loss")),
        "link_jitter_ms": KeyHelp("0 to 4000", "random delay, without reordering", "0",
                                  _each_way("link_jitter_ms")),
        "link_outages_s": KeyHelp("`10-12, 30-30.5`", "when it carries nothing", "none"),
    },
    "Hosts and traffic": {
        "cross_traffic": KeyHelp("0; 1 or `bulk`; `call`, `video`, `web`, `quic`",
                                 "[other traffic](tools.md#cross-traffic) on the line", "0"),
        "tcp_ecn": KeyHelp("0, 1, `accecn`", "hosts ask for ECN, or for accurate ECN (RFC 9768)",
                           "0"),
        "topology": KeyHelp("`clients:N`, `parking_lot:N`, `subscribers:N`, file, links",
                            "other [networks](../topology.md)"),
        "router_model": KeyHelp("`ideal`, `omnia`, `mt7621`, `mt7988`, `12us`, `+NAME=VALUE`",
                                "a [slow router](../router-models.md)"),
        "router_NAME": KeyHelp("by parameter", "one parameter of that model", "the model's"),
        "client_model": KeyHelp("as `router_model`", "a slow client"),
        "server_model": KeyHelp("as `router_model`", "a slow server"),
        "router_program": KeyHelp("a command", "a program on the router, such as a controller",
                                  "none"),
        "ndt7_server": KeyHelp("`own`, `mlab`", "whose NDT7 server"),
        "wifi_rates_mbps": KeyHelp("`2x144.4+7.2`", "clients are stations of a modelled "
                                   "[Wi-Fi](../wifi.md) channel with these rates", "none"),
        "wifi_ap": KeyHelp("`fifo`, `fq_mac`, `airtime`", "how the access point queues",
                           "`airtime`"),
        "wifi_phy": KeyHelp("`n`, `ac`, `+NAME=VALUE`", "the channel's times and limits", "`n`"),
    },
}
