# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Functions for the checks' scripts, which run on the client of a lab; experiment.py reads this
# file before them, and returns the files in the current folder.

set -eu

captures=

# capture FILE DEVICE in|out FILTER…: captures headers of IPv4 packets that enter or leave one
# of the router's devices. A leaving packet is captured after the queue. Frames too short for
# all fields of captures.py are left out.
capture() {
    _capture "ip netns exec router" "$@"
}

# The same on the client's device, which is eth0.
capture_client() {
    _capture "" "$@"
}

_capture() {
    where=$1 file=$2 device=$3 way=$4
    shift 4
    # shellcheck disable=SC2086 # several words, or none
    $where tcpdump -Z root -i "$device" -Q "$way" -s 54 -B 65536 -n -p \
        --time-stamp-precision=nano -w "$file" "ip and greater 54 and ($*)" 2>"$file.log" &
    captures="$captures $!"
    sleep 0.1
}

# Ends all captures. tcpdump gets the kernel's last buffer of packets after a second.
capture_end() {
    sleep 2
    # shellcheck disable=SC2086 # one word for each process
    kill -INT $captures
    # shellcheck disable=SC2086
    wait $captures
    captures=
}

# poisson PACKETS_PER_S SECONDS SEED [SOURCE_PORT]: sends UDP in frames of 114 bytes.
poisson() {
    "$PYTHON" "$VALIDATION/poisson.py" "${to:-server}" "$@"
}

# cards FILE: writes the current counters of the router's cards and processor.
cards() {
    ip netns exec router cat /sys/module/lab_router/parameters/card >"$1"
}

# flood MBPS SECONDS [SOURCE_ADDRESS]: sends UDP in frames of 1514 bytes, evenly spaced by fq.
# fq sends one quantum at a time, so the quantum is one frame. Several floods may run at the
# same time; each ends when fq has sent everything. $to: another destination address. A ping comes
# first: sending takes no virtual time, so all packets would come before the answer to ARP, and
# the kernel keeps only the last of them.
flood() {
    ping -q -c 1 server >/dev/null
    tc qdisc replace dev eth0 root fq quantum 1514 initial_quantum 1514 timer_slack 1ns
    "$PYTHON" "$VALIDATION/flood.py" "${to:-server}" "$@"
    while tc -s qdisc show dev eth0 | grep -q 'backlog [^0]'; do
        sleep 0.1
    done
}
