# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Defaults of the router hooks. router.sh reads them first; settings replace them.

# Devices by role: `down` faces the client and shapes the download, `up` faces the
# server and shapes the upload. The lab names its devices so; real routers differ.
dev_down=down
dev_up=up

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
