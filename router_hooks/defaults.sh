# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Defaults of the router hooks. router.sh reads them first; settings replace them.

# Devices by role: `down` faces the client and shapes the download, `up` faces the
# server and shapes the upload. The lab names its devices so; real routers differ.
dev_down=down
dev_up=up

# With ingress=ifb, the device that takes the place of `down`: what arrives at `up` is
# sent through it. Its length of queue is an Ethernet device's, not the IFB's 32.
dev_ifb=flent-ifb
ifb_txqueuelen=1000

# Rates that are accepted, in bit/s. Slower, one full frame takes over 190 ms, longer
# than any probe waits; faster was never tried.
min_rate_bit_s=64000
max_rate_bit_s=40000000000

# Burst shaping as in the study. tc reads KB as 1024 bytes. Without it, tc's own
# defaults hold: ceil = rate, and bursts of one packet and one clock tick.
burst_shaping=no
burst_ceil_percent=160
burst_size=15KB
cburst_size=30KB

# Drop-tail queue in packets: the transmit queue length of Linux's Ethernet devices,
# so what a router without AQM has.
pfifo_limit_packets=1000
# The same many full Ethernet frames in bytes, which is what the kernel takes, too.
bfifo_limit_bytes=1514000

# HTB's turn of a class in bytes: one full Ethernet frame. With one class nobody waits
# for a turn, so it changes nothing; left out, the kernel derives it from the rate
# and warns that it is big above 16 Mbit/s and small below 80 kbit/s.
htb_quantum_bytes=1514

# Fourth word of /proc/net/psched when timers have a resolution of 1 ns. With any
# other, tc computes larger default bursts (rate divided by that many Hz).
psched_fine=3b9aca00

# Routers behind ssh. Where a sweep's hold on the router is noted: not in /tmp, where all
# users may write; on OpenWrt both are in memory.
state_folder=/var/run/flent-aqm
# The watchdog looks every so many seconds, and restores the router when it has seen no
# sign of the sweep for the patience, so at the latest after the limit. The sweep gives a
# sign every 10 s; a router whose CPU is busy with packets may be late with it.
watchdog_nap_s=5
watchdog_patience_s=45
watchdog_limit_s=60

# TBF: burst of 1 ms at the rate, and no less than two full frames.
tbf_burst_us=1000
tbf_min_burst_bytes=3028

# Three tiers of HTB: what EF and background may have of the rate when all want it.
ef_percent=33
background_percent=20
# DSCPs of the two, each as the byte of the IP header in hexadecimal, without ECN's bits:
# EF, CS6, AF42 as in sqm-scripts; CS1 and LE (RFC 8622).
ef_dscps='b8 c0 90'
background_dscps='20 04'

# RED (Floyd's rules of thumb): mark from 10 ms of the rate on, no less than three frames;
# always from three times of that; hold four times of that. The kernel takes no more than
# 32 bits of threshold and averaging weight together, so both have an upper end.
red_min_us=10000
red_min_floor_bytes=4542
red_min_top_bytes=4000000
red_avpkt_bytes=1000
red_burst_top_packets=100
# tc has 32 bits for RED's bandwidth, in bytes/s.
red_bandwidth_top_bit_s=34000000000

# DRR: so many flows by hash, each with its own drop-tail queue of txqueuelen packets.
drr_flows=64
drr_quantum_bytes=1514

# Most schemes are complete with one qdisc; drr.sh replaces this.
# scheme_below DEVICE HANDLE: notes what comes below the qdisc HANDLE.
scheme_below() {
    :
}
