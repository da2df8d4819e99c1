# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Defaults of the router hooks, read before all others; settings replace them. The words for tc
# are flent_aqm/router/tc/words.py's.

# Devices by role: `down` faces the client and shapes the download, `up` faces the
# server and shapes the upload. These are the lab's names; real routers differ.
dev_down=down
dev_up=up

# With ingress=ifb, the device used in place of `down`: packets that arrive at `up` are
# redirected to it. It gets the queue length of an Ethernet device, not the IFB's 32.
dev_ifb=flent-ifb
ifb_txqueuelen=1000

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
