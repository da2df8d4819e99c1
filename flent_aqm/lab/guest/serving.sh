# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Functions of hosts with servers, read by server.sh, dest2.sh and node.sh.

# Half of the delay applies to leaving packets, half to arriving ones. netem can delay only
# packets that leave a device, so arriving ones go through an IFB device. The delay is at the
# server, never at the router, whose queue is measured. The limit is enough for one second at
# 10 Gbit/s.
no_delay() {
    echo "a delay at the server needs sch_netem, ifb, cls_matchall and act_mirred in the kernel"
    exit 1
}
delay_of() { # device, half of the delay in us
    # netem draws each packet's delay from the mean less or more half of REORDER_US.
    half_reorder_us=$((${REORDER_US:-0} / 2))
    netem="$(($2 + half_reorder_us))us"
    [ "$half_reorder_us" = 0 ] || netem="$netem ${half_reorder_us}us"
    [ "$netem" != 0us ] || return 0
    ip -batch - <<END || no_delay
link add ifb0 type ifb
link set dev ifb0 up
END
    if is_far "$2"; then
        tc -batch - <<END || no_delay
qdisc add dev $1 clsact
filter add dev $1 ingress matchall action mirred egress redirect dev ifb0
END
        plays_schedule "$1 delay_ns=${2}000" "ifb0 delay_ns=${2}000"
        very_patient
        return
    fi
    tc -batch - <<END || no_delay
qdisc add dev $1 root netem delay $netem limit 1000000
qdisc add dev $1 clsact
filter add dev $1 ingress matchall action mirred egress redirect dev ifb0
qdisc add dev ifb0 root netem delay $netem limit 1000000
END
}

# A program of the user's may not run here.
listens_or_exit() { # port, program, its log
    sleep 1
    ss -Hltn "sport = :$1" | grep -q . || {
        echo "flent-aqm-guest: $2 doesn't serve: $(tail -n 1 "$3")"
        exit 1
    }
}

# Those of the run: flent_aqm/tools/table.py writes how.
start_servers() {
    # shellcheck source=/dev/null
    . "$GUEST_DIR/servers.sh"
}
