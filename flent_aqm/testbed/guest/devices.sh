# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Settings of network devices, read by client.sh, router.sh and server.sh.

# Duplicate address detection would hold IPv6 back for two seconds. Before the links
# are set up, as it begins then.
no_address_detection() {
    for accept_dad in /proc/sys/net/ipv6/conf/*/accept_dad; do
        echo 0 >"$accept_dad"
    done
}

# Offloads of a host's end, and its TCP. tso and gso are off, so that each packet meets the queue
# alone. gro is on, with the interrupt moderation that NICs have: the receiver wakes up
# once per batch. See GRO_FLUSH_TIMEOUT_NS in defaults.py.
host_end() { # device
    ethtool -K "$1" tso off gso off gro on >/dev/null
    echo "$GRO_FLUSH_TIMEOUT_NS" >"/sys/class/net/$1/gro_flush_timeout"
    echo 1 >"/sys/class/net/$1/napi_defer_hard_irqs"
    [ -z "${TCP_ECN:-}" ] || echo 1 >/proc/sys/net/ipv4/tcp_ecn
    # A new namespace takes over what the machine is set to. It may be changed to what the
    # machine allows everybody; netns.py tells where that isn't this one.
    if grep -qw "$TCP_CONGESTION_CONTROL" /proc/sys/net/ipv4/tcp_allowed_congestion_control; then
        echo "$TCP_CONGESTION_CONTROL" >/proc/sys/net/ipv4/tcp_congestion_control
    fi
}
