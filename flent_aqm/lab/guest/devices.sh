# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Settings of network devices, read by the script of each host: addresses, offloads, the hosts'
# interrupt moderation (host_card), modelled cards.

# Duplicate address detection would delay IPv6 by two seconds. It starts when links come up,
# so call this before. The glob includes `default`, for later devices.
no_address_detection() {
    for accept_dad in /proc/sys/net/ipv6/conf/*/accept_dad; do
        echo 0 >"$accept_dad"
    done
}

# Switch offloads off, so that a forwarding host sees each packet alone.
no_offloads() { # devices
    for device in "$@"; do
        ethtool -K "$device" tso off gso off gro off tx-udp-segmentation off >/dev/null
    done
}

# Set the model of network cards and processor for this host's devices, one line each: patch
# 0010 of the lab's kernel.
slow_cards() { # lines
    [ -n "$1" ] || return 0
    cards=/sys/module/lab_router/parameters
    [ -e $cards/card ] || {
        echo "router_model, client_model and server_model need patch 0010 in the kernel"
        exit 1
    }
    echo "$PROBE_PORT" >$cards/probe_port
    echo "$1" | while read -r line; do
        echo "$line" >$cards/card || exit 1
    done
}

# Put a link that follows a schedule, or that has a very long delay, on devices of this namespace:
# patch 0012 of the lab's kernel. Each line begins with the device.
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

# True if half of a delay is more than netem is used for: MAX_DELAY_MS in defaults.py.
is_far() { # us
    [ "$1" -gt 5000000 ]
}

# Print lines for ip that set a neighbour's MAC address. ARP would ask for it across the base delay:
# the first packet would take twice as long, and the neighbour's confirmation now and then would be
# traffic on the line.
neighbour() { # device, MAC address, IPv4, IPv6
    printf 'neigh replace %s lladdr %s dev %s nud permanent\n' "$3" "$2" "$1" "$4" "$2" "$1"
}

# Keep TCP from giving up while an answer takes hours: the most attempts that Linux allows, one
# every two minutes.
very_patient() {
    for setting in tcp_syn_retries=127 tcp_synack_retries=127 tcp_retries2=255 tcp_orphan_retries=255; do
        echo "${setting#*=}" >"/proc/sys/net/ipv4/${setting%=*}"
    done
}

# sender_waits CARDS: add a queue in front of the host's card, so that programs wait while the card
# is full. Without it the kernel would refuse their packets, and irtt would end.
sender_waits() {
    [ -z "$1" ] || tc qdisc add dev eth0 root pfifo_fast
}

# Set up the network of an end host. The caller may add lines for ip, as one ip process costs less
# than several.
end_host() { # its name, IPv4, IPv6, the gateway's IPv4, IPv6, MAC address, lines for ip to run first
    no_address_detection
    ip -batch - <<END
${7:-}
link set dev lo up
addr add $2/24 dev eth0
addr add $3/64 dev eth0 nodad
link set dev eth0 up
route add default via $4
route add default via $5 dev eth0
$(neighbour eth0 "$6" "$4" "$5")
END
    host_card "$1"
    host_tcp
}

# Set up an end host's network card. tso and gso are off, so that the queue gets single packets, but
# with HOST_GSO; UDP has its own switch. gro is on: packets of a flow that one interrupt brings are
# handed to TCP together. In the lab at least
# HOST_MODERATION_US are between two interrupts (patch 0016 of the lab's kernel). What the kernel
# then reports goes to the host, which compares it: lab/virtual.py.
host_card() { # its name
    case ${HOST_GSO:-} in
    yes) ethtool -K eth0 tso on gso on tx-udp-segmentation on gro on >/dev/null ;;
    *) ethtool -K eth0 tso off gso off tx-udp-segmentation off gro on >/dev/null ;;
    esac
    [ -n "$HOST_MODERATION_US" ] || return 0
    # ethtool takes a value that is there already for an error.
    [ "$HOST_MODERATION_US" = 0 ] || ethtool -C eth0 rx-usecs "$HOST_MODERATION_US"
    ethtool -c eth0 >"/run/lab/out/card-$1"
}

# Set ECN and congestion control of a host that runs programs.
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
    # A new namespace inherits the machine's congestion control. It can change to one that the
    # machine allows for all users; netns.py reports if the wanted one is not among them.
    read -r allowed </proc/sys/net/ipv4/tcp_allowed_congestion_control
    case " $allowed " in
    *" $TCP_CONGESTION_CONTROL "*)
        echo "$TCP_CONGESTION_CONTROL" >/proc/sys/net/ipv4/tcp_congestion_control
        ;;
    esac
}
