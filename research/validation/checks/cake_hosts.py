# SPDX-License-Identifier: GPL-3.0-or-later
"""CAKE's rate, with and without overhead, and its fairness between hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research.validation.captures import read_packets, shares, times_ns
from research.validation.check import Check, Finding, Outcome, close_to
from research.validation.experiment import experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_MBPS = 100
FROM_S, TO_S = 0.5, 2.5
# Options of cake -> (share in % of the first client address, which has 4 of 5 flows; share in
# % of the first server address, which has 2 of 5; rate in frames of 1514 bytes).
RUNS = {
    "raw besteffort flows": (80, 40, RATE_MBPS),
    "raw besteffort dual-srchost": (50, None, RATE_MBPS),
    "raw besteffort dual-dsthost": (None, 50, RATE_MBPS),
    "ethernet besteffort flows": (80, 40, RATE_MBPS * 1514 / 1538),
}
FIRST_CLIENT, FIRST_SERVER = 0xC0000202, 0xC6336402


def measure() -> Outcome:
    findings: list[Finding] = []
    bars = {}
    for words, (client_share, server_share, mbps) in RUNS.items():
        script = f"""
            ip addr add 192.0.2.3/24 dev eth0
            ip -n server addr add 198.51.100.3/24 dev eth0
            ip netns exec router tc qdisc replace dev up root cake \\
                bandwidth {RATE_MBPS}mbit {words}
            ping -c 1 -I 192.0.2.3 198.51.100.3 >/dev/null
            capture out.pcap up out udp
            (to=198.51.100.2; flood 60 {TO_S + 0.5} 192.0.2.2) &
            (to=198.51.100.2; flood 60 {TO_S + 0.5} 192.0.2.2) &
            (to=198.51.100.3; flood 60 {TO_S + 0.5} 192.0.2.2) &
            (to=198.51.100.3; flood 60 {TO_S + 0.5} 192.0.2.2) &
            (to=198.51.100.3; flood 60 {TO_S + 0.5} 192.0.2.3) &
            sleep {TO_S + 2}
            capture_end"""
        with experiment(script, aqm="no_aqm", rate_mbps=1000) as folder:
            packets = read_packets(folder / "out.pcap")
        seen_s = (times_ns(packets) - times_ns(packets)[0]) / 1e9
        inside = packets[(seen_s >= FROM_S) & (seen_s < TO_S)]
        findings.append(close_to(f"rate of frames, `{words}`", "Mbit/s", mbps,
                                 float(inside["length"].sum()) * 8e-6 / (TO_S - FROM_S),
                                 percent=0.1))
        client = 100 * shares(packets, "source", FROM_S, TO_S)[FIRST_CLIENT]
        server = 100 * shares(packets, "destination", FROM_S, TO_S)[FIRST_SERVER]
        bars[words] = (client, server)
        if client_share:
            findings.append(close_to(f"share of the client address with 4 of 5 flows, `{words}`",
                                     "%", client_share, client, percent=1))
        if server_share:
            findings.append(close_to(f"share of the server address with 2 of 5 flows, `{words}`",
                                     "%", server_share, server, percent=1))

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        places = range(len(bars))
        axis.barh([place - 0.2 for place in places], [one for one, _ in bars.values()], 0.35,
                  color="#0072B2", label="client address with 4 of 5 flows")
        axis.barh([place + 0.2 for place in places], [one for _, one in bars.values()], 0.35,
                  color="#E69F00", label="server address with 2 of 5 flows")
        axis.set_yticks(places, list(bars))
        axis.invert_yaxis()
        axis.set_xlabel("share of the link (%)")
        axis.set_xlim(0, 100)
        for share in (20, 40, 50, 80):
            axis.axvline(share, color="#444444", linewidth=0.6, linestyle=":")
        figure.legend(loc="outside upper center", ncols=2, frameon=False)

    return Outcome(tuple(findings), draw)


CHECK = Check(
    name="cake_hosts",
    title="CAKE's rate, and its fairness between hosts",
    theory="`raw` counts 1514 bytes for a full frame, `ethernet` 1538: preamble, check sum and "
           "gap are counted too. With `flows`, each of 5 flows gets a fifth. With "
           "`dual-srchost`, source addresses get the same first, however many flows they have; "
           "with `dual-dsthost`, destination addresses.",
    source="tc-cake(8); Høiland-Jørgensen, Täht and Morton, Piece of CAKE, 2018, section III",
    set_up="Five UDP flows at 60 Mbit/s each from two client addresses to two server addresses "
           f"through `cake bandwidth {RATE_MBPS}mbit`; frames that left the router between "
           f"{FROM_S} and {TO_S} s. From the first client address two flows go to the first "
           "server address and two to the second; from the second client address one flow goes "
           "to the second server address.",
    tolerance="0.1 % of the rate, 1 % of a share: all flows have packets queued at all times.",
    caption="Shares of one client and one server address; dotted: a fifth, two, half, four "
            "fifths.",
    measure=measure,
)
