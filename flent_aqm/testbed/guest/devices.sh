# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Settings of network devices, read by the script of each host.

# Duplicate address detection would hold IPv6 back for two seconds. Before the links
# are set up, as it begins then; `default` among them is for devices that come later.
no_address_detection() {
    for accept_dad in /proc/sys/net/ipv6/conf/*/accept_dad; do
        echo 0 >"$accept_dad"
    done
}

# What forwards sees each packet by itself.
no_offloads() { # devices
    for device in "$@"; do
        ethtool -K "$device" tso off gso off gro off >/dev/null
    done
}

# Network cards and a processor that take their time, for this host's devices: patch 0010 of
# the lab's kernel. A line for each device.
slow_cards() { # lines
    [ -n "$1" ] || return 0
    cards=/sys/module/lab_router/parameters
    [ -e $cards/card ] || {
        echo "router_model, client_model, server_model: the kernel has no patch 0010 for cards"
        exit 1
    }
    echo "$PROBE_PORT" >$cards/probe_port
    echo "$1" | while read -r line; do
        echo "$line" >$cards/card || exit 1
    done
}

# Devices of this namespace with a link that plays a schedule or is very long: patch 0012 of the
# lab's kernel. Each line begins with the device.
plays_schedule() { # lines
    link=/sys/module/sch_lablink/parameters/link
    [ -e $link ] || {
        echo "a link with a trace, or a delay of minutes, needs patch 0012 in the kernel"
        exit 1
    }
    for line in "$@"; do
        tc qdisc add dev "${line%% *}" root lablink
        echo "$line" >$link || exit 1
    done
}

# Whether half of a delay is more than netem is asked for: MAX_DELAY_MS in defaults.py.
is_far() { # us
    [ "$1" -gt 5000000 ]
}

# A far neighbour doesn't answer ARP in time.
knows_neighbour() { # device, MAC address, IPv4, IPv6
    ip neigh replace "$3" lladdr "$2" dev "$1" nud permanent
    ip neigh replace "$4" lladdr "$2" dev "$1" nud permanent
}

# TCP that doesn't give up while an answer is hours away: as many attempts as can be asked for, of
# which one comes every two minutes.
very_patient() {
    for setting in tcp_syn_retries=127 tcp_synack_retries=127 tcp_retries2=255 tcp_orphan_retries=255; do
        echo "${setting#*=}" >"/proc/sys/net/ipv4/${setting%=*}"
    done
}

# sender_waits CARDS: a host's programs wait while its card is full, which takes a queue in front of
# the card: Linux's own. Without one the kernel refuses their packets, and irtt then ends.
sender_waits() {
    [ -z "$1" ] || tc qdisc add dev eth0 root pfifo_fast
}

# The network of an end host. What makes the devices is handed over, as one ip for all costs less
# than several.
end_host() { # its IPv4, its IPv6, the gateway's IPv4, the gateway's IPv6, lines for ip before
    no_address_detection
    ip -batch - <<END
${5:-}
link set dev lo up
addr add $1/24 dev eth0
addr add $2/64 dev eth0 nodad
link set dev eth0 up
route add default via $3
route add default via $4 dev eth0
END
    receives_batches
    host_tcp
}

# An end host's offloads. tso and gso are off, so that each packet meets the queue alone. gro is
# on, with the interrupt moderation that NICs have: the receiver wakes up once per batch. See
# GRO_FLUSH_TIMEOUT_NS in defaults.py.
receives_batches() {
    ethtool -K eth0 tso off gso off gro on >/dev/null
    echo "$GRO_FLUSH_TIMEOUT_NS" >/sys/class/net/eth0/gro_flush_timeout
    echo 1 >/sys/class/net/eth0/napi_defer_hard_irqs
}

# TCP of a host with programs.
host_tcp() {
    case ${TCP_ECN:-} in
    yes) echo 1 >/proc/sys/net/ipv4/tcp_ecn ;;
    accecn)
        echo 3 >/proc/sys/net/ipv4/tcp_ecn || {
            echo "tcp_ecn=accecn: this kernel has no accurate ECN; Linux has it since 6.18"
            exit 1
        }
        ;;
    *) ;;
    esac
    # A new namespace takes over what the machine is set to. It may be changed to what the
    # machine allows everybody; netns.py tells where that isn't this one.
    read -r allowed </proc/sys/net/ipv4/tcp_allowed_congestion_control
    case " $allowed " in
    *" $TCP_CONGESTION_CONTROL "*)
        echo "$TCP_CONGESTION_CONTROL" >/proc/sys/net/ipv4/tcp_congestion_control
        ;;
    esac
}
