# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Defaults of the router hooks, read before all others; settings replace them.

# Devices by role: `down` faces the client and shapes the download, `up` faces the
# server and shapes the upload. These are the lab's names; real routers differ.
dev_down=down
dev_up=up

# With ingress=ifb, the device used in place of `down`: packets that arrive at `up` are
# redirected to it. It gets the queue length of an Ethernet device, not the IFB's 32.
dev_ifb=flent-ifb
ifb_txqueuelen=1000

# Accepted rates in bit/s. Below, one full frame takes over 190 ms, longer than any probe
# waits; higher rates are untested.
min_rate_bit_s=64000
max_rate_bit_s=40000000000

# Burst shaping as in the study. tc reads KB as 1024 bytes. Without burst shaping, tc's
# defaults apply: ceil = rate, and bursts of one packet and one clock tick.
burst_shaping=no
burst_ceil_percent=160
burst_size=15KB
cburst_size=30KB

# Drop-tail queue in packets: the transmit queue length of Linux's Ethernet devices,
# which a router without AQM uses.
pfifo_limit_packets=1000
# The same in bytes: 1000 full Ethernet frames, which is also the kernel's default.
bfifo_limit_bytes=1514000

# HTB's quantum in bytes: one full Ethernet frame. With a single class it has no effect,
# but without it the kernel derives one from the rate, and warns that it is big above
# 16 Mbit/s and small below 80 kbit/s.
htb_quantum_bytes=1514

# Fourth word of /proc/net/psched if timers have a resolution of 1 ns. With another
# value, tc computes larger default bursts (the rate divided by that value in Hz).
psched_fine=3b9aca00

# Routers behind ssh. Folder with the lock and the state of a sweep: not in /tmp, where
# all users may write; on OpenWrt both are in memory.
state_folder=/var/run/flent-aqm
# The watchdog wakes every `nap`. It restores the router after `patience` without a sign
# from the sweep, and no later than `limit`. The sweep sends a sign every 10 s; a router
# with a busy CPU may process it late.
watchdog_nap_s=5
watchdog_patience_s=45
watchdog_limit_s=60

# TBF: burst of 1 ms at the rate, but at least two full frames.
tbf_burst_us=1000
tbf_min_burst_bytes=3028

# Three tiers of HTB: shares of the rate for EF and background when all tiers are busy.
ef_percent=33
background_percent=20
# Their DSCPs, as the hexadecimal byte of the IP header with the ECN bits zero: EF, CS6,
# AF42 as in sqm-scripts; CS1 and LE (RFC 8622).
ef_dscps='b8 c0 90'
background_dscps='20 04'

# RED (Floyd's rules of thumb): min is 10 ms at the rate, but at least three frames; max
# is 3 x min; limit is 4 x max. The kernel has 32 bits for threshold and averaging weight
# together, so both have an upper bound.
red_min_us=10000
red_min_floor_bytes=4542
red_min_top_bytes=4000000
red_avpkt_bytes=1000
red_burst_top_packets=100
# tc stores RED's bandwidth in 32 bits, in bytes/s.
red_bandwidth_top_bit_s=34000000000

# DRR: number of hashed flows, each with its own drop-tail queue of txqueuelen packets.
drr_flows=64
drr_quantum_bytes=1514

# Most schemes need only one qdisc; drr.sh replaces this function.
# scheme_below DEVICE HANDLE: adds classes and filters below the qdisc HANDLE.
scheme_below() {
    :
}
