# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Puts the queues on the devices and removes them. Read by the router's shell before
# router.sh, which has a drawing of them and calls apply and undo.

# Lines that one tc runs later, and the lines that undo them, in reverse order.
todo=
toundo=
do_tc() { todo="${todo}$*${newline}"; }
undo_tc() { toundo="$*${newline}${toundo}"; }

# run_tc LINES: runs them, and sets said to tc's messages on one line.
run_tc() {
    said=$(
        tc -batch - 2>&1 << END
$1
END
    )
    status=$?
    [ -n "${said}" ] || return "${status}"
    said=$(
        IFS=${newline}
        set -f
        # shellcheck disable=SC2086 # split into lines, which are then joined by a space
        set -- ${said}
        IFS=' '
        printf '%s' "$*"
    )
    return "${status}"
}

undo_all() {
    todo_again=${toundo}
    toundo=
    run_tc "${todo_again}"
}

# empty_root DEVICE: removes all qdiscs before a new root comes. Kernels refuse to delete
# a default root and to change HTB's, so a pfifo replaces it first.
empty_root() {
    do_tc "qdisc replace dev $1 root pfifo"
    undo_tc "qdisc del dev $1 root"
}

# leaf_at DEVICE PLACE HANDLE: puts the AQM at PLACE (root, or parent and a class).
leaf_at() {
    do_tc "qdisc replace dev $1 $2 handle $3: ${leaf_words}"
    scheme_below "$1" "$3"
}

# htb_class DEVICE PARENT CLASS RATE_BIT_S CEIL_BIT_S [MORE]
htb_class() {
    do_tc "class add dev $1 parent $2 classid $3 htb rate $4bit ceil $5bit ${6:-} quantum ${htb_quantum_bytes}"
}

# one_tier DEVICE BIT_S: HTB with one class.
one_tier() {
    do_tc "qdisc replace dev $1 root handle 1: htb default 1"
    if [ "${burst_shaping}" = yes ]; then
        ceil_bit_s=$(($2 * burst_ceil_percent / 100))
        [ "${ceil_bit_s}" -gt "$2" ] || die "rate $2 bit/s is too high for this shell's 32-bit arithmetic"
        htb_class "$1" 1: 1:1 "$2" "${ceil_bit_s}" "burst ${burst_size} cburst ${cburst_size}"
    else
        htb_class "$1" 1: 1:1 "$2" "$2"
    fi
    leaf_at "$1" 'parent 1:1' 10
}

# three_tiers DEVICE BIT_S: EF never exceeds its share. Background gets its share when all
# tiers are busy, as the rest borrows first; otherwise it may use the whole rate.
three_tiers() {
    # shellcheck disable=SC2017 # in this order it fits into 32 bits
    ef_bit_s=$(($2 / 100 * ef_percent))
    # shellcheck disable=SC2017 # in this order it fits into 32 bits
    background_bit_s=$(($2 / 100 * background_percent))
    do_tc "qdisc replace dev $1 root handle 1: htb default 12"
    htb_class "$1" 1: 1:1 "$2" "$2"
    htb_class "$1" 1:1 1:11 "${ef_bit_s}" "${ef_bit_s}" 'prio 1'
    htb_class "$1" 1:1 1:12 "$(($2 - ef_bit_s - background_bit_s))" "$2" 'prio 2'
    htb_class "$1" 1:1 1:13 "${background_bit_s}" "$2" 'prio 3'
    leaf_at "$1" 'parent 1:11' 11
    leaf_at "$1" 'parent 1:12' 12
    leaf_at "$1" 'parent 1:13' 13
    for dscp in ${ef_dscps}; do
        classify "$1" "${dscp}" 1:11
    done
    for dscp in ${background_dscps}; do
        classify "$1" "${dscp}" 1:13
    done
}

# classify DEVICE DSCP CLASS: matches the byte in the IPv4 and the IPv6 header.
classify() {
    do_tc "filter add dev $1 parent 1: protocol ip prio 1 u32 match ip dsfield 0x$2 0xfc flowid $3"
    do_tc "filter add dev $1 parent 1: protocol ipv6 prio 2 u32 match ip6 priority 0x$2 0xfc flowid $3"
}

# many_subscribers DEVICE BIT_S: HTB with a class and a queue for each subscriber, who gets an
# equal share of the rate when all are busy, and up to the plan otherwise. One filter derives the
# class from the last 16 bits of the address (flent_aqm/asked/topology/subscribers.py); other
# packets go to the first class. Loops count the hex digits, as $(printf) would start a process.
many_subscribers() {
    case $1 in
        "${dev_up}")
            key=src
            plan_bit_s=${plan_up_bit_s:-$2}
            ;;
        *)
            key=dst
            plan_bit_s=${plan_down_bit_s:-$2}
            ;;
    esac
    part_bit_s=$(($2 / subscribers))
    do_tc "qdisc replace dev $1 root handle 1: htb default 1001"
    htb_class "$1" 1: 1:1 "$2" "$2"
    digits='0 1 2 3 4 5 6 7 8 9 a b c d e f'
    number=-1
    for high in 0 1 2 3; do
        for middle in ${digits}; do
            for low in ${digits}; do
                number=$((number + 1))
                [ "${number}" -gt 0 ] || continue
                [ "${number}" -le "${subscribers}" ] || break 3
                htb_class "$1" 1:1 "1:1${high}${middle}${low}" "${part_bit_s}" "${plan_bit_s}"
                leaf_at "$1" "parent 1:1${high}${middle}${low}" "1${high}${middle}${low}"
            done
        done
    done
    do_tc "filter add dev $1 parent 1: protocol ip prio 1 handle 1 flow map key ${key} and 0xffff addend -1 baseclass 1:1"
    do_tc "filter add dev $1 parent 1: protocol ipv6 prio 2 handle 1 flow map key ${key} and 0xffff xor 0xdb8 addend -1 baseclass 1:1"
}

# token_bucket DEVICE BIT_S: TBF. The AQM replaces the queue that its limit is for.
token_bucket() {
    # shellcheck disable=SC2017 # in this order it fits into 32 bits
    burst=$(($2 / 1000 * tbf_burst_us / 8000))
    [ "${burst}" -gt "${tbf_min_burst_bytes}" ] || burst=${tbf_min_burst_bytes}
    do_tc "qdisc replace dev $1 root handle 1: tbf rate $2bit burst ${burst} limit ${burst}"
    leaf_at "$1" 'parent 1:1' 10
}

# shape DEVICE BIT_S: adds the shaper at that rate with the AQM below it.
shape() {
    # tc doesn't undo a queue length, so keep the old one.
    if [ -n "${txqueuelen}" ]; then
        before=${ifb_txqueuelen}
        [ "$1" = "${dev_ifb}" ] || read -r before < "/sys/class/net/$1/tx_queue_len"
        lengths="$1 ${before}${newline}${lengths}"
    fi
    leaf_bit_s=$2
    cake_bandwidth=unlimited
    [ "${shaper}" != cake ] || cake_bandwidth="bandwidth $2bit"
    # shellcheck disable=SC2086 # one word each; take_settings refuses other characters
    leaf_words=$(scheme_qdisc ${overrides}) || exit
    empty_root "$1"
    case ${shaper}${tiers}${subscribers:+subscribers} in
        htb1subscribers) many_subscribers "$1" "$2" ;;
        htb1) one_tier "$1" "$2" ;;
        htb3) three_tiers "$1" "$2" ;;
        tbf1) token_bucket "$1" "$2" ;;
        *) leaf_at "$1" root 10 ;;
    esac
    undo_tc "qdisc replace dev $1 root pfifo"
}

check_settings() {
    take_rate rate_down_mbps "${rate_down_mbps}"
    down_bit_s=${rate_bit_s}
    take_rate rate_up_mbps "${rate_up_mbps}"
    up_bit_s=${rate_bit_s}
    take_flag burst_shaping "${burst_shaping}"
    burst_shaping=${flag}
    one_of shaper "${shaper}" 'htb tbf cake none'
    one_of tiers "${tiers}" '1 3'
    one_of ingress "${ingress}" 'lan ifb'
    one_of only "${only}" 'both down up'
    case ${shaper}${tiers}${burst_shaping} in
        htb1* | *1no | htb3no) ;;
        htb3yes) die "tiers=3: can't be combined with burst_shaping; switch one of them off" ;;
        *3*) die "tiers=3: needs shaper=htb, not ${shaper}" ;;
        *) die "burst_shaping: needs shaper=htb, not ${shaper}" ;;
    esac
    check_subscribers
    case ${shaper}:${aqm} in
        cake:cake | cake:cake_mq | none:cake_mq) ;;
        cake:*) die "shaper=cake: cake is AQM and shaper in one; give aqm=cake, not ${aqm}" ;;
        *:cake_mq) die "aqm=cake_mq: cake_mq works only on the device's own queues; give shaper=cake, not ${shaper}" ;;
        *) ;;
    esac
    case ${txqueuelen} in
        *[!0-9]* | ????????*) die "txqueuelen: '${txqueuelen}' is not a number of packets; expected 0 to 9999999" ;;
        *) ;;
    esac
}

check_subscribers() {
    plan_down_bit_s=
    plan_up_bit_s=
    [ -n "${subscribers}" ] || return 0
    case ${subscribers} in
        *[!0-9]* | ?????* | 0*) die "subscribers: '${subscribers}' is not a number from 1 to 1000" ;;
        *) [ "${subscribers}" -le 1000 ] || die "subscribers: ${subscribers} is above 1000" ;;
    esac
    case ${shaper}${tiers}${burst_shaping}${ingress} in
        htb1nolan) ;;
        *) die 'subscribers: needs shaper=htb, tiers=1, ingress=lan, and no burst_shaping' ;;
    esac
    if [ -n "${plan_down_mbps}" ]; then
        take_rate plan_down_mbps "${plan_down_mbps}"
        plan_down_bit_s=${rate_bit_s}
    fi
    if [ -n "${plan_up_mbps}" ]; then
        take_rate plan_up_mbps "${plan_up_mbps}"
        plan_up_bit_s=${rate_bit_s}
    fi
}

# try_out WORDS: tries the AQM on a temporary device, to find what kernel or tc lack before
# anything changes. A router that can make no such device skips this; if tc fails later,
# all is undone.
try_out() {
    probe=flent-probe
    case $1 in
        cake_mq*) probe_queues='numtxqueues 2' ;; # it refuses devices with one queue
        *) probe_queues= ;;
    esac
    trap 'ip link del dev "${probe}"; exit 1' HUP INT TERM
    # shellcheck disable=SC2086 # several words
    ip link add dev "${probe}" ${probe_queues} type ifb 2> /dev/null ||
        ip link add dev "${probe}" ${probe_queues} type dummy 2> /dev/null || return 0
    run_tc "qdisc add dev ${probe} root handle 10: $1"
    status=$?
    ip link del dev "${probe}"
    [ "${status}" -eq 0 ] || {
        requires=$(scheme_requires)
        die "the router can't do ${aqm}, which needs ${requires}; nothing was changed: ${said}" 1
    }
    [ "${foreign}" != yes ] || return 0
    # Old versions of tc pass an unknown name to the kernel if nothing follows it.
    case $(tc qdisc add dev lo root "${1%% *}" help 2>&1) in
        *[Uu]nknown*)
            requires=$(scheme_requires)
            die "the router's tc doesn't know ${1%% *}, which needs ${requires}; nothing was changed" 1
            ;;
        *) ;;
    esac
}

# redirect: sends packets that arrive at dev_up through dev_ifb, where they can be shaped.
redirect() {
    ip link add dev "${dev_ifb}" type ifb || die "ingress=ifb: the router can't make an IFB device (CONFIG_IFB)" 1
    ip link set dev "${dev_ifb}" txqueuelen "${ifb_txqueuelen}" up
    do_tc "qdisc add dev ${dev_up} handle ffff: ingress"
    do_tc "filter add dev ${dev_up} parent ffff: protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev ${dev_ifb}"
}

# no_redirect: removes the redirection, also that of an earlier run.
no_redirect() {
    [ -d "/sys/class/net/${dev_ifb}" ] || return 0
    tc qdisc del dev "${dev_up}" ingress 2> /dev/null
    ip link del dev "${dev_ifb}" || die "the router could not delete its device ${dev_ifb}" 1
}

# set_lengths [PACKETS]: sets the queue lengths of the devices in lengths, or restores them.
set_lengths() {
    rest=${lengths}
    while [ -n "${rest}" ]; do
        device=${rest%% *}
        before=${rest#* }
        [ ! -d "/sys/class/net/${device}" ] ||
            printf '%s\n' "${1:-${before%%"${newline}"*}}" > "/sys/class/net/${device}/tx_queue_len"
        rest=${rest#*"${newline}"}
    done
}

take_back() {
    undo_all
    [ "${ingress}" != ifb ] || no_redirect
    set_lengths
}

apply() {
    check_settings
    read -r _ _ _ psched_hz < /proc/net/psched
    [ "${psched_hz}" = "${psched_fine}" ] || printf 'router hook: warning: %s\n' \
        "timers tick at 0x${psched_hz} Hz instead of 0x${psched_fine}, so bursts are larger" >&2

    lengths=
    case ${only}${ingress} in
        up*) ;;
        *ifb)
            empty_root "${dev_down}"
            shape "${dev_ifb}" "${down_bit_s}"
            ;;
        *) shape "${dev_down}" "${down_bit_s}" ;;
    esac
    [ "${only}" = down ] || shape "${dev_up}" "${up_bit_s}"
    try_out "${leaf_words}"

    [ "${only}" = up ] || no_redirect
    trap 'take_back; exit 1' HUP INT TERM
    [ "${only}${ingress}" = upifb ] || [ "${ingress}" != ifb ] || redirect
    [ -z "${txqueuelen}" ] || set_lengths "${txqueuelen}"
    if run_tc "${todo}"; then
        [ -z "${said}" ] || printf 'router hook: tc: %s\n' "${said}" >&2
        return
    fi
    refusal=${said}
    requires=$(scheme_requires)
    take_back
    die "tc refused ${aqm}, which needs ${requires}${subscribers:+, and subscribers cls_flow (CONFIG_NET_CLS_FLOW)}: ${refusal}" 1
}

undo() {
    no_redirect
    empty_root "${dev_down}"
    empty_root "${dev_up}"
    run_tc "${todo}${toundo}" || die "tc could not restore the default queues: ${said}" 1
}
