# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# For tests inside the lab's guest: a router behind ssh, on a link of its own.
#
#   client (this namespace) ── mgmt 203.0.113.0/24 ── router: sshd or dropbear
#
# Sourced on the client, with SSH_HOST_SH the path of the package's ssh_host.sh. The router's
# programs are the host's, or, for small_router, none but BusyBox and a tc without JSON.

# shellcheck source=flent_aqm/parts/ssh/guest/ssh_host.sh
. "$SSH_HOST_SH"
testbed=ssh://root@203.0.113.1
export real_tc=/run/real/tc # the kernel's own, whatever stands in the router's PATH
on() { verb=$1; shift; sh "$FLENT_AQM_HOOKS/on_router.sh" "$verb" "testbed=$testbed" "$@"; }
on_router() { ip netns exec router "$@"; }
# in_router COMMAND…: with the files that the ssh server sees.
in_router() { nsenter --target "$(cat /run/ssh/router.pid)" --mount --net "$@"; }

# apply: puts FQ-CoDel there.
# hold: holds the router as a sweep does, and meanwhile runs the shell code that comes by
# standard input, to the end of which the router is restored.
hold() { "$PYTHON" "$GUEST_PY" "$testbed" 'down up'; }
apply() { sh -c "$APPLY"; }
is_changed() { on_router "$real_tc" qdisc show dev up | grep -q 'htb 1: root.*default 0x1 ' && echo changed; }

management_link() {
    ip link add mgmt type veth peer name mgmt netns router
    ip addr add 203.0.113.2/24 dev mgmt
    ip link set mgmt up
    ip -n router addr add 203.0.113.1/24 dev mgmt
    ip -n router link set mgmt up
}

keys() {
    make_account
    mkdir -p /run/real
    cp /usr/sbin/tc "$real_tc"
}

openssh_router() {
    management_link
    keys
    serve_openssh router 203.0.113.1 "${1:-:}"
}

# Programs of a small router: BusyBox, an old tc, ip, ethtool; sleep takes whole seconds.
small_router() {
    management_link
    keys
    bin=/run/small/bin sbin=/run/small/sbin
    mkdir -p $bin $sbin
    busybox --install -s $bin # links to /usr/bin/busybox
    rm $bin/ip $bin/sleep $bin/unshare
    cp "$(command -v busybox)" $bin/busybox
    cp /usr/sbin/ip /usr/sbin/ethtool /usr/sbin/dropbear $sbin
    cat >$bin/sleep <<'END'
#!/bin/sh
case $1 in *[!0-9]*) echo "sleep: invalid number '$1'" >&2; exit 1 ;; esac
exec busybox sleep "$1"
END
    cat >$sbin/tc <<'END'
#!/bin/sh
for word; do
    case $word in
        -j*) echo "Option \"$word\" is unknown, try \"tc -help\"." >&2; exit 255 ;;
    esac
done
exec "$real_tc" "$@"
END
    sed -i "s,\"\$real_tc\",$real_tc," $sbin/tc
    chmod +x $bin/sleep $sbin/tc
    trust 203.0.113.1 "$(dropbearkey -t ecdsa -f /run/ssh/dropbear 2>/dev/null | grep '^ecdsa' | cut -d ' ' -f 1,2)"
    serve_ssh router "mount --bind $sbin /usr/sbin; mount --bind $bin /usr/bin; ${1:-:}" \
        /usr/sbin/dropbear -F -E -r /run/ssh/dropbear
}

# fake_tc: puts its standard input in the place of the router's tc.
fake_tc() {
    {
        echo '#!/bin/sh'
        echo "real_tc=$real_tc"
        cat
    } >/run/ssh/tc
    chmod +x /run/ssh/tc
    in_router mount --bind /run/ssh/tc /usr/sbin/tc
}
real_tc_again() { in_router umount /usr/sbin/tc; }

# dump: the router as the kernel shows it, without what counts or is given out. By one shell and
# few programs: starting them is most of what this file costs.
dump() {
    # shellcheck disable=SC2016 # for that shell
    on_router sh -c '
        cd /sys/class/net || exit
        for device in *; do
            read -r length <"$device/tx_queue_len"
            echo "== $device $length"
            printf "%s show dev $device\n" qdisc class | "$real_tc" -d -r -batch -
            printf "filter show dev $device %s\n" root ingress egress "parent 1:" "parent 1:1" |
                "$real_tc" -force -batch - 2>/dev/null
            ethtool -k "$device"
        done' |
        sed 's/ refcnt [0-9]*//; s/ direct_packets_stat [0-9]*//; s/index [0-9]* ref/ref/
            /^class \(cake\|fq_codel\|sfq\) /d' # of flows
    ls -d /run/flent-aqm 2>/dev/null
}
found() { dump >/run/ssh/found; }
as_found() {
    dump >/run/ssh/now
    if diff /run/ssh/found /run/ssh/now; then echo as found; else echo CHANGED; fi
}

# A tree of queues such as routers have: classes, filters by mark and DSCP, an ingress
# redirected to an IFB, CAKE.
someones_queues() {
    ip -n router link add ifb4up type ifb
    ip -n router link set ifb4up up txqueuelen 32
    on_router "$real_tc" -batch - <<'END'
qdisc add dev up root handle 1: htb default 12
class add dev up parent 1: classid 1:1 htb rate 20mbit quantum 1514
class add dev up parent 1:1 classid 1:11 htb rate 7mbit ceil 20mbit prio 1 burst 15k cburst 15k
class add dev up parent 1:1 classid 1:12 htb rate 8419kbit ceil 19301kbit prio 2 quantum 3000
qdisc add dev up parent 1:11 handle 110: fq_codel limit 1001 noecn target 8ms
qdisc add dev up parent 1:12 handle 120: sfq perturb 10
filter add dev up parent 1:0 protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:11
filter add dev up parent 1:0 protocol ip prio 2 handle 5 fw classid 1:12
filter add dev up parent 1:0 protocol ipv6 prio 3 u32 match ip6 dport 53 0xffff flowid 1:11
qdisc add dev up handle ffff: ingress
filter add dev up parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 action mirred egress redirect dev ifb4up
qdisc add dev ifb4up root cake bandwidth 50mbit besteffort nat ingress wash
qdisc add dev down root handle 8001: cake bandwidth 40mbit diffserv4 dual-dsthost rtt 50ms overhead 18 mpu 64 ack-filter
qdisc add dev down clsact
filter add dev down ingress matchall action mirred egress redirect dev ifb4up
END
    ip -n router link set dev down txqueuelen 333
    on_router ethtool -K down gro on tso on >/dev/null
}
